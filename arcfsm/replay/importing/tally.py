"""What an import did, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from arcfsm.domain.events.controller import GapDetected, ObservationRefused
from arcfsm.domain.events.decision import Decided
from arcfsm.domain.turn import Turn


class Refused(NamedTuple):
    """A line that could not be understood."""

    where: str
    reason: str


@dataclass(slots=True)
class Tally:
    """Counts of one import."""

    lines: int = 0
    observations: int = 0
    """Lines that speak of an object."""
    events: int = 0
    decisions: int = 0
    bookmarks: int = 0
    noise: Counter[str] = field(default_factory=Counter)
    """Observations that left no trace, by reason."""
    refused: list[Refused] = field(default_factory=list)
    gaps: list[GapDetected] = field(default_factory=list)

    @property
    def ignored(self) -> int:
        """Observations that left no trace."""
        return sum(self.noise.values())

    def add(self, turn: Turn) -> None:
        """Count what a turn adds to the journal."""
        for journaled in turn.events:
            event = journaled.event
            self.events += 1
            if isinstance(event, Decided):
                self.decisions += 1
            elif isinstance(event, GapDetected):
                self.gaps.append(event)
            elif isinstance(event, ObservationRefused):
                self.refused.append(Refused(event.where, event.reason))
