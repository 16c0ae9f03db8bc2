"""Between journaled events and database rows.

Reading is the hot path of replay: a row is unpacked once, and streams and sources are looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from arcfsm.domain.envelope import JournaledEvent, Source
from arcfsm.domain.kinds import StreamId
from arcfsm.journal.chain import Row
from arcfsm.journal.codec import decode, encode
from arcfsm.journal.errors import JournalTooNewError

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
        str(journaled.source),
        journaled.cause,
        journaled.correlation,
        journaled.resource_version,
        storable(journaled.actor),
        journaled.epoch,
        encode(event),
    )


def storable(told: str) -> str:
    """Return text that others chose as every database can hold it: PostgreSQL knows no zero character."""
    return told.replace("\0", "\N{REPLACEMENT CHARACTER}") if "\0" in told else told


def from_row(row: Sequence[Any]) -> JournaledEvent:
    """Return the event that a row holds; its columns stand in the order of `Row`. Raises JournalError."""
    (
        seq,
        turn,
        stream,
        version,
        event_type,
        schema,
        recorded_at,
        observed_at,
        source,
        cause,
        correlation,
        resource_version,
        actor,
        epoch,
        payload,
    ) = row
    return JournaledEvent(
        seq=seq,
        turn=turn,
        stream=_STREAMS.get(stream) or _stream(stream),
        version=version,
        event=decode(event_type, schema, payload),
        recorded_at=recorded_at,
        observed_at=observed_at,
        source=_SOURCES.get(source) or _source(source),
        cause=cause,
        correlation=correlation,
        resource_version=resource_version,
        actor=actor,
        epoch=epoch,
    )


def _stream(text: str) -> StreamId:
    if len(_STREAMS) >= _STREAMS_MAX:
        _STREAMS.clear()
    try:
        found = _STREAMS[text] = StreamId.parse(text)
    except ValueError as error:
        raise JournalTooNewError(
            f"the journal holds the stream {text!r}, which this program does not know; use a newer one"
        ) from error
    return found


def _source(text: str) -> Source:
    raise JournalTooNewError(
        f"the journal holds events from {text!r}, a source this program does not know; use a newer one"
    )
