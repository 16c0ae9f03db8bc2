"""Facts about the controller and its sources: settings, sources, gaps, refused observations, timers."""

from __future__ import annotations

from typing import ClassVar

from arcfsm.domain.events.domain_event import DomainEvent, register
from arcfsm.domain.instant import Instant
from arcfsm.domain.kinds import StreamId
from arcfsm.domain.settings import ControllerSettings


@register
class SettingsDeclared(DomainEvent):
    """From here on rules decide under these settings. `advisory` means that nobody carries intents out."""

    settings: ControllerSettings
    advisory: bool
    deciding: bool = True
    """False for a recorder: no rule is asked, so that nothing but what was observed stands in the journal."""
    rules_version: str
    """Version of the program that decided; replay names it where answers differ (B46)."""

    stored_whole: ClassVar[bool] = True


@register
class SourceOpened(DomainEvent):
    """We began to read a source: a file, or a watch of the live cluster."""

    name: str
    format: str
    content: str = ""
    """SHA-256 of a file, so that reading it again adds nothing."""


@register
class SourceExhausted(DomainEvent):
    """We read a source to its end."""

    name: str
    observations: int
    ignored: int
    refused: int
    content: str = ""


@register
class GapDetected(DomainEvent):
    """A span in which we may have missed events."""

    scope: str
    """What may have been missed: a kind, a source, or an object."""
    reason: str
    since: Instant | None = None
    until: Instant | None = None


@register
class ObservationRefused(DomainEvent):
    """Something the outside told us could not be understood; it hides nothing else."""

    where: str
    reason: str
    excerpt: str = ""


@register
class TimerFired(DomainEvent):
    """A moment that a decision waited for has come."""

    due_at: Instant
    target: StreamId
