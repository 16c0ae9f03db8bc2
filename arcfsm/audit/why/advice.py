"""What arcfsm said about a deed before it was done: its own decision, the same advice, or other advice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from arcfsm.audit.agreement.matching import ACTIONS, GRACE
from arcfsm.audit.agreement.signs import places_of, signs_of, type_of
from arcfsm.audit.past import Past
from arcfsm.domain.envelope import JournaledEvent, Source
from arcfsm.domain.events.decision import Decided
from arcfsm.domain.events.listener import ListenerCreated, ListenerPodCreated
from arcfsm.domain.events.runner import RunnerFacts
from arcfsm.domain.events.runner_set import RunnerSetCreated
from arcfsm.domain.kinds import AggregateKind, StreamId

DEEDS: Final = (*ACTIONS, RunnerSetCreated, ListenerCreated, ListenerPodCreated)
"""What a controller does after it has decided."""
DECISIONS_BACK: Final = 16
"""How many decisions of one aggregate are looked at: one pass of a controller is seen as several events."""


class Word(NamedTuple):
    """What arcfsm had said."""

    journaled: JournaledEvent
    decided: Decided
    same: bool
    """It asked for this deed."""


def word_on(past: Past, journaled: JournaledEvent) -> Word | None:
    """Return what arcfsm had decided or advised when something was done, if that is a deed it speaks about."""
    if not isinstance(journaled.event, DEEDS) and journaled.source is not Source.RESPONSE:
        return None
    standing: list[Word] = []
    for stream in _speakers(past, journaled):
        words = list(_standing(past, stream, journaled))
        asked = next((word for word in words if word.same), None)
        if asked is not None:
            return asked
        standing += words[:1]
    if not isinstance(journaled.event, ACTIONS):
        # Asked for or not: questions to the service, which advice can't get answered, come before it.
        return None
    return max(standing, key=lambda word: (bool(word.decided.intents), word.journaled.seq), default=None)


def _standing(past: Past, stream: StreamId, journaled: JournaledEvent) -> Iterator[Word]:
    """Yield what stood when it was done, and what had stood until shortly before, newest first."""
    until = journaled.at
    done = past.latest(journaled.stream, (type(journaled.event),), journaled.seq)
    for said in past.several(stream, (Decided,), journaled.seq, DECISIONS_BACK):
        if journaled.at - until > GRACE:
            return
        until = said.at
        if isinstance(said.event, Decided):
            # What was asked for once was done already where the same was seen since.
            heeded = done is not None and done.seq > said.seq
            yield Word(said, said.event, not heeded and _asks(past, said.event, journaled))


def _asks(past: Past, decided: Decided, journaled: JournaledEvent) -> bool:
    places, kind = places_of(journaled.stream, journaled.event), type_of(journaled.event)
    signs = (sign for intent in decided.intents for sign in signs_of(intent, past.mapping))
    return any(sign.place in places and kind in sign.types for sign in signs)


def _speakers(past: Past, journaled: JournaledEvent) -> Iterator[StreamId]:
    """The aggregates whose rules decide about this one."""
    yield journaled.stream
    if journaled.stream.kind is AggregateKind.RUNNER:
        birth = journaled if isinstance(journaled.event, RunnerFacts) else past.birth(journaled.stream)
        if birth is not None and isinstance(birth.event, RunnerFacts):
            yield StreamId(AggregateKind.RUNNER_SET, birth.event.owner_uid)
    elif (owner := past.scale_set_of(journaled)) is not None:
        yield owner
