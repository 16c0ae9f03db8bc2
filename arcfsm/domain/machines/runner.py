"""The machine of a runner and its pod (rules.md 2.4)."""

from __future__ import annotations

from arcfsm.domain import phases
from arcfsm.domain.machines.machine import MachineSpec, Move, StateSpec
from arcfsm.domain.states import Runner

_WORKING = ("provisioning", "starting", "idle", "busy", "ended", "lost", "backing-off")
_SEEN = (*_WORKING, "succeeded", "failed", "outdated")
_LIVE = ("unseen", *_SEEN)


def _by_phase(trigger: str, sources: tuple[str, ...]) -> tuple[Move, ...]:
    return (
        Move(trigger, sources, "succeeded", ("phase_succeeded",)),
        Move(trigger, sources, "failed", ("phase_failed",)),
        Move(trigger, sources, "outdated", ("phase_outdated",)),
    )


def _by_pod(trigger: str, sources: tuple[str, ...]) -> tuple[Move, ...]:
    return (
        Move(trigger, sources, "ended", ("container_ended",)),
        Move(trigger, sources, "busy", ("pod_present", "has_job")),
        Move(trigger, sources, "idle", ("pod_present", "container_running")),
        Move(trigger, sources, "starting", ("pod_present",)),
        Move(trigger, sources, "lost", ("has_job",)),
        Move(trigger, sources, "backing-off", ("has_failures",)),
        Move(trigger, sources, "provisioning"),
    )


RUNNER = MachineSpec[Runner](
    name="runner",
    title="Runner (EphemeralRunner and its Pod)",
    initial="unseen",
    states=(
        StateSpec("unseen", (), "Known by its pod only; the object itself was not seen yet."),
        StateSpec(
            "provisioning",
            ("", phases.PENDING),
            "It has no pod yet: it is registered, its Secret and pod are created (R10, R16).",
        ),
        StateSpec(
            "starting", ("", phases.PENDING, phases.RUNNING), "Its pod exists, the runner container does not run yet."
        ),
        StateSpec("idle", ("", phases.PENDING, phases.RUNNING), "The runner container runs and waits for a job."),
        StateSpec("busy", ("", phases.PENDING, phases.RUNNING), "It has a job and a pod."),
        StateSpec(
            "ended",
            ("", phases.PENDING, phases.RUNNING),
            "The runner container ended; the verdict is not recorded yet (R17).",
        ),
        StateSpec(
            "lost",
            ("", phases.PENDING, phases.RUNNING),
            "It has a job but no pod: the job is lost or its pod is being replaced.",
        ),
        StateSpec(
            "backing-off",
            ("", phases.PENDING, phases.RUNNING),
            "Its pods failed; the next one is created after a wait (R12).",
        ),
        StateSpec("succeeded", (phases.SUCCEEDED,), "Exit 0: the job is over (R-succeed)."),
        StateSpec(
            "failed",
            (phases.FAILED,),
            "Its pod can't be created; it holds its slot for a while, then makes room (R-fail, H35).",
        ),
        StateSpec("outdated", (phases.OUTDATED,), "Exit 7: the service refuses its version (R-outdated)."),
        StateSpec(
            "releasing", phases.RUNNER_PHASES, "Deleted; registration, pod and Secret are released first (R2–R7)."
        ),
        StateSpec("gone", (), "No more.", final=True),
    ),
    moves=(
        *(
            move
            for trigger, sources in (("RunnerCreated", ("unseen",)), ("RunnerObserved", _LIVE))
            for move in (
                Move(trigger, sources, "releasing", ("deleting",)),
                *_by_phase(trigger, sources),
                *_by_pod(trigger, sources),
            )
        ),
        *_by_phase("RunnerPhaseChanged", _SEEN),
        Move("RunnerJobAssigned", ("provisioning", "backing-off"), "lost", ("has_job",)),
        Move("RunnerJobAssigned", ("starting", "idle"), "busy", ("has_job",)),
        Move("RunnerFailuresRecorded", ("provisioning",), "backing-off", ("has_failures",)),
        *(
            move
            for trigger in (
                "RunnerPodCreated",
                "RunnerPodObserved",
                "RunnerPodStarted",
                "RunnerPodTerminated",
                "RunnerPodChanged",
                "RunnerPodDeletionRequested",
                "RunnerPodGone",
            )
            for move in _by_pod(trigger, _WORKING)
        ),
        Move("RunnerDeletionRequested", _LIVE, "releasing"),
        Move("RunnerGone", (*_LIVE, "releasing"), "gone"),
    ),
    guards={
        "deleting": lambda runner: runner.deleting,
        "has_job": lambda runner: runner.has_job,
        "has_failures": lambda runner: bool(runner.failures),
        "pod_present": lambda runner: runner.pod is not None,
        "container_running": lambda runner: (
            runner.pod is not None and runner.pod.container is not None and runner.pod.container.state == "running"
        ),
        "container_ended": lambda runner: (
            runner.pod is not None
            and (
                runner.pod.phase in phases.POD_DONE_PHASES
                or (runner.pod.container is not None and runner.pod.container.state == "terminated")
            )
        ),
        "phase_succeeded": lambda runner: runner.phase == phases.SUCCEEDED,
        "phase_failed": lambda runner: runner.phase == phases.FAILED,
        "phase_outdated": lambda runner: runner.phase == phases.OUTDATED,
    },
)
