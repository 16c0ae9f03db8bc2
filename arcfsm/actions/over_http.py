"""The way to the service in earnest: HTTP over asyncio, through proxies, with authorities of one's own.

Everything is bounded: connecting, every read, the whole exchange, the size of an answer, the number of connections and
how long an idle one is kept. Redirects are not followed: a token goes where it was meant to go, or nowhere.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Mapping
from typing import Final

import httpx

from arcfsm.actions.proxies import proxy_for, proxy_setting
from arcfsm.actions.redaction import one_line
from arcfsm.actions.transport import HttpAnswer, HttpRequest, TransportError
from arcfsm.actions.trust import trusting
from arcfsm.domain.exchange import ProxySetting, ServiceAccess
from arcfsm.domain.instant import SECOND

CONNECT_S: Final = 10.0
CONNECTIONS: Final = 16
"""Requests at the same time, per client; further ones wait for their turn within their deadline."""
KEPT_IDLE: Final = 2
"""Connections that wait for the next request, per client: of some hundred clients, each keeps file descriptors."""
IDLE_S: Final = 60.0
ANSWER_BYTES_MAX: Final = 4 * 1024 * 1024
"""The largest answers hold one scale set."""
_PORTS: Final = {"http": 80, "https": 443}


class HttpTransports:
    """Opens transports, and closes them for good when the program ends. To be used from one event loop."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        """`environment` names the proxies of scale sets that set none; by default it is the process's own."""
        self._environment = os.environ if environment is None else environment
        self._open: set[HttpxTransport] = set()

    def open(self, access: ServiceAccess) -> HttpxTransport:
        """Make a transport, without connecting. Raises ServiceFailure (INVALID) for a proxy or CA that is none."""
        transport = HttpxTransport(proxy_setting(access.proxy, self._environment), trusting(access.root_ca))
        self._open = {one for one in self._open if not one.closed}
        self._open.add(transport)
        return transport

    async def close(self) -> None:
        """Close all connections. What is under way breaks."""
        transports, self._open = self._open, set()
        for transport in transports:
            await transport.end()


class HttpxTransport:
    """Connections to one service."""

    def __init__(self, proxy: ProxySetting, trust: ssl.SSLContext) -> None:
        self._proxy = proxy
        self._trust = trust
        self._client: httpx.AsyncClient | None = None
        self._under_way = 0
        self._retired = False
        self._endings: set[asyncio.Task[None]] = set()

    @property
    def closed(self) -> bool:
        """Whether it was closed and nothing of it is left."""
        return self._retired and self._client is None and not self._endings

    async def send(self, request: HttpRequest) -> HttpAnswer:
        """Send a request. Raises TransportError."""
        if self._client is None:
            self._client = self._connected()
        self._under_way += 1
        try:
            async with asyncio.timeout(request.deadline / SECOND):
                return await _exchange(self._client, request)
        except TimeoutError:
            raise TransportError("no answer in time", sent=True) from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ssl.SSLError, OSError) as error:
            # Never what they say themselves: some quote headers.
            raise TransportError(_reason(error), sent=not isinstance(error, _NEVER_SENT)) from None
        finally:
            self._under_way -= 1
            self._release()

    def close(self) -> None:
        """Keep no connection once nothing is under way. A call after that connects anew, for itself."""
        self._retired = True
        self._release()

    async def end(self) -> None:
        """Close everything now."""
        self._retired = True
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        if self._endings:
            await asyncio.wait(self._endings)

    def _release(self) -> None:
        if self._retired and not self._under_way and self._client is not None:
            task = asyncio.get_running_loop().create_task(self._client.aclose())
            self._client = None
            self._endings.add(task)
            task.add_done_callback(self._endings.discard)

    def _connected(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            transport=_Routes(self._proxy, self._trust),
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            follow_redirects=False,
            trust_env=False,
        )


class _Routes(httpx.AsyncBaseTransport):
    """Sends each request directly or through its proxy."""

    def __init__(self, proxy: ProxySetting, trust: ssl.SSLContext) -> None:
        self._proxy = proxy
        self._trust = trust
        self._ways: dict[str, httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        proxy = proxy_for(self._proxy, url.scheme, url.host, url.port or _PORTS.get(url.scheme, 0))
        way = self._ways.get(proxy)
        if way is None:
            way = self._ways[proxy] = httpx.AsyncHTTPTransport(
                verify=self._trust,
                limits=httpx.Limits(
                    max_connections=CONNECTIONS, max_keepalive_connections=KEPT_IDLE, keepalive_expiry=IDLE_S
                ),
                proxy=self._proxy_at(proxy) if proxy else None,
            )
        return await way.handle_async_request(request)

    def _proxy_at(self, url: str) -> httpx.Proxy:
        return httpx.Proxy(url, ssl_context=self._trust if url.startswith("https:") else None)

    async def aclose(self) -> None:
        for way in self._ways.values():
            await way.aclose()


_NEVER_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
    httpx.InvalidURL,
)
_REASONS: Final = (
    (httpx.ConnectTimeout, "no connection in time"),
    (httpx.PoolTimeout, "no free connection in time"),
    (httpx.TimeoutException, "no answer in time"),
    (httpx.UnsupportedProtocol, "the address is not an http(s) URL"),
    (httpx.InvalidURL, "the address is no URL"),
    (httpx.LocalProtocolError, "the request can't be written as HTTP: a credential holds characters that none has"),
    (httpx.RemoteProtocolError, "the connection broke, or the answer is not HTTP"),
    (httpx.DecodingError, "the answer can't be decompressed"),
)


async def _exchange(client: httpx.AsyncClient, request: HttpRequest) -> HttpAnswer:
    async with client.stream(
        request.method, request.url, headers=dict(request.headers), content=request.body or None
    ) as response:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > ANSWER_BYTES_MAX:
                raise TransportError(f"the answer is larger than {ANSWER_BYTES_MAX} bytes", sent=True)
        return HttpAnswer(response.status_code, dict(response.headers), bytes(body))


def _reason(error: Exception) -> str:
    cause = _innermost(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"the server's certificate is not trusted: {cause.verify_message}"
    if isinstance(cause, ssl.SSLError):
        return f"TLS: {(cause.reason or 'failed').replace('_', ' ').lower()}"
    if isinstance(error, httpx.ProxyError):
        return one_line(f"the proxy does not connect: {error}")
    for kind, text in _REASONS:
        if isinstance(error, kind):
            return text
    if isinstance(cause, OSError) and cause.strerror:
        return one_line(f"no connection: {cause.strerror}")
    return "no connection" if isinstance(error, httpx.ConnectError) else "the connection broke"


def _innermost(error: BaseException) -> BaseException:
    seen = {id(error)}
    while True:
        inside = error.__cause__ or error.__context__
        if inside is None or id(inside) in seen:
            return error
        seen.add(id(inside))
        error = inside
