"""The listener's client of the Actions service: token flow (X2), retries (X3), queue token (X5).

This is the simulated listener's own small client, not the product's: it knows one way of authentication and no proxies.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import jwt

from arcfsm.domain.instant import SECOND, Instant, Span
from arcfsm.sim.clock import Clock
from arcfsm.sim.listener.config import ListenerConfig
from arcfsm.sim.listener.effects import (
    AcquireJobs,
    Answer,
    CreateSession,
    DeleteMessage,
    DeleteSession,
    Effect,
    GetMessage,
    RefreshSession,
)
from arcfsm.sim.service.face import ServiceRequest, ServiceResponse
from arcfsm.sim.service.model import ZERO_UUID

RETRIES_MAX: Final = 4
_WAIT_FIRST: Final[Span] = SECOND
_WAIT_MAX: Final[Span] = 30 * SECOND
_TOKEN_MARGIN: Final[Span] = 60 * SECOND
_REGISTRATION_RETRIED: Final = frozenset({401, 403})

Send = Callable[[ServiceRequest], Awaitable[ServiceResponse | None]]
Sleep = Callable[[Span], Awaitable[None]]


class ServiceCallError(Exception):
    """The token flow failed; carries the answer the process ends with."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.message)
        self.answer = answer


class ServiceClient:
    """Turns effects into requests."""

    def __init__(self, config: ListenerConfig, send: Send, sleep: Sleep, clock: Clock) -> None:
        self._config = config
        self._send = send
        self._sleep = sleep
        self._clock = clock
        self._base = ""
        self._admin = ""
        self._admin_expires: Instant = 0
        self._session: Mapping[str, Any] = {}

    async def perform(self, effect: Effect) -> Answer:
        """Carry out one effect that concerns the service."""
        try:
            match effect:
                case CreateSession(owner):
                    body = {"ownerName": owner, "sessionId": ZERO_UUID}
                    return await self._open("POST", "", body)
                case RefreshSession():
                    return await self._open("PATCH", f"/{self._session.get('sessionId')}", None)
                case DeleteSession():
                    path = f"{self._sessions_path}/{self._session.get('sessionId')}"
                    return await self._admin_call("DELETE", path, None)
                case AcquireJobs(ids):
                    await self._authenticate()
                    url = f"{self._base}/_apis/runtime/runnerscalesets/{self._config.scale_set_id}/acquirejobs"
                    return _answer(await self._retry(self._queue_request("POST", url, list(ids))))
                case GetMessage(last, capacity):
                    url = str(self._session.get("messageQueueUrl"))
                    url += f"&lastMessageId={last}" if last > 0 else ""
                    request = self._queue_request("GET", url, None, **{"x-scalesetmaxcapacity": str(capacity)})
                    return _answer(await self._retry(request))
                case DeleteMessage(message_id):
                    path, _, query = str(self._session.get("messageQueueUrl")).partition("?")
                    return _answer(
                        await self._retry(self._queue_request("DELETE", f"{path}/{message_id}?{query}", None))
                    )
                case _:
                    raise ValueError(f"{type(effect).__name__} does not concern the service")
        except ServiceCallError as error:
            return error.answer

    @property
    def _sessions_path(self) -> str:
        return f"/_apis/runtime/runnerscalesets/{self._config.scale_set_id}/sessions"

    async def _open(self, method: str, suffix: str, body: Any) -> Answer:
        answer = await self._admin_call(method, self._sessions_path + suffix, body)
        if answer.ok:
            self._session = answer.object
        return answer

    async def _admin_call(self, method: str, path: str, body: Any) -> Answer:
        await self._authenticate()
        headers = {"authorization": f"Bearer {self._admin}", "content-type": "application/json"}
        return _answer(await self._retry(ServiceRequest(method, self._base + path, headers, body)))

    def _queue_request(self, method: str, url: str, body: Any, **more: str) -> ServiceRequest:
        token = self._session.get("messageQueueAccessToken")
        headers = {"authorization": f"Bearer {token}", "accept": "application/json; api-version=6.0-preview", **more}
        return ServiceRequest(method, url, headers, body)

    async def _authenticate(self) -> None:
        """X2: get an admin token when there is none, or it expires within a minute."""
        if self._admin and self._admin_expires - _TOKEN_MARGIN > self._clock.now():
            return
        api = api_base(self._config.configure_url)
        scope = registration_scope(self._config.configure_url)
        url = f"{api}/{scope}/actions/runners/registration-token"
        issued = _answer(
            await self._retry(ServiceRequest("POST", url, {"authorization": f"Bearer {self._config.token}"}))
        )
        if not issued.ok:
            raise ServiceCallError(issued)
        body = {"url": self._config.configure_url, "runner_event": "register"}
        headers = {"authorization": f"RemoteAuth {issued.object.get('token')}"}
        request = ServiceRequest("POST", f"{api}/actions/runner-registration", headers, body)
        registered = _answer(await self._retry(request, also=_REGISTRATION_RETRIED))
        if not registered.ok:
            raise ServiceCallError(registered)
        self._base, self._admin = str(registered.object["url"]), str(registered.object["token"])
        claims = jwt.decode(self._admin, options={"verify_signature": False})
        self._admin_expires = int(claims["exp"]) * SECOND

    async def _retry(self, request: ServiceRequest, also: frozenset[int] = frozenset()) -> ServiceResponse | None:
        wait = _WAIT_FIRST
        for attempt in range(RETRIES_MAX + 1):
            response = await self._send(request)
            if response is not None and not _retried(response.status, also):
                return response
            if attempt == RETRIES_MAX:
                return response
            told = int(response.headers.get("Retry-After", "0")) * SECOND if response is not None else 0
            await self._sleep(max(told, wait))
            wait = min(wait * 2, _WAIT_MAX)
        return None


def api_base(config_url: str) -> str:
    """X1: where the GitHub API of a configuration URL is."""
    parts = urlsplit(config_url)
    host = parts.hostname or ""
    if host in {"github.com", "www.github.com", "github.localhost"} or host.endswith(".ghe.com"):
        return f"{parts.scheme}://api.{host.removeprefix('www.')}"
    return f"{parts.scheme}://{parts.netloc}/api/v3"


def registration_scope(config_url: str) -> str:
    """X2: the part of the path that names an organization, an enterprise or a repository.

    Raises ValueError for others.
    """
    words = [word for word in urlsplit(config_url).path.split("/") if word]
    match words:
        case [organization]:
            return f"orgs/{organization}"
        case [first, enterprise] if first.lower() == "enterprises":
            return f"enterprises/{enterprise}"
        case [owner, repository]:
            return f"repos/{owner}/{repository}"
        case _:
            raise ValueError(f"{config_url!r} names no organization, enterprise or repository")


def _retried(status: int, also: frozenset[int]) -> bool:
    return status == 429 or (status >= 500 and status != 501) or status in also


def _answer(response: ServiceResponse | None) -> Answer:
    if response is None:
        return Answer(0, {})
    body = response.body if isinstance(response.body, dict) else {}
    return Answer(response.status, body, str(body.get("message", "")) if response.status >= 400 else "")
