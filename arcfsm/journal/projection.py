"""The read models that follow from the journal.

Transitions, decisions, effects, gaps, objects. Written with the events.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, update

from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events.controller import GapDetected
from arcfsm.domain.events.decision import Decided, IntentSettled
from arcfsm.domain.events.listener import ListenerFacts, ListenerGone
from arcfsm.domain.events.runner import RunnerFacts, RunnerGone
from arcfsm.domain.events.runner_set import RunnerSetFacts, RunnerSetGone
from arcfsm.domain.events.scale_set import ScaleSetFacts, ScaleSetGone
from arcfsm.domain.world import Transition
from arcfsm.journal.bulk import insert_rows
from arcfsm.journal.tables import DECISIONS, EFFECTS, GAPS, OBJECTS, TRANSITIONS

_WHOLE = (ScaleSetFacts, RunnerSetFacts, RunnerFacts, ListenerFacts)
_GONE = (ScaleSetGone, RunnerSetGone, RunnerGone, ListenerGone)
PROJECTIONS = (TRANSITIONS, DECISIONS, EFFECTS, GAPS, OBJECTS)


def project(connection: Connection, events: Sequence[JournaledEvent], transitions: Iterable[Transition]) -> None:
    """Add what a batch means to every projection. Rows stand in the order of the tables' columns."""
    decisions: list[tuple[Any, ...]] = []
    effects: list[tuple[Any, ...]] = []
    gaps: list[tuple[Any, ...]] = []
    objects: list[tuple[Any, ...]] = []
    gone: list[dict[str, Any]] = []
    for journaled in events:
        event, stream = journaled.event, str(journaled.stream)
        if isinstance(event, Decided):
            decisions.append(
                (
                    journaled.seq,
                    journaled.at,
                    stream,
                    event.rule,
                    event.verdict.value,
                    event.reason,
                    len(event.intents),
                    event.advisory,
                    journaled.correlation,
                )
            )
        elif isinstance(event, IntentSettled):
            effects.append(
                (
                    journaled.seq,
                    journaled.at,
                    stream,
                    event.decision,
                    event.index,
                    event.item,
                    event.key,
                    event.outcome.value,
                    event.detail,
                    journaled.correlation,
                )
            )
        elif isinstance(event, GapDetected):
            gaps.append((journaled.seq, journaled.at, event.scope, event.reason, event.since, event.until))
        elif isinstance(event, _WHOLE):
            objects.append((stream, event.namespace, event.name, journaled.correlation, journaled.seq, None))
        elif isinstance(event, _GONE):
            gone.append({"of": stream, "at_seq": journaled.seq})
    insert_rows(connection, TRANSITIONS, [transition_row(transition) for transition in transitions])
    insert_rows(connection, DECISIONS, decisions)
    insert_rows(connection, EFFECTS, effects)
    insert_rows(connection, GAPS, gaps)
    # An object is seen whole again after a gap; its first sight stays.
    insert_rows(connection, OBJECTS, objects, known=True)
    if gone:
        connection.execute(_VANISH, gone)


def clear(connection: Connection) -> None:
    """Empty every projection, to make them anew."""
    for table in PROJECTIONS:
        connection.execute(delete(table))


def transition_row(transition: Transition) -> tuple[Any, ...]:
    """Return a transition as a row."""
    return (*transition[:2], str(transition.stream), *transition[3:])


_VANISH = update(OBJECTS).where(OBJECTS.c.stream == bindparam("of")).values(gone_seq=bindparam("at_seq"))
