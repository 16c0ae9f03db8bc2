"""The API server over HTTP: an ASGI application that adds sockets, patience and nothing else.

Everything runs in one event loop, so requests are answered one at a time and in the order they arrive.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Final

import orjson
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.responses import StreamingResponse
from starlette.routing import Route

from arcfsm.domain.instant import SECOND
from arcfsm.sim.apiserver.authentication import Authenticator
from arcfsm.sim.apiserver.message import Request, Response
from arcfsm.sim.apiserver.problems import Problem
from arcfsm.sim.apiserver.server import ApiServer, refused
from arcfsm.sim.apiserver.watching import Stream

_METHODS: Final = ["GET", "POST", "PUT", "PATCH", "DELETE"]
_POLL_S: Final = 1.0


def api_app(server: ApiServer, authenticator: Authenticator) -> Starlette:
    """Make an ASGI application that serves a simulated API server."""

    async def serve(http: HttpRequest) -> HttpResponse:
        raw = await http.body()
        headers = {name.lower(): value for name, value in http.headers.items()}
        query: dict[str, list[str]] = {}
        for name, value in http.query_params.multi_items():
            query.setdefault(name, []).append(value)
        try:
            who = authenticator.identify(headers, tuple(http.headers.getlist("impersonate-group")))
        except Problem as problem:
            return _to_http(refused(problem))
        method = "GET" if http.method == "HEAD" else http.method
        request = Request(method, http.url.path, query, headers, raw, None, who)
        if not server.is_watch(request):
            return _to_http(server.handle(request))
        opened = server.watch(request)
        if isinstance(opened, Response):
            return _to_http(opened)
        return StreamingResponse(_lines(opened, server.engine.clock), media_type="application/json")

    return Starlette(routes=[Route("/{path:path}", serve, methods=_METHODS)])


async def _lines(stream: Stream, clock: Callable[[], int]) -> AsyncIterator[bytes]:
    """Yield the events of a watch, one a line, until it ends or the client goes."""
    news = asyncio.Event()
    stream.notify = news.set
    try:
        yield b""
        while True:
            news.clear()
            for event in stream.take():
                yield orjson.dumps(event) + b"\n"
            if stream.ended:
                return
            patience = _POLL_S
            if stream.deadline is not None:
                patience = min(patience, max(0.0, (stream.deadline - clock()) / SECOND))
            try:
                await asyncio.wait_for(news.wait(), patience)
            except TimeoutError:
                continue
    finally:
        stream.close()


def control_app(server: ApiServer) -> Starlette:
    """Make an ASGI application that lets a test reach behind the server: POST `{"compact": RESOURCE_VERSION}`."""

    async def control(http: HttpRequest) -> HttpResponse:
        try:
            order = json.loads(await http.body())
            revision = int(order["compact"])
        except (ValueError, KeyError, TypeError):
            return HttpResponse('expected {"compact": RESOURCE_VERSION}\n', 400, media_type="text/plain")
        server.compact(revision)
        return HttpResponse("{}", media_type="application/json")

    return Starlette(routes=[Route("/{path:path}", control, methods=["POST"])])


def _to_http(answer: Response) -> HttpResponse:
    response = HttpResponse(answer.payload, answer.status, headers=dict(answer.headers))
    response.headers["content-type"] = answer.content_type
    for text in answer.warnings:
        escaped = text.replace("\\", "\\\\").replace('"', '\\"').encode("ascii", "replace").decode()
        response.headers.append("warning", f'299 - "{escaped}"')
    return response
