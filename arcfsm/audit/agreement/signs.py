"""What an intent looks like from outside when somebody carries it out: the signs by which advice is found agreed.

Some intents leave no sign: questions to the service, reads. Some leave one only in newer API versions (an observed
generation, an applied revision): a cluster that never shows the field can't disagree about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from arcfsm.domain.events import DomainEvent
from arcfsm.domain.events.dependent import DependentFacts, DependentGone
from arcfsm.domain.events.listener import ListenerCreated
from arcfsm.domain.events.runner import RunnerCreated
from arcfsm.domain.events.runner_set import RunnerSetCreated
from arcfsm.domain.intents import (
    CallService,
    CreateObject,
    CreateRunners,
    DeleteObject,
    Intent,
    PatchObject,
    RegisterRunner,
    ServiceCall,
    WriteSecret,
)
from arcfsm.domain.jsonvalue import JsonObject, object_at
from arcfsm.domain.kinds import AGGREGATE_OF, KIND_OF, Kind, StreamId


class Sign(NamedTuple):
    """One thing to be seen. Events are matched by place and type."""

    place: str
    """A stream, or `KIND NAMESPACE/NAME` for objects that have none yet."""
    types: tuple[str, ...]
    """Types of events, any of which will do."""


_PREFIX: Final = {
    Kind.SCALE_SET: "ScaleSet",
    Kind.RUNNER_SET: "RunnerSet",
    Kind.RUNNER: "Runner",
    Kind.LISTENER: "Listener",
}
_FIELDS: Final[dict[tuple[Kind, str, str], str]] = {
    (Kind.SCALE_SET, "status", "phase"): "ScaleSetPhaseChanged",
    (Kind.SCALE_SET, "status", "observedGeneration"): "ScaleSetGenerationObserved",
    (Kind.SCALE_SET, "metadata", "annotations"): "ScaleSetMetadataChanged",
    (Kind.RUNNER_SET, "spec", "ephemeralRunnerSpec"): "RunnerSpecPublished",
    (Kind.RUNNER_SET, "spec", "replicas"): "RunnerSetScaled",
    (Kind.RUNNER_SET, "metadata", "labels"): "RunnerSetMetadataChanged",
    (Kind.RUNNER_SET, "metadata", "annotations"): "RunnerSetMetadataChanged",
    (Kind.RUNNER_SET, "status", "phase"): "RunnerSetPhaseChanged",
    (Kind.RUNNER_SET, "status", "appliedActionableRevision"): "RevisionApplied",
    (Kind.RUNNER_SET, "status", "finishedRunnerCleanupPatchID"): "FinishedRunnersMarked",
    (Kind.RUNNER, "status", "phase"): "RunnerPhaseChanged",
    (Kind.RUNNER, "status", "ready"): "RunnerReadinessChanged",
    (Kind.RUNNER, "status", "runnerId"): "RunnerRegistered",
    (Kind.RUNNER, "status", "failures"): "RunnerFailuresRecorded",
    (Kind.LISTENER, "spec", "phase"): "ListenerSwitched",
}
OPTIONAL: Final = frozenset(
    {
        "ScaleSetGenerationObserved",
        "RevisionApplied",
        "FinishedRunnersMarked",
        "ListenerSwitched",
        "RunnerSetPhaseChanged",
    }
)
"""Signs that older API versions or controllers never show; they count only where the journal has one of the type."""


def signs_of(intent: Intent, document: Callable[[str], JsonObject]) -> Iterator[Sign]:
    """Yield what would be seen if somebody carried this out."""
    if isinstance(intent, PatchObject):
        yield from _patched(intent, document(intent.patch))
    elif isinstance(intent, DeleteObject):
        yield from _deleted(intent)
    elif isinstance(intent, CreateObject):
        if intent.kind is Kind.POD:
            yield Sign(str(StreamId(*intent.target)), ("RunnerPodCreated", "ListenerPodCreated"))
        else:
            yield Sign(_named(intent.kind, intent), ("Created",))
    elif isinstance(intent, CreateRunners):
        yield from (Sign(f"runners of {StreamId(*intent.target).uid}", ("RunnerCreated",)) for _ in range(intent.count))
    elif isinstance(intent, RegisterRunner):
        yield Sign(_named(Kind.SECRET, intent), ("Created",))
    elif isinstance(intent, WriteSecret):
        yield Sign(_named(Kind.SECRET, intent), ("Created", "DependentChanged"))
    elif isinstance(intent, CallService) and intent.call is ServiceCall.REGISTER_SCALE_SET:
        yield Sign(str(StreamId(*intent.target)), ("ScaleSetMetadataChanged",))
    elif isinstance(intent, CallService) and intent.call is ServiceCall.REMOVE_RUNNER:
        gone = ("RunnerFinalizersChanged", "RunnerDeletionRequested", "RunnerGone")
        yield Sign(str(StreamId(*intent.target)), gone)


def places_of(stream: StreamId, event: DomainEvent) -> tuple[str, ...]:
    """Return where an event may be waited for."""
    places = [str(stream)]
    if isinstance(event, RunnerCreated):
        places += [f"runners of {event.owner_uid}"]
    if isinstance(event, RunnerCreated | RunnerSetCreated | ListenerCreated):
        places.append(f"{KIND_OF[stream.kind]} {event.namespace}/{event.name}")
    if isinstance(event, DependentFacts | DependentGone):
        places.append(f"{event.kind} {event.namespace}/{event.name}")
    return tuple(places)


def type_of(event: DomainEvent) -> str:
    """Return the type by which a sign knows an event."""
    name = type(event).__name__
    if name in ("RunnerSetCreated", "ListenerCreated", "DependentObserved"):
        return "Created"
    return name


def _named(kind: Kind, one: CreateObject | RegisterRunner | WriteSecret | DeleteObject) -> str:
    return f"{kind} {one.namespace}/{one.name}"


def _patched(intent: PatchObject, patch: JsonObject) -> Iterator[Sign]:
    if intent.kind not in _PREFIX:
        return
    stream = str(StreamId(AGGREGATE_OF[intent.kind], intent.uid))
    if "finalizers" in object_at(patch, "metadata"):
        yield Sign(stream, (f"{_PREFIX[intent.kind]}FinalizersChanged", f"{_PREFIX[intent.kind]}Gone"))
    seen = dict.fromkeys(
        event for (kind, part, name), event in _FIELDS.items() if kind is intent.kind and name in object_at(patch, part)
    )
    yield from (Sign(stream, (event,)) for event in seen)


def _deleted(intent: DeleteObject) -> Iterator[Sign]:
    target = StreamId(*intent.target)
    if intent.kind is Kind.POD:
        prefix = _PREFIX[KIND_OF[target.kind]]
        yield Sign(str(target), (f"{prefix}PodDeletionRequested", f"{prefix}PodGone"))
    elif intent.kind in _PREFIX:
        prefix = _PREFIX[intent.kind]
        stream = str(StreamId(AGGREGATE_OF[intent.kind], intent.uid))
        yield Sign(stream, (f"{prefix}DeletionRequested", f"{prefix}Gone"))
    else:
        yield Sign(_named(intent.kind, intent), ("DependentGone", "DependentChanged"))
