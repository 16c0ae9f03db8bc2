"""Events in plain words, as something that is said of their object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from arcfsm.audit.past import Past
from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events import DomainEvent
from arcfsm.domain.events import controller as controller_events
from arcfsm.domain.events import decision as decision_events
from arcfsm.domain.events import dependent as dependent_events
from arcfsm.domain.events import listener as listener_events
from arcfsm.domain.events import runner as runner_events
from arcfsm.domain.events import runner_set as runner_set_events
from arcfsm.domain.events import scale_set as scale_set_events
from arcfsm.domain.instant import format_instant
from arcfsm.domain.jsonvalue import Json

PATHS_MAX: Final = 3
"""How many changed fields of a document are named."""


def in_words(past: Past, journaled: JournaledEvent) -> str:
    """Say what an event means for its object."""
    event = journaled.event
    say = _SAYINGS.get(type(event))
    if say is not None:
        return say(event)
    if event.document_fields and type(event) not in _WHOLE:
        return f"{_EDITED[type(event)]} changed{_where(past, journaled)}"
    return type(event).__name__


def changed_paths(before: Json, after: Json, path: str = "") -> list[str]:
    """Return where two JSON values differ, as JSON pointers; lists are entered where their lengths agree."""
    if isinstance(before, dict) and isinstance(after, dict):
        names = sorted(set(before) | set(after))
        return [found for name in names for found in changed_paths(before.get(name), after.get(name), f"{path}/{name}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [found for index, (old, new) in pairs for found in changed_paths(old, new, f"{path}/{index}")]
    return [] if before == after else [path or "/"]


def _where(past: Past, journaled: JournaledEvent) -> str:
    name = journaled.event.document_fields[0]
    types = tuple(one for one in (type(journaled.event), *_WHOLE) if name in one.document_fields)
    before = past.latest(journaled.stream, types, journaled.seq)
    if before is None:
        return ""
    old, new = (past.mapping(getattr(one.event, name)) for one in (before, journaled))
    paths = changed_paths(dict(old), dict(new))
    more = f" and {len(paths) - PATHS_MAX} more" if len(paths) > PATHS_MAX else ""
    return f" at {', '.join(paths[:PATHS_MAX])}{more}" if paths else ""


def _phase(event: Any) -> str:
    said = ": ".join(part for part in (getattr(event, "reason", ""), getattr(event, "message", "")) if part)
    phase = event.phase or "none"
    return f"phase became {phase}" + (f" ({said})" if said and said != phase else "")


def _job(event: Any) -> str:
    job = event.job
    named = " of ".join(part for part in (job.display_name or job.job_id, job.repository) if part)
    return f"took a job: {named}" if named else "took a job"


def _ended(event: Any) -> str:
    pod = event.pod
    if pod.container is not None and pod.container.exit_code is not None:
        reason = f" ({pod.container.reason})" if pod.container.reason not in ("", "Error", "Completed") else ""
        return f"its container exited with code {pod.container.exit_code}{reason}"
    if pod.init_exit_code is not None:
        return f"an init container exited with code {pod.init_exit_code}"
    return f"its pod ended: {pod.reason or pod.phase or 'no reason given'}"


def _wish(event: Any) -> str:
    return f"{_count(event.replicas, 'runner')} wished for under patch {event.patch_id}"


def _birth(event: Any) -> str:
    return f"was created for patch {event.patch_id} from revision {event.revision} of the runner spec"


def _publication(event: Any) -> str:
    return f"revision {event.actionable_revision} of the runner spec was published"


def _decision(event: Any) -> str:
    return f"{event.rule}: {event.reason}"


def _outcome(event: Any) -> str:
    return f"`{event.key}` ended: {event.outcome.value}" + (f" ({event.detail})" if event.detail else "")


def _gap(event: Any) -> str:
    since = format_instant(event.since) if event.since is not None else "the beginning"
    until = format_instant(event.until) if event.until is not None else "the end"
    return f"nobody watched {event.scope} from {since} to {until}: {event.reason}"


def _dependent(verb: str) -> Callable[[Any], str]:
    return lambda event: f"{event.kind} {event.namespace}/{event.name} {verb}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _saying(text: str) -> Callable[[Any], str]:
    return lambda _event: text


_WHOLE: Final = (
    scale_set_events.ScaleSetCreated,
    scale_set_events.ScaleSetObserved,
    runner_set_events.RunnerSetCreated,
    runner_set_events.RunnerSetObserved,
    runner_events.RunnerCreated,
    runner_events.RunnerObserved,
    listener_events.ListenerCreated,
    listener_events.ListenerObserved,
)
_EDITED: Final[dict[type[DomainEvent], str]] = {
    scale_set_events.ScaleSetSpecChanged: "its spec was",
    scale_set_events.ScaleSetMetadataChanged: "its labels or annotations were",
    runner_set_events.RunnerMetadataPublished: "the metadata for new runners was",
    runner_set_events.RunnerSetMetadataChanged: "its labels or annotations were",
    runner_events.RunnerSpecChanged: "its spec was",
    runner_events.RunnerMetadataChanged: "its labels or annotations were",
    listener_events.ListenerSpecChanged: "its spec was",
    listener_events.ListenerMetadataChanged: "its labels or annotations were",
}
_SAYINGS: Final[dict[type[DomainEvent], Callable[[Any], str]]] = {
    controller_events.GapDetected: _gap,
    controller_events.SettingsDeclared: _saying("the settings were declared anew"),
    controller_events.TimerFired: _saying("a time that was waited for came"),
    decision_events.Decided: _decision,
    decision_events.IntentSettled: _outcome,
    dependent_events.DependentObserved: _dependent("appeared"),
    dependent_events.DependentChanged: _dependent("changed"),
    dependent_events.DependentGone: _dependent("vanished"),
    scale_set_events.ScaleSetCreated: _saying("was created"),
    scale_set_events.ScaleSetObserved: _saying("was there when it was first looked at"),
    scale_set_events.ScaleSetFinalizersChanged: _saying("its finalizers changed"),
    scale_set_events.ScaleSetPhaseChanged: _phase,
    scale_set_events.ScaleSetGenerationObserved: lambda event: f"generation {event.observed_generation} is in place",
    scale_set_events.ScaleSetDeletionRequested: _saying("its deletion was asked for"),
    scale_set_events.ScaleSetGone: _saying("vanished"),
    runner_set_events.RunnerSetCreated: _saying("was created"),
    runner_set_events.RunnerSetObserved: _saying("was there when it was first looked at"),
    runner_set_events.RunnerSetScaled: _wish,
    runner_set_events.RunnerSpecPublished: _publication,
    runner_set_events.RunnerSetFinalizersChanged: _saying("its finalizers changed"),
    runner_set_events.RunnerSetPhaseChanged: _phase,
    runner_set_events.RevisionApplied: lambda event: f"revision {event.applied_revision} is applied",
    runner_set_events.FinishedRunnersMarked: lambda event: (
        f"finished runners were reaped: patch {event.finished_marker}"
    ),
    runner_set_events.RunnerSetDeletionRequested: _saying("its deletion was asked for"),
    runner_set_events.RunnerSetGone: _saying("vanished"),
    runner_events.RunnerCreated: _birth,
    runner_events.RunnerObserved: _saying("was there when it was first looked at"),
    runner_events.RunnerPhaseChanged: _phase,
    runner_events.RunnerReadinessChanged: lambda event: "became ready" if event.ready else "is not ready any more",
    runner_events.RunnerRegistered: lambda event: f"got id {event.runner_id} on the service",
    runner_events.RunnerJobAssigned: _job,
    runner_events.RunnerFailuresRecorded: lambda event: f"{_count(len(event.failures), 'failure')} recorded",
    runner_events.RunnerFinalizersChanged: _saying("its finalizers changed"),
    runner_events.RunnerDeletionRequested: _saying("its deletion was asked for"),
    runner_events.RunnerGone: _saying("vanished"),
    runner_events.RunnerPodCreated: _saying("a pod was created for it"),
    runner_events.RunnerPodObserved: _saying("a pod of its was there when it was first looked at"),
    runner_events.RunnerPodStarted: _saying("its container started"),
    runner_events.RunnerPodTerminated: _ended,
    runner_events.RunnerPodChanged: _saying("its pod changed"),
    runner_events.RunnerPodDeletionRequested: _saying("the deletion of its pod was asked for"),
    runner_events.RunnerPodGone: _saying("its pod vanished"),
    listener_events.ListenerCreated: _saying("was created"),
    listener_events.ListenerObserved: _saying("was there when it was first looked at"),
    listener_events.ListenerSwitched: lambda event: f"was switched to {event.phase or 'on'}",
    listener_events.ListenerFinalizersChanged: _saying("its finalizers changed"),
    listener_events.ListenerDeletionRequested: _saying("its deletion was asked for"),
    listener_events.ListenerGone: _saying("vanished"),
    listener_events.ListenerPodCreated: _saying("a pod was created for it"),
    listener_events.ListenerPodObserved: _saying("a pod of its was there when it was first looked at"),
    listener_events.ListenerPodStarted: _saying("its container started"),
    listener_events.ListenerPodTerminated: _ended,
    listener_events.ListenerPodChanged: _saying("its pod changed"),
    listener_events.ListenerPodDeletionRequested: _saying("the deletion of its pod was asked for"),
    listener_events.ListenerPodGone: _saying("its pod vanished"),
}
