"""Objects as the API shows them, turned into domain events by comparison with what is known.

Guarantees:
- What an observation adds is exactly the difference to the folded state: translating the same object again yields
  nothing, so a missed, doubled or late word changes nothing in the end.
- Order between objects does not matter: a pod, a Secret or a role may come before the object it belongs to.
- A late word (an older version of an object, or a word about one that is gone) never undoes a later one.
- An object that is gone does not come back, as long as its uid is remembered. Of dependents that nobody owns (roles of
  a listener) no uids are remembered beyond the session: an older recording tells again that they came and went.
- *Created* is said only of what was seen being created; everything else was *Observed* (B13).
- Of content only what a projection names is read, and that without credentials (see redaction.py).

It is deterministic: the same observations against the same world give the same events, whatever the hash seed. It
remembers only what the world does not: the latest versions of objects that changed in nothing relevant, and metadata of
dependents that nobody has named yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final, TypeVar

from arcfsm.cluster import (
    translate_dependent,
    translate_listener,
    translate_pod,
    translate_runner,
    translate_runner_set,
    translate_scale_set,
)
from arcfsm.cluster.absence import gone_event, known_in, missing_events
from arcfsm.cluster.authors import ANNOTATIONS, FINALIZERS, LABELS, FieldPath, author_of, creator_of
from arcfsm.cluster.sealing import SealedValues
from arcfsm.cluster.shelf import Shelf
from arcfsm.cluster.sighting import Fact, RedactedDocuments, Sighting
from arcfsm.cluster.versions import Versions, older, pod_of
from arcfsm.cluster.wire import Head, kind_of, name_of_kind, newest_moment, read_head
from arcfsm.domain import keys
from arcfsm.domain.envelope import Source
from arcfsm.domain.events import EVENT_TYPES, DomainEvent
from arcfsm.domain.events.controller import GapDetected
from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import JsonObject, text_at
from arcfsm.domain.kinds import AGGREGATE_OF, CONTROLLER_STREAM, AggregateKind, Kind, StreamId, stream_of
from arcfsm.domain.knowledge import Aggregate
from arcfsm.domain.observation import Change, Identity, Observation, Scope, Translation
from arcfsm.domain.pruning import keep_dropped
from arcfsm.domain.states import DependentKey, Listener, Runner, RunnerSet, ScaleSet
from arcfsm.domain.turn import Arrival
from arcfsm.domain.world import World

S = TypeVar("S", ScaleSet, RunnerSet, Runner, Listener)

DUPLICATE: Final = "known already"
LATE: Final = "older than what is known"
CLOSED: Final = "about an object that is gone"
UNCHANGED: Final = "changes nothing the rules look at"
UNRELATED: Final = "none of our objects"

# Looking a member up on its enumeration costs ten times a name (Python 3.11), and every line asks for these.
_DELETED: Final = Change.DELETED
_POD: Final = Kind.POD
_LISTENER: Final = Kind.LISTENER
_SCALE_SET: Final = AggregateKind.SCALE_SET
_RUNNER_SET: Final = AggregateKind.RUNNER_SET
_RUNNER: Final = AggregateKind.RUNNER

_CREATED: Final = frozenset(cls for name, cls in EVENT_TYPES.items() if name.endswith("Created"))
_DEPENDENT: Final[tuple[FieldPath, ...]] = (
    LABELS,
    ANNOTATIONS,
    FINALIZERS,
    ("f:rules",),
    ("f:subjects",),
    ("f:roleRef",),
    ("f:data",),
)


class ObjectTranslator:
    """Turns observations of one cluster into domain events."""

    def __init__(self, sealed: SealedValues | None = None) -> None:
        """`sealed` learns what stands behind the markers of redacted values, which control needs."""
        self._documents = RedactedDocuments(sealed)
        self._versions = Versions()
        self._names = translate_dependent.ScaleSetNames()
        self._shelf = Shelf()
        self._revivable: frozenset[StreamId] = frozenset()
        """What was gone when the cluster's store was restored from a backup, which may bring it back."""
        self._latest_object: JsonObject | None = None
        self._latest_head: Head | None = None

    def kind_of(self, obj: JsonObject) -> Kind | None:
        """Return the kind of an object; None for kinds we do not know."""
        return kind_of(obj)

    def identify(self, world: World, obj: JsonObject) -> Identity | None:
        """Return which object this is and what is known of it; None for kinds and shapes we do not know."""
        head = self._head(obj)
        if head is None:
            return None
        scope = Scope(head.kind, head.namespace)
        return Identity(
            scope=scope,
            name=head.name,
            uid=head.uid,
            version=head.version,
            known_version=self._versions.of(world, head, _stream(head)),
            created_at=head.created_at,
        )

    def translate(self, world: World, observation: Observation) -> Translation:
        """Return the events of one observation. Raises RefusedError where it can't be understood."""
        head = self._head(observation.object)
        if head is None:
            return Translation((), f"of unknown kind {name_of_kind(observation.object)}")
        kind = head.kind
        stream = _stream(head)
        latest = self._versions.before(world, head, stream)
        late = older(head.version, latest)
        deleted = observation.change is _DELETED
        if latest and not deleted and (late or head.version == latest):
            return Translation((), LATE if late else DUPLICATE, kind, head.version)
        sighting = Sighting(world, observation.object, head, observation, self._documents)
        if kind in AGGREGATE_OF and stream is not None:
            result = self._aggregate(sighting, stream, unheard=not latest)
        elif kind is _POD:
            result = self._pod(sighting, stream, unheard=not latest or (deleted and older(latest, head.version)))
        else:
            result = self._dependent(sighting)
        if not late:
            self._versions.note(head.uid, head.version)
        return Translation(result.arrivals, result.noise, kind, head.version)

    def missing(self, world: World, scopes: Iterable[Scope], listed: Collection[str]) -> Iterator[Arrival]:
        """Yield what is gone: known objects in the listed scopes whose uid the list does not hold."""
        for stream, event in missing_events(world, scopes, listed):
            yield Arrival(stream=stream, event=event, source=Source.LIST)

    def known_in(self, world: World, scope: Scope) -> frozenset[str]:
        """Return the uids of the objects of a scope that are known to be there."""
        return known_in(world, scope)

    def newest_moment(self, obj: JsonObject) -> Instant | None:
        """Return the newest time that an object mentions."""
        return newest_moment(obj)

    def latest_version(self, uid: str) -> str:
        """Return the newest resourceVersion seen of an object in this session; "" for none."""
        return self._versions.latest(uid)

    def restart_versions(self, world: World) -> None:
        """Forget the order of resource versions: the cluster started a new count of them (B40).

        Its store may be older than what is known: what is gone by now can be there again.
        """
        self._versions.restart()
        gone = (stream for stream in world.streams() if not _there(world.aggregate(stream)))
        self._revivable = frozenset((*world.closed, *gone))

    def _head(self, obj: JsonObject) -> Head | None:
        """Read the head of an object; the one read last is at hand, since who identifies also translates."""
        if obj is not self._latest_object:
            kind = kind_of(obj)
            self._latest_object = None
            self._latest_head = None if kind is None else read_head(obj, kind)
            self._latest_object = obj
        return self._latest_head

    # The four kinds of our group

    def _aggregate(self, sighting: Sighting, stream: StreamId, *, unheard: bool) -> Translation:
        world, head = sighting.world, sighting.head
        known = world.aggregate(stream)
        deleted = sighting.observation.change is _DELETED
        closed = stream in world.closed or (known is not None and known.state == "gone")
        revived = closed and sighting.observation.listed and stream in self._revivable
        if (closed and not revived) or (deleted and known is None and not unheard):
            return Translation((), CLOSED)
        arrivals: list[Arrival] = []
        if revived and (pod := pod_of(world, stream)) is not None:
            # What is left of its earlier life ends before the next one begins.
            gone = translate_pod.POD_EVENTS[stream.kind].gone(pod_uid=pod.uid)
            arrivals.append(_arrival(sighting, stream, Fact(gone)))
        namesake = world.named(stream.kind, head.namespace, head.name)
        if namesake is not None and namesake != stream:
            other = world.aggregate(namesake)
            if other is not None and sighting.created_at < other.created_at:
                return Translation((), LATE)
            arrivals += _replaced(sighting, namesake, gone_event(namesake))
        arrivals += [_arrival(sighting, stream, fact) for fact in _aggregate_facts(sighting, stream)]
        if stream.kind is _SCALE_SET and arrivals:
            arrivals += self._named_now(sighting, stream)
        if deleted:
            arrivals.append(_arrival(sighting, stream, Fact(gone_event(stream))))
        return Translation(tuple(arrivals), "" if arrivals else UNCHANGED)

    def _named_now(self, sighting: Sighting, stream: StreamId) -> Iterator[Arrival]:
        """Yield the dependents that came before the scale set that names them."""
        for key in sorted(self._names.named_by(sighting.world, translate_scale_set.project(sighting))):
            kept = self._shelf.take(key)
            if kept is not None:
                yield Arrival(
                    stream=stream,
                    event=translate_dependent.observed(kept),
                    source=sighting.observation.source,
                    observed_at=sighting.at,
                    correlation=stream.uid,
                    resource_version=kept.resource_version,
                )

    # Pods

    def _pod(self, sighting: Sighting, stream: StreamId | None, *, unheard: bool) -> Translation:
        if stream is None:
            return Translation((), UNRELATED)
        world, uid = sighting.world, sighting.head.uid
        owner_known, known = world.aggregate(stream) is not None, pod_of(world, stream)
        deleted = sighting.observation.change is _DELETED
        if stream in world.closed or (deleted and not owner_known) or (deleted and known is None and not unheard):
            return Translation((), CLOSED)
        events = translate_pod.POD_EVENTS[stream.kind]
        arrivals: list[Arrival] = []
        if known is not None and known.uid != uid:
            if sighting.created_at < known.created_at:
                return Translation((), LATE)
            arrivals += _replaced(sighting, stream, events.gone(pod_uid=known.uid))
            known = None
        seen = translate_pod.project(sighting, stream, known)
        changes = translate_pod.changes(events, known, seen, fresh=sighting.fresh)
        arrivals += [_arrival(sighting, stream, fact) for fact in changes]
        if deleted:
            arrivals.append(_arrival(sighting, stream, Fact(events.gone(pod_uid=uid))))
        return Translation(tuple(arrivals), "" if arrivals else UNCHANGED)

    # Dependents

    def _dependent(self, sighting: Sighting) -> Translation:
        world, head = sighting.world, sighting.head
        key = DependentKey(head.kind, head.namespace, head.name)
        deleted = sighting.observation.change is _DELETED
        stream = translate_dependent.stream_of(world, sighting, key, self._names)
        seen = translate_dependent.project(sighting)
        if stream is None:
            if deleted:
                self._shelf.take(key)
            else:
                self._shelf.keep(key, seen)
            return Translation((), UNRELATED)
        self._shelf.take(key)
        known = world.dependents.get(key)
        arrivals: list[Arrival] = []
        if known is not None and known.uid != seen.uid:
            if deleted or older(seen.resource_version, known.resource_version):
                return Translation((), LATE)
            arrivals += _replaced(sighting, stream, translate_dependent.gone(known))
            known = None
        if known is None and (deleted or stream in world.closed):
            return Translation(tuple(arrivals), "" if arrivals else CLOSED)
        event: DomainEvent | None
        if deleted and known is not None:
            event = translate_dependent.gone(known)
        elif known is None:
            event = translate_dependent.observed(seen)
        else:
            event = translate_dependent.changed(known, seen)
        if event is None:
            return Translation((), UNCHANGED)
        paths = () if deleted else _DEPENDENT
        return Translation((*arrivals, _arrival(sighting, stream, Fact(event, paths))))


