"""The simulated API server as the store of a simulated world."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from arcfsm.sim.api import OWN_CRDS, ApiRequest, ApiResponse, ApiServer, load_crds
from arcfsm.sim.api.request import private_copy
from arcfsm.sim.clock import Clock
from arcfsm.sim.faults.cluster import ClusterRequest, ClusterResponse
from arcfsm.sim.faults.host import ClusterStore, EventStream
from arcfsm.sim.kernel import random_stream

_MAY_EVERYTHING: Final = ("system:masters", "system:authenticated")
"""Access rules are tested against the server itself; in a world they would only hide what a run is about."""


class SimulatedStore:
    """Speaks to an `ApiServer` in the terms of the world."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server

    @property
    def version(self) -> int:
        """The newest resourceVersion."""
        return self.server.version

    def handle(self, request: ClusterRequest, user: str) -> ClusterResponse:
        """Answer one request."""
        response = self.server.handle(_translate(request, user))
        # A wire hands over copies: what a client does to its own never reaches the store.
        return ClusterResponse(response.status, private_copy(response.body))

    def watch(self, request: ClusterRequest, user: str) -> EventStream | ClusterResponse:
        """Open a watch; a refused one is an answer."""
        stream = self.server.watch(_translate(request, user))
        if isinstance(stream, ApiResponse):
            return ClusterResponse(stream.status, stream.body)
        return stream

    def collect_garbage(self) -> None:
        """Do all that the garbage collector finds to do."""
        self.server.collect_garbage()

    def compact(self) -> None:
        """Forget all history up to now."""
        self.server.compact()

    def snapshot(self) -> Any:
        """Return everything, for `restore`."""
        return self.server.snapshot()

    def restore(self, snapshot: Any) -> None:
        """Go back to what a snapshot holds."""
        self.server.restore(snapshot)


def simulated_store(clock: Clock, seed: int, crds: Path = OWN_CRDS) -> ClusterStore:
    """Make an API server whose uids and suffixes follow from the seed; it serves the definitions of a folder."""
    return SimulatedStore(ApiServer(clock, random_stream(seed, "api-server"), crds=load_crds(crds)))


def _translate(request: ClusterRequest, user: str) -> ApiRequest:
    return ApiRequest(
        request.method,
        request.path,
        request.query,
        None if request.body is None else private_copy(request.body),
        content_type=request.content_type,
        user=user,
        groups=_MAY_EVERYTHING,
    )
