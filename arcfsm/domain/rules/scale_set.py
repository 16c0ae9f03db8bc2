"""The rules of a scale set, in the order of rules.md 2.1. The first answer counts.

What the service is asked is in `scale_set_registration`, the deletion chain in `scale_set_deletion`, holding a parked
set still in `scale_set_parking`, and what runner set and listener should look like in `scale_set_desired`.
"""

from __future__ import annotations

from arcfsm.domain import keys, phases
from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.jsonvalue import Json, strings_at
from arcfsm.domain.rules.rule import Answer, Look, RuleFunction, act, rule, settled, stalled, wait
from arcfsm.domain.rules.scale_set_deletion import tear_down
from arcfsm.domain.rules.scale_set_desired import (
    adoption_drift,
    create_listener,
    create_runner_set,
    desired,
    listener_drift,
    listeners_of,
    own_listener,
    publish_metadata,
    publish_spec,
    runner_set_of,
    runner_spec_drift,
    runners_drift,
    unconverged,
    why_futile,
    why_unbuildable,
)
from arcfsm.domain.rules.scale_set_parking import hold_parked
from arcfsm.domain.rules.scale_set_registration import (
    answered,
    lookup,
    register,
    register_again,
    update_group,
    update_name,
)
from arcfsm.domain.rules.version_gate import accepts
from arcfsm.domain.rules.writes import add_finalizer, delete, in_steps, patch, patch_status
from arcfsm.domain.states import Listener, RunnerSet, ScaleSet


@rule("A1", "what is gone needs nothing")
def end(look: Look[ScaleSet]) -> Answer | None:
    """Everything it had went with it (A2)."""
    return None if look.subject.present else settled("A1", "gone")


@rule("A3", "a chart version we don't accept is reported; its scale set is deleted only where that is configured")
def check_version(look: Look[ScaleSet]) -> Answer | None:
    """Deleting what users made is never the default (H36)."""
    label = strings_at(look.document(look.subject.metadata), "labels").get(keys.VERSION_LABEL, "")
    build = look.settings.compatible_arc_version
    if accepts(build, label):
        return None
    mismatch = f"the chart is of version `{label}`, this controller accepts `{build}`"
    look.find("VersionMismatch", mismatch)
    if not look.settings.delete_on_version_skew:
        return stalled("A3", f"{mismatch}: nothing is done about it, and nothing is deleted")
    return act("A3", f"deleting the scale set: {mismatch}", delete(look.subject))


@rule("A4", "our finalizer is put on before anything else")
def hold_by_finalizer(look: Look[ScaleSet]) -> Answer | None:
    """Nobody may delete the scale set while it is registered."""
    if keys.SCALE_SET_FINALIZER in look.subject.finalizers:
        return None
    return act("A4", "adding our finalizer", add_finalizer(look, look.subject, keys.SCALE_SET_FINALIZER))


@rule("A5", "a parked scale set is taken up again once its runner set is gone or other runners are wanted")
def stay_parked(look: Look[ScaleSet]) -> Answer | None:
    """An id that went missing is got back first: without it nobody could tell what is wanted (H38)."""
    if look.subject.phase != phases.OUTDATED:
        return None
    if (registering := register(look)) is not None:
        return registering
    runner_set = runner_set_of(look)
    wanted = desired(look)
    if runner_set is not None and (wanted is None or not runners_drift(look, runner_set, wanted)):
        return hold_parked(look)
    _set_phase(look, phases.PENDING)
    return None


@rule("A7", "a generation that is not reconciled yet makes the scale set Pending")
def start_generation(look: Look[ScaleSet]) -> Answer | None:
    """Written beside whatever else is done in this pass; observedGeneration stays until A20."""
    subject = look.subject
    if subject.generation > subject.observed_generation and subject.phase != phases.OUTDATED:
        _set_phase(look, phases.PENDING)
    return None


