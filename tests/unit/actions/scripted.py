"""A service that answers from a script, and a way to run the client's logic without any event loop."""

from __future__ import annotations

import json

import jwt

from arcfsm.actions import ActionsClients
from arcfsm.actions.transport import HttpAnswer, TransportError
from arcfsm.domain.client_identity import ClientIdentity
from arcfsm.domain.exchange import ProxySetting, ServiceAccess
from arcfsm.domain.instant import HOUR, SECOND, format_instant, parse_instant
from arcfsm.domain.manifests.credentials import TokenCredentials

START = parse_instant("2026-12-01T06:00:00Z")
PAT = "ghp_personalAccessToken0123456789abcdef"
API = "https://ghe.corp.example/api/v3"
BASE = "https://ghe.corp.example/_services/pipelines/tenant"
CONFIG_URL = "https://ghe.corp.example/acme"
REGISTRATION = "registration-token-value"
LOST = TransportError("no answer in time", sent=True)
NEVER_LEFT = TransportError("no connection in time", sent=False)
ROUTES = (
    ("installation", "/access_tokens"),
    ("registration-token", "/registration-token"),
    ("register", "/actions/runner-registration"),
)


def access(url=CONFIG_URL, credentials=None, **more):
    identity = more.pop("identity", ClientIdentity(url, "arc-runners", "github@uid@1", "", ""))
    return ServiceAccess(identity, url, credentials or TokenCredentials(PAT), **more)


def answer(status=200, body=None, **headers):
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    kind = {} if body is None or isinstance(body, bytes) else {"content-type": "application/json"}
    return HttpAnswer(status, {**kind, **{name.replace("_", "-"): value for name, value in headers.items()}}, content)


def refused(status, type_name="", message="no", **headers):
    return answer(status, {"typeName": type_name, "message": message}, **headers)


def listing(*values):
    return answer(200, {"count": len(values), "value": list(values)})


def admin_jwt(expires_at, serial=0):
    return jwt.encode({"exp": expires_at // SECOND, "jti": str(serial)}, "k" * 32, algorithm="HS256")


class Scripted:
    """A transport and a clock: logging in works unless a script says otherwise, calls answer what was laid ready."""

    def __init__(self, *answers, **login):
        self.now = START
        self.requests = []
        self.slept = []
        self.closed = 0
        self.admin_lifetime = HOUR
        self._answers = list(answers)
        self._login = {name.replace("_", "-"): list(script) for name, script in login.items()}
        self._serial = 0

    async def send(self, request):
        self.requests.append(request)
        found = self._next(request)
        if isinstance(found, Exception):
            raise found
        return found

    def close(self):
        self.closed += 1

    async def sleep(self, span):
        self.slept.append(span)
        self.now += span

    def _next(self, request):
        for name, end in ROUTES:
            if request.url.endswith(end) and "_apis" not in request.url:
                script = self._login.get(name)
                return script.pop(0) if script else self._login_answer(name)
        assert self._answers, f"nobody expected {request.method} {request.url}"
        return self._answers.pop(0)

    def _login_answer(self, name):
        self._serial += 1
        if name == "register":
            return answer(200, {"url": BASE, "token": admin_jwt(self.now + self.admin_lifetime, self._serial)})
        expires = format_instant(self.now + HOUR)
        token = REGISTRATION if name == "registration-token" else f"ghs_installationToken{self._serial:020}"
        return answer(201, {"token": token, "expires_at": expires})

    # --- what tests look at

    @property
    def calls(self):
        """What was asked of the service itself, without the login."""
        return [request for request in self.requests if "/_apis/" in request.url]

    @property
    def logins(self):
        """What was asked on the way in, by its last word."""
        return [request.url.rsplit("/", 1)[1] for request in self.requests if "/_apis/" not in request.url]

    def clients(self, **options):
        return ActionsClients(lambda _access: self, now=lambda: self.now, sleep=self.sleep, **options)

    def service(self, *, scale_set_id=0, of=None, **options):
        return self.clients(**options).service(of or access(), scale_set_id=scale_set_id)


def run(coroutine):
    """Run a coroutine that never really waits. Any await of an event loop would show here."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the logic awaited something that is neither the transport nor sleep")


def proxied(http="", https="", *no_proxy):
    return ProxySetting(http, https, tuple(no_proxy))
