"""The rules of a runner set, in the order of rules.md 2.2. The first answer counts.

How runners are sorted is in `runner_buckets`, how they are let go in `runner_cleanup`.
"""

from __future__ import annotations

from collections.abc import Callable

from arcfsm.domain import keys, phases
from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.instant import Instant
from arcfsm.domain.intents import CreateRunners, Intent, PatchObject, births_key
from arcfsm.domain.jsonvalue import Json
from arcfsm.domain.manifests import runner_manifest
from arcfsm.domain.names import runner_salt
from arcfsm.domain.rules.rule import Answer, Look, RuleFunction, act, hold, rule, settled, stalled, wait
from arcfsm.domain.rules.runner_buckets import Buckets, same_incarnation, sort_runners
from arcfsm.domain.rules.runner_cleanup import Cleaning, clean, finish_removals, let_idle_go
from arcfsm.domain.rules.runner_proxy_secret import (
    delete_proxy_secret,
    proxy_secret_of,
    runner_set_object,
    write_proxy_secret,
)
from arcfsm.domain.rules.wording import many
from arcfsm.domain.rules.writes import add_finalizer, delete, drop_finalizer, in_steps, patch_status
from arcfsm.domain.states import RunnerSet


@rule("S1", "a deleted set releases its runners, then its proxy secret, then itself")
def release_when_deleted(look: Look[RunnerSet]) -> Answer | None:
    """Busy runners finish; the set waits for them."""
    subject = look.subject
    if not subject.deleting:
        return None
    if keys.RUNNER_SET_FINALIZER not in subject.finalizers:
        return wait("S1", "deleted; what still holds it is not ours")
    if not look.once(sort_runners).empty:
        return _cleaning_answer(look, wait, "S1", "deleted; its runners go first", clean(look))
    if (secret := proxy_secret_of(look)) is not None and secret.deleting:
        return wait("S1", "deleted; the proxy secret of its runners must be gone first")
    if secret is not None:
        return act("S1", "deleted; the last runner is gone, the proxy secret follows", *delete_proxy_secret(look))
    release = drop_finalizer(look, subject, keys.RUNNER_SET_FINALIZER)
    return act("S1", "deleted; nothing is left to release", release)


@rule("S2", "our finalizer is put on before anything else")
def hold_by_finalizer(look: Look[RunnerSet]) -> Answer | None:
    """Nobody may delete the set while its runners are registered."""
    if keys.RUNNER_SET_FINALIZER in look.subject.finalizers:
        return None
    return act("S2", "adding our finalizer", add_finalizer(look, look.subject, keys.RUNNER_SET_FINALIZER))


@rule("S3", "a new revision counts as applied once every idle and pending runner of older ones is let go")
def apply_revision(look: Look[RunnerSet]) -> Answer | None:
    """Busy runners don't block the advance: they finish on the old spec. Whatever fails does."""
    subject = look.subject
    if not subject.unapplied:
        return None
    purpose = f"making way for revision {subject.actionable_revision}"
    cleaning = clean(look, revision=subject.actionable_revision)
    cleaning.intents.extend(write_proxy_secret(look))
    if not cleaning.finished:
        return _cleaning_answer(look, wait, "S3", purpose, cleaning)
    return act("S-applied", cleaning.explain(f"revision {subject.actionable_revision} is applied"), applied(look))


@rule("S-applied", "applied revision, a void marker and the phase judged anew, in one locked write")
def applied(look: Look[RunnerSet]) -> PatchObject:
    """The marker belongs to runners of the old revision. The phase moves in both directions, nowhere else back."""
    subject, buckets = look.subject, look.once(sort_runners)
    target = max(subject.applied_revision, subject.actionable_revision)
    refused = any(runner.revision >= target for runner in buckets.outdated)
    fields: dict[str, Json] = {"appliedActionableRevision": target}
    if subject.finished_marker:
        fields["finishedRunnerCleanupPatchID"] = 0
    if subject.phase != (phase := phases.OUTDATED if refused else phases.RUNNING):
        fields["phase"] = phase
    return patch_status(look, subject, locked=True, **fields)


@rule("S4", "an Outdated set is only cleaned up: no scaling until a new revision is published")
def stay_parked(look: Look[RunnerSet]) -> Answer | None:
    """The phase is absorbing. A wrong one would keep the set off for ever, so it must have a cause we saw (H4)."""
    subject, buckets = look.subject, look.once(sort_runners)
    if subject.phase != phases.OUTDATED:
        return None
    if subject.refused_revision < subject.applied_revision:
        look.find(
            "OutdatedWithoutCause",
            f"the set is Outdated at revision {subject.applied_revision}, but no runner of it was seen to be refused",
        )
    purpose = f"parked: runners of revision {subject.applied_revision} were refused, a new runner spec lets it go on"
    cleaning = clean(look)
    if buckets.empty:
        cleaning.intents.extend(delete_proxy_secret(look))
    return _cleaning_answer(look, hold, "S4", purpose, cleaning)


@rule("S5", "runners find the proxy secret that their spec names")
def keep_proxy_secret(look: Look[RunnerSet]) -> Answer | None:
    """Written beside whatever else is done in this pass."""
    look.carry(*write_proxy_secret(look))
    return None


