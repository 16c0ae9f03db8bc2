"""Open watches: a thread reads bytes and splits them into lines, the event loop takes lines and decodes them.

What was read and not yet taken is bounded: beyond that the thread stops reading, the server's buffers fill, and a
consumer that stays behind loses the watch rather than memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

import urllib3

from arcfsm.cluster.connection.access import ClusterAccess
from arcfsm.cluster.connection.answers import read_line, read_reply
from arcfsm.cluster.connection.failures import reason
from arcfsm.cluster.connection.sending import LATE, NETWORK_ERRORS, Request, open_response
from arcfsm.domain.exchange import NO_ANSWER, Reply
from arcfsm.domain.jsonvalue import JsonObject
from arcfsm.domain.kinds import Resource

LINES_WAITING_MAX: Final = 1_000
BYTES_WAITING_MAX: Final = 4 << 20
LINE_BYTES_MAX: Final = 32 << 20
"""Far above what etcd stores; whoever sends more than that without a line end sends no watch."""
_READ_BYTES: Final = 1 << 16


class HttpWatch:
    """An open watch. `next` and `close` belong to the event loop that opened it."""

    def __init__(
        self, resource: Resource, loop: asyncio.AbstractEventLoop, forget: Callable[[HttpWatch], None]
    ) -> None:
        self._resource = resource
        self._loop = loop
        self._forget = forget
        self._opened: asyncio.Future[Reply | None] = loop.create_future()
        self._waiter: asyncio.Future[None] | None = None
        self._batch: deque[bytes] = deque()
        # Shared with the thread, under the condition's lock.
        self._room = threading.Condition()
        self._lines: list[bytes] = []
        self._bytes = 0
        self._told = False
        self._ended = False
        self._closed = False
        self._response: urllib3.BaseHTTPResponse | None = None

    # --- the event loop's side -------------------------------------------------------------------------------------

    async def open(self, access: ClusterAccess, request: Request, deadline_s: float, silent_s: float) -> Reply | None:
        """Start reading. Returns None once the server agreed, else its refusal.

        `silent_s` is how long the stream may say nothing before it counts as dead.
        """
        run = threading.Thread(
            target=self._run, args=(access, request, deadline_s, silent_s), name="watch", daemon=True
        )
        timer = self._loop.call_later(deadline_s, _settle, self._opened, LATE)
        run.start()
        try:
            refusal = await self._opened
        except asyncio.CancelledError:
            self.close()
            raise
        finally:
            timer.cancel()
        if refusal is not None:
            self.close()
        return refusal

    async def next(self) -> JsonObject | None:
        """Return the next line; None once the stream has ended or was closed, for whatever reason."""
        while not self._batch:
            if self._closed or self._take():
                self.close()
                return None
            if not self._batch:
                self._waiter = self._loop.create_future()
                await self._waiter
        line = read_line(self._resource, self._batch.popleft())
        if line is None:
            # Half a line, or another protocol: nothing after it can be trusted.
            self.close()
        return line

    def close(self) -> None:
        """End it. The thread is gone as soon as it notices, which is at once unless it is still connecting."""
        if self._closed:
            return
        with self._room:
            self._closed = True
            self._room.notify()
            response = self._response
        self._batch.clear()
        if response is not None:
            # The other thread may be closing it as well.
            with contextlib.suppress(ValueError, RuntimeError, OSError):
                response.shutdown()
        self._wake()
        self._forget(self)

    def _take(self) -> bool:
        """Take what was read. True where nothing is left and nothing will come."""
        with self._room:
            self._batch.extend(self._lines)
            self._lines.clear()
            self._bytes = 0
            self._told = False
            self._room.notify()
            return self._ended and not self._batch

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- the thread's side ---------------------------------------------------------------------------------------

    def _run(self, access: ClusterAccess, request: Request, deadline_s: float, silent_s: float) -> None:
        try:
            response = self._connect(access, request, time.monotonic() + deadline_s)
            if response is not None:
                try:
                    self._read(response, silent_s)
                finally:
                    response.close()
        except NETWORK_ERRORS as error:
            self._report(Reply(NO_ANSWER, detail=reason(error)))
        except Exception as error:  # noqa: BLE001  # a fault of ours: raised where the watch is awaited
            self._call(_fail, self._opened, error)
        finally:
            with self._room:
                self._ended = True
            self._call(self._wake)

    def _connect(self, access: ClusterAccess, request: Request, expires: float) -> urllib3.BaseHTTPResponse | None:
        generation = access.generation
        response = open_response(access, request, max(expires - time.monotonic(), 0.1), stream=True)
        if response.status == 401 and access.renew(generation):
            response.close()
            response = open_response(access, request, max(expires - time.monotonic(), 0.1), stream=True)
        if response.status != 200:
            with response:
                self._report(read_reply(response.status, response.headers, response.read()))
            return None
        with self._room:
            self._response = response
            if self._closed:
                response.close()
                return None
        self._report(None)
        return response

    def _read(self, response: urllib3.BaseHTTPResponse, silent_s: float) -> None:
        sock = getattr(response.connection, "sock", None)
        if sock is not None:
            sock.settimeout(silent_s)
        rest = b""
        while not self._closed:
            chunk = response.read1(_READ_BYTES)
            if not chunk:
                return
            lines = (rest + chunk).split(b"\n") if rest else chunk.split(b"\n")
            rest = lines.pop()
            if len(rest) > LINE_BYTES_MAX or not self._put(lines):
                return

    def _put(self, lines: list[bytes]) -> bool:
        """Hand lines over once there is room. False where nobody wants them any more."""
        lines = [line for line in lines if line]
        if not lines:
            return True
        with self._room:
            while (len(self._lines) >= LINES_WAITING_MAX or self._bytes >= BYTES_WAITING_MAX) and not self._closed:
                self._room.wait()
            if self._closed:
                return False
            self._lines.extend(lines)
            self._bytes += sum(map(len, lines))
            tell, self._told = not self._told, True
        if tell:
            self._call(self._wake)
        return True

    def _report(self, refusal: Reply | None) -> None:
        self._call(_settle, self._opened, refusal)

    def _call(self, action: Callable[..., None], *arguments: object) -> None:
        # A loop that is gone has nobody who waits.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(action, *arguments)


def _settle(opened: asyncio.Future[Reply | None], refusal: Reply | None) -> None:
    if not opened.done():
        opened.set_result(refusal)


def _fail(opened: asyncio.Future[Reply | None], error: Exception) -> None:
    if not opened.done():
        opened.set_exception(error)
