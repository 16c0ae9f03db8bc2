"""The simulated API server as the store of a simulated world: the same requests, in the terms of the world.

Guaranteed: what is answered and what events show is the caller's own, so that nobody can change a stored object by
changing an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import orjson

from arcfsm.sim.apiserver.message import Identity, Request, Response
from arcfsm.sim.apiserver.server import ApiServer, load_definitions
from arcfsm.sim.apiserver.store import Snapshot
from arcfsm.sim.apiserver.watching import Stream
from arcfsm.sim.clock import Clock
from arcfsm.sim.faults.cluster import Body, ClusterRequest, ClusterResponse, Subscription
from arcfsm.sim.kernel import random_stream

OWN_DEFINITIONS: Final = Path(__file__).parent.parent / "crds"
_UNCHECKED: Final = ("system:masters", "system:authenticated")
_definitions: list[Body] = []


def own_definitions() -> list[Body]:
    """Return the definitions that come with the program. They are read once."""
    if not _definitions:
        _definitions.extend(load_definitions(OWN_DEFINITIONS))
    return _definitions


def _private(body: Any) -> Any:
    return None if body is None else orjson.loads(orjson.dumps(body))


class PrivateStream:
    """An open watch whose events belong to whoever takes them."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    @property
    def notify(self) -> Callable[[], None] | None:
        """Called when there is something to take, and when no more will come."""
        return self._stream.notify

    @notify.setter
    def notify(self, callback: Callable[[], None] | None) -> None:
        self._stream.notify = callback

    @property
    def deadline(self) -> int | None:
        """When the server ends it; None for never."""
        return self._stream.deadline

    @deadline.setter
    def deadline(self, instant: int | None) -> None:
        self._stream.deadline = instant

    @property
    def closed(self) -> bool:
        """Whether no more will come than what is queued."""
        return self._stream.ended

    def take(self) -> list[Body]:
        """Return what was queued since the last call."""
        return [_private(event) for event in self._stream.take()]

    def close(self) -> None:
        """End it."""
        self._stream.close()


class ApiBackend:
    """An `ApiServer` behind the protocols of the world: `ClusterStore` and `ClusterBackend`."""

    def __init__(self, server: ApiServer, *, enforce_access: bool = False) -> None:
        self.server = server
        self._groups = ("system:authenticated",) if enforce_access else _UNCHECKED

    @property
    def version(self) -> int:
        """The newest resourceVersion."""
        return self.server.store.revision

    def handle(self, request: ClusterRequest, user: str) -> ClusterResponse:
        """Answer one request."""
        return _answer(self.server.handle(self._translate(request, user)))

    answer = handle

    def open(self, request: ClusterRequest, user: str) -> PrivateStream | ClusterResponse:
        """Open a watch that is polled; a refused one is an answer."""
        opened = self.server.watch(self._translate(request, user))
        return _answer(opened) if isinstance(opened, Response) else PrivateStream(opened)

    def watch(
        self,
        request: ClusterRequest,
        user: str,
        put: Callable[[Body], None] | None = None,
        ended: Callable[[], None] | None = None,
    ) -> Subscription | ClusterResponse:
        """Open a watch. With `put` its events are handed on as they happen, without they wait to be taken."""
        stream = self.open(request, user)
        if put is None or isinstance(stream, ClusterResponse):
            return stream

        def drain() -> None:
            for event in stream.take():
                put(event)
            if stream.closed and ended is not None:
                stream.notify = None
                ended()

        stream.notify = drain
        drain()
        return stream

    def collect_garbage(self) -> None:
        """Do all that the garbage collector finds to do."""
        self.server.collect_garbage()

    def compact(self, revision: int | None = None) -> None:
        """Forget the history before a revision, all of it when none is given."""
        self.server.compact(self.version if revision is None else revision)

    def snapshot(self) -> Snapshot:
        """Return everything, for `restore`."""
        return self.server.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to what a snapshot holds."""
        self.server.restore(snapshot)

    def _translate(self, request: ClusterRequest, user: str) -> Request:
        query = {name: [value] for name, value in request.query.items()}
        headers = {"content-type": request.content_type}
        return Request(
            request.method, request.path, query, headers, data=request.body, identity=Identity(user, self._groups)
        )


def _answer(response: Response) -> ClusterResponse:
    return ClusterResponse(response.status, _private(response.body))


def simulated_backend(clock: Clock, seed: int) -> ApiBackend:
    """Make an API server with our own definitions whose uids and suffixes follow from the seed."""
    chance = random_stream(seed, "api-server")
    return ApiBackend(ApiServer(clock.now, chance, definitions=own_definitions()))
