"""Drift that does not converge: somebody writes the same two contents in turn, over and over.

A controller that sees drift where there is none, or two that fight, go back and forth between two contents of the
same thing. The journal sees it as events of one type and stream whose documents repeat.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from arcfsm.audit.stalls.condition import Stall
from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.instant import SECOND, Instant, Span
from arcfsm.domain.kinds import StreamId

RETURNS_MIN: Final = 5
"""Returns to a content that was there before; fewer may be somebody changing their mind."""
PAUSE_MAX: Final[Span] = 60 * SECOND
"""A longer pause ends it."""


@dataclass(slots=True)
class _Series:
    contents: tuple[str, str]
    first: JournaledEvent
    last_at: Instant
    seqs: list[int]


@dataclass(slots=True)
class Flapping:
    """Watches for contents that come back."""

    _series: dict[tuple[StreamId, str], _Series] = field(default_factory=dict)
    _found: dict[int, tuple[StreamId, str, _Series]] = field(default_factory=dict)

    def note(self, journaled: JournaledEvent) -> None:
        """Look at one event."""
        fields = journaled.event.document_fields
        if len(fields) != 1:
            return
        content: str = getattr(journaled.event, fields[0])
        key = (journaled.stream, type(journaled.event).__name__)
        series = self._series.get(key)
        if series is None or journaled.at - series.last_at > PAUSE_MAX:
            self._series[key] = _Series(("", content), journaled, journaled.at, [journaled.seq])
            return
        older, newer = series.contents
        if content == older:
            series.seqs.append(journaled.seq)
            series.last_at = journaled.at
            series.contents = (newer, content)
            if len(series.seqs) > RETURNS_MIN:
                self._found[series.first.seq] = (*key, series)
        elif older == "":
            series.contents = (newer, content)
            series.last_at = journaled.at
        else:
            self._series[key] = _Series((newer, content), journaled, journaled.at, [journaled.seq])

    def stalls(self, names: dict[StreamId, tuple[str, str]]) -> list[Stall]:
        """Return what did not converge."""
        found = []
        for stream, kind, series in self._found.values():
            namespace, name = names.get(stream, ("", stream.uid))
            count = len(series.seqs)
            found.append(
                Stall(
                    name="drift-not-converging",
                    stream=stream,
                    namespace=namespace,
                    object_name=name,
                    since=series.first.at,
                    until=series.last_at,
                    reason=f"drift not converging: {kind} went back and forth between two contents {count} times",
                    resolves="finding who writes each; arcfsm compares by meaning and writes neither (D3, H17)",
                    evidence=(series.seqs[0], series.seqs[-1]),
                )
            )
        return found
