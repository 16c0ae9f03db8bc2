"""A look at the server before anything starts: are our four kinds served, and do they keep the fields we rely on (H34).

Helm never upgrades definitions, and a server drops fields that a definition does not know without a word. Reading
definitions takes a right of its own; without it, old definitions show only when a written field does not come back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from arcfsm.cluster.connection.failures import one_line
from arcfsm.domain import keys
from arcfsm.domain.exchange import NO_ANSWER, Reply
from arcfsm.domain.jsonvalue import JsonObject, object_at, objects_at, text_at
from arcfsm.domain.kinds import AGGREGATE_OF, RESOURCES, Kind, Resource

DEFINITIONS: Final = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
RELIED_ON: Final[dict[Kind, tuple[str, ...]]] = {
    Kind.SCALE_SET: ("status.phase", "status.observedGeneration"),
    Kind.RUNNER_SET: (
        "spec.patchID",
        "spec.actionableRevision",
        "status.phase",
        "status.appliedActionableRevision",
        "status.finishedRunnerCleanupPatchID",
    ),
    Kind.RUNNER: ("status.phase", "status.runnerId", "status.jobId", "status.failures"),
    Kind.LISTENER: ("spec.phase",),
}
"""Fields that rules write and decide by. Without one the rules fall back; nobody should find that out by surprise."""
_HEALED_BY: Final = "apply the CRDs of the newest gha-runner-scale-set-controller chart (Helm does not upgrade them)"


class Surveyed(Protocol):
    """What a survey asks."""

    @property
    def server(self) -> str:
        """The server's URL."""
        ...

    async def read(self, path: str) -> Reply:
        """Read what the server says about itself."""
        ...

    async def get(self, resource: Resource, namespace: str, name: str) -> Reply:
        """Read one object."""
        ...


@dataclass(frozen=True, slots=True)
class Survey:
    """What there is."""

    reached: bool
    """Whether the server answered and let us in."""
    missing: tuple[Kind, ...] = ()
    """Kinds that are not served."""
    pruned: tuple[tuple[Kind, str], ...] = ()
    """Fields relied on that the installed definitions drop; empty as well where `unread` names the kind."""
    unread: tuple[Kind, ...] = ()
    """Kinds whose definitions could not be read."""
    faults: tuple[str, ...] = ()
    """Why nothing can work, a line each."""
    warnings: tuple[str, ...] = ()
    """What will work less well, a line each."""


async def discover(cluster: Surveyed) -> Survey:
    """Look at the server. Raises nothing for what it answers."""
    reply = await cluster.read(f"/apis/{keys.GROUP}/{keys.VERSION}")
    if not reply.ok and reply.status != 404:
        return Survey(reached=False, missing=tuple(RELIED_ON), faults=(_unreached(cluster.server, reply),))
    served = {text_at(one, "name") for one in objects_at(reply.body, "resources")} if reply.ok else set()
    missing = tuple(kind for kind in AGGREGATE_OF if RESOURCES[kind].plural not in served)
    no_status = tuple(
        kind for kind in RELIED_ON if kind not in missing and f"{RESOURCES[kind].plural}/status" not in served
    )
    faults = [f"{kind} ({keys.GROUP}/{keys.VERSION}) is not served: {_HEALED_BY}" for kind in missing]
    faults += [f"{kind} has no status subresource: {_HEALED_BY}" for kind in no_status if kind is not Kind.LISTENER]
    pruned: list[tuple[Kind, str]] = []
    unread: list[Kind] = []
    for kind in RELIED_ON:
        if kind in missing:
            continue
        fields = await _dropped(cluster, kind)
        if fields is None:
            unread.append(kind)
        else:
            pruned += [(kind, field) for field in fields]
    warnings = [f"the installed definition of {kind} drops {field}: {_HEALED_BY}" for kind, field in pruned]
    if unread:
        warnings.append(
            f"definitions of {', '.join(unread)} can't be read, so whether they are too old is not known: "
            "allow get on customresourcedefinitions.apiextensions.k8s.io"
        )
    return Survey(
        reached=True,
        missing=missing,
        pruned=tuple(pruned),
        unread=tuple(unread),
        faults=tuple(faults),
        warnings=tuple(warnings),
    )


def dropped_fields(definition: JsonObject, kind: Kind) -> tuple[str, ...]:
    """Return the fields relied on that a definition drops in our version."""
    for version in objects_at(definition, "spec", "versions"):
        if version.get("name") == keys.VERSION:
            schema = object_at(version, "schema", "openAPIV3Schema")
            return tuple(field for field in RELIED_ON[kind] if not _keeps(schema, field.split(".")))
    return RELIED_ON[kind]


def _keeps(schema: JsonObject, path: list[str]) -> bool:
    for name in path:
        if schema.get("x-kubernetes-preserve-unknown-fields") is True:
            return True
        properties = object_at(schema, "properties")
        if name not in properties:
            return False
        schema = object_at(properties, name)
    return True


async def _dropped(cluster: Surveyed, kind: Kind) -> tuple[str, ...] | None:
    reply = await cluster.get(DEFINITIONS, "", f"{RESOURCES[kind].plural}.{keys.GROUP}")
    return dropped_fields(reply.body, kind) if reply.ok else None


def _unreached(server: str, reply: Reply) -> str:
    if reply.status == NO_ANSWER:
        return f"API server {server}: {reply.detail}"
    told = one_line(text_at(reply.body, "message") or "no reason given")
    if reply.status == 401:
        return f"API server {server} does not accept our credentials (401): {told}"
    return f"API server {server} refuses discovery ({reply.status}): {told}"
