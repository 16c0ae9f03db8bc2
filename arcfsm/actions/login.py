"""The way in: from credentials to the address of the service and a token that administers it (X2).

A login is shared by all calls of a client. Whoever comes while one is under way looks again every few milliseconds
until it is over, and takes its result, good or bad. That is cruder than waiting for an event, but an event would belong
to one event loop, and this runs on asyncio and on the simulation's kernel alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, urlsplit

import orjson

from arcfsm.actions.app_login import app_jwt, expiry_of
from arcfsm.actions.attempts import Patience, Sender
from arcfsm.actions.bodies import json_object, user_agent
from arcfsm.actions.failures import login_refusal, not_an_answer
from arcfsm.actions.redaction import secrets_of
from arcfsm.actions.transport import HttpAnswer, HttpRequest, Now, Sleep
from arcfsm.domain.exchange import FailureKind, ServiceAccess, ServiceFailure
from arcfsm.domain.github_url import InvalidConfigUrl, api_base, parse_config_url
from arcfsm.domain.instant import MILLISECOND, SECOND, Instant, Span, parse_instant
from arcfsm.domain.jsonvalue import JsonObject, text_at
from arcfsm.domain.manifests.credentials import AppCredentials

MARGIN: Final[Span] = 60 * SECOND
"""A token that expires within this time is not used any more."""
_LOOK_AGAIN: Final[Span] = 20 * MILLISECOND
_PROPAGATES: Final = frozenset({401, 403})
"""A registration token is not known everywhere the moment it is issued."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The address of the service and the token that is let in there."""

    base: str
    token: str = field(repr=False)
    expires_at: Instant


class Login:
    """Logs in where that is needed, and keeps what came of it."""

    def __init__(
        self, access: ServiceAccess, sender: Sender, *, now: Now, sleep: Sleep, force_enterprise_server: bool = False
    ) -> None:
        """Raises ServiceFailure (INVALID) for a config URL that is none."""
        try:
            url = parse_config_url(access.config_url)
        except InvalidConfigUrl:
            # Not what the error says: it quotes the URL, which may hold a password.
            raise ServiceFailure(
                FailureKind.INVALID,
                "githubConfigUrl names no enterprise, organization or repository; "
                "expected https://HOST/ORGANIZATION[/REPOSITORY] or https://HOST/enterprises/ENTERPRISE",
            ) from None
        self._api = api_base(url, force_enterprise_server=force_enterprise_server)
        self._registration_path = quote(url.registration_path)
        self._access = access
        self._sender = sender
        self._now = now
        self._sleep = sleep
        self._admission: Admission | None = None
        self._installation: tuple[str, Instant] = "", 0
        self._fresh: tuple[str, ...] = ()
        self._under_way = False
        self._done = 0
        """How many logins came to an end."""
        self._failure: ServiceFailure | None = None
        """How the last one failed."""

    def secrets(self) -> tuple[str, ...]:
        """Return what must not be shown: what the client was given, and what it got for it."""
        token = self._admission.token if self._admission is not None else ""
        mine = secrets_of(self._access.credentials, self._access.proxy)
        return (*mine, *self._fresh, self._installation[0], token)

    async def admission(self, patience: Patience) -> Admission:
        """Return what lets a call in, logging in where there is nothing or it expires soon. Raises ServiceFailure."""
        done = self._done
        while self._under_way:
            await self._sleep(_LOOK_AGAIN)
        if self._done != done and self._failure is not None:
            raise ServiceFailure(self._failure.kind, self._failure.detail, status=self._failure.status)
        admission = self._admission
        # One that came this moment is taken as it is: by a clock that is far ahead of the service's it is never good.
        if admission is not None and (self._done != done or admission.expires_at - MARGIN > self._now()):
            return admission
        self._under_way = True
        try:
            admission = self._admission = await self._log_in(patience)
            self._failure = None
            self._done += 1
        except ServiceFailure as failure:
            self._failure = failure
            self._done += 1
            raise
        finally:
            self._under_way = False
        return admission

    def forget(self, admission: Admission) -> None:
        """Log in anew with the next call: the service refused this one. The call itself is not repeated (X2.4)."""
        if self._admission is admission:
            self._admission = None

    async def _log_in(self, patience: Patience) -> Admission:
        bearer = await self._bearer(patience)
        answer = await self._registration_token(bearer, patience)
        if answer.status == 401 and isinstance(self._access.credentials, AppCredentials):
            # An installation's token can be revoked before it expires.
            self._installation = "", 0
            answer = await self._registration_token(await self._bearer(patience), patience)
        registration = text_at(self._body("registration token", answer), "token")
        if not registration:
            raise not_an_answer("registration token", answer, "it holds no token")
        return await self._register(registration, patience)

    async def _bearer(self, patience: Patience) -> str:
        credentials = self._access.credentials
        if not isinstance(credentials, AppCredentials):
            return _header_value(credentials.token)
        token, expires_at = self._installation
        if token and expires_at - MARGIN > self._now():
            return token
        signed = app_jwt(credentials, self._now())
        self._fresh = (signed,)
        path = f"/app/installations/{credentials.installation_id}/access_tokens"
        answer = await self._post("installation token", path, f"Bearer {signed}", patience)
        found = self._body("installation token", answer)
        token = text_at(found, "token")
        if not token:
            raise not_an_answer("installation token", answer, "it holds no token")
        self._installation = token, _instant(text_at(found, "expires_at"))
        return token

    async def _registration_token(self, bearer: str, patience: Patience) -> HttpAnswer:
        return await self._post("registration token", self._registration_path, f"Bearer {bearer}", patience)

    async def _register(self, registration: str, patience: Patience) -> Admission:
        self._fresh = (registration,)
        body = orjson.dumps({"url": self._access.config_url, "runner_event": "register"})
        answer = await self._post(
            "registration", "/actions/runner-registration", f"RemoteAuth {registration}", patience, body, _PROPAGATES
        )
        found = self._body("registration", answer)
        base, token = text_at(found, "url"), text_at(found, "token")
        expires_at = expiry_of(token)
        if not _is_address(base) or expires_at is None:
            raise not_an_answer("registration", answer, "it names no address of the service, or no token that expires")
        return Admission(base, token, expires_at)

    async def _post(
        self,
        call: str,
        path: str,
        authorization: str,
        patience: Patience,
        body: bytes = b"",
        also: frozenset[int] = frozenset(),
    ) -> HttpAnswer:
        """Post to the API of GitHub. All that is created there is a token more: it may be repeated."""
        headers = {
            "accept": "application/json",
            "authorization": authorization,
            "content-type": "application/json",
            "user-agent": user_agent(0),
        }
        return await self._sender.send(call, HttpRequest("POST", self._api + path, headers, body), patience, also=also)

    def _body(self, call: str, answer: HttpAnswer) -> JsonObject:
        if not answer.ok:
            raise login_refusal(call, answer, self.secrets())
        found = json_object(answer)
        if found is None:
            raise not_an_answer(call, answer, "the body is no JSON object")
        return found


def _header_value(token: str) -> str:
    """Return a token as a header can carry it: without the line end that editors leave behind in Secrets."""
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ServiceFailure(FailureKind.UNAUTHORIZED, "github_token holds characters that no token has")
    return token


def _instant(text: str) -> Instant:
    try:
        return parse_instant(text)
    except ValueError:
        return 0


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc) and not parts.query
