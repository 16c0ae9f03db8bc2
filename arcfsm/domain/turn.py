"""A turn: take what arrived, fold it, ask the rules of every aggregate it touches, and say what to journal.

This is the heart of the sequencer without its threads: the engine, the importers and replay all run exactly this, so
what one of them decides the others decide too. A turn is a pure function of the world and what arrived; it changes the
world it is given, and its events must reach the journal in one transaction, in order, before any intent of theirs is
carried out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from arcfsm.domain.envelope import JournaledEvent, Source
from arcfsm.domain.events import DomainEvent
from arcfsm.domain.events.controller import TimerFired
from arcfsm.domain.instant import Instant
from arcfsm.domain.kinds import CONTROLLER_STREAM, AggregateKind, StreamId
from arcfsm.domain.rules import decide
from arcfsm.domain.world import Transition, World

_CHILDREN_FIRST: Final = {
    AggregateKind.RUNNER: 0,
    AggregateKind.RUNNER_SET: 1,
    AggregateKind.LISTENER: 2,
    AggregateKind.SCALE_SET: 3,
}


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """A domain event that has no place in the journal yet."""

    stream: StreamId
    event: DomainEvent
    source: Source
    observed_at: Instant | None = None
    cause: int | None = None
    correlation: str = ""
    """Uid of the scale set where the translator knows it; else the world is asked."""
    resource_version: str = ""
    actor: str = ""


@dataclass(slots=True)
class Turn:
    """What one turn adds to the journal."""

    events: list[JournaledEvent] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)


@dataclass(slots=True)
class Touched:
    """The aggregates whose rules must look again, each with the seq of the latest event that says so."""

    causes: dict[StreamId, int] = field(default_factory=dict)

    def apply(self, world: World, journaled: JournaledEvent) -> Transition | None:
        """Fold an event into the world and note whom it touches."""
        # What is gone afterwards can't tell its parents any more.
        parents = world.parents_of(journaled.stream)
        transition = world.apply(journaled)
        causes, seq = self.causes, journaled.seq
        for stream in world.touched_by(journaled, parents):
            causes[stream] = seq
        return transition

    def in_order(self) -> list[StreamId]:
        """Return the order in which rules look: children before those that read them, then by uid."""
        return sorted(self.causes, key=lambda one: (_CHILDREN_FIRST[one.kind], one.uid))


def run_turn(world: World, arrivals: Iterable[Arrival], *, recorded_at: Instant, epoch: int = 1) -> Turn:
    """Fold the arrivals into the world and decide. Nothing is decided about what nothing touched."""
    turn, touched = Turn(), Touched()
    first = world.head + 1
    for arrival in arrivals:
        journaled = _numbered(world, arrival, first, recorded_at, epoch)
        turn.events.append(journaled)
        transition = touched.apply(world, journaled)
        if transition is not None:
            turn.transitions.append(transition)
    now = world.now
    for stream in touched.in_order():
        decided = decide(world, stream, now)
        if decided is not None:
            cause = touched.causes[stream]
            arrival = Arrival(stream=stream, event=decided, source=Source.RULE, observed_at=now, cause=cause)
            journaled = _numbered(world, arrival, first, recorded_at, epoch)
            world.apply(journaled)
            turn.events.append(journaled)
    return turn


def timers_due(world: World, until: Instant) -> Sequence[Arrival]:
    """Return the earliest timers that fall due by `until`, as arrivals of one turn; all of one moment together."""
    due = world.due_wakes(until)
    return [
        Arrival(
            stream=CONTROLLER_STREAM,
            event=TimerFired(due_at=at, target=stream),
            source=Source.TIMER,
            observed_at=at,
            cause=world.answers[stream].seq,
            correlation=world.scale_set_uid_of(stream),
        )
        for at, stream in due
        if at == due[0][0]
    ]


def _numbered(world: World, arrival: Arrival, first: int, recorded_at: Instant, epoch: int) -> JournaledEvent:
    return JournaledEvent(
        seq=world.head + 1,
        turn=first,
        stream=arrival.stream,
        version=world.versions.get(arrival.stream, 0) + 1,
        event=arrival.event,
        recorded_at=recorded_at,
        observed_at=arrival.observed_at,
        source=arrival.source,
        cause=arrival.cause,
        correlation=arrival.correlation or world.scale_set_uid_of(arrival.stream),
        resource_version=arrival.resource_version,
        actor=arrival.actor,
        epoch=epoch,
    )
