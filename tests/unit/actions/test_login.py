"""X1, X2: where the service is and how the client gets in (rules.md T417)."""

from __future__ import annotations

import json

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from arcfsm.domain.exchange import FailureKind, ServiceFailure
from arcfsm.domain.instant import HOUR, MINUTE, SECOND
from arcfsm.domain.manifests.credentials import AppCredentials, TokenCredentials
from tests.unit.actions.scripted import (
    API,
    BASE,
    CONFIG_URL,
    LOST,
    PAT,
    REGISTRATION,
    Scripted,
    access,
    admin_jwt,
    answer,
    listing,
    refused,
    run,
)

NOBODY = listing()


@pytest.fixture(scope="module")
def app():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    return AppCredentials("4711", 99, pem.decode()), key.public_key()


@pytest.mark.parametrize(
    ("url", "force", "expected"),
    [
        ("https://github.com/acme", False, "https://api.github.com/orgs/acme/actions/runners/registration-token"),
        ("https://www.github.com/acme/", False, "https://api.github.com/orgs/acme/actions/runners/registration-token"),
        ("https://a.ghe.com/acme/r", False, "https://api.a.ghe.com/repos/acme/r/actions/runners/registration-token"),
        (
            "http://github.localhost/acme",
            False,
            "http://api.github.localhost/orgs/acme/actions/runners/registration-token",
        ),
        ("https://ghe.corp/acme", False, "https://ghe.corp/api/v3/orgs/acme/actions/runners/registration-token"),
        (
            "https://ghe.corp/enterprises/e1",
            False,
            "https://ghe.corp/api/v3/enterprises/e1/actions/runners/registration-token",
        ),
        ("http://host:8080/acme", False, "http://host:8080/api/v3/orgs/acme/actions/runners/registration-token"),
        ("https://github.com/acme", True, "https://github.com/api/v3/orgs/acme/actions/runners/registration-token"),
        ("https://ghe.corp/a%20b", False, "https://ghe.corp/api/v3/orgs/a%20b/actions/runners/registration-token"),
        (
            "https://me:sesame@ghe.corp/acme",
            False,
            "https://ghe.corp/api/v3/orgs/acme/actions/runners/registration-token",
        ),
    ],
)
def test_X1_the_api_is_where_the_config_url_says(url, force, expected):
    world = Scripted(NOBODY)
    run(world.service(of=access(url), force_enterprise_server=force).find_runner("r"))
    assert world.requests[0].url == expected


@pytest.mark.parametrize("url", ["", "github.com/acme", "https://github.com", "https://x:sesame@h/a/b/c", "ftp://h/a"])
def test_X1_a_config_url_that_is_none_is_invalid_and_not_quoted(url):
    with pytest.raises(ServiceFailure, match="githubConfigUrl") as caught:
        Scripted().service(of=access(url))
    assert caught.value.kind is FailureKind.INVALID
    assert "sesame" not in str(caught.value)


def test_X2_a_token_gets_a_registration_token_and_that_an_admin_token():
    world = Scripted(NOBODY)
    run(world.service().find_runner("r"))
    token, register, call = world.requests
    assert (token.method, token.headers["authorization"]) == ("POST", f"Bearer {PAT}")
    assert (register.method, register.url) == ("POST", f"{API}/actions/runner-registration")
    assert register.headers["authorization"] == f"RemoteAuth {REGISTRATION}"
    assert json.loads(register.body) == {"url": CONFIG_URL, "runner_event": "register"}
    assert call.url.startswith(f"{BASE}/_apis/")
    assert call.headers["authorization"] == "Bearer " + admin_jwt(world.now + HOUR, 2)


def test_X2_an_admin_token_serves_until_a_minute_before_its_end():
    world = Scripted(*[NOBODY] * 3)
    service = world.service()
    run(service.find_runner("r"))
    world.now += HOUR - 61 * SECOND
    run(service.find_runner("r"))
    assert len(world.logins) == 2
    world.now += SECOND
    run(service.find_runner("r"))
    assert len(world.logins) == 4


def test_T417_an_admin_token_that_expires_in_59_s_is_renewed_first_and_a_refused_registration_repeated():
    world = Scripted(NOBODY, NOBODY)
    service = world.service()
    world.admin_lifetime = 59 * SECOND
    run(service.find_runner("r"))
    world.requests.clear()
    world.admin_lifetime = HOUR
    world._login["register"] = [refused(401)]
    assert run(service.find_runner("r")) is None
    assert world.logins == ["registration-token", "runner-registration", "runner-registration"]
    assert world.calls[0].headers["authorization"] != ""
    assert len(world.calls) == 1


