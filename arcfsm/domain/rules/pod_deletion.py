"""How pods of runners and listeners are deleted: always this very pod, at once where it ended already (R15)."""

from __future__ import annotations

from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.facts import PodFacts
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
        return ()
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
