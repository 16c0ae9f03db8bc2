"""What the rules concluded, and how the intents that followed ended."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from arcfsm.domain.events.domain_event import DomainEvent, register
from arcfsm.domain.instant import Instant
from arcfsm.domain.intents import Intent
from arcfsm.domain.jsonvalue import Digest, digest

ANSWER_DIGITS: Final = 32
"""Hexadecimal digits of a digest that tell an answer from the one before it about the same aggregate: 128 bits."""


class Verdict(StrEnum):
    """The kind of answer a rule gave."""

    ACT = "act"
    """Something must be written or asked; the intents say what."""
    WAIT = "wait"
    """Nothing can be done before an outcome, an observation or a time that is named."""
    SETTLED = "settled"
    """Everything matches; nothing to do."""
    HOLD = "hold"
    """Deliberately nothing: parked, gate closed, suppressed. The reason says what would change it."""
    STALLED = "stalled"
    """Something is wanted that no rule can bring about; a person or another system must act."""


class Finding(BaseModel):
    """Something a person should know that a rule came across: `DriftNotConverging`, `VersionMismatch`, and so on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str
    text: str


@register
class Decided(DomainEvent):
    """The answer of an aggregate's rules changed."""

    rule: str
    """Id in rules.md of the rule that decided, e.g. `S7`."""
    verdict: Verdict
    reason: str
    intents: tuple[Intent, ...] = ()
    wake_at: Instant | None = None
    """When to ask again although nothing happened."""
    findings: tuple[Finding, ...] = ()
    answer: str = ""
    """Fingerprint of the whole answer, intents already in flight included: a decision is journaled when it changes."""
    advisory: bool = False
    """Nobody carries the intents out; the state moves by what is observed."""

    def fingerprint(self) -> str:
        """Return what equal answers have in common and different ones have not."""
        fields = self.__pydantic_serializer__.to_python(
            self, mode="json", exclude={"answer": True}, exclude_defaults=True
        )
        return digest(fields)[:ANSWER_DIGITS]

    def documents(self) -> Iterator[Digest]:
        """Yield the documents that the intents refer to."""
        for intent in self.intents:
            yield from intent.documents()


class Outcome(StrEnum):
    """How an intent ended. The classes are by what follows: done, decide again, try later, give up."""

    OK = "ok"
    NOT_FOUND = "not-found"
    ALREADY_EXISTS = "already-exists"
    CONFLICT = "conflict"
    FORBIDDEN = "forbidden"
    INVALID = "invalid"
    BUSY = "busy"
    """The service refused: the runner's job is still running."""
    RUNNER_EXISTS = "runner-exists"
    FAILED = "failed"
    TIMED_OUT = "timed-out"
    ABANDONED = "abandoned"
    """The process ended before the outcome was known."""


@register
class IntentSettled(DomainEvent):
    """An intent ended. Facts that objects returned with it are events of their own."""

    decision: int
    """Seq of the `Decided` event."""
    index: int
    """Which of its intents."""
    item: int = 0
    """Which of the intent's items, where it makes several objects."""
    key: str
    """The intent's key: one operation on one target."""
    outcome: Outcome
    status: int = 0
    """HTTP status, 0 where there was none."""
    detail: str = ""
    """The error in one redacted line."""
    answer: dict[str, str | int | bool] = Field(default_factory=dict)
    """Facts of a service answer that rules need: ids and names, never credentials."""
