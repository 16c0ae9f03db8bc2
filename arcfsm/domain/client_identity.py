"""What makes two clients of the Actions service the same (M10)."""

from __future__ import annotations

from typing import NamedTuple

from arcfsm.domain.documents import Documents
from arcfsm.domain.jsonvalue import Digest, Json, JsonObject, object_at, text_at
from arcfsm.domain.kinds import Kind
from arcfsm.domain.rulebook import rule
from arcfsm.domain.states import ScaleSet
from arcfsm.domain.world import World


class ClientIdentity(NamedTuple):
    """A client may be shared by whoever has the same identity. It holds versions and digests, never credentials."""

    config_url: str
    namespace: str
    credentials: str
    """Name, uid and resourceVersion of the credentials' Secret: a rotated one makes another client."""
    proxy: Digest
    """Digest of the whole proxy setting: a changed URL makes another client, which upstream misses."""
    certificates: str
    """Digest of the TLS setting, and the resourceVersion of its ConfigMap."""


@rule("M10", "clients of the service are shared by URL, namespace, credentials, proxy content and certificates")
def client_identity(world: World, scale_set: ScaleSet) -> ClientIdentity:
    """Return the identity of the client that a scale set needs now."""
    return identity_under(world, scale_set.namespace, world.documents.mapping(scale_set.spec))


def identity_under(world: World, namespace: str, spec: JsonObject) -> ClientIdentity:
    """Return the identity of the client that a spec in a namespace names: a scale set's, or a runner's own."""
    secret_name = text_at(spec, "githubConfigSecret")
    reference = object_at(spec, "githubServerTLS", "certificateFrom", "configMapKeyRef")
    return ClientIdentity(
        config_url=text_at(spec, "githubConfigUrl"),
        namespace=namespace,
        credentials=_version(world, Kind.SECRET, namespace, secret_name),
        proxy=_digest(world.documents, spec.get("proxy")),
        certificates=_digest(world.documents, spec.get("githubServerTLS"))
        + _version(world, Kind.CONFIG_MAP, namespace, text_at(reference, "name")),
    )


def _version(world: World, kind: Kind, namespace: str, name: str) -> str:
    found = world.dependent(kind, namespace, name) if name else None
    return f"{name}@{found.uid}@{found.resource_version}" if found is not None else name


def _digest(documents: Documents, value: Json) -> Digest:
    return "" if value is None else documents.intern(value)
