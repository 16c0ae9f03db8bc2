"""The read models that follow from the journal.

Transitions, decisions, effects, gaps, objects. Written with the events.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Table, bindparam, delete, insert, select, update

from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events.controller import GapDetected
from arcfsm.domain.events.decision import Decided, IntentSettled
from arcfsm.domain.events.listener import ListenerFacts, ListenerGone
from arcfsm.domain.events.runner import RunnerFacts, RunnerGone
from arcfsm.domain.events.runner_set import RunnerSetFacts, RunnerSetGone
from arcfsm.domain.events.scale_set import ScaleSetFacts, ScaleSetGone
from arcfsm.domain.kinds import AggregateKind
from arcfsm.domain.world import Transition
from arcfsm.journal.tables import DECISIONS, EFFECTS, GAPS, OBJECTS, TRANSITIONS

_WHOLE = (ScaleSetFacts, RunnerSetFacts, RunnerFacts, ListenerFacts)
_GONE = (ScaleSetGone, RunnerSetGone, RunnerGone, ListenerGone)
PROJECTIONS = (TRANSITIONS, DECISIONS, EFFECTS, GAPS, OBJECTS)


def project(connection: Connection, events: Sequence[JournaledEvent], transitions: Iterable[Transition]) -> None:
    """Add what a batch means to every projection."""
    _insert(connection, TRANSITIONS, [transition_row(transition) for transition in transitions])
    decisions, effects, gaps = [], [], []
    for journaled in events:
        event = journaled.event
        if isinstance(event, Decided):
            decisions.append(_decision(journaled, event))
        elif isinstance(event, IntentSettled):
            effects.append(_effect(journaled, event))
        elif isinstance(event, GapDetected):
            gaps.append(
                {"seq": journaled.seq, "at": journaled.at, **_fields(event, "scope", "reason", "since", "until")}
            )
    _insert(connection, DECISIONS, decisions)
    _insert(connection, EFFECTS, effects)
    _insert(connection, GAPS, gaps)
    _objects(connection, events)


def clear(connection: Connection) -> None:
    """Empty every projection, to make them anew."""
    for table in PROJECTIONS:
        connection.execute(delete(table))


def transition_row(transition: Transition) -> dict[str, Any]:
    """Return a transition as a row."""
    return {**transition._asdict(), "stream": str(transition.stream)}


def _decision(journaled: JournaledEvent, event: Decided) -> dict[str, Any]:
    return {
        "seq": journaled.seq,
        "at": journaled.at,
        "stream": str(journaled.stream),
        "rule": event.rule,
        "verdict": event.verdict.value,
        "reason": event.reason,
        "intents": len(event.intents),
        "advisory": event.advisory,
        "correlation": journaled.correlation,
    }


def _effect(journaled: JournaledEvent, event: IntentSettled) -> dict[str, Any]:
    return {
        "seq": journaled.seq,
        "at": journaled.at,
        "stream": str(journaled.stream),
        "decision": event.decision,
        "intent": event.index,
        "item": event.item,
        "key": event.key,
        "outcome": event.outcome.value,
        "detail": event.detail,
        "correlation": journaled.correlation,
    }


def _objects(connection: Connection, events: Sequence[JournaledEvent]) -> None:
    """Enter aggregates under their names when they are first seen whole, and note when they went."""
    named: dict[str, dict[str, Any]] = {}
    gone: list[dict[str, Any]] = []
    for journaled in events:
        event, stream = journaled.event, str(journaled.stream)
        if journaled.stream.kind is AggregateKind.CONTROLLER:
            continue
        if isinstance(event, _WHOLE):
            named.setdefault(
                stream,
                {
                    "stream": stream,
                    "namespace": event.namespace,
                    "name": event.name,
                    "correlation": journaled.correlation,
                    "first_seq": journaled.seq,
                },
            )
        elif isinstance(event, _GONE):
            gone.append({"of": stream, "at_seq": journaled.seq})
    if named:
        known = set(connection.scalars(select(OBJECTS.c.stream).where(OBJECTS.c.stream.in_(list(named)))))
        _insert(connection, OBJECTS, [row for stream, row in named.items() if stream not in known])
    if gone:
        statement = update(OBJECTS).where(OBJECTS.c.stream == bindparam("of")).values(gone_seq=bindparam("at_seq"))
        connection.execute(statement, gone)


def _fields(event: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(event, name) for name in names}


def _insert(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert(table), rows)
