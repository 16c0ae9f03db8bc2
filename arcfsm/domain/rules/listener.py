"""The rules of a listener, in the order of rules.md 2.3. The first answer counts.

What it needs is kept by `listener_children`, its pod judged by `listener_pod`, all of it removed by `listener_cleanup`.
"""

from __future__ import annotations

from arcfsm.domain import keys
from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.intents import ReadObject
from arcfsm.domain.kinds import Kind
from arcfsm.domain.rules.listener_children import (
    keep_config,
    keep_proxy_secret,
    keep_role,
    keep_role_binding,
    keep_service_account,
)
from arcfsm.domain.rules.listener_cleanup import Cleanup, clean
from arcfsm.domain.rules.listener_pod import judge_pod, make_pod, rest
from arcfsm.domain.rules.rule import Answer, Look, RuleFunction, act, hold, rule, wait
from arcfsm.domain.rules.writes import add_finalizer, delete, drop_finalizer
from arcfsm.domain.states import Listener


@rule("L1", "a deleted listener takes everything along that was made for it, then lets go of itself")
def tear_down(look: Look[Listener]) -> Answer | None:
    """Role and binding have no owner that would collect them."""
    subject = look.subject
    if not subject.deleting:
        return None
    if keys.LISTENER_FINALIZER not in subject.finalizers:
        return wait("L1", "deleted; what still holds it is not ours")
    cleanup = clean(look)
    if not cleanup.done:
        return _cleaning(cleanup, "L1", "deleted")
    return act("L1", "deleted; nothing of it is left", drop_finalizer(look, subject, keys.LISTENER_FINALIZER))


@rule("L2", "our finalizer is put on before anything else")
def hold_by_finalizer(look: Look[Listener]) -> Answer | None:
    """Else Role and binding would be left behind."""
    if keys.LISTENER_FINALIZER in look.subject.finalizers:
        return None
    return act("L2", "adding our finalizer", add_finalizer(look, look.subject, keys.LISTENER_FINALIZER))


@rule("L3", "a listener whose scale set is gone is deleted")
def follow_scale_set(look: Look[Listener]) -> Answer | None:
    """One that was merely not seen yet is asked for first: a listener is not deleted for the order of a list."""
    subject = look.subject
    if look.world.scale_set_named(subject.scale_set_namespace, subject.scale_set_name) is not None:
        return None
    name = f"{subject.scale_set_namespace}/{subject.scale_set_name}"
    if subject.orphaned:
        return act("L3", f"scale set {name} is gone", delete(subject))
    if look.world.advisory:
        return wait("L3", f"scale set {name} was not seen yet")
    question = ReadObject(
        target=look.stream,
        kind=Kind.SCALE_SET,
        namespace=subject.scale_set_namespace,
        name=subject.scale_set_name,
    )
    seen = look.effects.attempt(question.key)
    if seen is not None and seen.outcome is Outcome.NOT_FOUND:
        return act("L3", f"there is no scale set {name}", delete(subject))
    if seen is not None and seen.outcome is Outcome.OK:
        return wait("L3", f"scale set {name} is about to be seen")
    return act("L3", f"scale set {name} was not seen yet; asking the API server", question)


@rule("L4", "a listener that is switched off has nothing but itself")
def switch_off(look: Look[Listener]) -> Answer | None:
    """The object and its finalizer stay; switching it on makes everything anew."""
    if not look.subject.stopped:
        return None
    cleanup = clean(look)
    return hold("L4", "switched off") if cleanup.done else _cleaning(cleanup, "L4", "switched off")


LISTENER_RULES: tuple[RuleFunction[Listener], ...] = (
    tear_down,
    hold_by_finalizer,
    follow_scale_set,
    switch_off,
    keep_service_account,
    keep_role,
    keep_role_binding,
    keep_proxy_secret,
    keep_config,
    judge_pod,
    make_pod,
    rest,
)


def _cleaning(cleanup: Cleanup, rule_id: str, why: str) -> Answer:
    if cleanup.intents:
        return act(rule_id, f"{why}; what was made for it goes", *cleanup.intents, wake_at=cleanup.wake_at)
    return wait(rule_id, f"{why}; waiting for: {', '.join(cleanup.going)}", cleanup.wake_at)
