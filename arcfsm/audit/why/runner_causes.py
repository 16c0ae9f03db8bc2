"""What is behind the events of runners and their pods."""

from __future__ import annotations

from typing import Final

from arcfsm.audit.past import Past
from arcfsm.audit.why.cause import Because, Cause, Origin, behind, follow, newest
from arcfsm.domain import keys, phases
from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events.runner import (
    RunnerCreated,
    RunnerDeletionRequested,
    RunnerFacts,
    RunnerFailuresRecorded,
    RunnerFinalizersChanged,
    RunnerGone,
    RunnerJobAssigned,
    RunnerMetadataChanged,
    RunnerObserved,
    RunnerPhaseChanged,
    RunnerPodChanged,
    RunnerPodCreated,
    RunnerPodDeletionRequested,
    RunnerPodGone,
    RunnerPodObserved,
    RunnerPodStarted,
    RunnerPodTerminated,
    RunnerReadinessChanged,
    RunnerRegistered,
    RunnerSpecChanged,
)
from arcfsm.domain.events.runner_set import (
    RunnerSetCreated,
    RunnerSetDeletionRequested,
    RunnerSetFacts,
    RunnerSetObserved,
    RunnerSetPhaseChanged,
    RunnerSetScaled,
    RunnerSpecPublished,
)
from arcfsm.domain.instant import SECOND, format_span
from arcfsm.domain.kinds import AggregateKind, StreamId

BIRTHS: Final = (RunnerCreated, RunnerObserved)
_POD_ENDS: Final = (RunnerPodTerminated, RunnerPodGone, RunnerPodDeletionRequested)
_POD_LIFE: Final = (RunnerPodCreated, RunnerPodObserved, RunnerPodStarted, RunnerPodTerminated, RunnerPodGone)
_WAITS: Final = (0, 5, 10, 20, 40, 80)
"""Seconds before the next pod, by the number of pods that failed (R12)."""


@behind(RunnerGone, RunnerFinalizersChanged)
def _gone(past: Past, journaled: JournaledEvent) -> Because:
    return follow(past.latest(journaled.stream, (RunnerDeletionRequested,), journaled.seq))


@behind(RunnerDeletionRequested)
def _deletion(past: Past, journaled: JournaledEvent) -> Because:
    """Why a controller deletes a runner: it ended, its set goes, is Outdated, has a newer spec or too many (S4–S13)."""
    own = _end(past, journaled)
    if own is not None:
        return own
    birth = _birth(past, journaled)
    if birth is None:
        return None
    facts, owner = birth
    leaving = past.latest(owner, (RunnerSetDeletionRequested,), journaled.seq)
    if leaving is not None:
        return Cause(leaving)
    phase = past.latest(owner, (RunnerSetPhaseChanged,), journaled.seq)
    if phase is not None and getattr(phase.event, "phase", "") == phases.OUTDATED:
        return Cause(phase)
    spec = past.latest(owner, (RunnerSpecPublished,), journaled.seq)
    wish = past.latest(owner, (RunnerSetScaled,), journaled.seq)
    newer = spec is not None and getattr(spec.event, "actionable_revision", 0) > facts.revision
    if newer and (wish is None or spec is newest(spec, wish)):
        return follow(spec)
    if wish is not None and isinstance(wish.event, RunnerSetScaled):
        there = len(past.living(AggregateKind.RUNNER, journaled.correlation, wish.seq))
        if there > wish.event.replicas:
            return Cause(wish, note=f"{there} runner{' was' if there == 1 else 's were'} there")
    return follow(spec) if newer else None


def _end(past: Past, journaled: JournaledEvent) -> Because:
    """The runner's own end, if it had one: the phase that says so, else the end of its pod."""
    phase = past.latest(journaled.stream, (RunnerPhaseChanged,), journaled.seq)
    if phase is not None and getattr(phase.event, "phase", "") in phases.RUNNER_DONE_PHASES:
        return Cause(phase)
    pod = past.latest(journaled.stream, (*_POD_ENDS, *_POD_LIFE), journaled.seq)
    return Cause(pod) if pod is not None and isinstance(pod.event, _POD_ENDS) else None


