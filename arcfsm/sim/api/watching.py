"""Watches: an ordered stream of what happened to the selected objects of one resource.

A stream never blocks and never skips: what was queued stays queued until it is taken. An object that enters the
selection is ADDED; one that leaves it is DELETED, shown as it last was in the selection, at the version of the write
that took it out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from arcfsm.domain.instant import SECOND, Instant
from arcfsm.sim.api.rendering import View
from arcfsm.sim.api.selectors import Selector
from arcfsm.sim.api.store import Change, Item, Store, with_version
from arcfsm.sim.clock import Clock

BOOKMARK_EVERY: Final = 60 * SECOND
INITIAL_END: Final = "k8s.io/initial-events-end"


class WatchStream:
    """One open watch."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        view: View,
        namespace: str,
        selector: Selector,
        *,
        after: int,
        bookmarks: bool = False,
        deadline: Instant | None = None,
    ) -> None:
        self.notify: Callable[[], None] | None = None
        """Called after events were queued, and when the stream closed."""
        self.deadline = deadline
        """When the server ends the stream; None for never."""
        self.view = view
        self._store = store
        self._clock = clock
        self._prefix = f"{namespace}/" if namespace else ""
        self._selector = selector
        self._after = after
        self._bookmarks = bookmarks
        self._bookmark_due = clock.now() + BOOKMARK_EVERY
        self._queue: deque[dict[str, Any]] = deque()
        self._open = True

    @property
    def closed(self) -> bool:
        """Whether no more will come than what is queued."""
        if self._open and self.deadline is not None and self._clock.now() >= self.deadline:
            self.close()
        return not self._open

    @property
    def pending(self) -> bool:
        """Whether something is queued."""
        return bool(self._queue)

    def take(self) -> list[dict[str, Any]]:
        """Return what was queued since the last call, in order."""
        if self._bookmarks and not self.closed and self._clock.now() >= self._bookmark_due:
            self._bookmark_due = self._clock.now() + BOOKMARK_EVERY
            self._queue.append({"type": "BOOKMARK", "object": self.view.bookmark(self._store.version, {})})
        taken = list(self._queue)
        self._queue.clear()
        return taken

    def close(self) -> None:
        """End the stream; what was queued can still be taken."""
        if self._open:
            self._open = False
            if self.notify is not None:
                self.notify()

    # --- the server's side -------------------------------------------------------------------------------------------

    def start_with(self, rows: list[tuple[str, Item]]) -> None:
        """Queue present objects as ADDED."""
        for _, item in rows:
            if self._selector.matches(item):
                self._queue.append({"type": "ADDED", "object": self.view.item(item)})

    def end_initial(self, version: int) -> None:
        """Queue the mark that says that the present objects are all told."""
        self._queue.append({"type": "BOOKMARK", "object": self.view.bookmark(version, {INITIAL_END: "true"})})

    def refuse(self, status: dict[str, Any]) -> None:
        """Queue an error and end."""
        self._queue.append({"type": "ERROR", "object": status})
        self.close()

    def offer(self, change: Change) -> None:
        """Queue what a change means to this watch."""
        if change.version <= self._after or not change.key.startswith(self._prefix) or self.closed:
            return
        event = self._event(change)
        if event is not None:
            self._queue.append(event)
            if self.notify is not None:
                self.notify()

    def _event(self, change: Change) -> dict[str, Any] | None:
        before, after = change.before, change.after
        selector = self._selector
        was = before is not None and (selector.empty or selector.matches(before))
        is_now = after is not None and (selector.empty or selector.matches(after))
        if after is not None and is_now:
            return {"type": "MODIFIED" if was else "ADDED", "object": self.view.item(after)}
        if before is not None and was:
            return {"type": "DELETED", "object": self.view.item(with_version(before, change.version))}
        return None
