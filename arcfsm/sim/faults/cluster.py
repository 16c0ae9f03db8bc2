"""The link of one process to the API server: requests as real clients send them, watches as ordered streams.

A link belongs to one process and acts as one user. Requests go through its boundary and so can be slow, refused, lost
or doubled; watches deliver in order, break as connections do, and never skip an event without ending.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from arcfsm.domain.instant import Instant
from arcfsm.domain.kinds import Resource
from arcfsm.sim.faults.boundary import WATCH_ERRORS, Availability, Boundary
from arcfsm.sim.kernel import Channel, Kernel

MERGE_PATCH: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
JSON: Final = "application/json"
Body = dict[str, Any]


@dataclass(frozen=True)
class ClusterRequest:
    """One request to the API server."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    content_type: str = JSON

    @property
    def writes(self) -> bool:
        """Whether it may change something."""
        return self.method != "GET"


@dataclass(frozen=True)
class ClusterResponse:
    """One answer of the API server."""

    status: int
    body: Any

    @property
    def ok(self) -> bool:
        """Whether it was done."""
        return 200 <= self.status < 300

    @property
    def message(self) -> str:
        """What the server said about a refusal."""
        return str(self.body.get("message", "")) if isinstance(self.body, dict) else ""


class Subscription(Protocol):
    """An open watch on the server's side."""

    def close(self) -> None:
        """Stop it."""


class ClusterBackend(Protocol):
    """The API server as a link needs it."""

    def answer(self, request: ClusterRequest, user: str) -> ClusterResponse:
        """Answer one request."""

    def watch(
        self, request: ClusterRequest, user: str, put: Callable[[Body], None], ended: Callable[[], None]
    ) -> Subscription | ClusterResponse:
        """Open a watch that puts events as they happen and says when it ended; a refused one is an answer."""


def refusal(status: int) -> ClusterResponse:
    """Build the Status object of an injected refusal."""
    reasons = {409: "Conflict", 410: "Expired", 429: "TooManyRequests", 500: "InternalError", 504: "Timeout"}
    reason = reasons.get(status, "ServiceUnavailable")
    body: Body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"injected: {reason}",
        "reason": reason,
        "code": status,
    }
    if status == 429:
        body["details"] = {"retryAfterSeconds": 1}
    return ClusterResponse(status, body)


def resource_path(resource: Resource, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """Return the path of a collection or an object."""
    parts = ["", "apis", resource.group, resource.version] if resource.group else ["", "api", resource.version]
    if namespace:
        parts += ["namespaces", namespace]
    parts.append(resource.plural)
    parts += [part for part in (name, subresource) if part]
    return "/".join(parts)


class Watch:
    """A client's end of a watch."""

    def __init__(self) -> None:
        self.events: Channel[Body] = Channel()
        self.open = True
        self._subscription: Subscription | None = None

    def attach(self, subscription: Subscription) -> None:
        """Tie it to the server's end."""
        self._subscription = subscription

    def close(self) -> None:
        """End it: what already arrived can still be read."""
        if self.open:
            self.open = False
            self.events.close()
            if self._subscription is not None:
                self._subscription.close()


class ClusterLink:
    """One process's connection to the API server."""

    def __init__(
        self,
        kernel: Kernel,
        backend: ClusterBackend,
        boundary: Boundary[ClusterResponse],
        server: Availability,
        user: str,
    ) -> None:
        self.user = user
        self.calls = 0
        self._kernel = kernel
        self._backend = backend
        self._boundary = boundary
        self._server = server
        self._watches: list[Watch] = []

    async def send(self, request: ClusterRequest) -> ClusterResponse | None:
        """Send a request. None means that no answer came."""
        self.calls += 1
        return await self._boundary.call(lambda: self._backend.answer(request, self.user), writes=request.writes)

    async def get(self, resource: Resource, namespace: str, name: str) -> ClusterResponse | None:
        """Read one object."""
        return await self.send(ClusterRequest("GET", resource_path(resource, namespace, name)))

    async def list(self, resource: Resource, namespace: str = "", **query: str) -> ClusterResponse | None:
        """Read a collection."""
        return await self.send(ClusterRequest("GET", resource_path(resource, namespace), query))

    async def create(self, resource: Resource, namespace: str, body: Body) -> ClusterResponse | None:
        """Create an object."""
        return await self.send(ClusterRequest("POST", resource_path(resource, namespace), body=body))

    async def patch(
        self, resource: Resource, namespace: str, name: str, body: Body, subresource: str = ""
    ) -> ClusterResponse | None:
        """Merge-patch an object or its status."""
        path = resource_path(resource, namespace, name, subresource)
        return await self.send(ClusterRequest("PATCH", path, body=body, content_type=MERGE_PATCH))

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str = "", grace: int | None = None
    ) -> ClusterResponse | None:
        """Delete an object, of that uid only where one is given."""
        options: Body = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        return await self.send(ClusterRequest("DELETE", resource_path(resource, namespace, name), body=options))

    async def watch(self, resource: Resource, namespace: str = "", **query: str) -> Watch | ClusterResponse | None:
        """Open a watch. An answer instead is a refusal; None means that the server could not be reached."""
        path = resource_path(resource, namespace)
        request = ClusterRequest("GET", path, {"watch": "true", **query})
        watch = Watch()
        lane = f"watch/{self._boundary.client}/{path}"
        arrives: Instant = 0

        def put(event: Body) -> None:
            nonlocal arrives
            if watch.open:
                arrives, broken = self._boundary.deliver(event, arrives, watch.events.put, lane)
                if broken:
                    self._kernel.at(arrives, watch.close, lane)

        def ended() -> None:
            self._kernel.at(arrives, watch.close, lane)

        def open_watch() -> ClusterResponse:
            found = self._backend.watch(request, self.user, put, ended)
            if isinstance(found, ClusterResponse):
                return found
            watch.attach(found)
            self._watches = [*(each for each in self._watches if each.open), watch]
            return ClusterResponse(200, None)

        answer = await self._boundary.call(open_watch, writes=False, errors=WATCH_ERRORS)
        if answer is not None and answer.status == 410:
            # A server says so inside the stream: the watch opens, and its one event is the error.
            watch.events.put({"type": "ERROR", "object": answer.body})
            watch.close()
            return watch
        if answer is None or not answer.ok:
            watch.close()
            return answer
        return watch

    def break_watches(self) -> None:
        """Break all connections, as a server that goes away does."""
        for watch in self._watches:
            watch.close()
        self._watches = []
