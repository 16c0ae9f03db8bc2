"""Access to the Actions service: credentials, proxy and CA bundle are read where they are needed, and kept nowhere.

A client is asked for by its identity (M10), which holds versions and no values. So Secrets are read once for every
version of them, not once for every runner.
"""

from __future__ import annotations

import base64
import binascii
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from arcfsm.domain.client_identity import ClientIdentity, identity_under
from arcfsm.domain.exchange import FailureKind, ProxySetting, Reply, ServiceAccess, ServiceFailure
from arcfsm.domain.instant import MINUTE, Instant, Span
from arcfsm.domain.jsonvalue import JsonObject, list_at, object_at, strings_at, text_at
from arcfsm.domain.kinds import RESOURCES, AggregateKind, Kind, StreamId
from arcfsm.domain.manifests import (
    GitHubCredentials,
    InvalidCredentials,
    ProxyCredentials,
    github_credentials,
    proxy_credentials,
    proxy_data,
    vault_object,
)
from arcfsm.engine.effects.surroundings import Surroundings
from arcfsm.engine.ports import ActionsService

KEPT: Final = 256
"""Accesses that are remembered."""
UNSEEN_FOR: Final[Span] = 1 * MINUTE
"""How long an access is good whose Secret is not watched: its rotation is noticed by reading it again."""
_AUTHORITY: Final = ("githubServerTLS", "certificateFrom", "configMapKeyRef")


class Accesses:
    """Finds the client that an aggregate's calls need."""

    def __init__(self, near: Surroundings) -> None:
        self._near = near
        self._kept: OrderedDict[ClientIdentity, tuple[Instant, ServiceAccess]] = OrderedDict()

    async def service_for(self, target: StreamId, *, scale_set_id: int = 0) -> ActionsService:
        """Return the client for an aggregate's calls. Raises ServiceFailure where there are no usable credentials."""
        namespace, spec = self._spec_of(target)
        access = await self._access(namespace, spec)
        return self._near.actions.service(access, scale_set_id=scale_set_id)

    def forget(self, target: StreamId) -> None:
        """Read the credentials again the next time: the service refused them."""
        namespace, spec = self._spec_of(target)
        self._kept.pop(identity_under(self._near.world, namespace, spec), None)

    def _spec_of(self, target: StreamId) -> tuple[str, JsonObject]:
        """Return where an aggregate lives and the spec that names its credentials: a runner has its own (M7)."""
        world = self._near.world
        runner = world.runners.get(target.uid) if target.kind is AggregateKind.RUNNER else None
        if runner is not None:
            return runner.namespace, world.documents.mapping(runner.spec)
        runner_set = world.runner_sets.get(target.uid) if target.kind is AggregateKind.RUNNER_SET else None
        if runner_set is not None:
            return runner_set.namespace, world.documents.mapping(runner_set.runner_spec)
        scale_set = world.scale_sets.get(world.scale_set_uid_of(target))
        if scale_set is None:
            raise ServiceFailure(FailureKind.INVALID, "nothing is known any more of who wanted it")
        return scale_set.namespace, world.documents.mapping(scale_set.spec)

    async def _access(self, namespace: str, spec: JsonObject) -> ServiceAccess:
        near = self._near
        identity = identity_under(near.world, namespace, spec)
        now = near.runtime.now()
        known = self._kept.get(identity)
        watched = "@" in identity.credentials
        if known is not None and (watched or now - known[0] < UNSEEN_FOR):
            self._kept.move_to_end(identity)
            return known[1]
        url = near.concealment.reveal(text_at(spec, "githubConfigUrl"))
        access = ServiceAccess(
            identity=identity,
            config_url=url if isinstance(url, str) else "",
            credentials=await read_credentials(near, namespace, spec),
            proxy=await self._proxy(namespace, object_at(spec, "proxy")),
            root_ca=await read_authority(near, namespace, spec),
        )
        self._kept[identity] = (now, access)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return access

    async def _proxy(self, namespace: str, proxy: JsonObject) -> ProxySetting:
        if not proxy:
            return ProxySetting()
        data = proxy_data(proxy, await read_proxy_credentials(self._near, namespace, proxy))
        hosts = tuple(host for host in list_at(proxy, "noProxy") if isinstance(host, str))
        return ProxySetting(data["http_proxy"], data["https_proxy"], hosts)


