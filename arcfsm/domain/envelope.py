"""The envelope: what the journal knows about an event besides the fact itself (architecture.md, Events).

The writer numbers events before they are folded, because rules name runners after the seq of the decision that wants
them and because causes may lie in the same turn. The journal only accepts numbers that continue its own.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from arcfsm.domain.events.domain_event import DomainEvent
from arcfsm.domain.instant import Instant
from arcfsm.domain.kinds import StreamId


class Source(StrEnum):
    """Where an event comes from."""

    WATCH = "watch"
    LIST = "list"
    RESPONSE = "response"
    TIMER = "timer"
    SERVICE = "service"
    OPERATOR = "operator"
    IMPORT = "import"
    RULE = "rule"
    """A decision: nobody told us, we concluded."""


class JournaledEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event with its place in the journal. The hash chain is the journal's own and not seen here."""

    seq: int
    """Gapless, from 1."""
    turn: int
    """Seq of the first event of the turn: rules ran once, after the turn's last event. Replay depends on it."""
    stream: StreamId
    version: int
    """Counts inside the stream, from 1."""
    event: DomainEvent
    recorded_at: Instant
    observed_at: Instant | None = None
    """When the source says it happened, where it does."""
    source: Source
    cause: int | None = None
    """Seq of the event or decision behind it, where known."""
    correlation: str = ""
    """Uid of the scale set."""
    resource_version: str = ""
    actor: str = ""
    """Field manager, or the user of an audit log, where known."""
    epoch: int = 1

    @property
    def at(self) -> Instant:
        """The time rules see: the source's where it has one, else the journal's."""
        return self.recorded_at if self.observed_at is None else self.observed_at
