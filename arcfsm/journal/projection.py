"""The read models that follow from the journal: transitions, decisions, effects, gaps, objects.

Written in the transaction of the events, so they are never behind. They hold nothing that events don't: `rebuild` makes
them anew, `first_difference` tells whether they still say what the events say. Transitions need the machines, which the
journal does not know: whoever asks brings the fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, Final

from sqlalchemy import Connection, Table, delete, func, select

from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events import types_of
from arcfsm.domain.events.controller import GapDetected
from arcfsm.domain.events.decision import Decided, IntentSettled
from arcfsm.domain.events.listener import ListenerFacts, ListenerGone
from arcfsm.domain.events.runner import RunnerFacts, RunnerGone
from arcfsm.domain.events.runner_set import RunnerSetFacts, RunnerSetGone
from arcfsm.domain.events.scale_set import ScaleSetFacts, ScaleSetGone
from arcfsm.domain.world import Transition
from arcfsm.journal.bulk import insert_rows, set_values
from arcfsm.journal.rows import storable
from arcfsm.journal.tables import DECISIONS, EFFECTS, GAPS, OBJECTS, TRANSITIONS

Fold = Callable[[JournaledEvent], Transition | None]
"""Folds an event into a world and tells what moved."""

PROJECTIONS: Final = (TRANSITIONS, DECISIONS, EFFECTS, GAPS, OBJECTS)
_WHOLE: Final = (ScaleSetFacts, RunnerSetFacts, RunnerFacts, ListenerFacts)
_GONE: Final = (ScaleSetGone, RunnerSetGone, RunnerGone, ListenerGone)
_PROJECTED: Final = types_of(Decided, IntentSettled, GapDetected, *_WHOLE, *_GONE)
_BATCH: Final = 2_000


class Rows:
    """What some events mean to every projection. Rows stand in the order of the tables' columns."""

    def __init__(self, events: Iterable[JournaledEvent], transitions: Iterable[Transition]) -> None:
        self.transitions: list[tuple[Any, ...]] = [_transition(one) for one in transitions]
        self.decisions: list[tuple[Any, ...]] = []
        self.effects: list[tuple[Any, ...]] = []
        self.gaps: list[tuple[Any, ...]] = []
        self.objects: list[tuple[Any, ...]] = []
        self.gone: list[tuple[int, str]] = []
        """From when on which stream is no more."""
        for journaled in events:
            self._add(journaled)

    def by_seq(self) -> tuple[tuple[Table, list[tuple[Any, ...]]], ...]:
        """Return the rows of those projections that have one for an event."""
        return (
            (TRANSITIONS, self.transitions),
            (DECISIONS, self.decisions),
            (EFFECTS, self.effects),
            (GAPS, self.gaps),
        )

    def _add(self, journaled: JournaledEvent) -> None:
        event = journaled.event
        if type(event) not in _PROJECTED:
            return
        if isinstance(event, Decided):
            self.decisions.append(
                (
                    journaled.seq,
                    journaled.at,
                    str(journaled.stream),
                    event.rule,
                    event.verdict.value,
                    storable(event.reason),
                    len(event.intents),
                    event.advisory,
                    journaled.correlation,
                )
            )
        elif isinstance(event, IntentSettled):
            self.effects.append(
                (
                    journaled.seq,
                    journaled.at,
                    str(journaled.stream),
                    event.decision,
                    event.index,
                    event.item,
                    storable(event.key),
                    event.outcome.value,
                    storable(event.detail),
                    journaled.correlation,
                )
            )
        elif isinstance(event, GapDetected):
            self.gaps.append(
                (journaled.seq, journaled.at, storable(event.scope), storable(event.reason), event.since, event.until)
            )
        elif isinstance(event, _WHOLE):
            name, namespace = storable(event.name), storable(event.namespace)
            self.objects.append((str(journaled.stream), namespace, name, journaled.correlation, journaled.seq, None))
        elif isinstance(event, _GONE):
            self.gone.append((journaled.seq, str(journaled.stream)))


def project(connection: Connection, events: Sequence[JournaledEvent], transitions: Iterable[Transition]) -> None:
    """Add what a batch means to every projection."""
    rows = Rows(events, transitions)
    for table, found in rows.by_seq():
        insert_rows(connection, table, found)
    # An object is seen whole again after a gap; its first sight stays.
    insert_rows(connection, OBJECTS, rows.objects, known=True)
    set_values(connection, OBJECTS, "gone_seq", rows.gone)


def rebuild(connection: Connection, events: Iterable[JournaledEvent], fold: Fold) -> None:
    """Make every projection anew from all events."""
    for table in PROJECTIONS:
        connection.execute(delete(table))
    for some, moved in _folded(events, fold):
        project(connection, some, moved)


def first_difference(connection: Connection, events: Iterable[JournaledEvent], fold: Fold) -> str:
    """Return where a projection first says something else than the events, "" where all agree."""
    objects: dict[str, list[Any]] = {}
    last = 0
    for some, moved in _folded(events, fold):
        rows = Rows(some, moved)
        for table, expected in rows.by_seq():
            if found := _difference(connection, table, expected, last, some[-1].seq):
                return found
        for stream, *rest in rows.objects:
            objects.setdefault(stream, rest)
        for seq, stream in rows.gone:
            if stream in objects:
                objects[stream][-1] = seq
        last = some[-1].seq
    for table in (TRANSITIONS, DECISIONS, EFFECTS, GAPS):
        if beyond := connection.scalar(select(func.min(table.c.seq)).where(table.c.seq > last)):
            return f"{table.name} has a row for event {beyond}, which is not in the journal"
    with connection.execution_options(yield_per=_BATCH).execute(select(OBJECTS)) as stored:
        for row in stored:
            if objects.pop(row.stream, None) != list(row[1:]):
                return f"objects says something else about {row.stream} than its events"
    return f"objects lacks {min(objects)}" if objects else ""


def _folded(events: Iterable[JournaledEvent], fold: Fold) -> Iterator[tuple[list[JournaledEvent], list[Transition]]]:
    some: list[JournaledEvent] = []
    moved: list[Transition] = []
    for journaled in events:
        some.append(journaled)
        if (transition := fold(journaled)) is not None:
            moved.append(transition)
        if len(some) == _BATCH:
            yield some, moved
            some, moved = [], []
    if some:
        yield some, moved


def _difference(
    connection: Connection, table: Table, expected: Sequence[tuple[Any, ...]], after: int, to_seq: int
) -> str:
    stored = connection.execute(
        select(table).where(table.c.seq > after, table.c.seq <= to_seq).order_by(table.c.seq)
    ).all()
    for want, have in zip_longest(sorted(expected), (tuple(row) for row in stored)):
        if want != have:
            seq = min(row[0] for row in (want, have) if row is not None)
            return f"{table.name} says something else about event {seq} than the journal"
    return ""


def _transition(transition: Transition) -> tuple[Any, ...]:
    seq, at, stream, namespace, name, *rest = transition
    return (seq, at, str(stream), storable(namespace), storable(name), *rest)
