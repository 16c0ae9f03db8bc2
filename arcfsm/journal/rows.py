"""Between journaled events and database rows.

Reading is the hot path of replay: a row is unpacked once, streams and sources are looked up, and the event is made
without the twelve slow assignments of a frozen dataclass (a third of the cost of reading, see bench_journal.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from arcfsm.domain.envelope import JournaledEvent, Source
from arcfsm.domain.events import DomainEvent
from arcfsm.domain.instant import Instant
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
        journaled.source.value,
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


@dataclass(slots=True)
class _Thawed:
    """A journaled event while it may still be written to: the same slots, so that it can become one in one step."""

    seq: int
    turn: int
    stream: StreamId
    version: int
    event: DomainEvent
    recorded_at: Instant
    observed_at: Instant | None
    source: Source
    cause: int | None
    correlation: str
    resource_version: str
    actor: str
    epoch: int


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
    thawed: Any = _Thawed(
        seq,
        turn,
        _STREAMS.get(stream) or _stream(stream),
        version,
        decode(event_type, schema, payload),
        recorded_at,
        observed_at,
        _SOURCES.get(source) or _source(source),
        cause,
        correlation,
        resource_version,
        actor,
        epoch,
    )
    thawed.__class__ = JournaledEvent
    return cast("JournaledEvent", thawed)


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