def _stream(head: Head) -> StreamId | None:
    if head.kind in AGGREGATE_OF:
        return stream_of(AGGREGATE_OF[head.kind], head.uid)
    return translate_pod.owner_stream(head) if head.kind is _POD else None


def _aggregate_facts(sighting: Sighting, stream: StreamId) -> Iterator[Fact]:
    world, uid, fresh = sighting.world, stream.uid, sighting.fresh
    if stream.kind is _RUNNER:
        runner = _present(world.runners.get(uid))
        seen = translate_runner.project(sighting, runner)
        if runner is not None:
            yield from translate_runner.changes(runner, seen)
        else:
            yield Fact(translate_runner.appeared(seen, fresh=fresh))
    elif stream.kind is _RUNNER_SET:
        runner_set = _present(world.runner_sets.get(uid))
        seen_set = translate_runner_set.project(sighting)
        if runner_set is not None:
            if Kind.RUNNER_SET in world.pruned:
                seen_set = keep_dropped(runner_set, seen_set, sighting.object, world.pruned[Kind.RUNNER_SET])
            yield from translate_runner_set.changes(runner_set, seen_set)
        else:
            yield Fact(translate_runner_set.appeared(seen_set, fresh=fresh))
    elif stream.kind is AggregateKind.LISTENER:
        listener = _present(world.listeners.get(uid))
        seen_listener = translate_listener.project(sighting)
        if listener is not None:
            yield from translate_listener.changes(listener, seen_listener)
        else:
            yield Fact(translate_listener.appeared(seen_listener, fresh=fresh))
    else:
        scale_set = _present(world.scale_sets.get(uid))
        seen_scale_set = translate_scale_set.project(sighting)
        if scale_set is not None:
            if Kind.SCALE_SET in world.pruned:
                seen_scale_set = keep_dropped(scale_set, seen_scale_set, sighting.object, world.pruned[Kind.SCALE_SET])
            yield from translate_scale_set.changes(scale_set, seen_scale_set)
        else:
            yield Fact(translate_scale_set.appeared(seen_scale_set, fresh=fresh))


