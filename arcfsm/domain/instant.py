"""Points in time as integers: microseconds since the Unix epoch, UTC.

Rules compare and add times far more often than people read them; integers are exact, fast, sortable and have one
canonical form.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

Instant: TypeAlias = int
"""Microseconds since 1970-01-01T00:00:00Z."""
Span: TypeAlias = int
"""A length of time in microseconds."""

MILLISECOND: Final[Span] = 1_000
SECOND: Final[Span] = 1_000_000
MINUTE: Final[Span] = 60 * SECOND
HOUR: Final[Span] = 60 * MINUTE
DAY: Final[Span] = 24 * HOUR

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def parse_instant(text: str) -> Instant:
    """Read an RFC 3339 time. Raises ValueError for anything else, a time without an offset included."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no UTC offset; write it as 2026-01-31T12:00:00Z")
    return (moment - _EPOCH) // _MICROSECOND


def format_instant(instant: Instant) -> str:
    """Write an instant as RFC 3339 in UTC: microseconds only where there are any."""
    moment = _EPOCH + timedelta(microseconds=instant)
    timespec = "microseconds" if moment.microsecond else "seconds"
    return moment.replace(tzinfo=None).isoformat(timespec=timespec) + "Z"


def format_span(span: Span) -> str:
    """Write a length of time the way people say it: `42.1s`, `3m05s`, `2h10m`, `3d04h`."""
    if span < 0:
        return "-" + format_span(-span)
    if span < MINUTE:
        return f"{span / SECOND:.3f}".rstrip("0").rstrip(".") + "s"
    seconds = span // SECOND
    if span < HOUR:
        return f"{seconds // 60}m{seconds % 60:02}s"
    if span < DAY:
        return f"{seconds // 3600}h{seconds % 3600 // 60:02}m"
    return f"{seconds // 86400}d{seconds % 86400 // 3600:02}h"
