"""What is behind the events of scale sets, runner sets and listeners."""

from __future__ import annotations

from typing import Final

from arcfsm.audit.past import Past, Types
from arcfsm.audit.why.cause import Because, Cause, Origin, behind, follow, newest
from arcfsm.domain import phases
from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events.dependent import DependentChanged
from arcfsm.domain.events.listener import (
    ListenerCreated,
    ListenerDeletionRequested,
    ListenerFinalizersChanged,
    ListenerGone,
    ListenerMetadataChanged,
    ListenerObserved,
    ListenerPodChanged,
    ListenerPodCreated,
    ListenerPodDeletionRequested,
    ListenerPodGone,
    ListenerPodObserved,
    ListenerPodStarted,
    ListenerPodTerminated,
    ListenerSpecChanged,
    ListenerSwitched,
)
from arcfsm.domain.events.runner import RunnerDeletionRequested, RunnerPhaseChanged
from arcfsm.domain.events.runner_set import (
    FinishedRunnersMarked,
    RevisionApplied,
    RunnerMetadataPublished,
    RunnerSetCreated,
    RunnerSetDeletionRequested,
    RunnerSetFinalizersChanged,
    RunnerSetGone,
    RunnerSetMetadataChanged,
    RunnerSetObserved,
    RunnerSetPhaseChanged,
    RunnerSetScaled,
    RunnerSpecPublished,
)
from arcfsm.domain.events.scale_set import (
    ScaleSetCreated,
    ScaleSetDeletionRequested,
    ScaleSetFinalizersChanged,
    ScaleSetGenerationObserved,
    ScaleSetGone,
    ScaleSetMetadataChanged,
    ScaleSetObserved,
    ScaleSetPhaseChanged,
    ScaleSetSpecChanged,
)
from arcfsm.domain.jsonvalue import object_at
from arcfsm.domain.keys import GROUP

_EDITS: Final = (ScaleSetSpecChanged, ScaleSetMetadataChanged, ScaleSetCreated, ScaleSetObserved)


# Scale sets


@behind(ScaleSetCreated)
def _scale_set_creation(_past: Past, journaled: JournaledEvent) -> Because:
    return Origin(f"{journaled.actor or 'somebody'} created it")


@behind(ScaleSetSpecChanged)
def _edit(_past: Past, journaled: JournaledEvent) -> Because:
    return Origin(f"{journaled.actor or 'somebody'} edited it")


@behind(ScaleSetMetadataChanged)
def _metadata(past: Past, journaled: JournaledEvent) -> Because:
    """A controller writes here what it learned when it registered the set; everybody else edits."""
    before = past.latest(journaled.stream, _EDITS, journaled.seq)
    if before is None or not _registration(past, journaled, before):
        return Origin(f"{journaled.actor or 'somebody'} edited it")
    lost = getattr(before.event, "scale_set_id", 0) == 0 and isinstance(before.event, ScaleSetMetadataChanged)
    return Cause(before, words="it had no id on the service" if lost else "")


def _registration(past: Past, journaled: JournaledEvent, before: JournaledEvent) -> bool:
    """Whether what changed is what registration writes: the id, or labels and annotations of our group."""
    if getattr(journaled.event, "scale_set_id", 0) and not getattr(before.event, "scale_set_id", 0):
        return True
    if getattr(before.event, "scale_set_id", 0) and not getattr(journaled.event, "scale_set_id", 0):
        return False
    now, then = (past.mapping(getattr(one.event, "metadata", "")) for one in (journaled, before))
    changed = {
        name
        for part in ("labels", "annotations")
        for name, value in object_at(now, part).items()
        if object_at(then, part).get(name) != value
    }
    return bool(changed) and all(name.startswith(GROUP) for name in changed)


@behind(ScaleSetPhaseChanged)
def _scale_set_phase(past: Past, journaled: JournaledEvent) -> Because:
    phase = getattr(journaled.event, "phase", "")
    if phase == phases.OUTDATED:
        return follow(_of_kin(past, journaled, (RunnerSetPhaseChanged,)))
    edit = past.latest(journaled.stream, _EDITS, journaled.seq)
    if phase == phases.PENDING:
        return follow(newest(edit, _of_kin(past, journaled, (ListenerGone, ListenerDeletionRequested))))
    return follow(newest(edit, _of_kin(past, journaled, (ListenerCreated, ListenerObserved, ListenerPodStarted))))


