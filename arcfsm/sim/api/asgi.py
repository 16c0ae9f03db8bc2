"""The HTTP face: an ASGI application around a server.

Requests are answered one at a time on the event loop, as the server wants it. A watch is a response that stays open;
it is woken by the server and never polls. After a write the garbage collector, where there is one, runs a moment
later, as a real cluster's does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

import orjson

from arcfsm.domain.instant import SECOND
from arcfsm.sim.api.bodies import BODY_MAX
from arcfsm.sim.api.failure import ApiFailure, too_large
from arcfsm.sim.api.listing import truth
from arcfsm.sim.api.request import ApiResponse
from arcfsm.sim.api.routing import parse_path
from arcfsm.sim.api.server import ApiServer
from arcfsm.sim.api.watching import WatchStream
from arcfsm.sim.api.wire import encode, read_request, refusal, write_response
from arcfsm.sim.clock import Clock

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

GARBAGE_DELAY_S: Final = 0.05
_LOOK_AGAIN_S: Final = 5.0
"""How often an idle watch looks whether a bookmark is due."""


class HttpFace:
    """Serves one server over HTTP."""

    def __init__(self, server: ApiServer, clock: Clock, *, collects: bool) -> None:
        self._server = server
        self._clock = clock
        self._collects = collects
        self._collection_due = False
        self._open: set[WatchStream] = set()

    def end(self) -> None:
        """End all open watches, so that connections can be closed."""
        for stream in list(self._open):
            stream.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        body = await _read_body(receive)
        headers = _headers(scope)
        try:
            if body is None:
                raise too_large(BODY_MAX)
            query = scope["query_string"].decode("latin-1")
            request = read_request(self._server, scope["method"], scope["path"], query, headers, body)
        except ApiFailure as failure:
            await _respond(send, refusal(failure))
            return
        route = parse_path(request.method, request.path, request.query)
        if route is not None and route.watch and truth(request.query["watch"]):
            opened = self._server.watch(request)
            if isinstance(opened, WatchStream):
                await self._stream(opened, receive, send)
            else:
                await _respond(send, opened)
            return
        response = self._server.handle(request)
        if request.writes:
            self._collect_soon()
        await _respond(send, response)

    def _collect_soon(self) -> None:
        if self._collects and not self._collection_due:
            self._collection_due = True
            asyncio.get_running_loop().call_later(GARBAGE_DELAY_S, self._collect)

    def _collect(self) -> None:
        self._collection_due = False
        self._server.collect_garbage()

    async def _stream(self, stream: WatchStream, receive: Receive, send: Send) -> None:
        woken = asyncio.Event()
        stream.notify = woken.set
        self._open.add(stream)
        gone = asyncio.ensure_future(_disconnected(receive, woken))
        try:
            await send({
                "type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")],
            })  # fmt: skip
            while not gone.done():
                ended = stream.closed
                events = stream.take()
                if events:
                    lines = b"".join(encode(event) + b"\n" for event in events)
                    await send({"type": "http.response.body", "body": lines, "more_body": True})
                if ended:
                    break
                await self._wait(stream, woken)
            if not gone.done():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._open.discard(stream)
            stream.notify = None
            stream.close()
            gone.cancel()

    async def _wait(self, stream: WatchStream, woken: asyncio.Event) -> None:
        timeout = _LOOK_AGAIN_S
        if stream.deadline is not None:
            timeout = min(timeout, max((stream.deadline - self._clock.now()) / SECOND, 0.0))
        try:
            await asyncio.wait_for(woken.wait(), timeout)
        except TimeoutError:
            return
        woken.clear()


class ControlFace:
    """A second, separate face for what only tests may do: `POST {"compact": VERSION}` forgets history."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        raw = await _read_body(receive)
        try:
            version = int(orjson.loads(raw or b"")["compact"])
        except (ValueError, KeyError, TypeError):
            await _respond(send, ApiResponse(400, {"error": 'expected {"compact": RESOURCE_VERSION}'}))
            return
        self._server.compact(version, caches=False)
        await _respond(send, ApiResponse(200, {"compacted": version}))


def _headers(scope: Scope) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1")
        text = value.decode("latin-1")
        found[key] = f"{found[key]},{text}" if key in found else text
    return found


async def _read_body(receive: Receive) -> bytes | None:
    """Read a whole body; None when it is too large to be read."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b""
        part = message.get("body", b"")
        size += len(part)
        if size > BODY_MAX:
            return None
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)


async def _disconnected(receive: Receive, woken: asyncio.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    woken.set()


async def _respond(send: Send, response: ApiResponse) -> None:
    status, headers, body = write_response(response)
    listed = [(name.encode(), value.encode("utf-8")) for name, value in headers]
    listed.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": body, "more_body": False})
