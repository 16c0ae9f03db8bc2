"""From a time to a place in the journal."""

from __future__ import annotations

from sqlalchemy import func, select

from arcfsm.domain.instant import Instant
from arcfsm.journal import Journal
from arcfsm.journal.tables import EVENTS


def seq_at(journal: Journal, moment: Instant) -> int:
    """Return the seq of the last event that had happened by a moment; 0 if none had.

    Events stand in the order in which they were learned, which is that of their times but for late ones: the answer is
    the end of the longest beginning that holds nothing later.
    """
    at = func.coalesce(EVENTS.c.observed_at, EVENTS.c.recorded_at)
    first_later = journal.rows(select(func.min(EVENTS.c.seq)).where(at > moment))[0][0]
    return journal.head.seq if first_later is None else first_later - 1
