"""The Actions service over HTTP: an ASGI application that adds a socket's patience and nothing else."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from arcfsm.domain.instant import SECOND, Instant
from arcfsm.sim.service.core import ActionsService
from arcfsm.sim.service.errors import BadRequestError
from arcfsm.sim.service.face import ServiceFace, ServiceRequest, ServiceResponse, decode_body

_METHODS = ["GET", "POST", "PATCH", "DELETE", "PUT"]


class HostClock:
    """The host's clock, for a service that is served over a socket. Simulations never use it."""

    def now(self) -> Instant:
        """Return the time of day in microseconds."""
        return time.time_ns() // 1000


def actions_app(face: ServiceFace, *, long_poll_s: float | None = None) -> Starlette:
    """Make an ASGI application that serves a simulated Actions service.

    A poll for a message that finds none is held until there is one, at most `long_poll_s` (the service's own setting
    by default).
    """
    service = face.service
    patience = service.settings.long_poll / SECOND if long_poll_s is None else long_poll_s
    news = _News(service)

    async def serve(request: Request) -> Response:
        try:
            body = decode_body(await request.body())
        except BadRequestError as error:
            return _to_http(ServiceResponse(error.status, error.to_wire()))
        url = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        headers = {name.lower(): value for name, value in request.headers.items()}
        asked = ServiceRequest(request.method, url, headers, body)
        response = face.answer(asked)
        give_up = asyncio.get_running_loop().time() + patience
        while response.hold:
            left = give_up - asyncio.get_running_loop().time()
            if left <= 0 or await request.is_disconnected():
                break
            await news.wait(min(left, _until_due(service, HostClock().now)))
            response = face.answer(asked)
        return _to_http(response)

    return Starlette(routes=[Route("/{path:path}", serve, methods=_METHODS)])


class _News:
    """Wakes held polls when any queue changed."""

    def __init__(self, service: ActionsService) -> None:
        self._event: asyncio.Event | None = None
        service.watch(self._ring)

    async def wait(self, seconds: float) -> None:
        if self._event is None or self._event.is_set():
            self._event = asyncio.Event()
        try:
            await asyncio.wait_for(self._event.wait(), seconds)
        except TimeoutError:
            return

    def _ring(self, _scale_set_id: int) -> None:
        if self._event is not None:
            self._event.set()


def _until_due(service: ActionsService, now: Callable[[], Instant]) -> float:
    due = service.next_due()
    return 1.0 if due is None else min(1.0, max(0.01, (due - now()) / SECOND))


def _to_http(response: ServiceResponse) -> Response:
    content = b"" if response.body is None else json.dumps(response.body).encode()
    headers = dict(response.headers)
    if content:
        headers["Content-Type"] = "application/json; charset=utf-8; api-version=6.0-preview.1"
    return Response(content, response.status, headers)
