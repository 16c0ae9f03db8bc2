"""The rules of a runner, in the order of rules.md 2.4. The first answer counts.

How it is registered is in `runner_registration`, how its pod is made and judged in `runner_pod`, how it lets go of all
that in `runner_release`.
"""

from __future__ import annotations

from arcfsm.domain import keys
from arcfsm.domain.rules.rule import Answer, Look, RuleFunction, act, rule, settled, wait
from arcfsm.domain.rules.runner_buckets import is_leaving
from arcfsm.domain.rules.runner_pod import judge_pod, keep_to_budget, make_pod
from arcfsm.domain.rules.runner_registration import record_id, register
from arcfsm.domain.rules.runner_release import let_go, tidy_up
from arcfsm.domain.rules.writes import patch
from arcfsm.domain.states import Runner


@rule("R1", "what is gone needs nothing")
def end(look: Look[Runner]) -> Answer | None:
    """Everything it had went before it (R2)."""
    return None if look.subject.present else settled("R1", "gone")


@rule("R9", "both finalizers are put on before anything else, and not again on a runner that is about to leave")
def hold_by_finalizers(look: Look[Runner]) -> Answer | None:
    """One that the service let go, or whose deletion is on its way, gets nothing new: neither finalizers nor pods."""
    runner = look.subject
    if runner.parting and is_leaving(look.world, runner):
        return wait("R9", "the service let it go, or it is being deleted: it gets nothing new")
    missing = [one for one in _FINALIZERS if one not in runner.finalizers]
    if not missing:
        return None
    if look.world.advisory and missing == [keys.REGISTRATION_FINALIZER]:
        return wait("R9", "its registration was released; its deletion follows")
    change = patch(look, runner, {"metadata": {"finalizers": [*runner.finalizers, *missing]}})
    return act("R9", "adding our finalizers", change)


_FINALIZERS = (keys.RUNNER_FINALIZER, keys.REGISTRATION_FINALIZER)

RUNNER_RULES: tuple[RuleFunction[Runner], ...] = (
    end,
    let_go,
    tidy_up,
    hold_by_finalizers,
    register,
    record_id,
    keep_to_budget,
    make_pod,
    judge_pod,
)
