"""The machine of a scale set (rules.md 2.1)."""

from __future__ import annotations

from arcfsm.domain import phases
from arcfsm.domain.machines.machine import MachineSpec, Move, StateSpec
from arcfsm.domain.states import ScaleSet

_LIVE = ("unseen", "registering", "pending", "running", "parked")
_SEEN = ("registering", "pending", "running", "parked")


def _by_phase(trigger: str, sources: tuple[str, ...]) -> tuple[Move, ...]:
    return (
        Move(trigger, sources, "parked", ("phase_outdated",)),
        Move(trigger, sources, "registering", ("unregistered",)),
        Move(trigger, sources, "running", ("phase_running",)),
        Move(trigger, sources, "pending"),
    )


SCALE_SET = MachineSpec[ScaleSet](
    name="scale-set",
    title="Scale set (AutoscalingRunnerSet)",
    initial="unseen",
    states=(
        StateSpec("unseen", (), "Known by name or by its children only; the object itself was not seen yet."),
        StateSpec(
            "registering",
            ("", phases.PENDING, phases.RUNNING),
            "It has no id on the service; A8 looks it up or creates it.",
        ),
        StateSpec(
            "pending", ("", phases.PENDING), "Registered; runner set or listener are not yet what the spec wants."
        ),
        StateSpec("running", (phases.RUNNING,), "Everything matches (A20)."),
        StateSpec(
            "parked", (phases.OUTDATED,), "Its runners refused the spec; held still until the spec changes (A5, A6)."
        ),
        StateSpec(
            "terminating", ("", *phases.SCALE_SET_PHASES[1:]), "Deleted; its children and registration go first (A2)."
        ),
        StateSpec("gone", (), "No more.", final=True),
    ),
    moves=(
        *(
            move
            for trigger, sources in (("ScaleSetCreated", ("unseen",)), ("ScaleSetObserved", _LIVE))
            for move in (Move(trigger, sources, "terminating", ("deleting",)), *_by_phase(trigger, sources))
        ),
        *_by_phase("ScaleSetPhaseChanged", _SEEN),
        Move("ScaleSetMetadataChanged", ("pending", "running"), "registering", ("unregistered",)),
        Move("ScaleSetMetadataChanged", ("registering",), "running", ("registered", "phase_running")),
        Move("ScaleSetMetadataChanged", ("registering",), "pending", ("registered",)),
        Move("ScaleSetDeletionRequested", _LIVE, "terminating"),
        Move("ScaleSetGone", (*_LIVE, "terminating"), "gone"),
    ),
    guards={
        "deleting": lambda scale_set: scale_set.deleting,
        "registered": lambda scale_set: scale_set.scale_set_id > 0,
        "unregistered": lambda scale_set: scale_set.scale_set_id <= 0,
        "phase_outdated": lambda scale_set: scale_set.phase == phases.OUTDATED,
        "phase_running": lambda scale_set: scale_set.phase == phases.RUNNING,
    },
)
