"""The store: all objects, one growing version, and the history of changes since the last compaction.

Stored objects are never changed in place: a write puts a new object under the key, which shares whatever stayed the
same with its predecessor. So history, snapshots, watches and readers can hold on to objects without copying any.

The store is pure: no time, no randomness, no threads. Order is the order of writes; lists sort by key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

Item: TypeAlias = dict[str, Any]

HISTORY_MAX: Final = 50_000
"""Changes remembered per table; older ones are forgotten as by a compaction of that table."""


@dataclass(frozen=True, slots=True)
class Change:
    """One write: the object before it, the object after it, and the version it made."""

    version: int
    key: str
    before: Item | None
    after: Item | None


@dataclass(frozen=True)
class Snapshot:
    """Everything the store holds."""

    version: int
    tables: dict[str, dict[str, Item]]
    history: dict[str, list[Change]]
    begins: dict[str, int]
    compacted: int


Observer: TypeAlias = Callable[[str, Change], None]


def object_key(namespace: str, name: str) -> str:
    """Return the key of an object in its table."""
    return f"{namespace}/{name}" if namespace else name


class Store:
    """Tables of objects under one version."""

    def __init__(self) -> None:
        self.version = 1
        self.compacted = 0
        """Versions before this one cannot be read any more."""
        self._tables: dict[str, dict[str, Item]] = {}
        self._history: dict[str, list[Change]] = {}
        self._begins: dict[str, int] = {}
        self._observers: list[Observer] = []
        self._restored: list[Callable[[], None]] = []

    def observe(self, observer: Observer) -> None:
        """Call an observer after every change."""
        self._observers.append(observer)

    def on_restore(self, observer: Callable[[], None]) -> None:
        """Call an observer when everything was replaced."""
        self._restored.append(observer)

    # --- reading -----------------------------------------------------------------------------------------------------

    def get(self, table: str, key: str) -> Item | None:
        """Return an object."""
        return self._tables.get(table, {}).get(key)

    def table(self, table: str) -> dict[str, Item]:
        """Return a table as it is now, in order of creation."""
        return self._tables.get(table, {})

    def items(self, table: str, namespace: str = "", version: int | None = None) -> list[tuple[str, Item]]:
        """Return the objects of a table, or of one namespace, sorted by key; of an earlier version if asked."""
        rows = self._tables.get(table, {})
        if version is not None and version < self.version:
            rows = self._at(table, version)
        if namespace:
            prefix = f"{namespace}/"
            return sorted(row for row in rows.items() if row[0].startswith(prefix))
        return sorted(rows.items())

    def _at(self, table: str, version: int) -> dict[str, Item]:
        rows = dict(self._tables.get(table, {}))
        for change in reversed(self._history.get(table, ())):
            if change.version <= version:
                break
            if change.after is not None and change.before is None:
                rows.pop(change.key, None)
            elif change.before is not None:
                rows[change.key] = change.before
        return rows

    def since(self, table: str, version: int) -> list[Change]:
        """Return what changed in a table after a version, in order."""
        found: list[Change] = []
        for change in reversed(self._history.get(table, ())):
            if change.version <= version:
                break
            found.append(change)
        found.reverse()
        return found

    def begin_of(self, table: str) -> int:
        """Return the version from which on the changes of a table are known."""
        return self._begins.get(table, 0)

    # --- writing -----------------------------------------------------------------------------------------------------

    def begin(self, table: str) -> None:
        """Let the known history of a table begin now."""
        self._tables.setdefault(table, {})
        self._begins[table] = self.version

    def put(self, table: str, key: str, item: Item) -> Item:
        """Write an object; return it as stored, with its new version."""
        before = self._tables.setdefault(table, {}).get(key)
        self.version += 1
        stored = with_version(item, self.version)
        self._tables[table][key] = stored
        self._record(table, Change(self.version, key, before, stored))
        return stored

    def remove(self, table: str, key: str) -> Item:
        """Remove an object; return it as it was, with the version of its removal."""
        before = self._tables[table].pop(key)
        self.version += 1
        self._record(table, Change(self.version, key, before, None))
        return with_version(before, self.version)

    def _record(self, table: str, change: Change) -> None:
        history = self._history.setdefault(table, [])
        history.append(change)
        if len(history) > HISTORY_MAX:
            del history[: HISTORY_MAX // 2]
            self._begins[table] = history[0].version
        for observer in self._observers:
            observer(table, change)

    # --- history -----------------------------------------------------------------------------------------------------

    def compact(self, version: int, *, caches: bool) -> None:
        """Forget what was before a version. With `caches` watch caches forget it too, as after a restart."""
        self.compacted = max(self.compacted, min(version, self.version))
        if caches:
            for table in self._tables:
                self._begins[table] = max(self._begins.get(table, 0), self.compacted)

    def snapshot(self) -> Snapshot:
        """Return everything."""
        return Snapshot(
            self.version,
            {name: dict(rows) for name, rows in self._tables.items()},
            {name: list(changes) for name, changes in self._history.items()},
            dict(self._begins),
            self.compacted,
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot: the version goes back too."""
        self.version = snapshot.version
        self._tables = {name: dict(rows) for name, rows in snapshot.tables.items()}
        self._history = {name: list(changes) for name, changes in snapshot.history.items()}
        self._begins = dict(snapshot.begins)
        self.compacted = snapshot.compacted
        for observer in self._restored:
            observer()


def with_version(item: Item, version: int) -> Item:
    """Return an object with another resourceVersion."""
    return {**item, "metadata": {**item["metadata"], "resourceVersion": str(version)}}


def version_of(item: Item) -> int:
    """Return the resourceVersion of a stored object."""
    return int(item["metadata"]["resourceVersion"])
