"""Moments of a journal."""

from __future__ import annotations

from arcfsm.domain.instant import Instant
from arcfsm.journal import Journal


def last_moment(journal: Journal) -> Instant:
    """Return the time of the last event, from which spans back such as -2h count; 0 for an empty journal."""
    head = journal.head.seq
    return next((journaled.at for journaled in journal.events(from_seq=head, to_seq=head)), 0)
