"""What `arcfsm audit` lists: transitions, decisions, effects and gaps, as rows, filtered by scale set and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Select, Table, or_, select

from arcfsm.domain.instant import Instant
from arcfsm.domain.kinds import AggregateKind, StreamId
from arcfsm.journal import Journal
from arcfsm.journal.tables import DECISIONS, EFFECTS, GAPS, OBJECTS, TRANSITIONS

IN_MAX: Final = 500
"""Names that one query asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which rows are wanted."""

    scale_sets: tuple[str, ...] = ()
    """Uids; none for all."""
    since: Instant | None = None
    until: Instant | None = None


def transitions(journal: Journal, window: Window, kinds: Sequence[AggregateKind] = ()) -> list[dict[str, Any]]:
    """Return the transitions of machines."""
    query = _within(TRANSITIONS, window)
    if kinds:
        query = query.where(or_(*(TRANSITIONS.c.stream.startswith(f"{kind.value}/") for kind in kinds)))
    return [
        {
            "seq": row.seq,
            "at": row.at,
            "object": f"{StreamId.parse(row.stream).kind.value} {row.namespace}/{row.name}",
            "from": row.before,
            "to": row.after,
            "event": row.trigger,
        }
        for row in journal.rows(query)
    ]


def decisions(journal: Journal, window: Window) -> list[dict[str, Any]]:
    """Return the decisions, advisory ones included."""
    rows = journal.rows(_within(DECISIONS, window))
    names = names_of(journal, [row.stream for row in rows])
    return [
        {
            "seq": row.seq,
            "at": row.at,
            "object": names[row.stream],
            "rule": row.rule,
            "verdict": row.verdict,
            "reason": row.reason,
            "intents": row.intents,
            "advice": row.advisory,
        }
        for row in rows
    ]


def effects(journal: Journal, window: Window) -> list[dict[str, Any]]:
    """Return how intents ended."""
    rows = journal.rows(_within(EFFECTS, window))
    names = names_of(journal, [row.stream for row in rows])
    return [
        {
            "seq": row.seq,
            "at": row.at,
            "object": names[row.stream],
            "intent": row.key,
            "outcome": row.outcome,
            "detail": row.detail,
            "decision": row.decision,
        }
        for row in rows
    ]


def gaps(journal: Journal, window: Window) -> list[dict[str, Any]]:
    """Return the spans in which events may have been missed. They belong to no scale set: all are shown."""
    rows = journal.rows(_within(GAPS, Window(since=window.since, until=window.until)))
    return [
        {
            "seq": row.seq,
            "at": row.at,
            "since": row.since,
            "until": row.until,
            "scope": row.scope,
            "reason": row.reason,
        }
        for row in rows
    ]


def names_of(journal: Journal, streams: Sequence[str]) -> dict[str, str]:
    """Return how people call each stream: `runner NS/NAME`, or the stream itself where no name is known."""
    wanted = list(dict.fromkeys(streams))
    names = {stream: stream for stream in wanted}
    for start in range(0, len(wanted), IN_MAX):
        query = select(OBJECTS).where(OBJECTS.c.stream.in_(wanted[start : start + IN_MAX]))
        for row in journal.rows(query):
            names[row.stream] = f"{StreamId.parse(row.stream).kind.value} {row.namespace}/{row.name}"
    return names


def _within(table: Table, window: Window) -> Select[Any]:
    query = select(table).order_by(table.c.seq)
    if window.since is not None:
        query = query.where(table.c.at >= window.since)
    if window.until is not None:
        query = query.where(table.c.at <= window.until)
    if window.scale_sets:
        query = query.where(table.c.correlation.in_(window.scale_sets))
    return query
