"""A track: the records of one file, each with the time at which it counts.

The time is the one at which the recorder received the line. Where the file does not say (what kubectl prints), it is
the newest time that the object itself mentions (creation, deletion, managedFields, states of containers), never earlier
than that of the line before: seconds instead of microseconds, and a line that tells no newer time counts as read right
after the one before it.

A track also knows where its source began to list: at its first lines, and again after an error ended the watch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from arcfsm.domain.instant import MILLISECOND, Instant, Span
from arcfsm.domain.jsonvalue import JsonObject, text_at
from arcfsm.replay.importing.records import OBJECT_WORDS, Record, Says

LIST_GAP_MAX: Final[Span] = 250 * MILLISECOND
"""Lines of one list follow one another at least this fast."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A record at its time."""

    source: str
    record: Record
    at: Instant
    timed: bool
    """The file itself says when; else the time is inferred."""
    opening: bool = False
    """It belongs to the list with which the source began, or began anew after an error."""
    after_error: bool = False
    """That list follows an error: the source was blind in between."""

    @property
    def where(self) -> str:
        """Where to look it up."""
        return f"{self.source}:{self.record.line}"


def track(
    source: str, records: Iterable[Record], newest_moment: Callable[[JsonObject], Instant | None]
) -> Iterator[Line]:
    """Yield the records of a file with their times."""
    at: Instant = 0
    opening, last, failed = True, None, False
    seen_bare: set[str] = set()
    for record in records:
        timed = record.received is not None
        if record.received is not None:
            at = record.received
        elif record.says in OBJECT_WORDS:
            at = max(at, newest_moment(record.object) or at)
        if record.says is Says.ERROR:
            opening, last, failed = True, None, True
        elif record.says in OBJECT_WORDS and opening:
            listing = record.says is Says.ADDED or (record.says is Says.BARE and _first(record, seen_bare))
            opening = listing and (last is None or not timed or at - last <= LIST_GAP_MAX)
            last = at
        is_list_item = opening and record.says in {Says.ADDED, Says.BARE}
        yield Line(
            source=source,
            record=record,
            at=at,
            timed=timed,
            opening=is_list_item,
            after_error=is_list_item and failed,
        )


def _first(record: Record, seen: set[str]) -> bool:
    uid = text_at(record.object, "metadata", "uid")
    if not uid or uid in seen:
        return False
    seen.add(uid)
    return True