async def read_credentials(near: Surroundings, namespace: str, spec: JsonObject) -> GitHubCredentials:
    """Read the credentials that a spec names, from its Secret or its vault (M11). Raises ServiceFailure."""
    name = text_at(spec, "githubConfigSecret")
    vault = object_at(spec, "vaultConfig")
    try:
        if vault:
            return github_credentials(vault_object(await near.vault.read(vault, name)))
        return github_credentials(await read_secret(near, namespace, name))
    except InvalidCredentials as error:
        where = f"vault key {name}" if vault else f"Secret {namespace}/{name}"
        raise ServiceFailure(FailureKind.UNAUTHORIZED, f"{where}: {error}") from None


async def read_proxy_credentials(near: Surroundings, namespace: str, proxy: JsonObject) -> dict[str, ProxyCredentials]:
    """Read what the parts of a proxy setting name. Raises ServiceFailure."""
    found: dict[str, ProxyCredentials] = {}
    for name in _references(proxy):
        try:
            found[name] = proxy_credentials(await read_secret(near, namespace, name))
        except InvalidCredentials as error:
            raise ServiceFailure(FailureKind.UNAUTHORIZED, f"Secret {namespace}/{name}: {error}") from None
    return found


async def read_authority(near: Surroundings, namespace: str, spec: JsonObject) -> str:
    """Read the CA bundle that a spec names, "" for none (L10). Raises ServiceFailure for one that is not there."""
    if not object_at(spec, "githubServerTLS"):
        return ""
    name, key = text_at(spec, *_AUTHORITY, "name"), text_at(spec, *_AUTHORITY, "key")
    where = f"ConfigMap {namespace}/{name}, key {key},"
    if not name or not key:
        raise ServiceFailure(FailureKind.INVALID, "githubServerTLS names no ConfigMap and key")
    reply = await near.cluster.get(RESOURCES[Kind.CONFIG_MAP], namespace, name)
    text = text_at(_body(reply, where), "data", key)
    if not text:
        raise ServiceFailure(FailureKind.INVALID, f"{where} holds no CA bundle")
    return text


async def read_secret(near: Surroundings, namespace: str, name: str) -> dict[str, str]:
    """Read the decoded data of a Secret. Inside effects only; raises ServiceFailure."""
    reply = await near.cluster.get(RESOURCES[Kind.SECRET], namespace, name)
    return decoded(_body(reply, f"Secret {namespace}/{name}"))


def decoded(secret: JsonObject) -> dict[str, str]:
    """Return the data of a Secret as text; what is no text is left out."""
    found: dict[str, str] = {}
    for key, value in strings_at(secret, "data").items():
        try:
            found[key] = base64.b64decode(value).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
    return found


def _body(reply: Reply, what: str) -> JsonObject:
    if reply.ok:
        return reply.body
    if reply.status == 404:
        raise ServiceFailure(FailureKind.INVALID, f"{what} is missing", status=404)
    if reply.status == 403:
        raise ServiceFailure(FailureKind.UNAUTHORIZED, f"{what} can't be read: forbidden", status=403)
    raise ServiceFailure(FailureKind.UNREACHABLE, f"{what} can't be read now", status=reply.status)


def _references(proxy: JsonObject) -> Iterator[str]:
    for part in ("http", "https"):
        name = text_at(proxy, part, "credentialSecretRef")
        if name:
            yield name


__all__ = [
    "Accesses",
    "decoded",
    "read_authority",
    "read_credentials",
    "read_proxy_credentials",
    "read_secret",
]