@behind(RunnerCreated)
def _creation(past: Past, journaled: JournaledEvent) -> Because:
    """Either a wish is served, or a runner left and its slot is filled again under the same wish (S11)."""
    facts = journaled.event
    if not isinstance(facts, RunnerFacts):
        return None
    owner = StreamId(AggregateKind.RUNNER_SET, facts.owner_uid)
    wish = past.latest(owner, (RunnerSetScaled, RunnerSetCreated, RunnerSetObserved), journaled.seq)
    if wish is None:
        return None
    left = next(past.kin(journaled, (RunnerDeletionRequested,), after=wish.seq), None)
    if left is None:
        return Cause(wish)
    wanted = getattr(wish.event, "replicas", 0)
    name = past.name(left.stream)[1]
    return Cause(
        left,
        words=f"runner {name} was deleted, and {wanted} were still wished for under patch {facts.patch_id}",
        note=f"the wish is from seq {wish.seq}",
    )


@behind(RunnerObserved)
def _observation(past: Past, journaled: JournaledEvent) -> Because:
    made = getattr(journaled.event, "pod", journaled.event)
    created = getattr(made, "created_at", journaled.at)
    if past.gap(journaled.stream, created, journaled.at, known_by=journaled.seq) is not None:
        return None
    return Origin("it was there before we looked")


@behind(RunnerPhaseChanged)
def _phase(past: Past, journaled: JournaledEvent) -> Because:
    phase = getattr(journaled.event, "phase", "")
    pod = past.latest(journaled.stream, (*_POD_LIFE, RunnerPodChanged), journaled.seq)
    if phase == phases.RUNNING:
        return follow(newest(pod, past.latest(journaled.stream, (RunnerJobAssigned,), journaled.seq)))
    if phase == phases.FAILED:
        return follow(newest(pod, past.latest(journaled.stream, (RunnerFailuresRecorded,), journaled.seq)))
    return follow(pod) or follow(past.latest(journaled.stream, BIRTHS, journaled.seq))


@behind(RunnerReadinessChanged)
def _readiness(past: Past, journaled: JournaledEvent) -> Because:
    return follow(past.latest(journaled.stream, (*_POD_LIFE, RunnerPodChanged), journaled.seq))


@behind(RunnerPodTerminated)
def _termination(past: Past, journaled: JournaledEvent) -> Because:
    deletion = past.latest(journaled.stream, (RunnerDeletionRequested, RunnerPodDeletionRequested), journaled.seq)
    started = past.latest(journaled.stream, (RunnerPodStarted, RunnerPodCreated), journaled.seq)
    if deletion is not None and newest(deletion, started) is deletion:
        return Cause(deletion)
    code = exit_code(journaled)
    if code == keys.OUTDATED_EXIT_CODE:
        birth = past.latest(journaled.stream, BIRTHS, journaled.seq)
        if birth is None or not isinstance(birth.event, RunnerFacts):
            return None
        revision = birth.event.revision
        return Cause(birth, words=f"it was built from revision {revision} of the runner spec", then=_spec)
    if code == 0:
        return follow(past.latest(journaled.stream, (RunnerJobAssigned,), journaled.seq)) or Origin(
            "it ended by itself; no job of its was seen"
        )
    return Origin("why a container ends is in its log, not in the journal")


def _spec(past: Past, journaled: JournaledEvent) -> Because:
    """Where the spec came from that a runner was built from."""
    facts = journaled.event
    if not isinstance(facts, RunnerFacts):
        return None
    owner = StreamId(AggregateKind.RUNNER_SET, facts.owner_uid)
    published = past.latest(owner, (RunnerSpecPublished, RunnerSetCreated, RunnerSetObserved), journaled.seq)
    if published is not None and isinstance(published.event, RunnerSetFacts):
        if published.event.actionable_revision != facts.revision:
            return None
        return Cause(published, words="it got this spec when it was made")
    return follow(published)


@behind(RunnerFailuresRecorded)
def _failure(past: Past, journaled: JournaledEvent) -> Because:
    return follow(past.latest(journaled.stream, (RunnerPodTerminated, RunnerPodGone), journaled.seq))