@rule("S6", "runners of an older revision that were refused are deleted and say nothing about this one")
def delete_stale_refused(look: Look[RunnerSet]) -> Answer | None:
    """A busy runner may report Outdated long after the spec was mended (H6)."""
    stale = look.once(sort_runners).stale_outdated
    if not stale:
        return None
    applied_revision = look.subject.applied_revision
    reason = f"deleting {many(len(stale), 'refused runner')} from before revision {applied_revision}"
    return act("S6", reason, *(delete(runner) for runner in stale))


@rule("S7", "a refused runner of the applied revision parks the set: first the phase, then the clean-up, no scaling")
def park_when_refused(look: Look[RunnerSet]) -> Answer | None:
    """The phase is written before the evidence is deleted; S4 does the rest."""
    subject, refused = look.subject, look.once(sort_runners).outdated
    if not refused:
        return None
    reason = f"{many(len(refused), 'runner')} of revision {subject.applied_revision} refused: no scaling any more"
    record = patch_status(look, subject, phase=phases.OUTDATED)
    return act("S7", reason, *in_steps(look, (record,), tuple(clean(look).intents)))


@rule("S14", "the first pass records phase Running; later ones keep the phase", "S-status")
def record_phase(look: Look[RunnerSet]) -> Answer | None:
    """Written beside whatever else is done in this pass, and nothing but the phase (H2).

    Not beside a marker, which is locked to the version that this write would change.
    """
    if look.subject.phase == phases.NONE and not look.once(sort_runners).finished:
        look.carry(_first_status(look))
    return None


@rule("S8", "scaling needs a patch id that no runner carries yet, or id 0")
def keep_gate(look: Look[RunnerSet]) -> Answer | None:
    """Patch ids count for one incarnation of the listener (H8), and runners being born carry theirs already (H9)."""
    subject, buckets = look.subject, look.once(sort_runners)
    being_born = look.effects.flying(births_key(subject.namespace, subject.name, subject.patch_id)) is not None
    if subject.patch_id == 0 or (subject.patch_id != buckets.latest_patch_id and not being_born):
        return None
    short = subject.replicas - scale_up_total(buckets)
    unborn = min(subject.due, short)
    # Where others create, all that can be seen of a birth under way is that it is not over yet.
    patience = subject.wished_at + look.settings.stalled_after if look.world.advisory else look.now
    if being_born or (unborn > 0 and patience > look.now):
        wake_at = None if being_born else patience
        return _at_rest(look, wait("S11", f"runners for patch {subject.patch_id} are being created", wake_at))
    if unborn > 0:
        reason = f"{many(unborn, 'runner')} for patch {subject.patch_id} never came to be; creating again"
        return act("S11", reason, _create(look, unborn))
    if short > 0:
        have = f"{buckets.total} of {subject.replicas} runners"
        reason = f"{have} exist; patch {subject.patch_id} is served, only a new one brings more"
        return _at_rest(look, hold("S8", reason))
    return _at_rest(look, settled("S8", f"patch {subject.patch_id} is served: {many(buckets.total, 'runner')}"))


@rule("S9", "finished runners are reaped, after the marker says under which patch id")
def reap_finished(look: Look[RunnerSet]) -> Answer | None:
    """Scaling is decided by the next pass (H10). The marker comes first: without it we might over-create (H1)."""
    subject, finished = look.subject, look.once(sort_runners).finished
    if not finished:
        return None
    reason = f"deleting {many(len(finished), 'finished runner')} under patch {subject.patch_id}"
    steps = in_steps(look, mark(look), tuple(delete(runner) for runner in finished))
    return act("S9", reason, *steps)


@rule("S-marker", "status says under which patch id finished runners were last reaped, in one locked write")
def mark(look: Look[RunnerSet]) -> tuple[Intent, ...]:
    """Set the marker unless it stands. Equality alone counts: patch ids restart and wrap, so it may go down.

    A marker that equals by chance but was set for an earlier listener is made void first: writing the same number again
    would change nothing, and nobody could tell for whom it stands (H8).
    """
    subject = look.subject
    if subject.finished_marker != subject.patch_id:
        return (patch_status(look, subject, locked=True, finishedRunnerCleanupPatchID=subject.patch_id),)
    if subject.patch_id and not same_incarnation(subject.marker_incarnation, subject.incarnation):
        return (patch_status(look, subject, locked=True, finishedRunnerCleanupPatchID=0),)
    return ()


@rule("S10", "runners on their way out or in count as if they were there")
def scale_up_total(buckets: Buckets) -> int:
    """Terminating runners are not replaced twice (H11)."""
    return buckets.scale_up_total


