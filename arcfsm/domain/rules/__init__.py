"""The rules: what arcfsm concludes from the folded state (rules.md). `decide` asks them about one aggregate.

`RULES` lists every rule by id; each aggregate's rules stand in order in its module.
"""

from __future__ import annotations

from arcfsm.domain.events.decision import Decided, Finding, Verdict
from arcfsm.domain.instant import Instant, format_instant
from arcfsm.domain.intents import Intent
from arcfsm.domain.jsonvalue import digest
from arcfsm.domain.kinds import StreamId
from arcfsm.domain.rules.gate import Gated, gate
from arcfsm.domain.rules.listener import LISTENER_RULES
from arcfsm.domain.rules.rule import RULES, Answer, Look, RuleEntry, first_answer
from arcfsm.domain.rules.runner import RUNNER_RULES
from arcfsm.domain.rules.runner_set import RUNNER_SET_RULES
from arcfsm.domain.rules.scale_set import SCALE_SET_RULES
from arcfsm.domain.states import Listener, Runner, RunnerSet
from arcfsm.domain.world import Aggregate, World

__all__ = ["RULES", "RuleEntry", "decide"]


def decide(world: World, stream: StreamId, now: Instant) -> Decided | None:
    """Ask the rules about one aggregate. Return the decision if it differs from the latest one, else None.

    In advice (architecture.md §4.10) a decision carries everything that the rules want. In control it carries what is
    to be issued now: what is in flight or waits after a failure is left out, and where nothing remains the decision
    says why.
    """
    subject = world.aggregate(stream)
    if subject is None or not subject.present:
        return None
    wanted = _ask(world, subject, stream, now)
    if wanted is None:
        return None
    answer = digest(wanted.model_dump(mode="json", exclude={"answer"}))
    if world.advisory or not wanted.intents:
        return _unless_known(world, stream, wanted, answer)
    gated = gate(world, wanted.intents, now)
    if gated.issued:
        return wanted.model_copy(
            update={"intents": gated.issued, "wake_at": _earliest(wanted.wake_at, gated), "answer": answer}
        )
    if not gated.waiting:
        return None
    held = _held_back(wanted, gated)
    return _unless_known(world, stream, held, digest(held.model_dump(mode="json", exclude={"answer"})))


def _ask(world: World, subject: Aggregate, stream: StreamId, now: Instant) -> Decided | None:
    answer: Answer | None
    intents: list[Intent]
    findings: list[Finding]
    if isinstance(subject, Runner):
        runner = Look(world, subject, stream, now)
        answer, intents, findings = first_answer(runner, RUNNER_RULES), runner.carried, runner.findings
    elif isinstance(subject, RunnerSet):
        runner_set = Look(world, subject, stream, now)
        answer, intents, findings = first_answer(runner_set, RUNNER_SET_RULES), runner_set.carried, runner_set.findings
    elif isinstance(subject, Listener):
        listener = Look(world, subject, stream, now)
        answer, intents, findings = first_answer(listener, LISTENER_RULES), listener.carried, listener.findings
    else:
        scale_set = Look(world, subject, stream, now)
        answer, intents, findings = first_answer(scale_set, SCALE_SET_RULES), scale_set.carried, scale_set.findings
    if answer is None:
        return None
    return Decided(
        rule=answer.rule,
        verdict=Verdict.ACT if intents and answer.verdict is Verdict.SETTLED else answer.verdict,
        reason=answer.reason,
        intents=(*intents, *answer.intents),
        wake_at=answer.wake_at,
        findings=tuple(findings),
        advisory=world.advisory,
    )


def _unless_known(world: World, stream: StreamId, decided: Decided, answer: str) -> Decided | None:
    latest = world.answers.get(stream)
    if latest is not None and latest.digest == answer:
        return None
    return decided.model_copy(update={"answer": answer})


def _earliest(wake_at: Instant | None, gated: Gated) -> Instant | None:
    moments = [again for _, _, again in gated.waiting]
    if wake_at is not None:
        moments.append(wake_at)
    return min(moments, default=None)


def _held_back(wanted: Decided, gated: Gated) -> Decided:
    intent, attempt, again = min(gated.waiting, key=lambda item: (item[2], item[0].key))
    cause = attempt.detail or f"{attempt.outcome}"
    ended = f"failed {attempt.failures}x ({cause})" if attempt.failures else f"ended with {cause} and is wanted still"
    return wanted.model_copy(
        update={
            "verdict": Verdict.WAIT,
            "reason": f"{wanted.reason}; `{intent.key}` {ended}, again at {format_instant(again)}",
            "intents": (),
            "wake_at": _earliest(wanted.wake_at, gated),
        }
    )
