"""What it means that an object is not there: events of objects that are gone, seen to go or found missing later."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from arcfsm.cluster.translate_dependent import DEPENDENT_KINDS, gone
from arcfsm.cluster.translate_pod import POD_EVENTS
from arcfsm.domain.events import DomainEvent
from arcfsm.domain.events.listener import ListenerGone
from arcfsm.domain.events.runner import RunnerGone
from arcfsm.domain.events.runner_set import RunnerSetGone
from arcfsm.domain.events.scale_set import ScaleSetGone
from arcfsm.domain.facts import PodFacts
from arcfsm.domain.kinds import AGGREGATE_OF, CONTROLLER_STREAM, AggregateKind, Kind, StreamId
from arcfsm.domain.knowledge import Aggregate
from arcfsm.domain.observation import Scope
from arcfsm.domain.world import World

_GONE: Final[dict[AggregateKind, type[DomainEvent]]] = {
    AggregateKind.SCALE_SET: ScaleSetGone,
    AggregateKind.RUNNER_SET: RunnerSetGone,
    AggregateKind.RUNNER: RunnerGone,
    AggregateKind.LISTENER: ListenerGone,
}


def gone_event(stream: StreamId) -> DomainEvent:
    """Return the event of an aggregate that is no more."""
    return _GONE[stream.kind]()


def missing_events(
    world: World, scopes: Iterable[Scope], listed: Collection[str]
) -> Iterator[tuple[StreamId, DomainEvent]]:
    """Yield what is gone: known objects in the listed scopes whose uid the list does not hold. Pods go first."""
    for scope in sorted(set(scopes), key=lambda one: (one.kind is not Kind.POD, one.kind, one.namespace)):
        if scope.kind is Kind.POD:
            yield from _missing_pods(world, scope.namespace, listed)
        elif scope.kind in AGGREGATE_OF:
            for one in _aggregates(world, AGGREGATE_OF[scope.kind]):
                if one.present and one.namespace == scope.namespace and one.uid not in listed:
                    stream = StreamId(AGGREGATE_OF[scope.kind], one.uid)
                    yield stream, gone_event(stream)
        elif scope.kind in DEPENDENT_KINDS:
            for key in sorted(world.dependents):
                dependent = world.dependents[key]
                if key.kind is scope.kind and key.namespace == scope.namespace and dependent.uid not in listed:
                    yield CONTROLLER_STREAM, gone(dependent)


def known_in(world: World, scope: Scope) -> frozenset[str]:
    """Return the uids of the present objects of a scope."""
    if scope.kind is Kind.POD:
        return frozenset(pod.uid for _, pod in _pods(world, scope.namespace))
    if scope.kind in AGGREGATE_OF:
        found = _aggregates(world, AGGREGATE_OF[scope.kind])
        return frozenset(one.uid for one in found if one.present and one.namespace == scope.namespace)
    return frozenset(
        one.uid for key, one in world.dependents.items() if (key.kind, key.namespace) == (scope.kind, scope.namespace)
    )


def _missing_pods(world: World, namespace: str, listed: Collection[str]) -> Iterator[tuple[StreamId, DomainEvent]]:
    for stream, pod in _pods(world, namespace):
        if pod.uid not in listed:
            yield stream, POD_EVENTS[stream.kind].gone(pod_uid=pod.uid)


def _pods(world: World, namespace: str) -> Iterator[tuple[StreamId, PodFacts]]:
    """Yield the present pods of a namespace. A pod has the namespace of its owner, which may not have been seen yet."""
    for uid in sorted(world.runners):
        runner = world.runners[uid]
        if runner.pod is not None and runner.namespace == namespace:
            yield StreamId(AggregateKind.RUNNER, uid), runner.pod
    for uid in sorted(world.listeners):
        listener = world.listeners[uid]
        if listener.pod is not None and listener.namespace == namespace:
            yield StreamId(AggregateKind.LISTENER, uid), listener.pod


def _aggregates(world: World, kind: AggregateKind) -> list[Aggregate]:
    known: dict[AggregateKind, dict[str, Aggregate]] = {
        AggregateKind.SCALE_SET: dict(world.scale_sets),
        AggregateKind.RUNNER_SET: dict(world.runner_sets),
        AggregateKind.RUNNER: dict(world.runners),
        AggregateKind.LISTENER: dict(world.listeners),
    }
    return [known[kind][uid] for uid in sorted(known[kind])]
