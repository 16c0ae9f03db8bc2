"""A writer for tests: numbers events and folds them, as every writer does, but asks no rules."""

from __future__ import annotations

from arcfsm.domain.documents import Documents
from arcfsm.domain.envelope import JournaledEvent, Source
from arcfsm.domain.events.runner import RunnerCreated, RunnerPhaseChanged
from arcfsm.domain.kinds import AggregateKind, StreamId
from arcfsm.domain.turn import Arrival
from arcfsm.domain.world import World
from arcfsm.journal import Batch, Head, Journal


class Writer:
    """A world and its journal."""

    def __init__(self, journal: Journal, epoch: int = 0) -> None:
        self.journal = journal
        self.world = World(Documents(journal.document))
        self.epoch = epoch or journal.claim_epoch("test")

    def catch_up(self) -> None:
        """Fold what others wrote."""
        for journaled in self.journal.events(from_seq=self.world.head + 1):
            self.world.apply(journaled)

    def runner(self, number: int) -> list[Arrival]:
        """Two events of a runner: it was created and is pending."""
        stream = StreamId(AggregateKind.RUNNER, f"er-{number}")
        document = self.world.documents.intern({"labels": {"n": str(number)}})
        created = RunnerCreated(
            namespace="ns",
            name=f"runner-{number}",
            created_at=number,
            owner_uid="ers",
            owner_name="demo",
            metadata=document,
            spec=document,
        )
        return [
            Arrival(
                stream=stream, event=created, source=Source.WATCH, observed_at=number, resource_version=str(number)
            ),
            Arrival(stream=stream, event=RunnerPhaseChanged(phase="Pending"), source=Source.WATCH, actor="arc"),
        ]

    def batch(self, *arrivals: Arrival, points: dict[str, str] | None = None) -> Batch:
        """What one transaction would add; the world has folded it already."""
        events, transitions = [], []
        first = self.world.head + 1
        for arrival in arrivals:
            journaled = JournaledEvent(
                seq=self.world.head + 1,
                turn=first,
                stream=arrival.stream,
                version=self.world.versions.get(arrival.stream, 0) + 1,
                event=arrival.event,
                recorded_at=1_000_000 + self.world.head,
                observed_at=arrival.observed_at,
                source=arrival.source,
                cause=arrival.cause,
                correlation=arrival.correlation,
                resource_version=arrival.resource_version,
                actor=arrival.actor,
                epoch=self.epoch,
            )
            events.append(journaled)
            moved = self.world.apply(journaled)
            if moved is not None:
                transitions.append(moved)
        return Batch(events=events, transitions=transitions, resume_points=points or {})

    def write(self, *arrivals: Arrival, points: dict[str, str] | None = None) -> Head:
        return self.append(self.batch(*arrivals, points=points))

    def append(self, batch: Batch) -> Head:
        return self.journal.append(batch, self.world.documents.get)
