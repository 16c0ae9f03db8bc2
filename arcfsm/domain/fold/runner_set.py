"""The fold of a runner set. What depends on its runners (`due`) is kept by the world, which sees both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from arcfsm.domain import phases
from arcfsm.domain.events.runner_set import (
    FinishedRunnersMarked,
    RevisionApplied,
    RunnerMetadataPublished,
    RunnerSetCreated,
    RunnerSetDeletionRequested,
    RunnerSetFacts,
    RunnerSetFinalizersChanged,
    RunnerSetGone,
    RunnerSetMetadataChanged,
    RunnerSetObserved,
    RunnerSetPhaseChanged,
    RunnerSetScaled,
    RunnerSpecPublished,
)
from arcfsm.domain.fold.fields import set_fields, vanish
from arcfsm.domain.instant import Instant
from arcfsm.domain.states import RunnerSet


def _appeared(state: RunnerSet, event: RunnerSetFacts, at: Instant) -> RunnerSet:
    return replace(
        state,
        present=True,
        wished_at=at,
        revised_at=at,
        known_since=state.known_since or at,
        marker_incarnation=event.incarnation if event.finished_marker else "",
        # Who refused what before we looked is not known; the phase is believed (H4).
        refused_revision=event.applied_revision if event.phase == phases.OUTDATED else state.refused_revision,
        **event.__dict__,
    )


def _scaled(state: RunnerSet, event: RunnerSetScaled, at: Instant) -> RunnerSet:
    return replace(state, wished_at=at, **event.__dict__)


def _published(state: RunnerSet, event: RunnerSpecPublished, at: Instant) -> RunnerSet:
    return replace(state, revised_at=at, **event.__dict__)


def _marked(state: RunnerSet, event: FinishedRunnersMarked, _at: Instant) -> RunnerSet:
    # The marker names the wish in force, and stands for the listener that made it, not for one started since (H8).
    ours = event.finished_marker == state.patch_id
    incarnation = state.incarnation if ours else event.incarnation
    return replace(state, finished_marker=event.finished_marker, marker_incarnation=incarnation)


def _applied(state: RunnerSet, event: RevisionApplied, _at: Instant) -> RunnerSet:
    # What finished was of an older revision: the wish stands for the new one.
    return replace(state, applied_revision=event.applied_revision, reaped_patch_id=0)


RUNNER_SET_FOLD: Final[dict[type[Any], Callable[[RunnerSet, Any, Instant], RunnerSet]]] = {
    RunnerSetCreated: _appeared,
    RunnerSetObserved: _appeared,
    RunnerSetScaled: _scaled,
    RunnerSpecPublished: _published,
    RunnerMetadataPublished: set_fields,
    RunnerSetMetadataChanged: set_fields,
    RunnerSetFinalizersChanged: set_fields,
    RunnerSetPhaseChanged: set_fields,
    RevisionApplied: _applied,
    FinishedRunnersMarked: _marked,
    RunnerSetDeletionRequested: set_fields,
    RunnerSetGone: vanish,
}
