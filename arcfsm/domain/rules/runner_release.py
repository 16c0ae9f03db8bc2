"""How a runner lets go of what it has: its registration, its pod, its Secret, its finalizers (R2–R8, R13, R14).

Upstream removes registrations in a queue that a restart forgets. Here the question to the service is an intent, and the
registration finalizer stays until it is answered: no answer, no crash and no restart loses a registration (R14). Nobody
deletes a live pod before the service said that its runner has no job (H29).
"""

from __future__ import annotations

from typing import Final

from arcfsm.domain import keys, phases
from arcfsm.domain.events.decision import Outcome, Verdict
from arcfsm.domain.instant import Instant, format_instant, format_span
from arcfsm.domain.intents import DeleteLabelled, DeleteObject, Intent, PatchObject, create_key
from arcfsm.domain.kinds import Kind
from arcfsm.domain.rules.answers import answer_to, is_taken
from arcfsm.domain.rules.pod_deletion import delete_pod, read_pod, stuck_from
from arcfsm.domain.rules.rule import Answer, Look, act, hold, rule, wait
from arcfsm.domain.rules.runner_objects import runs_hooks, secret_of
from arcfsm.domain.rules.runner_registration import find_registration, is_live, removal
from arcfsm.domain.rules.writes import delete, drop_finalizer, patch
from arcfsm.domain.states import Runner

_NOT_MADE: Final = frozenset({Outcome.INVALID, Outcome.FORBIDDEN})
"""Outcomes of a creation after which there is no pod for sure."""


@rule("R2", "a deleted runner gives up its registration, then its pod and Secret, then itself")
def let_go(look: Look[Runner]) -> Answer | None:
    """Without our finalizer it is not ours to hold."""
    runner = look.subject
    if runner.deletion_requested_at is None:
        return None
    if keys.RUNNER_FINALIZER not in runner.finalizers:
        return wait("R2", "deleted; what still holds it is not ours")
    return look_for_pod(look) or _hold_registration(look) or finish(look)


@rule("R4", "no pod that may live is deleted before the service said that its runner has no job")
def look_for_pod(look: Look[Runner]) -> Answer | None:
    """Where it is not known whether there is a pod, the API server itself is asked; without an answer nothing goes."""
    runner = look.subject
    if runner.pod is not None or runner.pod_gone_at is not None or look.world.advisory or not _holds(runner):
        return None
    making = create_key(Kind.POD, runner.namespace, runner.name)
    if look.effects.flying(making) is not None:
        return wait("R4", "deleted while its pod is being created")
    made = look.effects.attempt(making)
    if not runner.adopted and (made is None or made.outcome in _NOT_MADE):
        return None
    question = read_pod(look)
    if answer_to(look.effects, question, since=made.decision if made is not None else 0) is not None:
        return None
    return act("R4", "deleted; nothing goes before the API server says whether it has a pod", question)


@rule("R14", "the service is asked to give up the registration until it does; the question survives a restart")
def release(look: Look[Runner]) -> Answer | None:
    """None where nothing registered is left. Busy is an answer: it is asked again later, for as long as that is likely.

    A service that calls a runner busy long after its pod went expires it by itself: then we let go (H25), as we do
    where the credentials went before the runner (H26).
    """
    runner = look.subject
    if not _holds(runner):
        return None
    found = find_registration(look)
    if found.trouble:
        look.find("RegistrationUnclear", f"runner {runner.name} is kept: {found.trouble}")
        return Answer("R3", Verdict.STALLED, f"{_said(runner)}, and kept: {found.trouble}", (), found.again)
    if found.awaited:
        return wait("R3", f"{_said(runner)} while it is being registered")
    if found.question is not None:
        if _given_up(look, found.question):
            return None
        return act("R3", f"{_said(runner)}; finding out its id on the service", found.question)
    if not found.id:
        return None
    question = removal(look, found.id)
    answered = look.effects.attempt(question.key)
    if answered is not None and answered.outcome in (Outcome.OK, Outcome.NOT_FOUND):
        return None
    rule_id = "R4" if is_live(runner) else "R14"
    if _given_up(look, question):
        return None
    busy = answered is not None and answered.outcome is Outcome.BUSY
    again = answered.at + look.settings.busy_retry if answered is not None else 0
    if busy and again > look.now:
        every = format_span(look.settings.busy_retry)
        return wait(rule_id, f"{_said(runner)}; kept while the service says it is busy, asking every {every}", again)
    return act(rule_id, f"{_said(runner)}; asking the service to release registration {found.id}", question)


@rule("R6", "its pod and its Secret are deleted, and what container hooks made for its job")
def resources(look: Look[Runner]) -> tuple[Intent, ...]:
    """Nobody waits for them to vanish; that their deletion was taken is enough."""
    return (*_pod_and_secret(look, secret=True), *(_made_by_hooks(look) if runs_hooks(look) else ()))


@rule("R7", "both finalizers are dropped in one write, when nothing else is left to do", "R5")
def finish(look: Look[Runner]) -> Answer:
    """In advice everything is said at once: no outcome will come."""
    left, drop = resources(look), _drop_finalizers(look)
    if look.world.advisory:
        return act("R7", "deleted; letting go of everything it has", *left, drop)
    if left:
        return act("R6", "deleted; its registration is released, its pod and Secret go", *left)
    return act("R7", "deleted; nothing of it is left", drop)


