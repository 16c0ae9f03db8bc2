"""Spans in which a source may have been blind, until it is known when they ended.

A gap is journaled when it closes, because only then is it known how long it was; one that never closes is journaled at
the end of the import without an end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from arcfsm.domain.events.controller import GapDetected
from arcfsm.domain.instant import Instant
from arcfsm.domain.kinds import Kind
from arcfsm.domain.observation import Scope

UNREADABLE = "lines could not be read"
RELIST = "the source began to list anew; what happened in between was not seen"
NEW_EPOCH = (
    "the cluster counts its versions anew: its store was restored or replaced; what happened in between was not seen"
)
NO_LIST = "the source does not begin with a list; what happened since the journal's last event was not seen"
NOT_LISTED = "the source listed other kinds anew and then said nothing of these"


@dataclass(slots=True)
class _Ended:
    since: Instant
    reason: str


class Blindness:
    """What one import knows about its sources' blind spans."""

    def __init__(self) -> None:
        self._ended: dict[str, _Ended] = {}
        self._unreadable: dict[str, tuple[Instant, int]] = {}
        self._heard: dict[Kind, Instant] = {}
        self._unlisted: dict[Kind, Instant] = {}

    def ended(self, source: str, at: Instant, reason: str) -> None:
        """A source's watch ended with an error."""
        self._ended.setdefault(source, _Ended(at, reason))

    def unreadable(self, source: str, at: Instant) -> None:
        """A line of a source could not be read. `at` is the time of the last one before it that could."""
        since, count = self._unreadable.get(source, (at, 0))
        self._unreadable[source] = (since, count + 1)

    def heard(self, source: str, kind: Kind | None, at: Instant) -> Iterator[GapDetected]:
        """A line could be read: the source sees again. Yields the gap that closes with it."""
        if kind is not None:
            self._heard[kind] = at
            self._unlisted.pop(kind, None)
        found = self._unreadable.pop(source, None)
        if found is not None:
            yield _unreadable_gap(source, *found, until=at)

    def listed(
        self, sources: frozenset[str], scopes: frozenset[Scope], last: Instant, at: Instant, *, new_epoch: bool
    ) -> GapDetected:
        """Sources began to list anew: close what was open and return the gap. `last` is the time of the line before."""
        ended = [self._ended.pop(source) for source in sorted(sources) if source in self._ended]
        since = min((one.since for one in ended), default=last)
        kinds = {scope.kind for scope in scopes}
        reasons = [one.reason for one in ended] or [RELIST]
        if new_epoch:
            reasons = [NEW_EPOCH]
        if len(kinds) > 1:
            self._unlisted.update({kind: since for kind in self._heard if kind not in kinds})
        scope = ", ".join(sorted(kinds)) or ", ".join(sorted(sources))
        return GapDetected(scope=scope, reason=reasons[0], since=since or None, until=at)

    def still_open(self) -> Iterator[GapDetected]:
        """Yield the gaps that never closed."""
        for source in sorted(self._ended):
            one = self._ended[source]
            yield GapDetected(scope=source, reason=one.reason, since=one.since)
        for source in sorted(self._unreadable):
            yield _unreadable_gap(source, *self._unreadable[source], until=None)
        since = sorted(set(self._unlisted.values()))
        for moment in since:
            kinds = sorted(kind for kind, at in self._unlisted.items() if at == moment)
            yield GapDetected(scope=", ".join(kinds), reason=NOT_LISTED, since=moment)


def _unreadable_gap(source: str, since: Instant, count: int, *, until: Instant | None) -> GapDetected:
    reason = f"{count} {UNREADABLE}" if count > 1 else "a line could not be read"
    return GapDetected(scope=source, reason=reason, since=since or None, until=until)
