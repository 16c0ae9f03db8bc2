"""What an import did, counted."""

from __future__ import annotations

from collections import Counter, defaultdict
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
class SourceTally:
    """Counts of one of the files of an import."""

    observations: int = 0
    ignored: int = 0
    refused: int = 0


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
    sources: defaultdict[str, SourceTally] = field(default_factory=lambda: defaultdict(SourceTally))

    def observed(self, source: str) -> None:
        """Count a line that speaks of an object."""
        self.observations += 1
        self.sources[source].observations += 1

    def ignore(self, source: str, reason: str) -> None:
        """Count an observation that leaves no trace."""
        self.noise[reason] += 1
        self.sources[source].ignored += 1

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