@rule("A11", "a missing runner set is created, wanting nothing yet")
def make_runner_set(look: Look[ScaleSet]) -> Answer | None:
    """The listener writes the first wish."""
    wanted = desired(look)
    if runner_set_of(look) is not None or wanted is None:
        return None
    return act("A11", "creating the runner set", create_runner_set(look, wanted))


@rule("A12", "a runner set refused for its applied revision, of a spec still wanted, parks the scale set")
def park(look: Look[ScaleSet]) -> Answer | None:
    """Neither an older refusal nor one of a spec mended since counts, whatever phase the scale set is in (H5)."""
    runner_set, wanted = runner_set_of(look), desired(look)
    if runner_set is None or wanted is None or not _refused(runner_set) or runners_drift(look, runner_set, wanted):
        return None
    _set_phase(look, phases.OUTDATED)
    return hold_parked(look)


@rule("A13", "where nobody can tell what is wanted, nothing is done")
def give_up_unbuildable(look: Look[ScaleSet]) -> Answer | None:
    """A person must mend the spec."""
    why = why_unbuildable(look)
    return stalled("A13", why) if why else None


@rule("A14", "other runners are wanted: spec, metadata and the next revision are published in one patch")
def publish_runners(look: Look[ScaleSet]) -> Answer | None:
    """Never judged by the generation: a new id arrives as an annotation (Z14). Listener and phase stay as they are."""
    runner_set, wanted = runner_set_of(look), desired(look)
    if runner_set is None or wanted is None:
        return None
    path = runner_spec_drift(look, runner_set, wanted)
    if path is None and _refused(runner_set):
        path = runners_drift(look, runner_set, wanted)
    if path is not None and not unconverged(runner_set, wanted):
        return publish_spec(look, runner_set, wanted, f"{path} changed")
    if path is not None:
        look.find("DriftNotConverging", f"{path} still differs after the same content was published; not again (H17)")
        return None
    if (name := adoption_drift(look, runner_set)) is not None:
        look.find("AdoptionDrift", f"idle runner {name} was built from another spec than the one published (H14)")
        return publish_spec(look, runner_set, wanted, f"idle runner {name} was built from another spec")
    return None


@rule("A15", "metadata of the runner set is merged into what is there, without a new revision")
def publish_runner_set_metadata(look: Look[ScaleSet]) -> Answer | None:
    """Foreign keys stay, and so do ours that are no longer wanted: a merge never deletes (M3, Z15)."""
    runner_set, wanted = runner_set_of(look), desired(look)
    if runner_set is None or wanted is None:
        return None
    change = publish_metadata(look, runner_set, wanted)
    return act("A15", "bringing the runner set's metadata up to date", change) if change is not None else None


@rule("A16", "listeners of former names go before one of the current name is made")
def remove_renamed(look: Look[ScaleSet]) -> Answer | None:
    """Two listeners of one scale set would fight for its session (H30)."""
    own = own_listener(look)
    renamed = [one for one in look.once(listeners_of) if one is not own]
    if not renamed:
        return None
    if doomed := [one for one in renamed if not one.deleting]:
        return act("A16", "removing the listener of a former name", *(delete(one) for one in doomed))
    return wait("A16", "the listener of a former name is still going")


@rule("A17", "a missing listener is created, after the service confirmed that the scale set still exists")
def make_listener(look: Look[ScaleSet]) -> Answer | None:
    """Not found means a new registration, any other error means nothing. Failing listeners raise the question too."""
    subject, listener, wanted = look.subject, own_listener(look), desired(look)
    if wanted is None or (listener is not None and not _failing(look, listener)):
        return None
    question = lookup(look)
    asked_after = max(subject.changed_seq, subject.bereft_seq)
    found = answered(look, question, asked_after=asked_after)
    if found is not None and listener is not None and found.at < listener.exits[-1]:
        found = None
    if found is not None and found.outcome is Outcome.NOT_FOUND and (lost := register_again(look, found)) is not None:
        return lost
    if listener is None:
        create = create_listener(look, wanted)
        if found is None:
            reason = f"no listener; asking whether scale set {subject.scale_set_id} still exists"
            return act("A17", reason, *in_steps(look, (question,), (create,)))
        return act("A17", "creating the listener", create)
    if found is None:
        look.carry(question)
    return None


