"""Advice beside what was done: which advice was agreed with, which was not, and what was done without any.

A projection at query time over advisory decisions and the observations that follow (architecture.md §4.10). Advice
stands from its decision to the next decision about the same object. It is agreed when every sign of it was seen while
it stood, or within a short grace after it: another controller does in one pass what we see in several events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from arcfsm.audit.agreement.signs import OPTIONAL, Sign, places_of, signs_of, type_of
from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events.decision import Decided
from arcfsm.domain.events.listener import ListenerDeletionRequested
from arcfsm.domain.events.runner import RunnerCreated, RunnerDeletionRequested, RunnerPodCreated
from arcfsm.domain.events.runner_set import RunnerSetDeletionRequested, RunnerSpecPublished
from arcfsm.domain.instant import SECOND, Instant, Span, format_span
from arcfsm.domain.jsonvalue import JsonObject
from arcfsm.domain.kinds import StreamId

GRACE: Final[Span] = 1 * SECOND
"""How long after advice was replaced its signs still count, and how long advice must stand unheeded to count against.
"""
LATE: Final[Span] = 10 * SECOND
"""Advice that was heeded only after so long did not agree while it stood."""
ACTIONS: Final = (
    RunnerCreated,
    RunnerDeletionRequested,
    RunnerPodCreated,
    RunnerSetDeletionRequested,
    ListenerDeletionRequested,
    RunnerSpecPublished,
)
"""What only a controller does; done without advice, it is a difference."""


class Agreement(StrEnum):
    """How advice and deed relate."""

    AGREED = "agreed"
    NOT_SEEN = "not seen"
    """Advice was given and what came of it can't be known: it stood too briefly, or leaves no sign."""
    DONE_LATE = "done late"
    """Advice was followed long after it was given: something else brought it."""
    NOT_DONE = "not done"
    """Advice stood and was not followed."""
    NOT_ADVISED = "not advised"
    """Something was done that no advice asked for."""


@dataclass(slots=True)
class Comparison:
    """One piece of advice, or one deed without."""

    seq: int
    stream: StreamId
    correlation: str
    """Uid of the scale set."""
    since: Instant
    until: Instant | None
    agreement: Agreement
    rule: str
    advice: str
    deed: str = ""


@dataclass(slots=True)
class _Standing:
    journaled: JournaledEvent
    decided: Decided
    waiting: list[Sign]
    signs: int
    until: Instant | None = None
    heeded_at: Instant | None = None
    """When the first sign of it was seen."""

    @property
    def advice(self) -> str:
        return self.decided.reason


@dataclass(slots=True)
class Matching:
    """Compares as events come by, in order."""

    document: Callable[[str], JsonObject]
    done: list[Comparison] = field(default_factory=list)
    _standing: dict[StreamId, _Standing] = field(default_factory=dict)
    _leaving: list[_Standing] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _now: Instant = 0

    def take(self, journaled: JournaledEvent, parents: Iterable[StreamId]) -> None:
        """Look at one event; `parents` are the aggregates whose rules decide about its stream, too."""
        self._now = max(self._now, journaled.at)
        self._expire()
        event = journaled.event
        if isinstance(event, Decided):
            if event.advisory:
                self._advise(journaled, event)
            return
        self._seen.add(type(event).__name__)
        matched = self._match(journaled)
        if isinstance(event, ACTIONS) and not matched:
            self._undirected(journaled, tuple(parents))

    def finish(self) -> list[Comparison]:
        """Close what still stands, and return every comparison in order of seq."""
        for standing in [*self._leaving, *self._standing.values()]:
            self._settle(standing)
        self._leaving.clear()
        self._standing.clear()
        return sorted(self.done, key=lambda one: (one.seq, one.agreement))

    def _advise(self, journaled: JournaledEvent, decided: Decided) -> None:
        before = self._standing.pop(journaled.stream, None)
        if before is not None:
            before.until = journaled.at
            self._leaving.append(before)
        signs = [sign for intent in decided.intents for sign in signs_of(intent, self.document)]
        self._standing[journaled.stream] = _Standing(journaled, decided, signs, len(signs))

    def _match(self, journaled: JournaledEvent) -> bool:
        kind, places = type_of(journaled.event), places_of(journaled.stream, journaled.event)
        matched = False
        for standing in (*self._leaving, *self._standing.values()):
            for index, sign in enumerate(standing.waiting):
                if sign.place in places and kind in sign.types:
                    del standing.waiting[index]
                    standing.heeded_at = standing.heeded_at or journaled.at
                    matched = True
                    break
        return matched

    def _undirected(self, journaled: JournaledEvent, parents: tuple[StreamId, ...]) -> None:
        """Something was done for which no advice stood: set the latest advice beside it."""
        beside = [self._standing[one] for one in (journaled.stream, *parents) if one in self._standing]
        best = max(beside, key=lambda one: (bool(one.decided.intents), one.journaled.seq), default=None)
        self.done.append(
            Comparison(
                seq=journaled.seq,
                stream=journaled.stream,
                correlation=journaled.correlation,
                since=journaled.at,
                until=journaled.at,
                agreement=Agreement.NOT_ADVISED,
                rule=best.decided.rule if best else "",
                advice=best.advice if best else "none",
                deed=_deed(journaled),
            )
        )

    def _expire(self) -> None:
        over = [one for one in self._leaving if not one.waiting or self._now - (one.until or 0) > GRACE]
        for standing in over:
            self._settle(standing)
        if over:
            self._leaving = [one for one in self._leaving if all(one is not gone for gone in over)]

    def _settle(self, standing: _Standing) -> None:
        waiting = [sign for sign in standing.waiting if not self._unknowable(sign)]
        since = standing.journaled.at
        stood = (standing.until or self._now) - since
        after = (standing.heeded_at or since) - since
        if not standing.signs:
            return
        if not waiting and len(standing.waiting) < standing.signs:
            agreement = Agreement.AGREED if after < LATE else Agreement.DONE_LATE
        elif not waiting or stood < GRACE:
            agreement = Agreement.NOT_SEEN
        else:
            agreement = Agreement.NOT_DONE
        self.done.append(
            Comparison(
                seq=standing.journaled.seq,
                stream=standing.journaled.stream,
                correlation=standing.journaled.correlation,
                since=since,
                until=standing.until,
                agreement=agreement,
                rule=standing.decided.rule,
                advice=standing.advice,
                deed=f"done {format_span(after)} later" if agreement is Agreement.DONE_LATE else "",
            )
        )

    def _unknowable(self, sign: Sign) -> bool:
        return all(kind in OPTIONAL and kind not in self._seen for kind in sign.types)


def _deed(journaled: JournaledEvent) -> str:
    words = {
        RunnerCreated: "a runner was created",
        RunnerDeletionRequested: "the runner was deleted",
        RunnerPodCreated: "a pod was created",
        RunnerSetDeletionRequested: "the runner set was deleted",
        ListenerDeletionRequested: "the listener was deleted",
        RunnerSpecPublished: "a runner spec was published",
    }
    by = f" by {journaled.actor}" if journaled.actor else ""
    return words[type(journaled.event)] + by