def test_X2_an_app_signs_a_jwt_and_gets_an_installation_token(app):
    credentials, public = app
    world = Scripted(NOBODY)
    run(world.service(of=access(credentials=credentials)).find_runner("r"))
    assert world.requests[0].url == f"{API}/app/installations/99/access_tokens"
    signed = world.requests[0].headers["authorization"].removeprefix("Bearer ")
    claims = jwt.decode(signed, public, algorithms=["RS256"], options={"verify_exp": False, "verify_iat": False})
    now = world.now // SECOND
    assert claims == {"iss": "4711", "iat": now - 60, "exp": now - 60 + 9 * 60}
    assert world.requests[1].headers["authorization"].startswith("Bearer ghs_installationToken")


def test_X2_an_installation_token_is_kept_until_shortly_before_it_expires(app):
    world = Scripted(*[NOBODY] * 3)
    world.admin_lifetime = 10 * MINUTE
    service = world.service(of=access(credentials=app[0]))
    for wait in (0, 58 * MINUTE, 2 * MINUTE):
        world.now += wait
        run(service.find_runner("r"))
        world.now += 10 * MINUTE if wait else 0
    # The third login is later than an hour after the first.
    assert world.logins.count("access_tokens") == 2
    assert world.logins.count("runner-registration") == 3


def test_X2_a_revoked_installation_token_is_replaced_once(app):
    world = Scripted(NOBODY, registration_token=[refused(401)])
    run(world.service(of=access(credentials=app[0])).find_runner("r"))
    assert world.logins == [
        "access_tokens",
        "registration-token",
        "access_tokens",
        "registration-token",
        "runner-registration",
    ]


def test_X2_a_key_that_cannot_sign_is_refused_without_being_quoted():
    key = "-----BEGIN RSA PRIVATE KEY-----\nnotAKeyAtAll\n-----END RSA PRIVATE KEY-----"
    with pytest.raises(ServiceFailure, match="github_app_private_key") as caught:
        run(Scripted().service(of=access(credentials=AppCredentials("1", 2, key))).find_runner("r"))
    assert caught.value.kind is FailureKind.UNAUTHORIZED
    assert "notAKey" not in repr(caught.value)


def test_M11_a_token_loses_the_line_end_of_an_editor():
    world = Scripted(NOBODY)
    run(world.service(of=access(credentials=TokenCredentials(f"{PAT}\n"))).find_runner("r"))
    assert world.requests[0].headers["authorization"] == f"Bearer {PAT}"


@pytest.mark.parametrize("token", ["two words", "with\nbreak", "smörgås", " \n"])
def test_M11_a_token_that_no_header_can_carry_is_refused(token):
    with pytest.raises(ServiceFailure, match="github_token") as caught:
        run(Scripted().service(of=access(credentials=TokenCredentials(token))).find_runner("r"))
    assert caught.value.kind is FailureKind.UNAUTHORIZED


@pytest.mark.parametrize("status", [404, 403, 401])
def test_a_refusal_on_the_way_in_is_never_taken_for_something_that_is_gone(status):
    # NOT_FOUND would count as "the runner's registration is given up" (R4) or re-register a scale set (A17).
    world = Scripted(registration_token=[refused(status, "AgentNotFoundException")])
    with pytest.raises(ServiceFailure) as caught:
        run(world.service().remove_runner(7))
    assert (caught.value.kind, caught.value.status) == (FailureKind.UNAUTHORIZED, status)
    assert world.calls == []


@pytest.mark.parametrize(
    "body",
    [
        {"url": "", "token": admin_jwt(10**16)},
        {"url": BASE, "token": ""},
        {"url": BASE, "token": "opaque"},
        {"url": "ftp://x", "token": admin_jwt(10**16)},
        ["no object"],
        b"<p>",
    ],
)
def test_X2_a_registration_that_lacks_its_parts_is_no_answer(body):
    with pytest.raises(ServiceFailure) as caught:
        run(Scripted(register=[answer(200, body)]).service().find_runner("r"))
    assert caught.value.kind is FailureKind.UNREACHABLE


def test_X2_a_401_of_the_service_is_not_repeated_but_the_next_call_logs_in_anew():
    world = Scripted(refused(401), NOBODY)
    service = world.service()
    with pytest.raises(ServiceFailure) as caught:
        run(service.find_runner("r"))
    assert caught.value.kind is FailureKind.UNAUTHORIZED
    assert len(world.logins) == 2
    run(service.find_runner("r"))
    assert len(world.logins) == 4


def test_a_clock_far_ahead_costs_a_login_per_call_but_works():
    world = Scripted(NOBODY, NOBODY)
    world.admin_lifetime = -HOUR
    service = world.service()
    assert run(service.find_runner("r")) is None
    assert run(service.find_runner("r")) is None


def test_logging_in_is_repeated_after_a_lost_answer_since_it_creates_but_tokens():
    world = Scripted(NOBODY, registration_token=[LOST], register=[LOST])
    run(world.service().find_runner("r"))
    assert world.logins == ["registration-token", "registration-token", "runner-registration", "runner-registration"]
