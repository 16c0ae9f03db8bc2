"""How a runner comes by its registration on the service, and how its id is found out again (R3, R10, R11).

A registration is made and kept in one effect, so its outcome tells the id although nothing was written into the status
yet (H23). Where an effect ended without an outcome, nobody knows whether the service has the name: then it is looked
up before anything is registered a second time (H22). For a runner that was there before us, the Secret knows the id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.instant import MILLISECOND, MINUTE, SECOND, Instant, Span
from arcfsm.domain.intents import CallService, DeleteObject, Intent, ServiceCall, registration_key
from arcfsm.domain.kinds import Kind
from arcfsm.domain.rules.answers import answer_to, integer_in, is_taken
from arcfsm.domain.rules.rule import Answer, Look, act, rule, wait
from arcfsm.domain.rules.runner_buckets import recorded_id
from arcfsm.domain.rules.runner_objects import registration, scale_set_id_of, secret_of
from arcfsm.domain.rules.writes import delete, patch_status
from arcfsm.domain.states import Attempt, Runner

REGISTER_AGAIN: Final[Span] = 500 * MILLISECOND
"""Between clearing the way for a registration and the next try."""
_VANISHED: Final[Span] = 5 * SECOND
"""Between a registration and the next one, should its Secret vanish: somebody takes it away."""
_FOREIGN: Final[Span] = 5 * MINUTE
"""How long an answer counts that says that another scale set has the name."""
_UNKNOWN: Final = frozenset({Outcome.RUNNER_EXISTS, Outcome.TIMED_OUT, Outcome.ABANDONED})
"""Outcomes after which the service may know the name."""


@dataclass(frozen=True, slots=True)
class Registration:
    """What is known of a runner's registration."""

    id: int = 0
    """0: there is none, or it is not known yet."""
    question: Intent | None = None
    """What must be asked to know."""
    trouble: str = ""
    """Why it can't be known."""
    again: Instant | None = None
    """When to ask again in spite of it."""
    awaited: bool = False
    """It is being registered just now."""


@rule("R3", "the id is taken from the status, from our own registration, from the Secret, or asked for by name")
def find_registration(look: Look[Runner]) -> Registration:
    """Find out under which id the service knows the runner, without asking for what the journal knows."""
    runner, effects = look.subject, look.effects
    known = recorded_id(effects, runner)
    if known < 0:
        return Registration(trouble=f"its id {known} is none that a service knows")
    if known:
        return Registration(known)
    if effects.flying(registration_key(runner.namespace, runner.name)) is not None:
        return Registration(awaited=True)
    registered = effects.attempt(registration_key(runner.namespace, runner.name))
    if registered is None and _never_registered(look):
        return Registration()
    recall = _recall(look)
    recalled = effects.attempt(recall.key)
    if recalled is not None and registered is not None and recalled.decision < registered.decision:
        recalled = None
    if (known := integer_in(recalled, "runner_id")) > 0:
        return Registration(known)
    if not _recall_answered(recalled) and secret_of(look) is not None:
        return Registration(question=recall)
    if _malformed(recalled) and is_live(runner):
        return Registration(trouble="its Secret holds no usable id, and its pod lives")
    return _by_name(look, registered)


@rule("R10", "a runner without a pod and without a Secret is registered; a stale registration of its name goes first")
def register(look: Look[Runner]) -> Answer | None:
    """Where there is a pod there was a registration: a second one would take the first from under it."""
    runner, secret = look.subject, secret_of(look)
    if runner.pod is not None:
        return None
    if secret is not None:
        gone = secret.deleting or is_taken(look.effects, _secret_deletion(look, secret.uid))
        return wait("R10", "its registration is being deleted; another one follows") if gone else None
    if look.world.advisory:
        # A runner that is known to be registered has its Secret, whether we are shown Secrets or not.
        if not runner.runner_id and not runner.pods_seen:
            look.carry(registration(look))
        return None
    latest = look.effects.attempt(registration_key(runner.namespace, runner.name))
    if latest is not None and latest.outcome in _UNKNOWN:
        return _clear_the_way(look, latest)
    if latest is not None and latest.outcome is Outcome.OK:
        return _register_at(look, latest.at + _VANISHED, "its registration vanished")
    return _register_at(look, _malformed_again(look), "not registered")


@rule("R11", "the id is written into the status once the pod is known; a Secret without a usable id is made anew")
def record_id(look: Look[Runner]) -> Answer | None:
    """Until then the Secret is the record: a crash in between loses nothing."""
    runner, secret = look.subject, secret_of(look)
    if runner.runner_id or look.world.advisory:
        return None
    recall = _recall(look)
    recalled = look.effects.attempt(recall.key)
    known = recorded_id(look.effects, runner) or integer_in(recalled, "runner_id")
    if known > 0:
        if runner.pod is None:
            return None
        return act(
            "R11", f"writing down its id {known}", patch_status(look, runner, runnerId=known, runnerName=runner.name)
        )
    if secret is None or (recalled is not None and recalled.outcome is Outcome.NOT_FOUND):
        return None
    if not _recall_answered(recalled):
        return act("R11", "its id is known to its Secret alone; reading it back", recall)
    if runner.pod is None:
        return act("R11", "its Secret holds no usable id; registering anew", _secret_deletion(look, secret.uid))
    look.find(
        "RunnerIdUnreadable", f"the Secret of runner {runner.name} holds no usable id; kept, since its pod exists"
    )
    return None


