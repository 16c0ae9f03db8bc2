"""The HTTP form of the Actions service: a table of routes, one pure function from request to response.

`answer` is the whole protocol. The simulated world calls it in process on virtual time, the ASGI application calls it
over a socket; both get the same bytes. The one thing that is left to the transport is patience: a poll that finds
nothing answers 202 with `hold` set, and the transport asks again when the queue has news or the long poll is over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from arcfsm.domain.instant import SECOND, format_instant
from arcfsm.sim.clock import Clock
from arcfsm.sim.service.core import ActionsService
from arcfsm.sim.service.errors import BadRequestError, NotFoundError, ServiceError, UnauthorizedError
from arcfsm.sim.service.model import WireObject
from arcfsm.sim.service.tokens import IssuedToken

CAPACITY_HEADER: Final = "x-scalesetmaxcapacity"


@dataclass(frozen=True)
class ServiceRequest:
    """One HTTP request. Header names are lower case."""

    method: str
    url: str
    """Path and query; a full URL is fine too."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None


@dataclass(frozen=True)
class ServiceResponse:
    """One HTTP response; `body` is JSON, or None for an empty one."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    hold: bool = False
    """Nothing yet: a patient transport asks again before it passes this on."""
    scale_set_id: int = 0
    """Whose queue to watch while holding."""


@dataclass(frozen=True)
class _Call:
    service: ActionsService
    path: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any

    @property
    def bearer(self) -> str:
        kind, _, token = self.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token:
            raise UnauthorizedError("a bearer token is required")
        return token

    @property
    def object(self) -> WireObject:
        if not isinstance(self.body, dict):
            raise BadRequestError("the body must be a JSON object")
        return self.body

    def number(self, name: str) -> int:
        return _integer(self.path.get(name) or self.query.get(name), name)

    def admin(self) -> None:
        self.service.tokens.check(self.bearer, "admin")


_Handler = Callable[[_Call], ServiceResponse]


class ServiceFace:
    """Answers requests for one service."""

    def __init__(self, service: ActionsService, clock: Clock) -> None:
        self.service = service
        self._clock = clock
        self._serial = 0

    def answer(self, request: ServiceRequest) -> ServiceResponse:
        """Answer one request. Never raises for anything a client can send."""
        self._serial += 1
        response = self._answer(request)
        trace = {"ActivityId": f"activity-{self._serial}", "X-GitHub-Request-Id": f"request-{self._serial}"}
        return ServiceResponse(
            response.status, response.body, {**trace, **response.headers}, response.hold, response.scale_set_id
        )

    def _answer(self, request: ServiceRequest) -> ServiceResponse:
        if self.service.outage is not None:
            return ServiceResponse(self.service.outage, {"typeName": "", "message": "The service is unavailable."})
        wait = self.service.throttled_until - self._clock.now()
        if wait > 0:
            seconds = -(-wait // SECOND)
            return ServiceResponse(
                429, {"typeName": "", "message": "Too many requests."}, {"Retry-After": str(seconds)}
            )
        self.service.settle()
        parts = urlsplit(request.url)
        try:
            for method, pattern, handler in _ROUTES:
                found = pattern.fullmatch(parts.path) if method == request.method else None
                if found is not None:
                    query = dict(parse_qsl(parts.query, keep_blank_values=True))
                    return handler(_Call(self.service, found.groupdict(), query, request.headers, request.body))
            raise NotFoundError(f"There is nothing at {request.method} {parts.path}.")
        except ServiceError as error:
            return ServiceResponse(error.status, error.to_wire())


def _integer(text: str | None, name: str) -> int:
    try:
        return int(text or "")
    except ValueError:
        raise BadRequestError(f"{name} must be an integer, not {text!r}") from None


def _listing(values: list[Any]) -> ServiceResponse:
    return ServiceResponse(200, {"count": len(values), "value": values})


def _issued(token: IssuedToken) -> ServiceResponse:
    return ServiceResponse(201, {"token": token.text, "expires_at": format_instant(token.expires_at)})


def _installation_token(call: _Call) -> ServiceResponse:
    return _issued(call.service.installation_token(call.bearer))


def _registration_token(call: _Call) -> ServiceResponse:
    return _issued(call.service.registration_token(call.bearer, call.path["scope"]))


def _register(call: _Call) -> ServiceResponse:
    kind, _, token = call.headers.get("authorization", "").partition(" ")
    if kind.lower() != "remoteauth" or not token:
        raise UnauthorizedError("a registration token is required")
    if call.object.get("runner_event") != "register":
        raise BadRequestError("runner_event must be register")
    return ServiceResponse(200, call.service.register(token, str(call.object.get("url") or "")))


def _find_scale_sets(call: _Call) -> ServiceResponse:
    call.admin()
    return _listing(call.service.scale_sets_named(call.number("runnerGroupId"), call.query.get("name", "")))


def _get_scale_set(call: _Call) -> ServiceResponse:
    call.admin()
    return ServiceResponse(200, call.service.scale_set_to_wire(call.service.scale_set(call.number("id"))))


def _create_scale_set(call: _Call) -> ServiceResponse:
    call.admin()
    return ServiceResponse(200, call.service.create_scale_set(call.object))


def _update_scale_set(call: _Call) -> ServiceResponse:
    call.admin()
    return ServiceResponse(200, call.service.update_scale_set(call.number("id"), call.object))


def _delete_scale_set(call: _Call) -> ServiceResponse:
    call.admin()
    call.service.delete_scale_set(call.number("id"))
    return ServiceResponse(204)


def _find_groups(call: _Call) -> ServiceResponse:
    call.admin()
    return _listing(call.service.groups_named(call.query.get("groupName", "")))


def _generate_jit_config(call: _Call) -> ServiceResponse:
    call.admin()
    name, folder = str(call.object.get("name") or ""), str(call.object.get("workFolder") or "")
    return ServiceResponse(200, call.service.generate_jit_config(call.number("id"), name, folder))


def _get_agent(call: _Call) -> ServiceResponse:
    call.admin()
    return ServiceResponse(200, call.service.agent(call.number("id")))


def _find_agents(call: _Call) -> ServiceResponse:
    call.admin()
    return _listing(call.service.agents_named(call.query.get("agentName", "")))


def _remove_agent(call: _Call) -> ServiceResponse:
    call.admin()
    call.service.jobs.remove_agent(call.number("id"))
    return ServiceResponse(204)


def _create_session(call: _Call) -> ServiceResponse:
    call.admin()
    return ServiceResponse(200, call.service.create_session(call.number("id"), str(call.object.get("ownerName") or "")))


def _refresh_session(call: _Call) -> ServiceResponse:
    call.admin()
    return ServiceResponse(200, call.service.refresh_session(call.number("id"), call.path["session"]))


def _delete_session(call: _Call) -> ServiceResponse:
    call.admin()
    call.service.delete_session(call.path["session"])
    return ServiceResponse(204)


def _acquire_jobs(call: _Call) -> ServiceResponse:
    session = call.service.queue_session(call.bearer)
    if not isinstance(call.body, list):
        raise BadRequestError("the body must be a list of request ids")
    return _listing(
        call.service.jobs.acquire(session.scale_set_id, [_integer(str(i), "request id") for i in call.body])
    )


def _get_message(call: _Call) -> ServiceResponse:
    session = call.service.queue_session(call.bearer)
    last = _integer(call.query.get("lastMessageId", "0"), "lastMessageId")
    declared = call.headers.get(CAPACITY_HEADER)
    capacity = None if declared is None else _integer(declared, CAPACITY_HEADER)
    message = call.service.next_message(session, last, capacity)
    if message is None:
        return ServiceResponse(202, hold=True, scale_set_id=session.scale_set_id)
    return ServiceResponse(200, message.to_wire())


def _delete_message(call: _Call) -> ServiceResponse:
    call.service.delete_message(call.service.queue_session(call.bearer), call.number("message"))
    return ServiceResponse(204)


def _routes() -> tuple[tuple[str, re.Pattern[str], _Handler], ...]:
    api = r"(?:/api/v3)?"
    base = r"(?:/_services/pipelines/[^/]+)?/_apis"
    sets = rf"{base}/runtime/runnerscalesets"
    agents = rf"{base}/distributedtask/pools/0/agents"
    queue = rf"{base}/runtime/messagequeue/\d+"
    session = r"(?P<session>[^/]+)"
    number = r"(?P<id>[^/]+)"
    scope = r"(?P<scope>orgs/[^/]+|enterprises/[^/]+|repos/[^/]+/[^/]+)"
    table: list[tuple[str, str, _Handler]] = [
        ("POST", rf"{api}/app/installations/\d+/access_tokens", _installation_token),
        ("POST", rf"{api}/{scope}/actions/runners/registration-token", _registration_token),
        ("POST", rf"{api}/actions/runner-registration", _register),
        ("GET", sets, _find_scale_sets),
        ("POST", sets, _create_scale_set),
        ("GET", rf"{sets}/{number}", _get_scale_set),
        ("PATCH", rf"{sets}/{number}", _update_scale_set),
        ("DELETE", rf"{sets}/{number}", _delete_scale_set),
        ("GET", rf"{base}/runtime/runnergroups/?", _find_groups),
        ("POST", rf"{sets}/{number}/generatejitconfig", _generate_jit_config),
        ("GET", agents, _find_agents),
        ("GET", rf"{agents}/{number}", _get_agent),
        ("DELETE", rf"{agents}/{number}", _remove_agent),
        ("POST", rf"{sets}/{number}/sessions", _create_session),
        ("PATCH", rf"{sets}/{number}/sessions/{session}", _refresh_session),
        ("DELETE", rf"{sets}/{number}/sessions/{session}", _delete_session),
        ("POST", rf"{sets}/{number}/acquirejobs", _acquire_jobs),
        ("GET", queue, _get_message),
        ("DELETE", rf"{queue}/(?P<message>[^/]+)", _delete_message),
    ]
    return tuple((method, re.compile(pattern), handler) for method, pattern, handler in table)


_ROUTES: Final = _routes()


def decode_body(raw: bytes) -> Any:
    """Read a request body; empty is None. Raises BadRequestError when it is not JSON."""
    if not raw:
        return None
    try:
        return json.loads(raw.decode("utf-8-sig"))
    except ValueError as error:
        raise BadRequestError(f"the body is not JSON: {error}") from error
