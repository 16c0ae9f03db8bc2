"""The machine of a runner set (rules.md 2.2)."""

from __future__ import annotations

from arcfsm.domain import phases
from arcfsm.domain.machines.machine import MachineSpec, Move, StateSpec
from arcfsm.domain.states import RunnerSet

_SEEN = ("new", "running", "applying", "outdated", "recovering")
_LIVE = ("unseen", *_SEEN)


def _by_phase(trigger: str, sources: tuple[str, ...]) -> tuple[Move, ...]:
    return (
        Move(trigger, sources, "recovering", ("phase_outdated", "unapplied")),
        Move(trigger, sources, "outdated", ("phase_outdated",)),
        Move(trigger, sources, "applying", ("unapplied",)),
        Move(trigger, sources, "running", ("phase_running",)),
        Move(trigger, sources, "new"),
    )


RUNNER_SET = MachineSpec[RunnerSet](
    name="runner-set",
    title="Runner set (EphemeralRunnerSet)",
    initial="unseen",
    states=(
        StateSpec("unseen", (), "Known by its runners only; the object itself was not seen yet."),
        StateSpec("new", ("",), "No pass over it has been recorded yet."),
        StateSpec("running", (phases.RUNNING,), "It scales: every published revision is applied."),
        StateSpec(
            "applying",
            ("", phases.RUNNING),
            "A revision is published; idle runners of older ones are cleaned up first (S3).",
        ),
        StateSpec(
            "outdated",
            (phases.OUTDATED,),
            "Runners of the applied revision were refused; no scaling until a new one (S4).",
        ),
        StateSpec(
            "recovering", (phases.OUTDATED,), "Outdated, and a newer revision is published: S3 takes it out of there."
        ),
        StateSpec("draining", phases.RUNNER_SET_PHASES, "Deleted; idle runners go at once, busy ones finish (S1)."),
        StateSpec("gone", (), "No more.", final=True),
    ),
    moves=(
        *(
            move
            for trigger, sources in (("RunnerSetCreated", ("unseen",)), ("RunnerSetObserved", _LIVE))
            for move in (Move(trigger, sources, "draining", ("deleting",)), *_by_phase(trigger, sources))
        ),
        *_by_phase("RunnerSetPhaseChanged", _SEEN),
        *_by_phase("RunnerSpecPublished", _SEEN),
        *_by_phase("RevisionApplied", _SEEN),
        Move("RunnerSetDeletionRequested", _LIVE, "draining"),
        Move("RunnerSetGone", (*_LIVE, "draining"), "gone"),
    ),
    guards={
        "deleting": lambda runner_set: runner_set.deleting,
        "unapplied": lambda runner_set: runner_set.unapplied,
        "phase_outdated": lambda runner_set: runner_set.phase == phases.OUTDATED,
        "phase_running": lambda runner_set: runner_set.phase == phases.RUNNING,
    },
)