def _there(known: Aggregate | None) -> bool:
    """Return whether an object is known to be there."""
    return known is not None and known.present


def _present(known: S | None) -> S | None:
    return known if known is not None and known.present else None


def _replaced(sighting: Sighting, stream: StreamId, gone: DomainEvent) -> Iterator[Arrival]:
    """Yield that an object is gone whose deletion we did not see: another one has its name."""
    gap = GapDetected(
        scope=str(sighting.head),
        reason="its deletion was not seen: its name belongs to another object now",
        until=sighting.at,
    )
    for where, event in ((CONTROLLER_STREAM, gap), (stream, gone)):
        yield Arrival(stream=where, event=event, source=sighting.observation.source, observed_at=sighting.at)


def _arrival(sighting: Sighting, stream: StreamId, fact: Fact) -> Arrival:
    created = type(fact.event) in _CREATED
    return Arrival(
        stream=stream,
        event=fact.event,
        source=sighting.observation.source,
        observed_at=sighting.at,
        correlation=_correlation(sighting, stream),
        resource_version=sighting.head.version,
        actor=creator_of(sighting.object) if created else author_of(sighting.object, fact.paths),
    )


def _correlation(sighting: Sighting, stream: StreamId) -> str:
    """Return the uid of the scale set that an object belongs to, as far as it or its owner is known."""
    world, head = sighting.world, sighting.head
    found = world.scale_set_uid_of(stream)
    if found:
        return found
    if head.kind is _LISTENER:
        spec = sighting.object.get("spec")
        if isinstance(spec, dict):
            served = text_at(spec, "autoscalingRunnerSetNamespace"), text_at(spec, "autoscalingRunnerSetName")
            owner = world.named(AggregateKind.SCALE_SET, *served)
            return owner.uid if owner is not None else ""
    if head.owner is not None and head.owner.kind in AGGREGATE_OF:
        found = world.scale_set_uid_of(stream_of(AGGREGATE_OF[head.owner.kind], head.owner.uid))
    if found:
        return found
    # What stands between it and its scale set is gone already, or was not seen yet; labels say it too.
    names = text_at(head.labels, keys.SCALE_SET_NAMESPACE), text_at(head.labels, keys.SCALE_SET_NAME)
    labelled = world.named(AggregateKind.SCALE_SET, *names)
    return labelled.uid if labelled is not None else ""
