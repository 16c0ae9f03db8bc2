"""The whole answer to `why`: where an object stands, how it came there, and what holds it there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sqlalchemy import select

from arcfsm.audit.naming import Known
from arcfsm.audit.past import Past
from arcfsm.audit.stalls import Stall
from arcfsm.audit.why.explanation import Step, Teller
from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events import EVENT_TYPES
from arcfsm.domain.events.decision import Decided
from arcfsm.domain.instant import Instant
from arcfsm.domain.kinds import StreamId
from arcfsm.journal import Journal
from arcfsm.journal.tables import TRANSITIONS

_SEEN_SEPARATELY: Final = ("Decided", "IntentSettled", "TimerFired")


class Standing(NamedTuple):
    """The state of an object's machine, and since when."""

    state: str
    before: str
    since: Instant
    seq: int


class Held(NamedTuple):
    """A stall that holds an object, and the chains that led to it, newest first."""

    stall: Stall
    chains: tuple[tuple[Step, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The answer."""

    known: Known
    seq: int
    """The event up to which the journal was read."""
    standing: Standing | None
    chain: tuple[Step, ...]
    held: tuple[Held, ...]
    word: JournaledEvent | None
    """The latest decision or advice about it."""


def explain(journal: Journal, known: Known, seq: int, stalls: Sequence[Stall] = ()) -> Explanation:
    """Explain how an object came to be what it is after the event `seq`. `stalls` are those that hold it there."""
    past = Past(journal)
    teller = Teller(past)
    last = next(past.several(known.stream, (), seq + 1, 1), None)
    standing = _standing(journal, known.stream, seq if last is None else last.seq)
    head = past.event(standing.seq) if standing else _latest(past, known.stream, seq)
    chain = teller.chain(head) if head is not None else ()
    return Explanation(
        known=known,
        seq=seq,
        standing=standing,
        chain=chain,
        held=tuple(Held(stall, tuple(_chains(past, teller, stall))) for stall in stalls),
        word=past.latest(known.stream, (Decided,), seq + 1),
    )


def _standing(journal: Journal, stream: StreamId, seq: int) -> Standing | None:
    query = (
        select(TRANSITIONS)
        .where(TRANSITIONS.c.stream == str(stream), TRANSITIONS.c.seq <= seq)
        .order_by(TRANSITIONS.c.seq.desc())
        .limit(1)
    )
    for row in journal.rows(query):
        return Standing(row.after, row.before, row.at, row.seq)
    return None


def _latest(past: Past, stream: StreamId, seq: int) -> JournaledEvent | None:
    facts = tuple(event for name, event in EVENT_TYPES.items() if name not in _SEEN_SEPARATELY)
    return past.latest(stream, facts, seq + 1)


def _chains(past: Past, teller: Teller, stall: Stall) -> Iterator[tuple[Step, ...]]:
    """Yield what is behind the evidence of a stall, newest first; what was told is not told again."""
    for seq in sorted(stall.evidence, reverse=True):
        shown = None if teller.told(seq) else past.event(seq)
        if shown is not None:
            yield teller.chain(shown)