def is_live(runner: Runner) -> bool:
    """Whether its pod may still run something (R4): it is there and not all of its containers ended."""
    return runner.pod is not None and not runner.pod.terminated


def removal(look: Look[Runner], runner_id: int) -> CallService:
    """Ask the service to give up a registration."""
    return _call(look, ServiceCall.REMOVE_RUNNER, runner_id=runner_id)


def _clear_the_way(look: Look[Runner], latest: Attempt) -> Answer:
    """Find out who has the name; what is ours and stale is removed, what is of another scale set is not touched."""
    runner, effects = look.subject, look.effects
    exists = latest.outcome is Outcome.RUNNER_EXISTS
    why = "its name is taken on the service" if exists else "its registration ended without an outcome"
    question = _call(look, ServiceCall.FIND_RUNNER, name=runner.name)
    found = answer_to(effects, question, since=latest.decision)
    if found is None:
        return act("R10", f"{why}; looking it up before registering again", question)
    if found.outcome is Outcome.NOT_FOUND:
        return _register_at(look, found.at + REGISTER_AGAIN, f"{why}, but nobody has it")
    stale, owner, ours = integer_in(found, "runner_id"), integer_in(found, "scale_set_id"), scale_set_id_of(look)
    if owner != ours:
        text = f"runner {runner.name} of scale set {ours} exists as {stale} in scale set {owner}"
        look.find("ForeignRegistration", text)
        return act("R10", f"{text}; deleting it here, not there", delete(runner))
    question = removal(look, stale)
    removed = effects.attempt(question.key)
    if removed is None or removed.decision <= found.decision:
        return act("R10", f"{why}; removing the stale registration {stale}", question)
    if removed.outcome is Outcome.BUSY and (again := removed.at + look.settings.busy_retry) > look.now:
        return wait("R10", f"{why}, and the service says that {stale} has a job", again)
    if removed.outcome in (Outcome.OK, Outcome.NOT_FOUND):
        return _register_at(look, removed.at + REGISTER_AGAIN, f"{why}; the stale registration {stale} is removed")
    return act("R10", f"{why}; removing the stale registration {stale}", question)


def _register_at(look: Look[Runner], at: Instant, why: str) -> Answer:
    if at > look.now:
        return wait("R10", f"{why}; registering in a moment", at)
    return act("R10", f"{why}; registering", registration(look))


def _malformed_again(look: Look[Runner]) -> Instant:
    """Return when to register after a Secret without a usable id was deleted."""
    runner = look.subject
    deleted = look.effects.attempt(_secret_deletion(look, "").key)
    return deleted.at + REGISTER_AGAIN if deleted is not None and runner.pods_seen == 0 else 0


def _by_name(look: Look[Runner], registered: Attempt | None) -> Registration:
    question = _call(look, ServiceCall.FIND_RUNNER, name=look.subject.name)
    found = answer_to(look.effects, question, since=registered.decision if registered is not None else 0)
    if found is None:
        return Registration(question=question)
    if found.outcome is Outcome.NOT_FOUND:
        return Registration()
    known, owner, ours = integer_in(found, "runner_id"), integer_in(found, "scale_set_id"), scale_set_id_of(look)
    if owner == ours:
        return Registration(known)
    if registered is not None and registered.outcome is Outcome.RUNNER_EXISTS:
        # The service refused to register ours because of that one: there is nothing of ours to release.
        return Registration()
    if found.at + _FOREIGN <= look.now:
        return Registration(question=question)
    return Registration(trouble=f"its name belongs to scale set {owner}, not to {ours}", again=found.at + _FOREIGN)


def _never_registered(look: Look[Runner]) -> bool:
    """Whether the journal proves it: we saw it being made, and it never had anything (H26)."""
    runner = look.subject
    return not (runner.adopted or runner.pods_seen) and secret_of(look) is None


def _recall(look: Look[Runner]) -> CallService:
    return _call(look, ServiceCall.RECALL_REGISTRATION, name=look.subject.name)


def _recall_answered(recalled: Attempt | None) -> bool:
    return recalled is not None and recalled.outcome in (Outcome.OK, Outcome.NOT_FOUND, Outcome.INVALID)


def _malformed(recalled: Attempt | None) -> bool:
    return recalled is not None and recalled.outcome in (Outcome.OK, Outcome.INVALID)


def _secret_deletion(look: Look[Runner], uid: str) -> DeleteObject:
    one = look.subject
    return DeleteObject(target=look.stream, kind=Kind.SECRET, namespace=one.namespace, name=one.name, uid=uid)


def _call(look: Look[Runner], call: ServiceCall, **arguments: str | int) -> CallService:
    return CallService(target=look.stream, call=call, namespace=look.subject.namespace, arguments={**arguments})
