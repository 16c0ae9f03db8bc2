"""M11: credentials from an Azure key vault. Azure's client itself is stood in for: it is no package of the tests."""

from __future__ import annotations

import asyncio
import sys
import time
import types

import pytest

from arcfsm.actions.proxies import proxy_setting
from arcfsm.actions.vault import AzureKeyVault, azure_vault
from arcfsm.domain.exchange import FailureKind, ProxySetting, ServiceFailure
from arcfsm.domain.manifests.credentials import TokenCredentials, github_credentials, vault_object

CONFIGURATION = {
    "type": "azure_key_vault",
    "azureKeyVault": {
        "url": "https://v.vault.azure.net",
        "tenantId": "t",
        "clientId": "c",
        "certificatePath": "/certificates/app.pem",
    },
}
VALUE = '{"github_token": "ghp_fromTheVault"}'


def read(reader, configuration=CONFIGURATION):
    return asyncio.run(reader.read(configuration, "github"))


def test_M11_the_value_of_a_key():
    asked = []

    def answer(vault, key):
        asked.append((vault.url, vault.tenant_id, vault.client_id, vault.certificate_path, key))
        return VALUE

    found = read(AzureKeyVault(answer))
    assert github_credentials(vault_object(found)) == TokenCredentials("ghp_fromTheVault")
    assert asked == [("https://v.vault.azure.net", "t", "c", "/certificates/app.pem", "github")]


class HttpResponseError(Exception):
    def __init__(self, status_code, message="secret ghp_fromTheVault"):
        super().__init__(message)
        self.status_code = status_code


class ClientAuthenticationError(Exception):
    status_code = None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (HttpResponseError(403), FailureKind.UNAUTHORIZED),
        (HttpResponseError(404), FailureKind.INVALID),
        (HttpResponseError(429), FailureKind.THROTTLED),
        (HttpResponseError(500), FailureKind.FAILED),
        (HttpResponseError(None), FailureKind.UNREACHABLE),
        (ClientAuthenticationError("ghp_fromTheVault"), FailureKind.UNAUTHORIZED),
        (FileNotFoundError("/certificates/app.pem"), FailureKind.INVALID),
        (ValueError("not a PEM: ghp_fromTheVault"), FailureKind.INVALID),
    ],
)
def test_M11_what_went_wrong_without_what_was_said(error, kind):
    def fail(_vault, _key):
        raise error

    with pytest.raises(ServiceFailure, match=r"key github of vault https://v\.vault\.azure\.net") as caught:
        read(AzureKeyVault(fail))
    assert caught.value.kind is kind
    assert "ghp_fromTheVault" not in str(caught.value)


def test_M11_a_vault_that_hangs_is_given_up():
    with pytest.raises(ServiceFailure, match="no answer in time") as caught:
        read(AzureKeyVault(lambda _vault, _key: time.sleep(0.3), deadline_s=0.05))
    assert caught.value.kind is FailureKind.UNREACHABLE


def test_M11_the_packages_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    with pytest.raises(ServiceFailure, match=r"pip install 'arcfsm\[azure\]'"):
        read(AzureKeyVault())


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        ({}, "type '' is unknown"),
        ({"type": "aws"}, "type 'aws' is unknown"),
        ({"type": "azure_key_vault"}, "lacks url, tenantId, clientId, certificatePath"),
        (
            {**CONFIGURATION, "proxy": {"https": {"url": "http://p:1", "credentialSecretRef": "s"}}},
            r"vaultConfig\.proxy\.https",
        ),
    ],
)
def test_M11_a_configuration_that_cannot_be_used(configuration, message):
    with pytest.raises(ServiceFailure, match=message) as caught:
        read(AzureKeyVault(lambda _vault, _key: VALUE), configuration)
    assert caught.value.kind is FailureKind.INVALID


def test_M11_the_proxy_of_a_vault():
    proxy = {"https": {"url": "p:1"}, "noProxy": ["v.vault.azure.net"]}
    assert azure_vault({**CONFIGURATION, "proxy": proxy}).proxy == proxy_setting(
        ProxySetting("", "http://p:1", ("v.vault.azure.net",)), {}
    )


def test_M11_azures_client_is_told_what_the_spec_says(monkeypatch):
    told = []

    class Client:
        def __init__(self, *arguments, **options):
            told.append((type(self).__name__, arguments, options))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            told.append("closed")

        def get_secret(self, key):
            return types.SimpleNamespace(value=f"value of {key}")

    class CertificateCredential(Client):
        pass

    class SecretClient(Client):
        pass

    for name, content in {
        "azure": {},
        "azure.identity": {"CertificateCredential": CertificateCredential},
        "azure.keyvault": {},
        "azure.keyvault.secrets": {"SecretClient": SecretClient},
    }.items():
        module = types.ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    proxy = {"https": {"url": "http://p:1"}, "noProxy": ["v.vault.azure.net"]}
    assert read(AzureKeyVault(), {**CONFIGURATION, "proxy": proxy}) == "value of github"
    (first, where, options), (second, _, more), *closed = told
    assert (first, where, second) == ("CertificateCredential", ("t", "c"), "SecretClient")
    assert options["certificate_path"] == "/certificates/app.pem"
    assert options["proxies"] == {"https": "http://p:1"}
    assert (more["vault_url"], "proxies" in more) == ("https://v.vault.azure.net", False)
    assert closed == ["closed", "closed"]