@rule("A18", "a listener that is not as wanted is replaced, and the scale set is Pending meanwhile")
def replace_listener(look: Look[ScaleSet]) -> Answer | None:
    """Before A19: a stale parked listener is replaced, never started."""
    listener, wanted = own_listener(look), desired(look)
    if listener is None or wanted is None:
        return None
    path = listener_drift(look, listener, wanted)
    futile = why_futile(look, listener, wanted) if path is not None else None
    if path is not None and futile is not None and not listener.deleting:
        look.find("ListenerDriftNotConverging", f"{path} of listener {listener.name} differs again: {futile}")
        return None
    if path is not None:
        _set_phase(look, phases.PENDING)
    if listener.deleting:
        return wait("A18", "the listener is going; another one follows")
    if path is None:
        return None
    return act("A18", f"replacing the listener: {path} changed", delete(listener))


@rule("A19", "a stopped listener is started")
def start_listener(look: Look[ScaleSet]) -> Answer | None:
    """It was stopped while the scale set was parked."""
    listener = own_listener(look)
    if listener is None or not listener.stopped:
        return None
    return act("A19", "starting the listener", patch(look, listener, {"spec": {"phase": phases.RUNNING}}))


@rule("A20", "where everything matches, the scale set is Running and its generation observed")
def settle(look: Look[ScaleSet]) -> Answer:
    """The last word of a pass on the phase: a Pending that nobody could have seen is not written (A7)."""
    subject = look.subject
    found = {finding.code for finding in look.findings}
    if "DriftNotConverging" in found:
        return stalled("A14", "the API keeps another runner spec than the one that was published")
    if "ListenerDriftNotConverging" in found:
        return stalled("A18", "the listener is not what was created, and replacing it brought nothing")
    _set_phase(look, subject.phase)
    changes: dict[str, Json] = {}
    if subject.phase != phases.RUNNING:
        changes["phase"] = phases.RUNNING
    if subject.observed_generation != subject.generation:
        changes["observedGeneration"] = subject.generation
    if not changes:
        return settled("A20", f"generation {subject.generation} is in place")
    return act(
        "A20", f"generation {subject.generation} is in place", patch_status(look, subject, locked=False, **changes)
    )


SCALE_SET_RULES: tuple[RuleFunction[ScaleSet], ...] = (
    end,
    tear_down,
    check_version,
    hold_by_finalizer,
    stay_parked,
    start_generation,
    register,
    update_group,
    update_name,
    make_runner_set,
    park,
    give_up_unbuildable,
    publish_runners,
    publish_runner_set_metadata,
    remove_renamed,
    make_listener,
    replace_listener,
    start_listener,
    settle,
)


def _failing(look: Look[ScaleSet], listener: Listener) -> bool:
    """Whether it exited non-zero twice without a steady run in between: then its scale set may be gone (H27)."""
    return len(listener.exits) > 1 and listener.exits[-1] - listener.exits[-2] < look.settings.listener_steady_after


def _refused(runner_set: RunnerSet) -> bool:
    """Whether runners of the very revision that is published were refused (A12)."""
    return runner_set.phase == phases.OUTDATED and not runner_set.unapplied


def _set_phase(look: Look[ScaleSet], phase: str) -> None:
    """Have the last word of this pass on the phase."""
    if phase == look.subject.phase and not look.carried:
        return
    status = patch_status(look, look.subject, phase=phase)
    look.carried[:] = [intent for intent in look.carried if intent.key != status.key]
    if phase != look.subject.phase:
        look.carry(status)