@behind(RunnerPodCreated)
def _pod(past: Past, journaled: JournaledEvent) -> Because:
    """The first pod comes with the runner; another after one that failed, with a growing wait, or was lost (R12)."""
    before = past.latest(journaled.stream, (RunnerPodCreated, RunnerPodObserved), journaled.seq)
    if before is None:
        return follow(past.latest(journaled.stream, BIRTHS, journaled.seq))
    ended = past.latest(journaled.stream, (RunnerPodTerminated,), journaled.seq)
    if ended is None or ended.seq < before.seq:
        lost = past.latest(journaled.stream, (RunnerPodGone,), journaled.seq)
        job = past.latest(journaled.stream, (RunnerJobAssigned,), journaled.seq)
        used = "it had taken a job: the registration was used up by the pod before" if job is not None else ""
        return Cause(lost, note=used) if lost is not None else None
    return Cause(ended, note=_haste(past, journaled, ended))


def _haste(past: Past, journaled: JournaledEvent, ended: JournaledEvent) -> str:
    """What there is to say where the next pod came earlier than R12 lets it."""
    recorded = past.latest(journaled.stream, (RunnerFailuresRecorded,), journaled.seq)
    failed = {one.pod_uid for one in getattr(getattr(recorded, "event", None), "failures", ())}
    failed.add(getattr(getattr(ended.event, "pod", None), "uid", ""))
    waited, due = journaled.at - ended.at, _WAITS[min(len(failed), len(_WAITS) - 1)] * SECOND
    if waited >= due - SECOND:
        return ""
    return f"this pod came {format_span(waited)} after failure {len(failed)}; {format_span(due)} are due (R12)"


@behind(RunnerPodStarted, RunnerPodChanged)
def _start(past: Past, journaled: JournaledEvent) -> Because:
    return follow(past.latest(journaled.stream, (RunnerPodCreated, RunnerPodObserved), journaled.seq))


@behind(RunnerPodObserved)
def _pod_observation(past: Past, journaled: JournaledEvent) -> Because:
    return _observation(past, journaled)


@behind(RunnerPodGone)
def _pod_gone(past: Past, journaled: JournaledEvent) -> Because:
    ends = (RunnerPodDeletionRequested, RunnerPodTerminated)
    return follow(past.latest(journaled.stream, ends, journaled.seq))


@behind(RunnerPodDeletionRequested)
def _pod_deletion(past: Past, journaled: JournaledEvent) -> Because:
    deletion = past.latest(journaled.stream, (RunnerDeletionRequested,), journaled.seq)
    if deletion is not None:
        return Cause(deletion)
    born = past.latest(journaled.stream, (RunnerPodCreated, RunnerPodObserved), journaled.seq)
    ended = past.latest(journaled.stream, (RunnerPodTerminated,), journaled.seq)
    return Cause(ended) if ended is not None and (born is None or ended.seq > born.seq) else None


@behind(RunnerJobAssigned)
def _job(_past: Past, _journaled: JournaledEvent) -> Because:
    return Origin("the service gives jobs to runners; why this one is not in the journal")


@behind(RunnerRegistered)
def _registration(past: Past, journaled: JournaledEvent) -> Because:
    return follow(past.latest(journaled.stream, BIRTHS, journaled.seq))


@behind(RunnerSpecChanged, RunnerMetadataChanged)
def _edit(_past: Past, journaled: JournaledEvent) -> Because:
    return Origin(f"{journaled.actor or 'somebody'} edited it")


def exit_code(journaled: JournaledEvent) -> int | None:
    """Return how the deciding container of the pod in an event ended."""
    pod = getattr(journaled.event, "pod", None)
    container = getattr(pod, "container", None)
    code: int | None = getattr(container, "exit_code", None)
    return code


def _birth(past: Past, journaled: JournaledEvent) -> tuple[RunnerFacts, StreamId] | None:
    birth = past.birth(journaled.stream)
    if birth is None or not isinstance(birth.event, RunnerFacts):
        return None
    return birth.event, StreamId(AggregateKind.RUNNER_SET, birth.event.owner_uid)
