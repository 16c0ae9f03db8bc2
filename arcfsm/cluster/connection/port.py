"""The API server over HTTP, as the engine's port wants it.

Ordinary requests are done by a few threads, one connection each; watches have a thread each. The event loop only hands
requests over and takes answers, so a server that does not answer delays nobody but who asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

import orjson

from arcfsm.cluster.connection.access import ClusterAccess
from arcfsm.cluster.connection.addresses import collection, item, query
from arcfsm.cluster.connection.answers import JSON, PARTIAL_LIST, PARTIAL_OBJECT, name_items
from arcfsm.cluster.connection.sending import LATE, MERGE_PATCH, Request, send
from arcfsm.cluster.connection.streams import HttpWatch
from arcfsm.cluster.connection.workers import Workers
from arcfsm.domain.exchange import Reply
from arcfsm.domain.kinds import Resource

Observer: TypeAlias = Callable[[str, Resource, int, float], None]
"""Told of every request, on the event loop: verb, resource, status, seconds. Of a watch: of its opening."""

DEADLINE_S: Final = 15.0
WATCH_S: Final = (300, 600)
"""How long the server is asked to keep a watch open, at least and at most: ends are spread, so lists are too."""
_SILENCE_ALLOWED_S: Final = 30
"""How much longer than the server promised a silent watch may stay open."""


class HttpCluster:
    """One API server, reached over HTTP. To be used from one event loop."""

    def __init__(
        self,
        access: ClusterAccess,
        *,
        deadline_s: float = DEADLINE_S,
        watch_s: tuple[int, int] = WATCH_S,
        jitter: Callable[[], float] = random.random,
        observer: Observer | None = None,
    ) -> None:
        """`jitter` returns numbers from 0 to 1 that spread the ends of watches."""
        self._access = access
        self._workers = Workers(access.connections)
        self._deadline_s = deadline_s
        self._watch_s = watch_s
        self._jitter = jitter
        self._observer = observer
        self._open: set[HttpWatch] = set()

    @property
    def server(self) -> str:
        """The server's URL, for people."""
        return self._access.server

    async def get(self, resource: Resource, namespace: str, name: str) -> Reply:
        """Read one object."""
        return await self._call("get", resource, Request("GET", item(resource, namespace, name)))

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        limit: int = 0,
        token: str = "",
        metadata_only: bool = False,
    ) -> Reply:
        """Read a collection, or one page of it. 410 means that the token is too old: begin anew."""
        options: dict[str, str | int] = {"labelSelector": labels, "limit": limit, "continue": token}
        request = Request(
            "GET",
            collection(resource, namespace) + query(**options),
            PARTIAL_LIST if metadata_only else JSON,
            compressed=True,
        )
        reply = await self._call("list", resource, request)
        if reply.ok:
            name_items(resource, reply.body)
        return reply

    async def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        version: str,
        labels: str = "",
        metadata_only: bool = False,
    ) -> HttpWatch | Reply:
        """Follow a collection from a resourceVersion on, bookmarks included. A Reply says why that can't be."""
        least, most = self._watch_s
        lasts_s = int(least + (most - least) * self._jitter())
        target = collection(resource, namespace) + query(
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=version,
            timeoutSeconds=lasts_s,
            labelSelector=labels,
        )
        stream = HttpWatch(resource, asyncio.get_running_loop(), self._open.discard)
        self._open.add(stream)
        started = time.perf_counter()
        refusal = await stream.open(
            self._access,
            Request("GET", target, PARTIAL_OBJECT if metadata_only else JSON),
            self._deadline_s,
            lasts_s + _SILENCE_ALLOWED_S,
        )
        self._tell("watch", resource, 200 if refusal is None else refusal.status, started)
        return stream if refusal is None else refusal

    async def create(self, resource: Resource, namespace: str, body: Mapping[str, Any]) -> Reply:
        """Create an object."""
        target = collection(resource, namespace)
        return await self._call("create", resource, Request("POST", target, body=orjson.dumps(body)))

    async def patch(
        self, resource: Resource, namespace: str, name: str, body: Mapping[str, Any], *, subresource: str = ""
    ) -> Reply:
        """Merge-patch an object (RFC 7386)."""
        target = item(resource, namespace, name, subresource)
        request = Request("PATCH", target, body=orjson.dumps(body), content_type=MERGE_PATCH)
        return await self._call("patch", resource, request)

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str = "", grace_period_s: int | None = None
    ) -> Reply:
        """Delete an object; with `uid`, only the one that has it."""
        options: dict[str, Any] = {}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace_period_s is not None:
            options["gracePeriodSeconds"] = grace_period_s
        body = orjson.dumps({"apiVersion": "v1", "kind": "DeleteOptions", **options}) if options else None
        return await self._call("delete", resource, Request("DELETE", item(resource, namespace, name), body=body))

    async def read(self, path: str) -> Reply:
        """Read what the server says about itself under a path. Nobody is told."""
        return await self._send(Request("GET", path))

    def close(self) -> None:
        """End all watches and threads and close the connections. What is under way is not waited for."""
        for stream in tuple(self._open):
            stream.close()
        self._workers.close()
        self._access.close()

    async def _call(self, verb: str, resource: Resource, request: Request) -> Reply:
        started = time.perf_counter()
        reply = await self._send(request)
        self._tell(verb, resource, reply.status, started)
        return reply

    async def _send(self, request: Request) -> Reply:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Reply] = loop.create_future()
        expires = time.monotonic() + self._deadline_s
        timer = loop.call_later(self._deadline_s, _settle, answer, LATE)
        self._workers.submit(partial(self._work, loop, answer, request, expires))
        try:
            return await answer
        finally:
            timer.cancel()

    def _work(
        self, loop: asyncio.AbstractEventLoop, answer: asyncio.Future[Reply], request: Request, expires: float
    ) -> None:
        if answer.done():
            # Nobody waits any more: what was never sent has certainly not been done.
            return
        try:
            reply = send(self._access, request, expires)
        except Exception as error:  # noqa: BLE001  # a fault of ours: raised where the answer is awaited
            told: partial[None] = partial(_fail, answer, error)
        else:
            told = partial(_settle, answer, reply)
        # A loop that is gone has nobody who waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(told)

    def _tell(self, verb: str, resource: Resource, status: int, started: float) -> None:
        if self._observer is not None:
            self._observer(verb, resource, status, time.perf_counter() - started)


def _settle(answer: asyncio.Future[Reply], reply: Reply) -> None:
    if not answer.done():
        answer.set_result(reply)


def _fail(answer: asyncio.Future[Reply], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
