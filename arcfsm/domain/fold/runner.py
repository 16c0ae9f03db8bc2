"""The fold of a runner and its pod."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from arcfsm.domain import phases
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
    RunnerPodFacts,
    RunnerPodGone,
    RunnerPodObserved,
    RunnerPodStarted,
    RunnerPodTerminated,
    RunnerReadinessChanged,
    RunnerRegistered,
    RunnerSpecChanged,
)
from arcfsm.domain.facts import PodFailure
from arcfsm.domain.fold.fields import appear, set_fields, vanish
from arcfsm.domain.instant import Instant
from arcfsm.domain.states import Runner


def _appeared(state: Runner, event: RunnerFacts, at: Instant) -> Runner:
    since = state.job_since if state.job_since is not None or not event.job.job_id else at
    adopted = state.adopted or (isinstance(event, RunnerObserved) and not state.present)
    ended = (state.ended_at or at) if event.phase in phases.RUNNER_DONE_PHASES else 0
    return replace(appear(state, event, at), adopted=adopted, job_since=since, ended_at=ended)


def _phase(state: Runner, event: RunnerPhaseChanged, at: Instant) -> Runner:
    ended = (state.ended_at or at) if event.phase in phases.RUNNER_DONE_PHASES else 0
    return replace(state, ended_at=ended, **event.__dict__)


def _job(state: Runner, event: RunnerJobAssigned, at: Instant) -> Runner:
    return replace(state, job=event.job, job_since=at if state.job_since is None else state.job_since)


def _pod(state: Runner, event: RunnerPodFacts, at: Instant) -> Runner:
    container = event.pod.container
    exit_code = container.exit_code if container is not None else state.exit_code
    if state.pod is not None and state.pod.uid == event.pod.uid:
        return replace(state, pod=event.pod, pod_heard_at=at, exit_code=exit_code)
    return replace(
        state,
        pod=event.pod,
        pod_heard_at=at,
        pod_gone_at=None,
        pod_cut_off=False,
        pods_seen=state.pods_seen + 1,
        exit_code=exit_code,
    )


def _pod_gone(state: Runner, event: RunnerPodGone, at: Instant) -> Runner:
    # A late word about an earlier pod says nothing about the present one.
    if state.pod is not None and state.pod.uid != event.pod_uid:
        return state
    if state.pod is not None and state.pod.failed and not state.has_job:
        # The status tells of it a moment later; what is decided in between must know it already.
        failure = PodFailure(event.pod_uid, at)
        state = replace(state, pods_failed=(*state.pods_failed, failure))
    container = state.pod.container if state.pod is not None else None
    cut_off = container is not None and container.state == "running"
    return replace(state, pod=None, pod_gone_at=at, pod_cut_off=cut_off)


RUNNER_FOLD: Final[dict[type[Any], Callable[[Runner, Any, Instant], Runner]]] = {
    RunnerCreated: _appeared,
    RunnerObserved: _appeared,
    RunnerPhaseChanged: _phase,
    RunnerReadinessChanged: set_fields,
    RunnerRegistered: set_fields,
    RunnerJobAssigned: _job,
    RunnerFailuresRecorded: set_fields,
    RunnerSpecChanged: set_fields,
    RunnerMetadataChanged: set_fields,
    RunnerFinalizersChanged: set_fields,
    RunnerDeletionRequested: set_fields,
    RunnerGone: vanish,
    RunnerPodCreated: _pod,
    RunnerPodObserved: _pod,
    RunnerPodStarted: _pod,
    RunnerPodTerminated: _pod,
    RunnerPodChanged: _pod,
    RunnerPodDeletionRequested: _pod,
    RunnerPodGone: _pod_gone,
}
