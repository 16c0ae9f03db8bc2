"""The store: objects under one growing revision, the history of their changes, and whoever listens to it.

Guaranteed: every write takes the next revision; stored objects are never changed in place, so that one read is one
moment; changes reach listeners in the order of their revisions; a collection can be read as it was at any revision
that history still reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Body = dict[str, Any]
Key = tuple[str, str]
"""Namespace (empty for cluster-wide objects) and name."""


class Change(NamedTuple):
    """One write: `old` is None for a creation, `new` for a removal. A removal's last form is `old` as `last`."""

    revision: int
    table: str
    key: Key
    old: Body | None
    new: Body | None
    last: Body | None


class Snapshot(NamedTuple):
    """All there was at one moment."""

    revision: int
    compacted: int
    tables: dict[str, dict[Key, Body]]
    history: dict[str, list[Change]]


class Gone(Exception):  # noqa: N818  # an answer, not a fault of the program
    """History does not reach back that far."""


Listener = Callable[[Change], None]


@dataclass
class Store:
    """Objects, by table (a resource) and key."""

    revision: int = 1
    compacted: int = 0
    """The oldest revision that can still be read."""
    tables: dict[str, dict[Key, Body]] = field(default_factory=dict)
    _history: dict[str, list[Change]] = field(default_factory=dict)
    _listeners: dict[str, list[Listener]] = field(default_factory=dict)
    _everything: list[Listener] = field(default_factory=list)

    def get(self, table: str, key: Key) -> Body | None:
        """Return an object, not to be changed."""
        return self.tables.get(table, {}).get(key)

    def items(self, table: str, namespace: str = "") -> list[tuple[Key, Body]]:
        """Return a collection in the order of its keys."""
        rows = self.tables.get(table, {})
        if namespace:
            return sorted((pair for pair in rows.items() if pair[0][0] == namespace), key=lambda pair: pair[0])
        return sorted(rows.items(), key=lambda pair: pair[0])

    def items_at(self, table: str, namespace: str, revision: int) -> list[tuple[Key, Body]]:
        """Return a collection as it was. Raises Gone when that is forgotten."""
        if revision < self.compacted:
            raise Gone
        rows = dict(self.tables.get(table, {}))
        for change in reversed(self._history.get(table, [])):
            if change.revision <= revision:
                break
            if change.old is None:
                rows.pop(change.key, None)
            else:
                rows[change.key] = change.old
        return sorted(((k, v) for k, v in rows.items() if not namespace or k[0] == namespace), key=lambda kv: kv[0])

    def put(self, table: str, key: Key, body: Body) -> Body:
        """Write an object under the next revision, which is put into its metadata. The body is kept as it is."""
        self.revision += 1
        body["metadata"]["resourceVersion"] = str(self.revision)
        rows = self.tables.setdefault(table, {})
        old = rows.get(key)
        rows[key] = body
        self._record(Change(self.revision, table, key, old, body, None))
        return body

    def remove(self, table: str, key: Key, last: Body | None = None) -> Body:
        """Remove an object. Its last form, with a revision of its own, is what listeners see."""
        self.revision += 1
        old = self.tables[table].pop(key)
        shown = dict(last or old)
        shown["metadata"] = {**shown["metadata"], "resourceVersion": str(self.revision)}
        self._record(Change(self.revision, table, key, old, None, shown))
        return shown

    def _record(self, change: Change) -> None:
        self._history.setdefault(change.table, []).append(change)
        for listener in (*self._listeners.get(change.table, ()), *self._everything):
            listener(change)

    def since(self, table: str, revision: int) -> list[Change]:
        """Return all changes after a revision. Raises Gone when they are forgotten."""
        if revision < self.compacted:
            raise Gone
        changes: list[Change] = []
        for change in reversed(self._history.get(table, [])):
            if change.revision <= revision:
                break
            changes.append(change)
        return changes[::-1]

    def listen(self, table: str | None, listener: Listener) -> Callable[[], None]:
        """Be told of changes, of one table or of all; returns how to stop."""
        listeners = self._everything if table is None else self._listeners.setdefault(table, [])
        listeners.append(listener)

        def stop() -> None:
            if listener in listeners:
                listeners.remove(listener)

        return stop

    def compact(self, revision: int) -> None:
        """Forget what was before a revision."""
        self.compacted = max(self.compacted, min(revision, self.revision))
        for table, changes in self._history.items():
            self._history[table] = [change for change in changes if change.revision > self.compacted]

    def snapshot(self) -> Snapshot:
        """Return all there is. Objects are shared, which is safe since they are never changed in place."""
        return Snapshot(
            self.revision, self.compacted, _copied(self.tables.items()), {k: list(v) for k, v in self._history.items()}
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Become what was, revision and all. Listeners hear nothing: whoever watches has to be cut off."""
        self.revision, self.compacted = snapshot.revision, snapshot.compacted
        self.tables = _copied(snapshot.tables.items())
        self._history = {table: list(changes) for table, changes in snapshot.history.items()}


def _copied(tables: Iterable[tuple[str, dict[Key, Body]]]) -> dict[str, dict[Key, Body]]:
    return {table: dict(rows) for table, rows in tables}
