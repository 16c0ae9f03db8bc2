"""Clocks of the simulated world.

Time in a simulation is an integer that only the kernel moves. What a process reads is a wall clock: the kernel's time
plus an offset of its own, which a fault may change. So clocks of two machines can disagree and one can jump,
backwards too, while the order in which things happen stays the kernel's. Nothing here, and nothing built on it, reads
the clock of the host.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from arcfsm.domain.instant import SECOND, Instant, Span, parse_instant

SIMULATION_START: Final[Instant] = parse_instant("2026-12-01T06:00:00Z")
"""Where virtual time starts. Fixed, so that a trace is the same today and next year."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """What a process may know about time."""

    def now(self) -> Instant:
        """Return the wall-clock time in microseconds since the Unix epoch, UTC."""


class VirtualClock:
    """A wall clock over a source of time. It is as steady as its source until somebody makes it jump."""

    def __init__(self, source: Clock, offset: Span = 0) -> None:
        self._source = source
        self._offset = offset

    @property
    def offset(self) -> Span:
        """How far this clock is ahead of its source; negative when it is behind."""
        return self._offset

    def now(self) -> Instant:
        """Return the time this clock shows."""
        return self._source.now() + self._offset

    def jump(self, by: Span) -> None:
        """Move what the clock shows, forwards or backwards. Timers of the kernel are not moved."""
        self._offset += by


class ManualClock:
    """A clock that stands still until it is moved. For tests and for replays that bring their own times."""

    def __init__(self, start: Instant = SIMULATION_START) -> None:
        self._now = start

    def now(self) -> Instant:
        """Return the time last set."""
        return self._now

    def advance(self, by: Span) -> None:
        """Move time forward. Raises ValueError for a step back, which only a `VirtualClock` may do."""
        if by < 0:
            raise ValueError(f"cannot advance by {by} microseconds; jump a VirtualClock instead")
        self._now += by

    def move_to(self, instant: Instant) -> None:
        """Move time forward to an instant; an instant in the past leaves it where it is."""
        self._now = max(self._now, instant)


def timestamp(instant: Instant) -> str:
    """Write an instant the way Kubernetes objects carry it: RFC 3339 in whole seconds, UTC."""
    seconds = instant // SECOND
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
