"""One request, sent and answered, in the thread of whoever calls.

Headers and targets are made by hand and the pool is asked directly: of the CPU that a request costs, this leaves
little but the HTTP and TLS libraries' own.
"""

from __future__ import annotations

import time
from http.client import HTTPException
from typing import Final, NamedTuple

import urllib3
from urllib3 import exceptions

from arcfsm.cluster.connection.access import USER_AGENT, ClusterAccess
from arcfsm.cluster.connection.answers import JSON, read_reply
from arcfsm.cluster.connection.failures import reason
from arcfsm.domain.exchange import NO_ANSWER, Reply

CONNECT_S: Final = 5.0
WORTH_SENDING_S: Final = 0.1
"""With less time left than this no answer is to be expected, and nothing is sent: that is known not to be done."""
MERGE_PATCH: Final = "application/merge-patch+json"
NETWORK_ERRORS: Final = (exceptions.HTTPError, HTTPException, OSError)
"""All that the pool raises for what the network or the server does."""
LATE: Final = Reply(NO_ANSWER, detail="no answer in time")


class Request(NamedTuple):
    """What to send."""

    method: str
    target: str
    accept: str = JSON
    body: bytes | None = None
    content_type: str = JSON
    compressed: bool = False
    """Whether the answer may be: worth it for lists alone, which servers compress from 128 KiB on."""

    @property
    def reads(self) -> bool:
        """Whether sending it twice does no harm."""
        return self.method == "GET"


def send(access: ClusterAccess, request: Request, expires: float) -> Reply:
    """Send a request and read its answer; NO_ANSWER where none comes before `expires` on the monotonic clock.

    Two things are tried again at once, since they are nobody's fault: a read on a connection that the server had
    closed while it was idle, and whatever was refused because a credential had been replaced.
    """
    broken = renewed = False
    while True:
        left = expires - time.monotonic()
        if left < WORTH_SENDING_S:
            return LATE
        generation = access.generation
        try:
            response = open_response(access, request, left)
        except exceptions.ProtocolError as error:
            if request.reads and not broken:
                broken = True
                continue
            return Reply(NO_ANSWER, detail=reason(error))
        except NETWORK_ERRORS as error:
            return Reply(NO_ANSWER, detail=reason(error))
        if response.status == 401 and not renewed and access.renew(generation):
            renewed = True
            continue
        return read_reply(response.status, response.headers, response.data)


def open_response(
    access: ClusterAccess, request: Request, read_s: float, *, stream: bool = False
) -> urllib3.BaseHTTPResponse:
    """Send a request; its answer is read already unless it is a stream. Raises one of NETWORK_ERRORS."""
    headers = {
        "Accept": request.accept,
        "Accept-Encoding": "gzip" if request.compressed else "identity",
        "User-Agent": USER_AGENT,
    }
    authorization = access.authorization()
    if authorization:
        headers["Authorization"] = authorization
    if request.body is not None:
        headers["Content-Type"] = request.content_type
    return access.pool.urlopen(
        request.method,
        access.prefix + request.target,
        body=request.body,
        headers=headers,
        retries=False,
        redirect=False,
        assert_same_host=False,
        timeout=urllib3.Timeout(connect=min(CONNECT_S, read_s), read=read_s),
        preload_content=not stream,
        decode_content=request.compressed,
    )
