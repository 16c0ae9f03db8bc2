"""The conditions of a stall, one function each."""

from __future__ import annotations

from arcfsm.audit.stalls.condition import Finding, condition
from arcfsm.domain import phases
from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import integer_at
from arcfsm.domain.kinds import AggregateKind, StreamId
from arcfsm.domain.rules.rule import Look
from arcfsm.domain.rules.runner_pod import RESTARTS
from arcfsm.domain.rules.scale_set_desired import desired, runners_drift
from arcfsm.domain.states import Listener, Runner, RunnerSet, ScaleSet
from arcfsm.domain.world import World


def _wanted_spec_differs(world: World, scale_set: ScaleSet, runner_set: RunnerSet, now: Instant) -> bool:
    look = Look(world, scale_set, StreamId(AggregateKind.SCALE_SET, scale_set.uid), now)
    wanted = desired(look)
    return wanted is not None and runners_drift(look, runner_set, wanted) is not None


def _idle_floor(world: World, scale_set: ScaleSet) -> str:
    floor = integer_at(world.documents.mapping(scale_set.spec), "minRunners")
    return f"; minRunners is {floor}" if floor else ""


@condition(
    "no-listener",
    "A scale set has no listener, so no job is ever seen, and its controller makes none.",
    ScaleSet,
    "ScaleSetSpecChanged",
    "ListenerDeletionRequested",
    "ListenerGone",
    "RunnerPodTerminated",
    "RunnerSetPhaseChanged",
    begins=("ListenerGone",),
)
def no_listener(world: World, scale_set: ScaleSet, now: Instant) -> Finding | None:
    """A parked scale set has its listener switched off on purpose; that is no stall."""
    if scale_set.deleting or scale_set.phase == phases.OUTDATED or scale_set.scale_set_id <= 0:
        return None
    if world.listeners_of(scale_set.namespace, scale_set.name):
        return None
    runner_set = next(iter(world.runner_sets_of(scale_set)), None)
    floor = _idle_floor(world, scale_set)
    if runner_set is None:
        return Finding(f"no listener and no runner set{floor}", "the controller creating both")
    if runner_set.phase == phases.OUTDATED and _wanted_spec_differs(world, scale_set, runner_set, now):
        return Finding(
            f"no listener, and the runner set is Outdated for a spec that is no longer wanted{floor}",
            "publishing the new runner spec to the runner set; its phase then goes back to Running (S3)",
        )
    return Finding(f"no listener{floor}", "the controller creating a listener")


@condition(
    "parked-for-another-spec",
    "A scale set is parked as Outdated although its runner spec was changed since.",
    ScaleSet,
    "ScaleSetPhaseChanged",
    "ScaleSetSpecChanged",
    "RunnerSetPhaseChanged",
)
def parked_for_another_spec(world: World, scale_set: ScaleSet, now: Instant) -> Finding | None:
    """A5 would take it out of there."""
    if scale_set.deleting or scale_set.phase != phases.OUTDATED:
        return None
    runner_set = next(iter(world.runner_sets_of(scale_set)), None)
    if runner_set is None or not _wanted_spec_differs(world, scale_set, runner_set, now):
        return None
    return Finding("parked as Outdated for a runner spec that is no longer wanted", "publishing the new spec (A5, A14)")


@condition(
    "unregistered",
    "A scale set has no id on the service, so neither runners nor a listener can be made.",
    ScaleSet,
    "ScaleSetCreated",
    "ScaleSetMetadataChanged",
)
def unregistered(_world: World, scale_set: ScaleSet, _now: Instant) -> Finding | None:
    """Registration is the first thing a controller does; it takes seconds."""
    if scale_set.deleting or scale_set.scale_set_id > 0:
        return None
    return Finding(
        "not registered with the service", "a registration that succeeds: check credentials and service (A8)"
    )


@condition(
    "outdated-without-cause",
    "A runner set is Outdated although no runner of its applied revision was refused.",
    RunnerSet,
    "RunnerSetPhaseChanged",
    "RevisionApplied",
)
def outdated_without_cause(_world: World, runner_set: RunnerSet, _now: Instant) -> Finding | None:
    """Outdated is absorbing: one wrong write keeps the set off until somebody edits the spec (H4)."""
    if runner_set.deleting or runner_set.phase != phases.OUTDATED or runner_set.unapplied:
        return None
    if runner_set.refused_revision >= runner_set.applied_revision:
        return None
    return Finding(
        f"Outdated, but no runner of revision {runner_set.applied_revision} was refused", "publishing a new runner spec"
    )