@behind(ScaleSetGenerationObserved)
def _generation(past: Past, journaled: JournaledEvent) -> Because:
    edit = past.latest(journaled.stream, (*_EDITS, ScaleSetPhaseChanged), journaled.seq)
    return follow(newest(edit, _of_kin(past, journaled, (ListenerCreated,))))


@behind(ScaleSetFinalizersChanged)
def _scale_set_finalizers(past: Past, journaled: JournaledEvent) -> Because:
    types = (ScaleSetCreated, ScaleSetObserved, ScaleSetDeletionRequested)
    return follow(past.latest(journaled.stream, types, journaled.seq))


@behind(ScaleSetGone)
def _scale_set_gone(past: Past, journaled: JournaledEvent) -> Because:
    return follow(past.latest(journaled.stream, (ScaleSetDeletionRequested,), journaled.seq))


# Runner sets


@behind(RunnerSetCreated)
def _runner_set_creation(past: Past, journaled: JournaledEvent) -> Because:
    owner = past.scale_set_of(journaled)
    edit = past.latest(owner, _EDITS, journaled.seq) if owner else None
    return follow(newest(edit, _of_kin(past, journaled, (RunnerSetGone,))))


@behind(RunnerSetScaled)
def _wish(past: Past, journaled: JournaledEvent) -> Because:
    owner = past.scale_set_of(journaled)
    parked = past.latest(owner, (ScaleSetPhaseChanged,), journaled.seq) if owner else None
    if getattr(journaled.event, "replicas", 0) == 0 and getattr(parked, "event", None) == ScaleSetPhaseChanged(
        phase=phases.OUTDATED
    ):
        return follow(parked)
    return Origin("the listener wishes for what the service has jobs for, within the limits of the scale set")


@behind(RunnerSetPhaseChanged)
def _runner_set_phase(past: Past, journaled: JournaledEvent) -> Because:
    if getattr(journaled.event, "phase", "") == phases.OUTDATED:
        refused = past.kin(journaled, (RunnerPhaseChanged,))
        return follow(next((one for one in refused if getattr(one.event, "phase", "") == phases.OUTDATED), None))
    types = (RunnerSpecPublished, RevisionApplied, RunnerSetCreated, RunnerSetObserved, RunnerSetScaled)
    return follow(past.latest(journaled.stream, types, journaled.seq))


@behind(RunnerSpecPublished, RunnerMetadataPublished, RunnerSetMetadataChanged)
def _publication(past: Past, journaled: JournaledEvent) -> Because:
    previous = past.latest(journaled.stream, (type(journaled.event),), journaled.seq)
    earlier = past.latest(journaled.stream, (type(journaled.event),), previous.seq) if previous else None
    if earlier is not None and earlier.event == journaled.event:
        return Origin(f"the same stood here before (seq {earlier.seq}): somebody writes what somebody else undoes")
    owner = past.scale_set_of(journaled)
    return follow(past.latest(owner, _EDITS, journaled.seq)) if owner else None


@behind(RevisionApplied)
def _application(past: Past, journaled: JournaledEvent) -> Because:
    types = (RunnerSpecPublished, RunnerSetCreated, RunnerSetObserved)
    return follow(past.latest(journaled.stream, types, journaled.seq))


@behind(FinishedRunnersMarked)
def _marker(past: Past, journaled: JournaledEvent) -> Because:
    return follow(_of_kin(past, journaled, (RunnerDeletionRequested,)))


@behind(RunnerSetDeletionRequested)
def _runner_set_deletion(past: Past, journaled: JournaledEvent) -> Because:
    owner = past.scale_set_of(journaled)
    leaving = past.latest(owner, (ScaleSetDeletionRequested, ScaleSetGone), journaled.seq) if owner else None
    if leaving is not None:
        return Cause(leaving)
    phase = past.latest(journaled.stream, (RunnerSetPhaseChanged,), journaled.seq)
    if phase is not None and getattr(phase.event, "phase", "") == phases.OUTDATED:
        return Cause(phase)
    edit = past.latest(owner, (ScaleSetSpecChanged, ScaleSetMetadataChanged), journaled.seq) if owner else None
    born = past.latest(journaled.stream, (RunnerSetCreated, RunnerSetObserved), journaled.seq)
    return Cause(edit) if edit is not None and born is not None and edit.seq > born.seq else None


@behind(RunnerSetGone)
def _runner_set_gone(past: Past, journaled: JournaledEvent) -> Because:
    return follow(past.latest(journaled.stream, (RunnerSetDeletionRequested,), journaled.seq))


