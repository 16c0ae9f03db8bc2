"""The API server as a running thing of the simulated world.

The store behind it is atomic and knows no time but the clock it was handed. The host gives it what a process has: it
can be away, all its connections can break, it can come back from a backup, and what its controllers do for it
(garbage collection) follows a little behind the writes that call for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from arcfsm.domain.instant import MILLISECOND, SECOND, Instant, Span
from arcfsm.domain.kinds import RESOURCES, Kind, Resource
from arcfsm.sim.clock import Clock
from arcfsm.sim.faults.boundary import Availability
from arcfsm.sim.faults.cluster import Body, ClusterLink, ClusterRequest, ClusterResponse, Subscription, resource_path
from arcfsm.sim.kernel import Kernel
from arcfsm.sim.trace import fingerprint

GARBAGE_DELAY: Final[Span] = 50 * MILLISECOND
TEND_EVERY: Final[Span] = 30 * SECOND
_THERE_ALREADY: Final = 409
SYSTEM_USER: Final = "system:admin"
_TIMED: Final = frozenset({"allowWatchBookmarks", "timeoutSeconds"})
Note = Callable[[str, str, str], None]


class EventStream(Protocol):
    """An open watch as a store gives it: a queue that is emptied by `take`."""

    notify: Callable[[], None] | None
    """Called when there is something to take, and when no more will come."""
    deadline: Instant | None
    """When the server ends it, by the server's clock; None for never."""

    @property
    def closed(self) -> bool:
        """Whether no more will come than what is queued."""

    def take(self) -> list[Body]:
        """Return what was queued since the last call, a bookmark that is due included."""

    def close(self) -> None:
        """End it."""


class ClusterStore(Protocol):
    """The API server's semantics, as the host needs them."""

    @property
    def version(self) -> int:
        """The newest resourceVersion."""

    def handle(self, request: ClusterRequest, user: str) -> ClusterResponse:
        """Answer one request."""

    def watch(self, request: ClusterRequest, user: str) -> EventStream | ClusterResponse:
        """Open a watch; a refused one is an answer."""

    def collect_garbage(self) -> None:
        """Do all that the garbage collector finds to do."""

    def compact(self) -> None:
        """Forget all history up to now."""

    def snapshot(self) -> Any:
        """Return everything, for `restore`."""

    def restore(self, snapshot: Any) -> None:
        """Go back to what a snapshot holds."""


class Audience(Protocol):
    """Who watches every request that reaches the API server, to judge it."""

    def before(self, request: ClusterRequest, user: str) -> None:
        """A request is about to be carried out."""

    def after(self, request: ClusterRequest, user: str, response: ClusterResponse) -> None:
        """A request was carried out or refused."""


class ClusterHost:
    """One running API server."""

    def __init__(self, kernel: Kernel, store: ClusterStore, clock: Clock, note: Note) -> None:
        self.availability = Availability()
        self.calls = 0
        self.events = 0
        self._kernel = kernel
        self._store = store
        self._clock = clock
        self._note = note
        self.audience: list[Audience] = []
        self.restores = 0
        """How often it came back from a backup."""
        self._links: list[ClusterLink] = []
        self._backup: Any = None
        self._garbage_expected = False

    def attach(self, link: ClusterLink) -> None:
        """Know a link, so that its watches break when connections do."""
        self._links.append(link)

    # --- requests ----------------------------------------------------------------------------------------------------

    def answer(self, request: ClusterRequest, user: str) -> ClusterResponse:
        """Answer one request now."""
        self.calls += 1
        for one in self.audience:
            one.before(request, user)
        response = self._store.handle(request, user)
        for one in self.audience:
            one.after(request, user, response)
        if request.writes:
            self._note(user, request.method, f"{request.path} {response.status} {fingerprint(response.body)}")
            self._expect_garbage()
        return response

    def watch(
        self, request: ClusterRequest, user: str, put: Callable[[Body], None], ended: Callable[[], None]
    ) -> Subscription | ClusterResponse:
        """Open a watch now."""
        opened = self._store.watch(request, user)
        if isinstance(opened, ClusterResponse):
            return opened
        stream = opened

        def drain() -> None:
            for event in stream.take():
                self.events += 1
                put(event)
            if stream.closed:
                stream.notify = None
                ended()

        def tend() -> None:
            """Bookmarks and the end of a watch's time come without any write."""
            if stream.notify is None:
                return
            drain()
            left = TEND_EVERY if stream.deadline is None else stream.deadline - self._clock.now()
            self._kernel.after(max(1, min(TEND_EVERY, left)), tend, "watch")

        stream.notify = drain
        drain()
        if request.query.keys() & _TIMED:
            tend()
        return stream

    def install(self, resource: Resource, namespace: str, body: Body) -> None:
        """Make sure that something is there from the beginning. Raises ValueError when the server does not want it."""
        request = ClusterRequest("POST", resource_path(resource, namespace), body=body)
        response = self._store.handle(request, SYSTEM_USER)
        if not response.ok and response.status != _THERE_ALREADY:
            raise ValueError(f"{body['kind']} {body['metadata']['name']} was refused: {response.message}")

    def objects(self, kind: Kind, namespace: str) -> list[Body]:
        """Return all objects of a kind in a namespace, as they are now."""
        request = ClusterRequest("GET", resource_path(RESOURCES[kind], namespace))
        items: list[Body] = self._store.handle(request, SYSTEM_USER).body["items"]
        return items

    @property
    def version(self) -> int:
        """The newest resourceVersion."""
        return self._store.version

    # --- what can happen to it ---------------------------------------------------------------------------------------

    def go_down(self) -> None:
        """Stop answering; all connections break."""
        self.availability.down += 1
        self.break_watches()

    def come_up(self) -> None:
        """Answer again, unless there is another reason to be down."""
        self.availability.down -= 1

    def break_watches(self) -> None:
        """Break all connections: watches end, answers on their way are lost."""
        self.availability.generation += 1
        for link in self._links:
            link.break_watches()

    def compact(self) -> None:
        """Forget all history: who resumes from before gets 410."""
        self._store.compact()

    def remember(self) -> None:
        """Take a backup."""
        self._backup = self._store.snapshot()

    def restore(self) -> None:
        """Go back to the last backup; without one nothing changes but the connections."""
        self.break_watches()
        self.restores += 1
        if self._backup is not None:
            self._store.restore(self._backup)

    def collect_garbage(self) -> None:
        """Let the garbage collector catch up now."""
        self._garbage_expected = False
        if self.availability.up:
            self._store.collect_garbage()
        else:
            self._expect_garbage()

    def _expect_garbage(self) -> None:
        if not self._garbage_expected:
            self._garbage_expected = True
            self._kernel.after(GARBAGE_DELAY, self.collect_garbage, "garbage-collector")