@rule("R8", "a runner that is over keeps neither registration, pod nor Secret; its set deletes it")
def tidy_up(look: Look[Runner]) -> Answer | None:
    """The Secret stays for as long as it alone knows the id."""
    runner = look.subject
    if runner.phase not in phases.RUNNER_DONE_PHASES:
        return None
    answer = release_finished(look)
    unresolved = answer is not None and answer.rule == "R3" and not look.world.advisory
    left = _pod_and_secret(look, secret=not unresolved)
    if answer is not None:
        return beside(answer, left)
    if left:
        return act("R8", f"{_said(runner)}; its pod and Secret go", *left)
    if runner.phase == phases.FAILED:
        return _make_room(look)
    return wait("R8", f"{_said(runner)}; its set deletes it")


def _make_room(look: Look[Runner]) -> Answer:
    """A failed runner holds its slot for a while, which keeps a broken template from being tried at full speed.

    For ever would keep jobs waiting after the cause is mended (H35): then it goes, and what it was is in the journal.
    """
    runner, patience = look.subject, look.settings.failed_runner_retire_after
    if look.world.advisory or not patience:
        return hold("R8", f"{_said(runner)}; it holds its slot until its set or somebody deletes it")
    ends = runner.ended_at + patience
    if ends > look.now:
        return hold("R8", f"{_said(runner)}; it holds its slot until {format_instant(ends)}", ends)
    return act("R8", f"{_said(runner)} for {format_span(patience)}; making room for another try", delete(runner))


@rule("R13", "a runner that is over releases its registration, unless it ended well and did so itself")
def release_finished(look: Look[Runner]) -> Answer | None:
    """The finalizer goes when the service let go, so that a failed write can't lose the question."""
    runner = look.subject
    if not _holds(runner):
        return None
    kept = release(look)
    drop = drop_finalizer(look, runner, keys.REGISTRATION_FINALIZER)
    if kept is None:
        return act("R13", f"{_said(runner)}; its registration is released", drop)
    if look.world.advisory and kept.intents:
        return beside(kept, (), drop)
    return kept


def beside(answer: Answer, first: tuple[Intent, ...], *last: Intent) -> Answer:
    """Return the answer with intents before and after its own."""
    intents = (*first, *answer.intents, *last)
    return act(answer.rule, answer.reason, *intents, wake_at=answer.wake_at) if intents else answer


def _hold_registration(look: Look[Runner]) -> Answer | None:
    """What keeps a deleted runner: an answer that is still owed. A pod that is over need not wait for it."""
    runner = look.subject
    kept = release(look)
    if kept is None:
        return None
    if look.world.advisory:
        if not kept.intents or (runner.has_job and is_live(runner)):
            return kept
        look.carry(*kept.intents)
        return None
    if is_live(runner) or kept.rule == "R3":
        return kept
    return beside(kept, resources(look))


def _holds(runner: Runner) -> bool:
    """Whether it may hold a registration. An agent that ends well deregisters itself."""
    return runner.has_registration_finalizer and runner.phase != phases.SUCCEEDED


def _given_up(look: Look[Runner], question: Intent) -> bool:
    """Whether a question that gets no useful answer is dropped: the pod went long ago (H25, H26)."""
    runner, answered = look.subject, look.effects.attempt(question.key)
    if answered is None or answered.outcome not in (Outcome.BUSY, Outcome.FORBIDDEN):
        return False
    gone_at, patience = _gone_at(look), look.settings.registration_abandon_after
    if gone_at is None or gone_at + patience > look.now:
        return False
    busy = answered.outcome is Outcome.BUSY
    why = "the service calls it busy" if busy else f"the service takes no credentials ({answered.detail})"
    text = f"{why}, over {format_span(patience)} after its pod was gone"
    look.find("RegistrationAbandoned", f"the registration of runner {runner.name} is given up: {text}")
    return True


def _gone_at(look: Look[Runner]) -> Instant | None:
    """Return since when there is no pod; None while there is one. One that is stuck in its end is none (A48)."""
    runner = look.subject
    if runner.pod is not None:
        ends = stuck_from(look, runner.pod)
        return ends if ends is not None and ends <= look.now else None
    known = runner.pod_gone_at if runner.pod_gone_at is not None else runner.deletion_requested_at
    return known if known is not None else runner.created_at


def _pod_and_secret(look: Look[Runner], *, secret: bool) -> tuple[Intent, ...]:
    runner, kept = look.subject, secret_of(look)
    pod = delete_pod(look, runner.pod) if runner.pod is not None else ()
    if not secret or kept is None or kept.deleting:
        return pod
    deletion = DeleteObject(
        target=look.stream, kind=Kind.SECRET, namespace=kept.namespace, name=kept.name, uid=kept.uid
    )
    return pod if is_taken(look.effects, deletion) else (*pod, deletion)


def _made_by_hooks(look: Look[Runner]) -> tuple[Intent, ...]:
    runner = look.subject
    sweeps = (
        DeleteLabelled(
            target=look.stream, kind=kind, namespace=runner.namespace, label=keys.RUNNER_POD, value=runner.name
        )
        for kind in (Kind.POD, Kind.SECRET)
    )
    return tuple(sweep for sweep in sweeps if answer_to(look.effects, sweep) is None)


def _drop_finalizers(look: Look[Runner]) -> PatchObject:
    ours = (keys.RUNNER_FINALIZER, keys.REGISTRATION_FINALIZER)
    rest = [other for other in look.subject.finalizers if other not in ours]
    return patch(look, look.subject, {"metadata": {"finalizers": rest}})


def _said(runner: Runner) -> str:
    if runner.deleting:
        return "deleted"
    return f"{runner.phase} ({runner.reason})" if runner.reason not in ("", runner.phase) else runner.phase
