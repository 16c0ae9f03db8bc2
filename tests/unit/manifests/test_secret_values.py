"""Configuration and Secrets of listeners: content, order, refusals, and nothing that leaks (P1, M11, L8, L10)."""

from __future__ import annotations

import json

import pytest

from arcfsm.domain import manifests
from arcfsm.domain.drift import listener_config_equal
from arcfsm.domain.manifests import InvalidCredentials, ProxyCredentials, Refusal, TokenCredentials, Unbuildable
from tests.unit.manifests.owners import PROXY, SETTINGS, URL, live, scale_set

TOKEN = TokenCredentials("ghp_secret")
APP = {"github_app_id": "12", "github_app_installation_id": "34", "github_app_private_key": "PEM"}


def listener(**spec):
    return live(manifests.listener_manifest(scale_set(**spec), SETTINGS), "al-uid")


def config(credentials=TOKEN, settings=SETTINGS, server_root_ca="", **spec):
    return manifests.listener_config(listener(**spec), settings, credentials=credentials, server_root_ca=server_root_ca)


def test_P1_the_keys_in_gos_order_and_a_newline():
    text = config(minRunners=1, maxRunners=5, server_root_ca="PEM")
    assert text.endswith("}\n")
    assert list(json.loads(text).items()) == [
        ("configure_url", URL),
        ("vault_type", ""),
        ("vault_lookup_key", ""),
        ("github_app_id", ""),
        ("github_app_installation_id", 0),
        ("github_app_private_key", ""),
        ("github_token", "ghp_secret"),
        ("ephemeral_runner_set_namespace", "arc-runners"),
        ("ephemeral_runner_set_name", "demo"),
        ("max_runners", 5),
        ("min_runners", 1),
        ("runner_scale_set_id", 7),
        ("runner_scale_set_name", "demo"),
        ("server_root_ca", "PEM"),
        ("log_level", "debug"),
        ("log_format", "text"),
        ("metrics_addr", ":8080"),
        ("metrics_endpoint", "/metrics"),
        ("metrics", None),
    ]


def test_P1_an_app():
    found = json.loads(config(manifests.github_credentials(APP)))
    keys = ("github_app_id", "github_app_installation_id", "github_app_private_key", "github_token")
    assert [found[key] for key in keys] == ["12", 34, "PEM", ""]


def test_P1_a_vault_has_no_credentials():
    vault = {
        "type": "azure_key_vault",
        "azureKeyVault": {"url": "https://v", "tenantId": "t", "clientId": "c", "certificatePath": "/p"},
    }
    for credentials in (None, TOKEN):
        found = json.loads(config(credentials, vaultConfig=vault))
        assert (found["vault_type"], found["vault_lookup_key"]) == ("azure_key_vault", "cred")
        assert found["azure_key_vault"] == {
            "tenant_id": "t",
            "client_id": "c",
            "url": "https://v",
            "certificate_path": "/p",
        }
        assert not any(key.startswith("github_") for key in found)


def test_P1_metrics_off_and_scaler_tuning():
    found = json.loads(
        config(settings=SETTINGS.model_copy(update={"metrics_addr": "0"}), listenerConfig={"scaler": {"qps": 3}})
    )
    assert (found["metrics_addr"], found["metrics_endpoint"]) == ("", "")
    assert found["scaler_config"] == {"qps": 3}
    assert list(found)[-1] == "scaler_config"


def test_P1_strings_are_escaped_as_go_does():
    text = config(TokenCredentials("a<b>&\u2028é"))
    assert '"a\\u003cb\\u003e\\u0026\\u2028é"' in text
    assert json.loads(text)["github_token"] == "a<b>&\u2028é"
    assert listener_config_equal(text, json.dumps(json.loads(text)))


def test_T227_limits_the_wrong_way_round():
    with pytest.raises(Unbuildable) as caught:
        config(minRunners=5, maxRunners=2)
    assert caught.value.reason is Refusal.INVALID_LIMITS
    assert caught.value.detail == "minRunners 5 is above maxRunners 2"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"githubConfigUrl": ""}, Refusal.INVALID_URL),
        ({"autoscalingRunnerSetNamespace": ""}, Refusal.INCOMPLETE),
        ({"ephemeralRunnerSetName": ""}, Refusal.INCOMPLETE),
        ({"runnerScaleSetId": 0}, Refusal.INCOMPLETE),
        ({"vaultConfig": {"type": ""}}, Refusal.INCOMPLETE),
        ({"vaultConfig": {"type": "azure_key_vault"}, "githubConfigSecret": ""}, Refusal.INCOMPLETE),
    ],
)
def test_P1_what_a_listener_would_refuse(change, reason):
    owner = listener()
    owner["spec"].update(change)
    with pytest.raises(Unbuildable) as caught:
        manifests.listener_config(owner, SETTINGS, credentials=TOKEN)
    assert caught.value.reason is reason


def test_P1_neither_credentials_nor_a_vault():
    with pytest.raises(Unbuildable) as caught:
        config(None)
    assert caught.value.reason is Refusal.INCOMPLETE


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"github_token": ""},
        {"github_token": "ghp_secret", **APP},
        {**APP, "github_app_installation_id": "x-secret"},
        {**APP, "github_app_private_key": ""},
        {**APP, "github_app_installation_id": "0"},
    ],
)
def test_M11_exactly_one_kind_of_credentials(data):
    with pytest.raises(InvalidCredentials) as caught:
        manifests.github_credentials(data)
    assert "secret" not in str(caught.value)


def test_M11_from_a_vault():
    text = json.dumps({**APP, "github_app_installation_id": 34})
    assert manifests.github_credentials(manifests.vault_object(text)) == manifests.github_credentials(APP)
    for broken in ("", "[]", "{secret"):
        with pytest.raises(InvalidCredentials) as caught:
            manifests.vault_object(broken)
        assert "secret" not in repr(caught.value)
        assert caught.value.__cause__ is None


def test_M11_nothing_shows_in_a_repr():
    shown = repr(
        [TOKEN, manifests.github_credentials(APP), manifests.proxy_credentials({"username": "u", "password": "p3"})]
    )
    assert not any(value in shown for value in ("ghp_secret", "PEM", "34", "p3"))


@pytest.mark.parametrize("data", [{}, {"username": "u"}, {"password": "p"}])
def test_M11_a_proxy_needs_both(data):
    with pytest.raises(InvalidCredentials):
        manifests.proxy_credentials(data)


def test_T229_credentials_in_a_proxy_url():
    data = manifests.proxy_data(PROXY, {"p": ProxyCredentials("u", "p")})
    assert data == {"http_proxy": "http://u:p@proxy:3128", "https_proxy": "", "no_proxy": "a,b"}


def test_T229_what_is_special_in_a_url_is_escaped():
    data = manifests.proxy_data(PROXY, {"p": ProxyCredentials("me@corp", "p:/?#% $&+,;=")})
    assert data["http_proxy"] == "http://me%40corp:p%3A%2F%3F%23%25%20$&+,;=@proxy:3128"


def test_T229_without_credentials_the_url_is_as_written():
    assert manifests.proxy_data({"https": {"url": "http://p:1"}}, {})["https_proxy"] == "http://p:1"


@pytest.mark.parametrize("url", ["proxy:3128", "", "http://", "http://[::1"])
def test_L8_a_proxy_url_that_is_none(url):
    with pytest.raises(Unbuildable) as caught:
        manifests.proxy_data({"http": {"url": url, "credentialSecretRef": "p"}}, {"p": ProxyCredentials("u", "pw")})
    assert "pw" not in caught.value.detail
