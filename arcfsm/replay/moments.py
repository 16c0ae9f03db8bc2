"""From a time to a place in the journal."""

from __future__ import annotations

from arcfsm.domain.instant import Instant
from arcfsm.journal import Journal


def seq_at(journal: Journal, moment: Instant) -> int:
    """Return the seq of the last event that had happened by a moment; 0 if none had. See `Journal.seq_at`."""
    return journal.seq_at(moment)
