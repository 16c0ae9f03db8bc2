"""Credentials that live in a key vault (M11). Azure's is the one that there is.

Its client comes with the extra `arcfsm[azure]` and is imported when a vault is first read: whoever has none needs
neither the packages nor the memory.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import urlsplit

from arcfsm.actions.proxies import proxy_for, proxy_setting
from arcfsm.actions.redaction import one_line
from arcfsm.domain.exchange import FailureKind, ProxySetting, ServiceFailure
from arcfsm.domain.jsonvalue import JsonObject, list_at, object_at, text_at

AZURE: Final = "azure_key_vault"
DEADLINE_S: Final = 30.0
_CONNECT_S: Final = 10
_RETRIES: Final = 2
_AUTHORITY_HOST: Final = "login.microsoftonline.com"
_MISSING: Final = "reading a vault needs the packages of the extra azure: pip install 'arcfsm[azure]'"


class VaultReader(Protocol):
    """Reads what a vault holds, as the engine needs it."""

    async def read(self, configuration: JsonObject, key: str) -> str:
        """Return the value under a key; `configuration` is a spec's `vaultConfig`. Raises ServiceFailure."""
        ...


@dataclass(frozen=True, slots=True)
class AzureVault:
    """Where a vault is and who reads it."""

    url: str
    tenant_id: str
    client_id: str
    certificate_path: str
    """A file with the certificate and its private key, mounted into the controller's pod."""
    proxy: ProxySetting = field(default_factory=ProxySetting)


ReadSecret: TypeAlias = Callable[[AzureVault, str], str]
"""Reads one secret, blocking; raises whatever Azure's client raises."""


class AzureKeyVault:
    """Reads Azure key vaults."""

    def __init__(self, read_secret: ReadSecret | None = None, *, deadline_s: float = DEADLINE_S) -> None:
        """`read_secret` stands in for Azure's client."""
        self._read_secret = read_secret or _with_azure_client
        self._deadline_s = deadline_s

    async def read(self, configuration: JsonObject, key: str) -> str:
        """Return the value under a key. Raises ServiceFailure.

        Azure's client blocks, so it has a thread. One that hangs past the deadline is left alone.
        """
        vault = azure_vault(configuration)
        what = f"key {key} of vault {one_line(vault.url)}"
        try:
            async with asyncio.timeout(self._deadline_s):
                return await asyncio.to_thread(self._read_secret, vault, key)
        except TimeoutError:
            raise ServiceFailure(FailureKind.UNREACHABLE, f"{what}: no answer in time") from None
        except ImportError:
            raise ServiceFailure(FailureKind.INVALID, _MISSING) from None
        except ServiceFailure:
            raise
        except Exception as error:  # noqa: BLE001  # the errors of a package that may not be there can't be named
            raise _failure(what, error) from None


def azure_vault(configuration: JsonObject) -> AzureVault:
    """Read a spec's `vaultConfig`. Raises ServiceFailure (INVALID) where it is incomplete or of another type."""
    kind = text_at(configuration, "type")
    if kind != AZURE:
        raise ServiceFailure(FailureKind.INVALID, f"vaultConfig.type {kind!r} is unknown; expected {AZURE}")
    part = object_at(configuration, "azureKeyVault")
    values = {name: text_at(part, name) for name in ("url", "tenantId", "clientId", "certificatePath")}
    missing = ", ".join(name for name, value in values.items() if not value)
    if missing:
        raise ServiceFailure(FailureKind.INVALID, f"vaultConfig.azureKeyVault lacks {missing}")
    return AzureVault(
        values["url"],
        values["tenantId"],
        values["clientId"],
        values["certificatePath"],
        _proxy(object_at(configuration, "proxy")),
    )


def _proxy(proxy: JsonObject) -> ProxySetting:
    for part in ("http", "https"):
        if text_at(proxy, part, "credentialSecretRef"):
            raise ServiceFailure(FailureKind.INVALID, f"vaultConfig.proxy.{part}: a proxy that asks who one is")
    hosts = tuple(host for host in list_at(proxy, "noProxy") if isinstance(host, str))
    return proxy_setting(ProxySetting(text_at(proxy, "http", "url"), text_at(proxy, "https", "url"), hosts), {})


def _with_azure_client(vault: AzureVault, key: str) -> str:
    identity: Any = importlib.import_module("azure.identity")
    secrets: Any = importlib.import_module("azure.keyvault.secrets")
    with (
        identity.CertificateCredential(
            vault.tenant_id,
            vault.client_id,
            certificate_path=vault.certificate_path,
            **_options(vault.proxy, _AUTHORITY_HOST),
        ) as credential,
        secrets.SecretClient(
            vault_url=vault.url, credential=credential, **_options(vault.proxy, urlsplit(vault.url).hostname or "")
        ) as client,
    ):
        return str(client.get_secret(key).value or "")


def _options(proxy: ProxySetting, host: str) -> dict[str, Any]:
    """Return what Azure's clients are told about one host; without a proxy they look at the environment themselves."""
    options: dict[str, Any] = {"connection_timeout": _CONNECT_S, "read_timeout": _CONNECT_S, "retry_total": _RETRIES}
    url = proxy_for(proxy, "https", host, 443)
    return {**options, "proxies": {"https": url}} if url else options


def _failure(what: str, error: Exception) -> ServiceFailure:
    status = getattr(error, "status_code", None)
    status = status if isinstance(status, int) else 0
    name = type(error).__name__
    if isinstance(error, OSError | ValueError) and not status:
        return ServiceFailure(FailureKind.INVALID, f"{what}: the client's certificate can't be read ({name})")
    if status in {401, 403} or name == "ClientAuthenticationError":
        kind = FailureKind.UNAUTHORIZED
    elif status == 404:
        kind = FailureKind.INVALID
    elif status == 429:
        kind = FailureKind.THROTTLED
    elif status >= 500:
        kind = FailureKind.FAILED
    else:
        kind = FailureKind.UNREACHABLE
    said = f"HTTP {status}" if status else name
    return ServiceFailure(kind, f"{what}: {said}", status=status)