@condition(
    "gate-closed",
    "Runners are wanted and missing, but every living runner carries the wish's patch id: nothing is created.",
    RunnerSet,
    "RunnerSetScaled",
    "RunnerCreated",
)
def gate_closed(world: World, runner_set: RunnerSet, _now: Instant) -> Finding | None:
    """Creations failed or were cut off half way, and the patch id says that the wish is served (H9)."""
    if runner_set.due <= 0 or runner_set.deleting or runner_set.phase == phases.OUTDATED:
        return None
    runners = world.runners_of(runner_set.uid)
    have = sum(1 for runner in runners if runner.occupies)
    short = min(runner_set.due, runner_set.replicas - have)
    served = any(runner.patch_id == runner_set.patch_id for runner in runners)
    if short <= 0 or not served or runner_set.patch_id == 0:
        return None
    return Finding(
        f"gate closed with a shortfall: {have} of {runner_set.replicas} runners exist for patch {runner_set.patch_id}",
        "a wish with a new patch id; arcfsm would create the missing ones (H9)",
        since=runner_set.wished_at,
    )


@condition(
    "failed-runners-hold-slots",
    "Runners that failed for good hold slots of their set until somebody deletes them.",
    RunnerSet,
    "RunnerPhaseChanged",
)
def failed_runners_hold_slots(world: World, runner_set: RunnerSet, _now: Instant) -> Finding | None:
    """By design, so that a broken template makes no create loop; silent all the same (H35)."""
    failed = [one for one in world.runners_of(runner_set.uid) if one.phase == phases.FAILED and not one.deleting]
    if not failed or runner_set.deleting:
        return None
    example = f"{failed[0].name}: {failed[0].reason or 'no reason given'}"
    return Finding(
        f"{len(failed)} failed and hold their slots ({example})", "deleting them, after mending the template"
    )


@condition(
    "used-registration",
    "A runner with a job got a new pod; its registration was used up by the first, so it never takes another job.",
    Runner,
    "RunnerJobAssigned",
    "RunnerPodDeletionRequested",
    "RunnerPodGone",
    "RunnerPodCreated",
)
def used_registration(_world: World, runner: Runner, _now: Instant) -> Finding | None:
    """It looks busy and holds capacity for ever."""
    if runner.deleting or runner.done or not runner.has_job or runner.pod is None or runner.pods_seen < 2:
        return None
    return Finding(
        "has a job, but the pod that took it is gone: its pod was recreated with a used registration",
        "deleting the runner",
        patience=0,
    )


@condition(
    "running-without-pod",
    "A runner counts as Running but has no pod.",
    Runner,
    "RunnerPhaseChanged",
    "RunnerPodGone",
)
def running_without_pod(_world: World, runner: Runner, _now: Instant) -> Finding | None:
    """Its slot is taken and its job is lost. One whose pods failed waits for the next one; that is scheduled (R12)."""
    if runner.deleting or runner.phase != phases.RUNNING or runner.pod is not None:
        return None
    since = runner.pod_gone_at
    if runner.failures and not runner.has_job:
        since = max(since or 0, max(failure.at for failure in runner.failures) + RESTARTS[-1])
    return Finding("phase Running without a pod", "deleting the runner", since=since)


@condition(
    "deletion-waits",
    "An object is deleted but its finalizers are not released.",
    object,
    "ScaleSetDeletionRequested",
    "RunnerSetDeletionRequested",
    "RunnerDeletionRequested",
    "ListenerDeletionRequested",
)
def deletion_waits(world: World, one: ScaleSet | RunnerSet | Runner | Listener, _now: Instant) -> Finding | None:
    """A busy runner may take hours; what is longer than the setting says is worth a look."""
    if one.deletion_requested_at is None or not one.present:
        return None
    return Finding(
        f"deleted, but held by {', '.join(one.finalizers) or 'nothing we know'}",
        "whoever owns the finalizer releasing it; check the service and its credentials",
        since=one.deletion_requested_at,
        patience=world.settings.finalizer_stalled_after,
    )


@condition(
    "listener-down",
    "A listener's pod ended and is not replaced.",
    Listener,
    "ListenerPodTerminated",
    "ListenerPodGone",
)
def listener_down(_world: World, listener: Listener, _now: Instant) -> Finding | None:
    """Its restart policy is Never: only the controller brings it back (L11.2)."""
    if listener.deleting or listener.stopped:
        return None
    if listener.state == "down":
        return Finding("the listener's pod ended and is not replaced", "the controller replacing the pod (L11)")
    if listener.state == "provisioning" and listener.pod is None:
        return Finding("the listener has no pod", "the controller creating the pod (L12)")
    return None
