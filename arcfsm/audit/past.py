"""The past, read backwards from an event, through indexes, a few rows at a time.

The length of the journal must not matter: a question at 3 a.m. is about the last minutes of one object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Select, select

from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events import DomainEvent
from arcfsm.domain.events.listener import ListenerFacts
from arcfsm.domain.events.runner_set import RunnerSetFacts
from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import EMPTY, JsonObject
from arcfsm.domain.kinds import KIND_OF, AggregateKind, Kind, StreamId
from arcfsm.journal import Journal
from arcfsm.journal.chain import HASHED, Row
from arcfsm.journal.rows import from_row
from arcfsm.journal.tables import EVENTS, GAPS, OBJECTS

_COLUMNS: Final = tuple(EVENTS.c[name] for name in HASHED)
NEARBY_EVENTS: Final = 5_000
"""How many events back a cause is looked for among other objects of the scale set."""
STREAM_EVENTS: Final = 5_000
"""How many events of one object are looked through for one of some type. No index knows types: a runner set may have
lived through a million events without the one that is asked for. When an object was first seen is found at any age."""

FAMILY_MAX: Final = 16
"""How many objects of a kind are asked, newest first, where nothing is near."""
_PREFIXES: Final = {
    AggregateKind.SCALE_SET: "ScaleSet",
    AggregateKind.RUNNER_SET: "RunnerSet",
    AggregateKind.RUNNER: "Runner",
    AggregateKind.LISTENER: "Listener",
}
"""How the types of events about a kind begin; those of runner sets begin like those of runners, which does no harm."""

Types = tuple[type[DomainEvent], ...]


class Past:
    """Reads a journal backwards."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._names: dict[StreamId, tuple[str, str]] = {}
        self._reaches: dict[tuple[StreamId, int], int] = {}

    def event(self, seq: int) -> JournaledEvent | None:
        """Return one event."""
        return self._first(select(*_COLUMNS).where(EVENTS.c.seq == seq))

    def latest(self, stream: StreamId, types: Types, before: int) -> JournaledEvent | None:
        """Return the latest event of these types in a stream, before a seq, not far back; a birth at any age."""
        found = next(self.several(stream, types, before, 1), None)
        if found is not None or self._reach(stream, before) <= STREAM_EVENTS:
            return found
        birth = self.birth(stream)
        return birth if birth is not None and birth.seq < before and isinstance(birth.event, types) else None

    def several(self, stream: StreamId, types: Types, before: int, count: int) -> Iterator[JournaledEvent]:
        """Yield the latest events of these types in a stream, before a seq, newest first, not far back."""
        reach = self._reach(stream, before)
        query = (
            select(*_COLUMNS)
            .where(EVENTS.c.stream == str(stream), EVENTS.c.version <= reach, EVENTS.c.version > reach - STREAM_EVENTS)
            .order_by(EVENTS.c.version.desc())
            .limit(count)
        )
        if types:
            query = query.where(EVENTS.c.type.in_(_names(types)))
        for row in self._journal.rows(query):
            yield from_row(Row(*row))

    def birth(self, stream: StreamId) -> JournaledEvent | None:
        """Return the event with which an object was first seen whole."""
        query = select(*_COLUMNS).join(OBJECTS, OBJECTS.c.first_seq == EVENTS.c.seq)
        return self._first(query.where(OBJECTS.c.stream == str(stream)))

    def kin(self, journaled: JournaledEvent, types: Types, *, after: int = 0) -> Iterator[JournaledEvent]:
        """Yield the events of these types before another, about the same scale set and all that is its, newest first.

        Where none is near, those that the newest objects of the scale set have last.
        """
        owner = self.scale_set_of(journaled)
        return self.of_family(owner.uid, types, journaled.seq, after=after) if owner is not None else iter(())

    def of_family(self, correlation: str, types: Types, before: int, *, after: int = 0) -> Iterator[JournaledEvent]:
        """Yield events of these types about a scale set and all that is its, newest first; see `kin`."""
        near = False
        for found in self.nearby(correlation, types, before, after=after):
            near = True
            yield found
        if near or before - NEARBY_EVENTS <= after:
            return
        far = (self.latest(stream, types, before) for stream in self._family(correlation, types, before))
        yield from sorted((one for one in far if one is not None and one.seq > after), key=lambda one: -one.seq)

    def _family(self, correlation: str, types: Types, before: int) -> Iterator[StreamId]:
        names = _names(types)
        for kind, prefix in _PREFIXES.items():
            if any(name.startswith(prefix) for name in names):
                query = (
                    select(OBJECTS.c.stream)
                    .where(
                        OBJECTS.c.correlation == correlation,
                        OBJECTS.c.stream.startswith(f"{kind.value}/"),
                        OBJECTS.c.first_seq < before,
                    )
                    .order_by(OBJECTS.c.first_seq.desc())
                    .limit(FAMILY_MAX)
                )
                yield from (StreamId.parse(row.stream) for row in self._journal.rows(query))

    def nearby(self, correlation: str, types: Types, before: int, *, after: int = 0) -> Iterator[JournaledEvent]:
        """Yield the events of these types about a scale set and all that is its, newest first, not far back."""
        lowest = max(after + 1, before - NEARBY_EVENTS)
        query = (
            select(*_COLUMNS)
            .where(EVENTS.c.seq >= lowest, EVENTS.c.seq < before, EVENTS.c.type.in_(_names(types)))
            .where(EVENTS.c.correlation == correlation)
            .order_by(EVENTS.c.seq.desc())
        )
        for row in self._journal.rows(query):
            yield from_row(Row(*row))

    def scale_set_of(self, journaled: JournaledEvent) -> StreamId | None:
        """Return the scale set that an event belongs to. The first sight of an object may only name it."""
        uid = journaled.correlation
        event = journaled.event
        if not uid and isinstance(event, RunnerSetFacts):
            uid = event.owner_uid
        elif not uid and isinstance(event, ListenerFacts):
            uid = self._scale_set_named(event.scale_set_namespace, event.scale_set_name, journaled.seq)
        return StreamId(AggregateKind.SCALE_SET, uid) if uid else None

    def _scale_set_named(self, namespace: str, name: str, before: int) -> str:
        query = (
            select(OBJECTS.c.stream)
            .where(OBJECTS.c.name == name, OBJECTS.c.namespace == namespace, OBJECTS.c.first_seq < before)
            .order_by(OBJECTS.c.first_seq.desc())
        )
        found = (StreamId.parse(row.stream) for row in self._journal.rows(query))
        return next((stream.uid for stream in found if stream.kind is AggregateKind.SCALE_SET), "")

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

    def gap(self, stream: StreamId, since: Instant, until: Instant, *, known_by: int) -> JournaledEvent | None:
        """Return the latest gap that a seq knows of, in which events of this stream between two times may be lost."""
        query = (
            select(GAPS)
            .where(
                GAPS.c.seq <= known_by,
                GAPS.c.since.is_(None) | (GAPS.c.since <= until),
                GAPS.c.until.is_(None) | (GAPS.c.until >= since),
            )
            .order_by(GAPS.c.seq.desc())
        )
        found = (row.seq for row in self._journal.rows(query) if _covers(row.scope, stream))
        seq = next(found, None)
        return None if seq is None else self.event(seq)

    def name(self, stream: StreamId) -> tuple[str, str]:
        """Return namespace and name; ("", uid) where the journal knows no name."""
        if stream not in self._names:
            rows = self._journal.rows(select(OBJECTS).where(OBJECTS.c.stream == str(stream)))
            self._names[stream] = (rows[0].namespace, rows[0].name) if rows else ("", stream.uid)
        return self._names[stream]

    def mapping(self, digest: str) -> JsonObject:
        """Return a document that is an object; an empty one for no digest."""
        found = self._journal.document(digest) if digest else None
        return found if isinstance(found, Mapping) else EMPTY

    def _reach(self, stream: StreamId, before: int) -> int:
        """Return the version of the last event of a stream before a seq; 0 where there is none."""
        known = self._reaches.get((stream, before))
        if known is None:
            known = self._reaches[stream, before] = self._find_reach(stream, before)
        return known

    def _find_reach(self, stream: StreamId, before: int) -> int:
        # Versions grow with seq and have no gaps, so that the index by version serves to find a seq, too.
        places = select(EVENTS.c.version, EVENTS.c.seq).where(EVENTS.c.stream == str(stream))
        newest = self._journal.rows(places.order_by(EVENTS.c.version.desc()).limit(1))
        if not newest or newest[0].seq < before:
            return newest[0].version if newest else 0
        low, high = 0, newest[0].version
        while high - low > 1:
            middle = (low + high) // 2
            if self._journal.rows(places.where(EVENTS.c.version == middle))[0].seq < before:
                low = middle
            else:
                high = middle
        return low

    def _first(self, query: Select[Any]) -> JournaledEvent | None:
        for row in self._journal.rows(query):
            return from_row(Row(*row))
        return None


def _covers(scope: str, stream: StreamId) -> bool:
    """Whether a gap is about a stream: scopes that list kinds are about those kinds and their pods only."""
    words = set(scope.split(", "))
    if not words <= set(Kind):
        return True
    own = KIND_OF.get(stream.kind)
    return own in words or Kind.POD in words


def _names(types: Types) -> list[str]:
    return [one.__name__ for one in types]
