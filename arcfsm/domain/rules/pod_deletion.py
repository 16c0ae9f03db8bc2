"""How pods of runners and listeners are deleted: always this very pod, at once where it ended already (R15)."""

from __future__ import annotations

from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.facts import PodFacts
from arcfsm.domain.fold import TAKEN
from arcfsm.domain.instant import SECOND, Instant, format_span
from arcfsm.domain.intents import DeleteObject, Intent, ReadObject
from arcfsm.domain.kinds import Kind
from arcfsm.domain.rules.answers import about, answer_to, is_taken
from arcfsm.domain.rules.rule import Look, rule
from arcfsm.domain.states import Listener, Runner


@rule("R15", "pods are deleted by uid; one whose containers all ended gets no grace period")
def delete_pod(look: Look[Runner] | Look[Listener], pod: PodFacts) -> tuple[Intent, ...]:
    """Delete the pod unless it is on its way already.

    A refused uid means that another pod has the name now: we look again before anything else is done (H33).
    """
    if pod.deletion_requested_at is not None:
        return _by_force(look, pod)
    deletion = _deletion(look, pod)
    effects = look.effects
    if is_taken(effects, deletion):
        return ()
    refused = about(effects, deletion)
    if refused is None or refused.outcome is not Outcome.CONFLICT:
        return (deletion,)
    again = read_pod(look)
    seen = answer_to(effects, again, since=refused.decision)
    if seen is None:
        return (again,)
    return () if seen.outcome is Outcome.NOT_FOUND else (deletion,)


def stuck_from(look: Look[Runner] | Look[Listener], pod: PodFacts) -> Instant | None:
    """Return when a pod that is being deleted is taken for dead; None for others.

    Nobody reports the end of a pod whose node is dead. Its grace period, which may be hours, is respected first.
    """
    if pod.deletion_requested_at is None:
        return None
    return pod.deletion_requested_at + pod.grace_s * SECOND + look.settings.stuck_pod_after


def _by_force(look: Look[Runner] | Look[Listener], pod: PodFacts) -> tuple[Intent, ...]:
    """Delete a listener's pod that is stuck: another one can't have its name before it is gone.

    Should it still run somewhere, the service gives no second session while it holds the first (H39). A runner's pod is
    left to its node: the process may be at work, and the runner's own end is what frees the slot.
    """
    one, stuck = look.subject, stuck_from(look, pod)
    if isinstance(one, Runner) or look.world.advisory or stuck is None or stuck > look.now:
        return ()
    long = format_span(look.settings.stuck_pod_after)
    look.find("PodStuck", f"the pod of listener {one.name} should have ended {long} ago; its node may be dead")
    deletion = _deletion(look, pod).model_copy(update={"grace_period_s": 0})
    attempt = about(look.effects, deletion)
    taken = attempt is not None and attempt.written == deletion.written and attempt.outcome in TAKEN
    return () if taken else (deletion,)


def read_pod(look: Look[Runner] | Look[Listener]) -> ReadObject:
    """Ask the API server itself for the pod; it has the name of its owner."""
    one = look.subject
    return ReadObject(target=look.stream, kind=Kind.POD, namespace=one.namespace, name=one.name)


def _deletion(look: Look[Runner] | Look[Listener], pod: PodFacts) -> DeleteObject:
    one, grace_s = look.subject, None
    if pod.terminated and isinstance(one, Runner) and look.settings.terminated_pod_grace_s >= 0:
        grace_s = look.settings.terminated_pod_grace_s
    return DeleteObject(
        target=look.stream,
        kind=Kind.POD,
        namespace=one.namespace,
        name=one.name,
        uid=pod.uid,
        grace_period_s=grace_s,
    )
