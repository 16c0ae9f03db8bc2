"""What a rule is, and where all of them are listed.

A rule is a pure function over a `Look`: one aggregate in the world, at one time. It gives an `Answer`, which ends the
pass, or None, which lets the next rule look. The rules of an aggregate stand in one tuple in the order of rules.md;
the first answer counts. That is how `return` reads in rules.md; what it calls "continue in the same pass" is
`Look.carry`, which adds intents to whatever answer comes later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar, cast

from arcfsm.domain.events.decision import Finding, Verdict
from arcfsm.domain.instant import Instant
from arcfsm.domain.intents import Intent
from arcfsm.domain.jsonvalue import Digest, Json, JsonObject
from arcfsm.domain.kinds import StreamId
from arcfsm.domain.rulebook import RULES, RuleEntry, rule
from arcfsm.domain.settings import ControllerSettings
from arcfsm.domain.states import Effects, Listener, Runner, RunnerSet, ScaleSet
from arcfsm.domain.world import World

__all__ = [
    "RULES",
    "Answer",
    "Look",
    "RuleEntry",
    "RuleFunction",
    "act",
    "first_answer",
    "hold",
    "rule",
    "settled",
    "stalled",
    "wait",
]

A = TypeVar("A", ScaleSet, RunnerSet, Runner, Listener)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a rule concluded: the verdict, why in plain words, and what is to be done."""

    rule: str
    verdict: Verdict
    reason: str
    intents: tuple[Intent, ...] = ()
    wake_at: Instant | None = None


def act(rule: str, reason: str, *intents: Intent, wake_at: Instant | None = None) -> Answer:
    """Something must be written or asked."""
    return Answer(rule, Verdict.ACT, reason, intents, wake_at)


def wait(rule: str, reason: str, wake_at: Instant | None = None) -> Answer:
    """Nothing can be done before an observation, an outcome or a time."""
    return Answer(rule, Verdict.WAIT, reason, (), wake_at)


def hold(rule: str, reason: str, wake_at: Instant | None = None) -> Answer:
    """Nothing is done, on purpose; the reason says what would change it."""
    return Answer(rule, Verdict.HOLD, reason, (), wake_at)


def settled(rule: str, reason: str) -> Answer:
    """Everything matches."""
    return Answer(rule, Verdict.SETTLED, reason)


def stalled(rule: str, reason: str) -> Answer:
    """Something is wanted that no rule can bring about."""
    return Answer(rule, Verdict.STALLED, reason)


@dataclass(slots=True)
class Look(Generic[A]):
    """One pass of rules over one aggregate. Lives for that pass only."""

    world: World
    subject: A
    stream: StreamId
    now: Instant
    carried: list[Intent] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    awaiting: bool = False
    """Something that is wanted was left out because it is in flight: without other intents there is nothing to say."""
    _worked_out: dict[object, object] = field(default_factory=dict)

    @property
    def settings(self) -> ControllerSettings:
        """The settings under which to decide."""
        return self.world.settings

    @property
    def effects(self) -> Effects:
        """What is in flight for the subject and how its latest intents ended."""
        return self.world.effects_of(self.stream)

    def carry(self, *intents: Intent) -> None:
        """Add intents to whatever answer comes later in this pass."""
        self.carried.extend(intents)

    def find(self, code: str, text: str) -> None:
        """Note something that a person should know."""
        self.findings.append(Finding(code=code, text=text))

    def once(self, work_out: Callable[[Look[A]], T]) -> T:
        """Return what `work_out` makes of this look; rules that ask for the same thing share it."""
        if work_out not in self._worked_out:
            self._worked_out[work_out] = work_out(self)
        return cast("T", self._worked_out[work_out])

    def recall(self, key: tuple[str, ...], work_out: Callable[[], T]) -> T:
        """Return what depends on documents and settings alone, named by `key`: worked out once, for all looks."""
        return self.world.memo.recall(key, work_out)

    def document(self, digest: Digest) -> JsonObject:
        """Return a document that is an object."""
        return self.world.documents.mapping(digest)

    def intern(self, value: Json) -> Digest:
        """Keep a manifest or a patch and return its digest."""
        return self.world.documents.intern(value)


RuleFunction = Callable[[Look[A]], Answer | None]


def first_answer(look: Look[A], rules: Sequence[RuleFunction[A]]) -> Answer | None:
    """Return the first answer that one of the rules gives, in order."""
    for look_at in rules:
        answer = look_at(look)
        if answer is not None:
            return answer
    return None
