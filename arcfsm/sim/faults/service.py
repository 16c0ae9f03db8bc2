"""The link of one process to the Actions service, long polls included.

The host side keeps the service's own time: it lets due things happen when they are due, so that a job is assigned or
a lost runner is given up even when nobody asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from arcfsm.domain.instant import MILLISECOND, Instant, Span
from arcfsm.sim.faults.boundary import Availability, Boundary
from arcfsm.sim.kernel import Future, Kernel, Timer
from arcfsm.sim.service import ActionsService, ServiceFace, ServiceRequest, ServiceResponse
from arcfsm.sim.trace import fingerprint

Note = Callable[[str, str, str], None]
_NEWS_DELAY: Final[Span] = 5 * MILLISECOND


class ServiceHost:
    """One running Actions service in the simulated world."""

    def __init__(self, kernel: Kernel, service: ActionsService, face: ServiceFace, note: Note) -> None:
        self.service = service
        self.calls = 0
        self.availability = Availability()
        self._kernel = kernel
        self._face = face
        self._note = note
        self._timer: Timer | None = None
        self._waiting: list[Future[None]] = []
        service.watch(self._ring)

    def answer(self, request: ServiceRequest, client: str) -> ServiceResponse:
        """Answer one request now."""
        self.calls += 1
        response = self._face.answer(request)
        path = urlsplit(request.url).path
        self._note(client, request.method, f"{path} {response.status} {fingerprint(response.body)}")
        self.arm()
        return response

    def arm(self) -> None:
        """Make sure that the service wakes when it next has something to do by itself."""
        due = self.service.next_due()
        if self._timer is not None:
            if self._timer.action is not None and self._timer.at == due:
                return
            self._timer.cancel()
        self._timer = None if due is None else self._kernel.at(due, self._settle, "service")

    def news(self) -> Future[None]:
        """Return a future that is done when any queue has something new."""
        future: Future[None] = Future()
        self._waiting.append(future)
        return future

    def _settle(self) -> None:
        self.service.settle()
        self.arm()

    def _ring(self, _scale_set_id: int) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            future.resolve(None)
        self._kernel.after(0, self.arm, "service")


class ServiceLink:
    """One process's connection to the service."""

    def __init__(self, kernel: Kernel, host: ServiceHost, boundary: Boundary[ServiceResponse], client: str) -> None:
        self._client = client
        self._kernel = kernel
        self._host = host
        self._boundary = boundary

    async def send(self, request: ServiceRequest) -> ServiceResponse | None:
        """Send a request; a poll that finds nothing is held as long as the service holds it. None: no answer came."""
        give_up: Instant = self._kernel.now() + self._host.service.settings.long_poll
        while True:
            response = await self._boundary.call(
                lambda: self._host.answer(request, self._client), writes=request.method != "GET"
            )
            left = give_up - self._kernel.now()
            if response is None or not response.hold or left <= 0:
                return response
            await self._kernel.first(self._host.news(), self._kernel.sleep(left))
            await self._kernel.sleep(_NEWS_DELAY)


def service_refusal(status: int) -> ServiceResponse:
    """Build an injected refusal."""
    headers = {"Retry-After": "1"} if status == 429 else {}
    return ServiceResponse(status, {"typeName": "", "message": f"injected: {status}"}, headers)
