"""Between journaled events and database rows."""

from __future__ import annotations

from typing import Final

from arcfsm.domain.envelope import JournaledEvent, Source
from arcfsm.domain.kinds import StreamId
from arcfsm.journal.chain import Row
from arcfsm.journal.codec import decode, encode

_SOURCES: Final = {source.value: source for source in Source}
_STREAMS: dict[str, StreamId] = {}
_STREAMS_MAX: Final = 100_000


def to_row(journaled: JournaledEvent) -> Row:
    """Return the columns of an event, without the hashes."""
    event = journaled.event
    return Row(
        journaled.seq,
        journaled.turn,
        str(journaled.stream),
        journaled.version,
        type(event).__name__,
        event.schema_number,
        journaled.recorded_at,
        journaled.observed_at,
        journaled.source.value,
        journaled.cause,
        journaled.correlation,
        journaled.resource_version,
        journaled.actor,
        journaled.epoch,
        encode(event),
    )


def from_row(row: Row) -> JournaledEvent:
    """Return the event that a row holds."""
    return JournaledEvent(
        seq=row.seq,
        turn=row.turn,
        stream=_stream(row.stream),
        version=row.version,
        event=decode(row.type, row.schema, row.payload),
        recorded_at=row.recorded_at,
        observed_at=row.observed_at,
        source=_SOURCES[row.source],
        cause=row.cause,
        correlation=row.correlation,
        resource_version=row.resource_version,
        actor=row.actor,
        epoch=row.epoch,
    )


def _stream(text: str) -> StreamId:
    found = _STREAMS.get(text)
    if found is None:
        if len(_STREAMS) >= _STREAMS_MAX:
            _STREAMS.clear()
        found = _STREAMS[text] = StreamId.parse(text)
    return found
