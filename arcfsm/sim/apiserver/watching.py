"""Watches: streams of changes from a moment on, through selectors, pollable and never blocking.

Guaranteed: events come in the order of their revisions and none is left out while the stream is open; a moment that
is forgotten ends the stream with an error event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from arcfsm.domain.instant import SECOND, Instant
from arcfsm.sim.apiserver.coretypes import CORE
from arcfsm.sim.apiserver.engine import Engine
from arcfsm.sim.apiserver.message import Request, Target
from arcfsm.sim.apiserver.options import list_options
from arcfsm.sim.apiserver.problems import Problem
from arcfsm.sim.apiserver.reading import number, revision, selector
from arcfsm.sim.apiserver.resources import Resource
from arcfsm.sim.apiserver.selectors import Match
from arcfsm.sim.apiserver.store import Change, Gone
from arcfsm.sim.apiserver.typed import Report
from arcfsm.sim.apiserver.writing import shown

Body = dict[str, Any]
Render = Callable[[Body], Body]
INITIAL_END: Final = "k8s.io/initial-events-end"
BOOKMARK_INTERVAL: Final = 60 * SECOND


class Stream:
    """An open watch. `take` returns what is there; `notify` is called when more comes."""

    def __init__(self, clock: Callable[[], Instant]) -> None:
        self.notify: Callable[[], None] | None = None
        self.ended = False
        self.deadline: Instant | None = None
        self._clock = clock
        self._events: deque[Body] = deque()
        self._stop: Callable[[], None] = lambda: None
        self._bookmark: Callable[[], Body] | None = None
        self._bookmarked = clock()

    def attach(self, stop: Callable[[], None]) -> None:
        """Say how to stop hearing of changes."""
        self._stop = stop

    def bookmarks(self, make: Callable[[], Body]) -> None:
        """Send a bookmark from time to time."""
        self._bookmark = make

    def put(self, event: Body) -> None:
        """Add an event."""
        if not self.ended:
            self._events.append(event)
            if self.notify is not None:
                self.notify()

    def poll(self) -> None:
        """Let time pass: a stream whose time is over ends, and bookmarks come due."""
        now = self._clock()
        if self.deadline is not None and now >= self.deadline:
            self.close()
        elif self._bookmark is not None and now - self._bookmarked >= BOOKMARK_INTERVAL:
            self._bookmarked = now
            self.put({"type": "BOOKMARK", "object": self._bookmark()})

    def take(self) -> list[Body]:
        """Return the events that came since the last time."""
        self.poll()
        events = list(self._events)
        self._events.clear()
        return events

    def close(self) -> None:
        """End it. What already came can still be taken."""
        if not self.ended:
            self.ended = True
            self._stop()
            if self.notify is not None:
                self.notify()


class Watcher:
    """Opens watches."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._store = engine.store

    def watch(self, request: Request, target: Target, resource: Resource, render: Render) -> Stream:
        """Open a watch. Raises Problem when it is refused."""
        seconds = number(request, "timeoutSeconds")
        list_options(request, watch=True)
        match = selector(request, resource)
        since = revision(request)
        initial, marks = request.flag("sendInitialEvents"), request.flag("allowWatchBookmarks")
        namespace = target.namespace if resource.namespaced else ""
        stream = Stream(self._engine.clock)
        if seconds > 0:
            stream.deadline = self._engine.clock() + seconds * SECOND

        def see(change: Change) -> None:
            if namespace and change.key[0] != namespace:
                return
            event = transition(change, match, since if not state else 0)
            if event is not None:
                stream.put({"type": event[0], "object": render(shown(event[1], resource))})

        state = initial or not since
        if state:
            if "sendInitialEvents" in request.query and not initial and not since:
                pass
            else:
                for _, body in self._store.items(resource.table, namespace):
                    if match is None or match(body):
                        stream.put({"type": "ADDED", "object": render(shown(body, resource))})
            if initial and marks:
                mark = bookmark(resource, self._store.revision)
                mark["metadata"]["annotations"] = {INITIAL_END: "true"}
                stream.put({"type": "BOOKMARK", "object": render(mark)})
        else:
            established = self._engine.registry.established(resource)
            try:
                if (since or 0) < established:
                    raise Gone
                missed = self._store.since(resource.table, since or 0)
            except Gone:
                stream.put({"type": "ERROR", "object": self._expired(resource, since or 0).body()})
                stream.close()
                return stream
            for change in missed:
                see(change)
        stream.attach(self._store.listen(resource.table, see))
        if marks:
            stream.bookmarks(lambda: render(bookmark(resource, self._store.revision)))
        return stream

    def _expired(self, resource: Resource, since: int) -> Problem:
        if resource.table == "events":
            return Problem(410, "Expired", "The resourceVersion for the provided watch is too old.")
        oldest = max(self._store.compacted, self._engine.registry.established(resource))
        return Problem(410, "Expired", f"too old resource version: {since} ({oldest})")


def bookmark(resource: Resource, at: int) -> Body:
    """Return an object that is empty but for its resourceVersion."""
    if resource.custom:
        return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"resourceVersion": str(at)}}
    body = CORE.decode(resource.struct, {}, Report())
    body["kind"], body["apiVersion"] = resource.kind, resource.api_version
    body["metadata"]["resourceVersion"] = str(at)
    return body


def transition(change: Change, match: Match | None, since: int | None) -> tuple[str, Body] | None:
    """Return what a change looks like through a selector: entering it is ADDED, leaving it DELETED."""
    if since and change.revision <= since:
        return None
    old, new = change.old, change.new
    was = old is not None and (match is None or match(old))
    now = new is not None and (match is None or match(new))
    if now and new is not None:
        return ("MODIFIED" if was else "ADDED"), new
    if not was or old is None:
        return None
    if new is None:
        return "DELETED", change.last or old
    return "DELETED", {**old, "metadata": {**old["metadata"], "resourceVersion": str(change.revision)}}