@behind(RunnerSetFinalizersChanged)
def _runner_set_finalizers(past: Past, journaled: JournaledEvent) -> Because:
    types = (RunnerSetCreated, RunnerSetObserved, RunnerSetDeletionRequested)
    return follow(past.latest(journaled.stream, types, journaled.seq))


# Listeners


@behind(ListenerCreated)
def _listener_creation(past: Past, journaled: JournaledEvent) -> Because:
    return follow(_of_kin(past, journaled, (ListenerGone, RunnerSetCreated, *_EDITS)))


@behind(ListenerDeletionRequested)
def _listener_deletion(past: Past, journaled: JournaledEvent) -> Because:
    """Whatever last happened to its scale set or runner set since it was made that makes controllers replace it."""
    born = past.latest(journaled.stream, (ListenerCreated, ListenerObserved), journaled.seq)
    since = born.seq if born is not None else 0
    types = (
        ScaleSetDeletionRequested,
        ScaleSetSpecChanged,
        ScaleSetMetadataChanged,
        RunnerSetDeletionRequested,
        RunnerSetPhaseChanged,
        RunnerSetGone,
        ListenerSpecChanged,
        ListenerMetadataChanged,
    )
    found = past.kin(journaled, types, after=since)
    return follow(next((one for one in found if _unsettling(one)), None))


def _unsettling(journaled: JournaledEvent) -> bool:
    return not isinstance(journaled.event, RunnerSetPhaseChanged) or journaled.event.phase == phases.OUTDATED


@behind(ListenerGone, ListenerFinalizersChanged)
def _listener_gone(past: Past, journaled: JournaledEvent) -> Because:
    deletion = past.latest(journaled.stream, (ListenerDeletionRequested,), journaled.seq)
    if deletion is None and isinstance(journaled.event, ListenerFinalizersChanged):
        return follow(past.latest(journaled.stream, (ListenerCreated, ListenerObserved), journaled.seq))
    return follow(deletion)


@behind(ListenerSpecChanged, ListenerMetadataChanged, ListenerSwitched)
def _listener_edit(past: Past, journaled: JournaledEvent) -> Because:
    owner = past.scale_set_of(journaled)
    return follow(past.latest(owner, (*_EDITS, ScaleSetPhaseChanged), journaled.seq)) if owner else None


@behind(ListenerPodCreated)
def _listener_pod(past: Past, journaled: JournaledEvent) -> Because:
    types = (ListenerPodGone, ListenerPodTerminated, ListenerCreated, ListenerObserved, ListenerSwitched)
    return follow(past.latest(journaled.stream, types, journaled.seq))


@behind(ListenerPodStarted, ListenerPodChanged)
def _listener_pod_start(past: Past, journaled: JournaledEvent) -> Because:
    return follow(past.latest(journaled.stream, (ListenerPodCreated, ListenerPodObserved), journaled.seq))


@behind(ListenerPodTerminated)
def _listener_pod_end(past: Past, journaled: JournaledEvent) -> Because:
    deletion = (ListenerPodDeletionRequested, ListenerDeletionRequested, ListenerSwitched)
    asked = past.latest(journaled.stream, deletion, journaled.seq)
    started = past.latest(journaled.stream, (ListenerPodStarted, ListenerPodCreated), journaled.seq)
    if asked is not None and newest(asked, started) is asked:
        return Cause(asked)
    return Origin("why a container ends is in its log, not in the journal")


@behind(ListenerPodDeletionRequested)
def _listener_pod_deletion(past: Past, journaled: JournaledEvent) -> Because:
    born = past.latest(journaled.stream, (ListenerPodCreated, ListenerPodObserved), journaled.seq)
    since = born.seq if born is not None else 0
    types = (ListenerDeletionRequested, ListenerSwitched, ListenerPodTerminated, ListenerSpecChanged, DependentChanged)
    found = past.latest(journaled.stream, types, journaled.seq)
    return Cause(found) if found is not None and found.seq > since else None


@behind(ListenerPodGone)
def _listener_pod_gone(past: Past, journaled: JournaledEvent) -> Because:
    types = (ListenerPodDeletionRequested, ListenerPodTerminated)
    return follow(past.latest(journaled.stream, types, journaled.seq))


def _of_kin(past: Past, journaled: JournaledEvent, types: Types) -> JournaledEvent | None:
    """The latest such event about the same scale set or anything that is its."""
    return next(past.kin(journaled, types), None)
