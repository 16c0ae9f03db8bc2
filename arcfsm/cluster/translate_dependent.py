"""Service accounts, roles, bindings, Secrets and config maps to domain events (W10, W11).

Relevant are those that one of our objects owns, that carry a listener's labels or the cleanup-protection finalizer, or
that a scale set names. Everything else in a cluster is of no interest and leaves no trace. An object may come before
the scale set that names it, so what is not relevant yet is kept aside for a while.

Of a Secret or config map only metadata is read; every new version of one counts as a change, since its content is not
seen. Of the others a new version alone is no change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from arcfsm.cluster.sighting import Sighting
from arcfsm.cluster.wire import moment_or_none
from arcfsm.domain import keys
from arcfsm.domain.events.dependent import DependentChanged, DependentFacts, DependentGone, DependentObserved
from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import JsonObject, object_at, objects_at, text_at
from arcfsm.domain.kinds import AGGREGATE_OF, CONTROLLER_STREAM, AggregateKind, Kind, StreamId
from arcfsm.domain.states import Dependent, DependentKey, ScaleSet
from arcfsm.domain.world import World

DEPENDENT_KINDS: Final = frozenset({Kind.SECRET, Kind.CONFIG_MAP, Kind.SERVICE_ACCOUNT, Kind.ROLE, Kind.ROLE_BINDING})
UNSEEN_CONTENT: Final = frozenset({Kind.SECRET, Kind.CONFIG_MAP})
"""Kinds whose content is not read: any new version may be a new content."""
_CONTENT: Final = {Kind.ROLE: ("rules",), Kind.ROLE_BINDING: ("roleRef", "subjects")}

_ANNOTATED: Final = (
    (keys.KUBERNETES_MODE_ROLE_BINDING, Kind.ROLE_BINDING),
    (keys.KUBERNETES_MODE_ROLE, Kind.ROLE),
    (keys.KUBERNETES_MODE_SERVICE_ACCOUNT, Kind.SERVICE_ACCOUNT),
    (keys.NO_PERMISSION_SERVICE_ACCOUNT, Kind.SERVICE_ACCOUNT),
    (keys.GITHUB_SECRET, Kind.SECRET),
    (keys.MANAGER_ROLE_BINDING, Kind.ROLE_BINDING),
    (keys.MANAGER_ROLE, Kind.ROLE),
)


def project(sighting: Sighting) -> Dependent:
    """Return everything of a dependent that the rules look at."""
    head, obj = sighting.head, sighting.object
    parts = _CONTENT.get(head.kind, ())
    content = {part: obj[part] for part in parts if obj.get(part) is not None}
    return Dependent(
        kind=head.kind,
        namespace=head.namespace,
        name=head.name,
        uid=head.uid,
        resource_version=head.version,
        metadata=sighting.metadata(),
        content=sighting.document(content) if content else "",
        finalizers=head.finalizers,
        modified_at=_modified_at(obj) or head.created_at,
        deletion_requested_at=head.deletion_requested_at,
    )


def key_of(one: Dependent) -> DependentKey:
    """Return the name by which a dependent is known."""
    return DependentKey(one.kind, one.namespace, one.name)


def observed(seen: Dependent) -> DependentObserved:
    """Return the event of a dependent that was not known."""
    return DependentObserved(**{name: getattr(seen, name) for name in DependentFacts.model_fields})


def changed(known: Dependent, seen: Dependent) -> DependentChanged | None:
    """Return the event of a change, None where nothing changed that the rules look at."""
    same = (
        seen.metadata == known.metadata
        and seen.content == known.content
        and seen.finalizers == known.finalizers
        and (seen.deletion_requested_at is None) == (known.deletion_requested_at is None)
        and (seen.kind not in UNSEEN_CONTENT or seen.resource_version == known.resource_version)
    )
    if same:
        return None
    return DependentChanged(**{name: getattr(seen, name) for name in DependentFacts.model_fields})


def gone(known: Dependent) -> DependentGone:
    """Return the event of a dependent that is no more."""
    return DependentGone(kind=known.kind, namespace=known.namespace, name=known.name, uid=known.uid)


def stream_of(world: World, sighting: Sighting, key: DependentKey, names: ScaleSetNames) -> StreamId | None:
    """Return whose story a dependent belongs to; None where it is of no interest."""
    head = sighting.head
    if head.owner is not None and head.owner.kind in AGGREGATE_OF:
        return StreamId(AGGREGATE_OF[head.owner.kind], head.owner.uid)
    listener = text_at(head.labels, keys.LISTENER_NAME)
    if listener:
        found = world.named(AggregateKind.LISTENER, text_at(head.labels, keys.LISTENER_NAMESPACE), listener)
        return found or CONTROLLER_STREAM
    uid = names.scale_set_naming(world, key)
    if uid is not None:
        return StreamId(AggregateKind.SCALE_SET, uid)
    if keys.CLEANUP_PROTECTION_FINALIZER in head.finalizers or _known(world, key, head.uid):
        return CONTROLLER_STREAM
    return None


class ScaleSetNames:
    """Which dependents the scale sets name. Worked out once per version of a scale set's spec and metadata."""

    def __init__(self) -> None:
        self._named: dict[str, tuple[tuple[str, str], frozenset[DependentKey]]] = {}

    def scale_set_naming(self, world: World, key: DependentKey) -> str | None:
        """Return the uid of the oldest scale set in the same namespace that names a dependent."""
        naming = (
            (one.created_at, one.uid)
            for one in world.scale_sets.values()
            if one.present and one.namespace == key.namespace and key in self.named_by(world, one)
        )
        return min(naming, default=(0, None))[1]

    def named_by(self, world: World, scale_set: ScaleSet) -> frozenset[DependentKey]:
        """Return the dependents that a scale set names."""
        version = (scale_set.spec, scale_set.metadata)
        before = self._named.get(scale_set.uid)
        if before is not None and before[0] == version:
            return before[1]
        found = frozenset(_names_in(world, scale_set))
        self._named[scale_set.uid] = (version, found)
        return found


def _names_in(world: World, scale_set: ScaleSet) -> Iterator[DependentKey]:
    spec = world.documents.mapping(scale_set.spec)
    annotations = object_at(world.documents.mapping(scale_set.metadata), "annotations")
    named: list[tuple[Kind, str]] = [(kind, text_at(annotations, annotation)) for annotation, kind in _ANNOTATED]
    named.append((Kind.SECRET, text_at(spec, "githubConfigSecret")))
    named += [(Kind.SECRET, text_at(spec, "proxy", part, "credentialSecretRef")) for part in ("http", "https")]
    named.append((Kind.CONFIG_MAP, text_at(spec, "githubServerTLS", "certificateFrom", "configMapKeyRef", "name")))
    for kind, name in named:
        if name:
            yield DependentKey(kind, scale_set.namespace, name)


def _known(world: World, key: DependentKey, uid: str) -> bool:
    known = world.dependents.get(key)
    return known is not None and known.uid == uid


def _modified_at(obj: JsonObject) -> Instant | None:
    times = (moment_or_none(entry.get("time")) for entry in objects_at(obj, "metadata", "managedFields"))
    return max((at for at in times if at is not None), default=None)
