"""Between HTTP and the server: who is asking, what is asked, and answers as bytes.

Shared by the ASGI face and by tests that want everything of HTTP but the sockets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

import orjson

from arcfsm.sim.api.failure import ApiFailure, forbidden, unauthorized
from arcfsm.sim.api.rbac import ANONYMOUS, MASTERS, Identity
from arcfsm.sim.api.request import JSON, ApiRequest, ApiResponse
from arcfsm.sim.api.server import ApiServer

Headers = list[tuple[str, str]]

_BEARER: Final = "bearer"
_OPTIONS: Final = orjson.OPT_SORT_KEYS


def authenticate(server: ApiServer, headers: Mapping[str, str]) -> Identity:
    """Find out who makes a request, and as whom. Raises ApiFailure."""
    token = headers.get("authorization", "")
    if not token:
        who = Identity.named(ANONYMOUS)
    else:
        # The scheme may be written in any case, and the service accounts of one client library do.
        scheme, _, given = token.partition(" ")
        known = server.tokens.get(given) if scheme.lower() == _BEARER else None
        if known is None:
            raise unauthorized()
        who = known
    wanted = headers.get("impersonate-user", "")
    if not wanted:
        return who
    if MASTERS not in who.groups and not server.may_impersonate(who, wanted):
        why = f'User "{who.user}" cannot impersonate resource "users" in API group "" at the cluster scope'
        raise forbidden("", "users", wanted, why)
    groups = headers.get("impersonate-group", "")
    plain = Identity.named(wanted)
    if not groups:
        return plain
    listed = [group.strip() for group in groups.split(",")]
    return Identity(wanted, tuple(dict.fromkeys([*listed, "system:authenticated"])))


def read_request(
    server: ApiServer, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes
) -> ApiRequest:
    """Build a request from what came over the wire. Raises ApiFailure."""
    who = authenticate(server, headers)
    return ApiRequest(
        method=method,
        path=path,
        query=dict(parse_qsl(query, keep_blank_values=True)),
        body=body,
        content_type=headers.get("content-type", JSON),
        accept=headers.get("accept", JSON),
        user=who.user,
        groups=who.groups,
    )


def refusal(failure: ApiFailure) -> ApiResponse:
    """Answer with a refusal."""
    return ApiResponse(failure.status, failure.body, failure.warnings, failure.content_type)


def write_response(response: ApiResponse) -> tuple[int, Headers, bytes]:
    """Write an answer as status, headers and body."""
    headers: Headers = [("content-type", response.content_type)]
    headers += [("warning", f"299 - {_quoted(warning)}") for warning in response.warnings]
    if isinstance(response.body, str):
        return response.status, headers, response.body.encode()
    return response.status, headers, encode(response.body) + b"\n"


def encode(value: object) -> bytes:
    """Write JSON with sorted keys."""
    try:
        return orjson.dumps(value, option=_OPTIONS)
    except TypeError:
        # Integers beyond 64 bits are the one thing orjson does not write.
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