@rule("S11", "missing runners are created, unless they'd replace runners just reaped under this very patch id")
def scale_up(look: Look[RunnerSet]) -> Answer | None:
    """A finished runner's job is over: the wish from before it ended is one too many."""
    subject, buckets = look.subject, look.once(sort_runners)
    have = scale_up_total(buckets)
    if have >= subject.replicas:
        return None
    exist = f"{have} of {subject.replicas} runners exist"
    if _reaped_under_this_wish(subject):
        reason = (
            f"{exist}; not replacing those that finished under patch {subject.patch_id}, only a new one brings more"
        )
        return _at_rest(look, hold("S11", reason))
    missing = subject.replicas - have
    return act("S11", f"{exist}; creating {missing} for patch {subject.patch_id}", _create(look, missing))


@rule("S12", "a positive patch id never deletes")
def keep_surplus(look: Look[RunnerSet]) -> Answer | None:
    """Only id 0 permits scaling down: idle at the floor, nothing happened since."""
    subject, buckets = look.subject, look.once(sort_runners)
    if subject.patch_id == 0 or buckets.total < subject.replicas:
        return None
    surplus = buckets.total - subject.replicas
    if surplus:
        have = f"{many(buckets.total, 'runner')} for {subject.replicas} wanted"
        return _at_rest(look, hold("S12", f"{have}; patch {subject.patch_id} permits no scaling down"))
    return _at_rest(look, settled("S12", f"{many(buckets.total, 'runner')} as wanted by patch {subject.patch_id}"))


@rule("S13", "patch id 0 lets surplus idle runners go")
def scale_down(look: Look[RunnerSet]) -> Answer | None:
    """Runners with a job stay, whatever is wished."""
    subject, buckets = look.subject, look.once(sort_runners)
    surplus = buckets.total - subject.replicas
    if subject.patch_id != 0 or surplus <= 0:
        return None
    purpose = f"{many(surplus, 'runner')} more than the {subject.replicas} wanted"
    return _cleaning_answer(look, hold, "S13", purpose, let_idle_go(look, surplus))


def rest(look: Look[RunnerSet]) -> Answer:
    """Nothing is too many and nothing is missing."""
    subject, buckets = look.subject, look.once(sort_runners)
    have = many(buckets.total, "runner")
    if buckets.total == subject.replicas:
        return _at_rest(look, settled("S14", f"{have} as wanted"))
    return _at_rest(look, settled("S14", f"{have} of {subject.replicas} wanted, and enough still come or go"))


RUNNER_SET_RULES: tuple[RuleFunction[RunnerSet], ...] = (
    finish_removals,
    release_when_deleted,
    hold_by_finalizer,
    apply_revision,
    stay_parked,
    keep_proxy_secret,
    delete_stale_refused,
    park_when_refused,
    record_phase,
    keep_gate,
    reap_finished,
    scale_up,
    keep_surplus,
    scale_down,
    rest,
)
"""S-remove stands first because it is owed whatever else is true, S14 before the rules that end a pass."""


def _reaped_under_this_wish(subject: RunnerSet) -> bool:
    """Whether finished runners went under the wish in force: the marker says so, or we saw it (H1)."""
    if subject.patch_id == 0:
        return False
    marked = subject.finished_marker == subject.patch_id
    seen = subject.reaped_patch_id == subject.patch_id
    return (marked and same_incarnation(subject.marker_incarnation, subject.incarnation)) or (
        seen and same_incarnation(subject.reaped_incarnation, subject.incarnation)
    )


def _create(look: Look[RunnerSet], count: int) -> CreateRunners:
    subject = look.subject
    return CreateRunners(
        target=look.stream,
        namespace=subject.namespace,
        set_name=subject.name,
        manifest=look.intern(runner_manifest(runner_set_object(look), look.settings)),
        count=count,
        patch_id=subject.patch_id,
        incarnation=subject.incarnation,
        salt=runner_salt(subject.uid, subject.known_since),
    )


def _first_status(look: Look[RunnerSet]) -> PatchObject:
    """The first status ever written. A CRD of before 2026-07 refuses one without the count that it requires (1.2)."""
    record = patch_status(look, look.subject, phase=phases.RUNNING)
    refused = look.effects.attempt(record.key)
    if refused is not None and refused.outcome is Outcome.INVALID:
        total = look.once(sort_runners).total
        return patch_status(look, look.subject, phase=phases.RUNNING, currentReplicas=total)
    return record


def _at_rest(look: Look[RunnerSet], answer: Answer) -> Answer:
    """What is carried along is something to do, and where nothing else is, the answer says so."""
    if not look.carried:
        return answer
    if look.subject.phase == phases.NONE:
        return act("S14", f"recording phase {phases.RUNNING}; {answer.reason}", wake_at=answer.wake_at)
    return act(answer.rule, answer.reason, wake_at=answer.wake_at)


def _cleaning_answer(
    look: Look[RunnerSet],
    idle: Callable[[str, str, Instant | None], Answer],
    rule_id: str,
    purpose: str,
    cleaning: Cleaning,
) -> Answer:
    """Say what is done and for what; `idle` is the answer where there is nothing to do."""
    reason = cleaning.explain(purpose)
    if cleaning.intents or look.carried:
        return act(rule_id, reason, *cleaning.intents, wake_at=cleaning.wake_at)
    if cleaning.broken:
        return stalled(rule_id, reason)
    return (wait if cleaning.wake_at else idle)(rule_id, reason, cleaning.wake_at)
