"""The past as `why` reads it: backwards from an event, through indexes, a few rows at a time.

The length of the journal must not matter: a question at 3 a.m. is about the last minutes of one object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import Select, select

from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events import DomainEvent
from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import Json
from arcfsm.domain.kinds import AggregateKind, StreamId
from arcfsm.journal import Journal
from arcfsm.journal.chain import HASHED, Row
from arcfsm.journal.rows import from_row
from arcfsm.journal.tables import EVENTS, GAPS, OBJECTS

_COLUMNS: Final = tuple(EVENTS.c[name] for name in HASHED)
NEARBY_EVENTS: Final = 5_000
"""How many events back a cause is looked for among other objects of the scale set. The streams of the object itself
and of its owners are read as far back as it takes."""

Types = tuple[type[DomainEvent], ...]


class Past:
    """Reads a journal backwards."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._names: dict[StreamId, tuple[str, str]] = {}

    def event(self, seq: int) -> JournaledEvent | None:
        """Return one event."""
        return self._first(select(*_COLUMNS).where(EVENTS.c.seq == seq))

    def latest(self, stream: StreamId, types: Types, before: int) -> JournaledEvent | None:
        """Return the latest event of these types in a stream, before a seq."""
        query = _of_stream(stream, types, before).order_by(EVENTS.c.version.desc()).limit(1)
        return self._first(query)

    def first(self, stream: StreamId, types: Types, before: int) -> JournaledEvent | None:
        """Return the first event of these types in a stream, before a seq."""
        return self._first(_of_stream(stream, types, before).order_by(EVENTS.c.version).limit(1))

    def nearby(self, correlation: str, types: Types, before: int, *, after: int = 0) -> Iterator[JournaledEvent]:
        """Yield the events of these types about a scale set and all that is its, newest first, not far back."""
        lowest = max(after + 1, before - NEARBY_EVENTS)
        query = (
            select(*_COLUMNS)
            .where(EVENTS.c.seq >= lowest, EVENTS.c.seq < before, EVENTS.c.type.in_(_names(types)))
            .order_by(EVENTS.c.seq.desc())
        )
        if correlation:
            query = query.where(EVENTS.c.correlation == correlation)
        for row in self._journal.rows(query):
            yield from_row(Row(*row))

    def scale_set_of(self, journaled: JournaledEvent) -> StreamId | None:
        """Return the scale set that an event belongs to."""
        return StreamId(AggregateKind.SCALE_SET, journaled.correlation) if journaled.correlation else None

    def living(self, kind: AggregateKind, correlation: str, at_seq: int) -> Sequence[StreamId]:
        """Return the objects of a kind that a scale set had at a seq, newest first."""
        query = (
            select(OBJECTS.c.stream)
            .where(
                OBJECTS.c.correlation == correlation,
                OBJECTS.c.stream.startswith(f"{kind.value}/"),
                OBJECTS.c.first_seq <= at_seq,
                (OBJECTS.c.gone_seq.is_(None)) | (OBJECTS.c.gone_seq >= at_seq),
            )
            .order_by(OBJECTS.c.first_seq.desc())
        )
        return [StreamId.parse(row.stream) for row in self._journal.rows(query)]

    def gap_before(self, seq: int, since: Instant) -> tuple[int, Instant | None, Instant, str] | None:
        """Return the latest gap that was noted before a seq and reaches past `since`: seq, from, to, scope."""
        query = (
            select(GAPS)
            .where(GAPS.c.seq <= seq, (GAPS.c.until.is_(None)) | (GAPS.c.until >= since))
            .order_by(GAPS.c.seq.desc())
            .limit(1)
        )
        for row in self._journal.rows(query):
            return row.seq, row.since, row.until or row.at, row.scope
        return None

    def name(self, stream: StreamId) -> tuple[str, str]:
        """Return namespace and name; ("", uid) where the journal knows no name."""
        if stream not in self._names:
            rows = self._journal.rows(select(OBJECTS).where(OBJECTS.c.stream == str(stream)))
            self._names[stream] = (rows[0].namespace, rows[0].name) if rows else ("", stream.uid)
        return self._names[stream]

    def document(self, digest: str) -> Json:
        """Return a document."""
        return self._journal.document(digest)

    def _first(self, query: Select[Any]) -> JournaledEvent | None:
        for row in self._journal.rows(query):
            return from_row(Row(*row))
        return None


def _of_stream(stream: StreamId, types: Types, before: int) -> Select[Any]:
    query = select(*_COLUMNS).where(EVENTS.c.stream == str(stream), EVENTS.c.seq < before)
    return query.where(EVENTS.c.type.in_(_names(types))) if types else query


def _names(types: Types) -> list[str]:
    return [one.__name__ for one in types]
