"""No credential is in anything that can be shown: reprs, messages, errors with all that led to them, logs."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import traceback
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import arcfsm.actions
from arcfsm.actions.app_login import app_jwt
from arcfsm.actions.login import Admission
from arcfsm.actions.redaction import LINE_MAX, one_line
from arcfsm.actions.transport import HttpAnswer, HttpRequest
from arcfsm.actions.vault import AzureVault
from arcfsm.domain.exchange import JitConfiguration, RunnerReference, ServiceFailure
from arcfsm.domain.manifests.credentials import AppCredentials, TokenCredentials
from tests.unit.actions.scripted import (
    PAT,
    REGISTRATION,
    Scripted,
    access,
    admin_jwt,
    listing,
    proxied,
    refused,
    run,
)

PASSWORD = "se/sa me@open"
PROXY = f"http://me:{quote(PASSWORD, safe='')}@proxy.corp:3128"
SECRETS = [PAT, REGISTRATION, PASSWORD, quote(PASSWORD, safe=""), "Y29uZmlnOnNlY3JldA", "zq9Secret"]


def everything_told(error):
    """What an error, its causes and their contexts say, in every form."""
    told, seen = [], set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        told += [str(error), repr(error), repr(error.args), repr(vars(error))]
        told += traceback.format_exception(error)
        error = error.__cause__ or error.__context__
    return "\n".join(told)


def echoing(status):
    """A refusal that says all that the client sent."""

    async def send(world, request):
        world.requests.append(request)
        said = f"{dict(request.headers)} {request.body.decode()} {quote(PAT, safe='')} {PROXY}"
        return refused(status, "Some.Exception", said, activityid=request.headers["authorization"])

    return send


@pytest.mark.parametrize("status", [400, 401, 404, 409, 500])
@pytest.mark.parametrize("at", ["token", "registration", "call"])
def test_a_service_that_echoes_credentials_is_not_quoted(status, at):
    world = Scripted()
    real, echo = world.send, echoing(status)

    async def send(request):
        here = {"/registration-token": "token", "/runner-registration": "registration"}
        found = next((name for end, name in here.items() if request.url.endswith(end)), "call")
        return await (echo(world, request) if found == at else real(request))

    world.send = send
    mine = access(proxy=proxied(PROXY, PROXY))
    with pytest.raises(ServiceFailure) as caught:
        run(world.service(of=mine).find_runner("r"))
    told = everything_told(caught.value)
    held = [request.headers["authorization"].split()[1] for request in world.requests]
    assert [secret for secret in [*SECRETS, *held] if secret in told] == []
    assert "[redacted]" in told


def test_the_jwt_and_the_key_of_an_app_are_not_quoted(app_key):
    world = Scripted()

    async def send(request):
        world.requests.append(request)
        return refused(401, "", f"bad JWT {request.headers['authorization']} of {app_key}")

    world.send = send
    with pytest.raises(ServiceFailure) as caught:
        run(world.service(of=access(credentials=AppCredentials("1", 2, app_key))).find_runner("r"))
    told = everything_told(caught.value)
    assert world.requests[0].headers["authorization"].split()[1] not in told
    assert app_key.splitlines()[1] not in told
    assert app_jwt(AppCredentials("1", 2, app_key), world.now) not in told


@pytest.fixture(scope="module")
def app_key():
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    return (
        rsa.generate_private_key(public_exponent=65537, key_size=2048)
        .private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        .decode()
    )


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=4, max_size=40),
    st.text(max_size=60),
    st.text(max_size=60),
)
def test_no_known_secret_survives_in_a_line(secret, before, after):
    line = one_line(f"{before}{secret}{after} {quote(secret, safe='')}", [secret])
    assert secret not in line.replace("[redacted]", "\0")
    assert len(line) <= LINE_MAX
    assert line == " ".join(line.split())


def test_a_secret_is_known_in_its_escaped_form_too():
    assert one_line("u=a%2Fb%40c", ["a/b@c"]) == "u=[redacted]"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("see https://me:pw@host/x?y", "see https://[redacted]host/x?y"),
        ("Authorization: Bearer abcdef12345", "Authorization: [redacted]"),
        ("RemoteAuth abcdef12345", "[redacted]"),
        ("ghp_0123456789abcdef is bad", "[redacted] is bad"),
        ("github_pat_0123456789_abcdef", "[redacted]"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "[redacted]"),
        ("k -----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- z", "k [redacted] z"),
        ("k -----BEGIN PRIVATE KEY-----\nabc", "k [redacted]"),
        ("the basic plan of me@corp.example", "the basic plan of me@corp.example"),
    ],
)
def test_what_looks_like_a_credential_is_none_of_ours_to_show(text, line):
    assert one_line(text) == line


def test_nothing_that_holds_a_credential_shows_it():
    token = admin_jwt(10**16)
    world = Scripted(listing())
    of = access(proxy=proxied(PROXY, PROXY))
    clients = world.clients()
    service = clients.service(access(proxy=proxied(PROXY, PROXY)))
    run(service.find_runner("r"))
    held = [
        of,
        access(credentials=AppCredentials("zq9Secret", 1, "zq9Secret")),
        access("https://me:zq9Secret@ghe.corp/acme", identity=of.identity),
        TokenCredentials(PAT),
        HttpRequest("POST", "https://x", {"authorization": PAT}, PAT.encode()),
        HttpAnswer(200, {"x": PAT}, PAT.encode()),
        Admission("https://x", token, 0),
        JitConfiguration(RunnerReference(1, "r", 1), "Y29uZmlnOnNlY3JldA"),
        AzureVault("https://v", "t", "c", "/f", proxied(PROXY)),
        *world.requests,
        clients,
        service,
        service._connection,
        service._connection._login,
        *clients._kept.values(),
    ]
    told = "\n".join(f"{one!r} {one!s}" for one in held)
    assert [secret for secret in [*SECRETS, token] if secret in told] == []


def test_no_class_of_the_client_shows_a_field_that_its_maker_forgot_to_hide():
    """Dataclasses with a field named like a credential hide it."""
    shown = []
    for module in pkgutil.iter_modules(arcfsm.actions.__path__, "arcfsm.actions."):
        for name, kind in vars(importlib.import_module(module.name)).items():
            if isinstance(kind, type) and dataclasses.is_dataclass(kind):
                shown += [
                    f"{name}.{field.name}"
                    for field in dataclasses.fields(kind)
                    if field.repr
                    and field.name in {"token", "headers", "body", "credentials", "private_key", "encoded"}
                ]
    assert shown == []
