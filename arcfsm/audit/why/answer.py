"""The whole answer to `why`: where an object stands, how it came there, and what holds it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from sqlalchemy import select

from arcfsm.audit.naming import Known
from arcfsm.audit.stalls.condition import Condition, Finding, conditions_of
from arcfsm.audit.why.explanation import Step, Teller
from arcfsm.audit.why.past import Past
from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events import EVENT_TYPES
from arcfsm.domain.events.decision import Decided
from arcfsm.domain.instant import Instant
from arcfsm.domain.kinds import StreamId
from arcfsm.domain.world import World
from arcfsm.journal import Journal
from arcfsm.journal.tables import TRANSITIONS

_SEEN_SEPARATELY: Final = ("Decided", "IntentSettled", "TimerFired")


class Standing(NamedTuple):
    """The state of an object's machine, and since when."""

    state: str
    before: str
    since: Instant
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A stall that holds an object, and the chains that led to it, newest first."""

    name: str
    since: Instant
    reason: str
    resolves: str
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


def explain(journal: Journal, known: Known, seq: int, world: World | None) -> Explanation:
    """Explain how an object came to be what it is after the event `seq`.

    `world` is the world at that seq, for stalls; None leaves them out.
    """
    past = Past(journal)
    teller = Teller(past)
    standing = _standing(journal, known.stream, seq)
    head = past.event(standing.seq) if standing else _latest(past, known.stream, seq)
    chain = teller.chain(head) if head is not None else ()
    return Explanation(
        known=known,
        seq=seq,
        standing=standing,
        chain=chain,
        held=tuple(_held(past, teller, known.stream, world)) if world is not None else (),
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


def _held(past: Past, teller: Teller, stream: StreamId, world: World) -> list[Held]:
    known = world.aggregate(stream)
    if known is None or not known.present:
        return []
    held = []
    for condition in conditions_of(known):
        finding = condition.check(world, known, world.now)
        if finding is None:
            continue
        evidence = _evidence(past, condition, stream, world)
        since = finding.since
        if since is None:
            since = max((one.at for one in evidence), default=world.now)
        if world.now - since >= _patience(world, finding):
            chains = [teller.chain(one) for one in evidence if not teller.told(one.seq)]
            held.append(
                Held(
                    name=condition.name,
                    since=since,
                    reason=finding.reason,
                    resolves=finding.resolves,
                    chains=tuple(chains),
                )
            )
    return held


def _patience(world: World, finding: Finding) -> int:
    return world.settings.stalled_after if finding.patience is None else finding.patience


def _evidence(past: Past, condition: Condition, stream: StreamId, world: World) -> list[JournaledEvent]:
    """Return the latest event of each type that shows a condition, newest first."""
    before, correlation = world.head + 1, world.scale_set_uid_of(stream)
    found: dict[int, JournaledEvent] = {}
    for name in condition.evidence:
        types = (EVENT_TYPES[name],)
        one = past.latest(stream, types, before) or next(past.nearby(correlation, types, before), None)
        if one is not None:
            found[one.seq] = one
    return [found[seq] for seq in sorted(found, reverse=True)]
