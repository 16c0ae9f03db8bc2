"""Pods to domain events of the runner or listener that controls them (W7, W9). Other pods are none of ours.

The node a pod runs on is noted with whatever changes next; being bound to one is no event for a runner's pod. For a
listener's pod it is a change of the spec, and W9 counts that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from operator import attrgetter
from typing import Final, NamedTuple

from arcfsm.cluster.authors import ANNOTATIONS, LABELS, SPEC, STATUS
from arcfsm.cluster.redaction import redact_name
from arcfsm.cluster.sighting import Fact, Sighting
from arcfsm.cluster.wire import Head, clean, moment_or_none, text, whole
from arcfsm.domain import keys, phases
from arcfsm.domain.events import listener, runner
from arcfsm.domain.facts import ContainerFacts, PodFacts
from arcfsm.domain.jsonvalue import JsonObject, list_at, object_at, objects_at, text_at
from arcfsm.domain.kinds import AggregateKind, Kind, StreamId, stream_of


class PodEvents(NamedTuple):
    """The events of the pods of one aggregate."""

    created: type[runner.RunnerPodFacts | listener.ListenerPodFacts]
    observed: type[runner.RunnerPodFacts | listener.ListenerPodFacts]
    started: type[runner.RunnerPodFacts | listener.ListenerPodFacts]
    terminated: type[runner.RunnerPodFacts | listener.ListenerPodFacts]
    changed: type[runner.RunnerPodFacts | listener.ListenerPodFacts]
    deletion_requested: type[runner.RunnerPodFacts | listener.ListenerPodFacts]
    gone: type[runner.RunnerPodGone | listener.ListenerPodGone]


POD_EVENTS: Final = {
    AggregateKind.RUNNER: PodEvents(
        runner.RunnerPodCreated,
        runner.RunnerPodObserved,
        runner.RunnerPodStarted,
        runner.RunnerPodTerminated,
        runner.RunnerPodChanged,
        runner.RunnerPodDeletionRequested,
        runner.RunnerPodGone,
    ),
    AggregateKind.LISTENER: PodEvents(
        listener.ListenerPodCreated,
        listener.ListenerPodObserved,
        listener.ListenerPodStarted,
        listener.ListenerPodTerminated,
        listener.ListenerPodChanged,
        listener.ListenerPodDeletionRequested,
        listener.ListenerPodGone,
    ),
}
_CONTAINERS: Final = {
    AggregateKind.RUNNER: keys.RUNNER_CONTAINER,
    AggregateKind.LISTENER: keys.LISTENER_CONTAINER,
}
_OF_LISTENER: Final = AggregateKind.LISTENER
_compared: Final = attrgetter(*(one.name for one in fields(PodFacts) if one.name not in ("node", "grace_s")))
_AGGREGATES: Final = {Kind.RUNNER: AggregateKind.RUNNER, Kind.LISTENER: AggregateKind.LISTENER}


def owner_stream(head: Head) -> StreamId | None:
    """Return the stream of the runner or listener that controls a pod, seen or unseen; None for all other pods."""
    owner = head.owner
    kind = _AGGREGATES.get(owner.kind) if owner is not None else None
    return stream_of(kind, owner.uid) if owner is not None and kind is not None else None


def project(sighting: Sighting, stream: StreamId, known: PodFacts | None) -> PodFacts:
    """Return everything of a pod that the rules look at."""
    head, obj = sighting.head, sighting.object
    status = object_at(obj, "status")
    containers = objects_at(status, "containerStatuses")
    wanted = _CONTAINERS[stream.kind]
    deciding = next((one for one in containers if text(one, "name") == wanted), None)
    of_listener = stream.kind is _OF_LISTENER
    phase = clean(status, "phase")
    requested = head.deletion_requested_at
    grace_s = whole(obj, "metadata", "deletionGracePeriodSeconds") if requested is not None else 0
    if requested is not None and known is not None and known.deletion_requested_at is not None:
        # The kubelet shortens the grace period at the end, which moves the time back and forth by a second.
        requested, grace_s = known.deletion_requested_at, known.grace_s
    return PodFacts(
        uid=head.uid,
        created_at=sighting.created_at,
        phase=phase,
        reason=clean(status, "reason"),
        message=clean(status, "message"),
        ready=_ready(status),
        container=_container(deciding) if deciding is not None else None,
        init_exit_code=_init_exit_code(status),
        terminated=_terminated(obj, status, phase),
        deletion_requested_at=requested,
        metadata=sighting.metadata() if of_listener else "",
        spec=sighting.document(object_at(obj, "spec")) if of_listener else "",
        node=redact_name(text_at(obj, "spec", "nodeName")),
        grace_s=grace_s,
    )


def changes(events: PodEvents, known: PodFacts | None, seen: PodFacts, *, fresh: bool) -> Iterator[Fact]:
    """Yield what changed. Every event carries the pod whole; its name says what moved."""
    if known is None or known.uid != seen.uid:
        yield Fact((events.created if fresh else events.observed)(pod=seen))
        return
    if _compared(seen) == _compared(known):
        return
    named = False
    if seen.deletion_requested_at is not None and known.deletion_requested_at is None:
        named = True
        yield Fact(events.deletion_requested(pod=seen))
    if _ended(seen) and not _ended(known):
        named = True
        yield Fact(events.terminated(pod=seen), (STATUS,))
    elif _runs(seen) and not (_runs(known) and _restarts(seen) == _restarts(known)):
        named = True
        yield Fact(events.started(pod=seen), (STATUS,))
    if not named:
        in_status = (seen.metadata, seen.spec) == (known.metadata, known.spec)
        yield Fact(events.changed(pod=seen), (STATUS,) if in_status else (SPEC, LABELS, ANNOTATIONS, STATUS))


def _runs(pod: PodFacts) -> bool:
    return pod.container is not None and pod.container.state == "running"


def _restarts(pod: PodFacts) -> int:
    return pod.container.restarts if pod.container is not None else 0


def _ended(pod: PodFacts) -> bool:
    if pod.container is not None and pod.container.state == "terminated":
        return True
    return pod.phase in phases.POD_DONE_PHASES


def _container(status: JsonObject) -> ContainerFacts | None:
    state = object_at(status, "state")
    restarts = whole(status, "restartCount")
    if isinstance(state.get("terminated"), dict):
        ended = object_at(state, "terminated")
        return ContainerFacts(
            state="terminated",
            reason=clean(ended, "reason"),
            exit_code=whole(ended, "exitCode"),
            finished_at=moment_or_none(ended.get("finishedAt")),
            restarts=restarts,
        )
    if isinstance(state.get("running"), dict):
        return ContainerFacts(state="running", restarts=restarts)
    reason = clean(object_at(state, "waiting"), "reason")
    return ContainerFacts(state="waiting", reason=reason, restarts=restarts)


def _init_exit_code(status: JsonObject) -> int | None:
    for container in objects_at(status, "initContainerStatuses"):
        code = whole(container, "state", "terminated", "exitCode")
        if code:
            return code
    return None


def _ready(status: JsonObject) -> bool:
    """Return the Ready condition; of several the one with the latest transition."""
    found = [one for one in objects_at(status, "conditions") if text(one, "type") == "Ready"]
    latest = max(found, key=lambda one: text(one, "lastTransitionTime"), default=None)
    return latest is not None and text_at(latest, "status") == "True"


def _terminated(obj: JsonObject, status: JsonObject, phase: str) -> bool:
    reported = objects_at(status, "containerStatuses")
    initial = objects_at(status, "initContainerStatuses")
    if not all(isinstance(object_at(one, "state").get("terminated"), dict) for one in (*reported, *initial)):
        return False
    if phase in phases.POD_DONE_PHASES:
        return True
    return bool(reported) and len(reported) == len(list_at(obj, "spec", "containers"))
