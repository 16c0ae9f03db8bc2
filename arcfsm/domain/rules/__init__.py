"""The rules: what arcfsm concludes from the folded state (rules.md). `decide` asks them about one aggregate.

`RULES` lists every rule by id; each aggregate's rules stand in order in its module.
"""

from __future__ import annotations

from collections.abc import Sequence

# Rules that decide nothing by themselves stand elsewhere; being imported, they enter the rulebook.
from arcfsm.domain import client_identity as _client_identity  # noqa: F401
from arcfsm.domain import drift as _drift  # noqa: F401
from arcfsm.domain import gauges as _gauges  # noqa: F401
from arcfsm.domain import manifests as _manifests  # noqa: F401
from arcfsm.domain.events.decision import Decided, Finding, Verdict
from arcfsm.domain.instant import Instant, format_instant
from arcfsm.domain.intents import Intent
from arcfsm.domain.kinds import StreamId
from arcfsm.domain.knowledge import Aggregate
from arcfsm.domain.rules.gate import Gated, gate
from arcfsm.domain.rules.hindrances import credentials_refused, report_old_crd
from arcfsm.domain.rules.listener import LISTENER_RULES
from arcfsm.domain.rules.rule import RULES, A, Answer, Look, RuleEntry, RuleFunction, first_answer
from arcfsm.domain.rules.runner import RUNNER_RULES
from arcfsm.domain.rules.runner_set import RUNNER_SET_RULES
from arcfsm.domain.rules.scale_set import SCALE_SET_RULES
from arcfsm.domain.states import Listener, Runner, RunnerSet
from arcfsm.domain.world import World

__all__ = ["RULES", "RuleEntry", "decide"]


def decide(world: World, stream: StreamId, now: Instant) -> Decided | None:
    """Ask the rules about one aggregate. Return the decision if it differs from the latest one, else None.

    In advice (architecture.md §4.10) a decision carries everything that the rules want. In control it carries what is
    to be issued now: what is in flight or waits after a failure is left out, and where nothing remains the decision
    says why.
    """
    subject = world.aggregate(stream)
    if subject is None or not subject.present or not world.deciding:
        return None
    wanted, awaiting = _ask(world, subject, stream, now)
    if wanted is None or (awaiting and not wanted.intents):
        return None
    answer = wanted.fingerprint()
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
    return _unless_known(world, stream, held, held.fingerprint())


def _ask(world: World, subject: Aggregate, stream: StreamId, now: Instant) -> tuple[Decided | None, bool]:
    if isinstance(subject, Runner):
        return _conclude(Look(world, subject, stream, now), RUNNER_RULES)
    if isinstance(subject, RunnerSet):
        return _conclude(Look(world, subject, stream, now), RUNNER_SET_RULES)
    if isinstance(subject, Listener):
        return _conclude(Look(world, subject, stream, now), LISTENER_RULES)
    return _conclude(Look(world, subject, stream, now), SCALE_SET_RULES)


def _conclude(look: Look[A], rules: Sequence[RuleFunction[A]]) -> tuple[Decided | None, bool]:
    """Return the decision, and whether something that it wants was left out because it is in flight."""
    answer = first_answer(look, rules)
    report_old_crd(look)
    advisory = look.world.advisory
    return _decided(answer, look.carried, look.findings, advisory=advisory), look.awaiting


def _decided(
    answer: Answer | None, carried: list[Intent], findings: list[Finding], *, advisory: bool
) -> Decided | None:
    if answer is None:
        return None
    return Decided(
        rule=answer.rule,
        verdict=Verdict.ACT if carried and answer.verdict is not Verdict.STALLED else answer.verdict,
        reason=answer.reason,
        intents=(*carried, *answer.intents),
        wake_at=answer.wake_at,
        findings=tuple(findings),
        advisory=advisory,
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
    refused = credentials_refused(intent, attempt)
    cause = attempt.detail or f"{attempt.outcome}"
    ended = f"failed {attempt.failures}x ({cause})" if attempt.failures else f"ended with {cause} and is wanted still"
    return wanted.model_copy(
        update={
            # What only a person can mend is no mere wait: it is tried again, but it is said to be stuck (H26).
            "verdict": Verdict.STALLED if refused is not None else Verdict.WAIT,
            "findings": wanted.findings if refused is None else (*wanted.findings, refused),
            "reason": f"{wanted.reason}; `{intent.key}` {ended}, again at {format_instant(again)}",
            "intents": (),
            "wake_at": _earliest(wanted.wake_at, gated),
        }
    )
