"""The journal: an append-only store of events with a hash chain, on SQLite or PostgreSQL.

    with Journal.open("sqlite:///arcfsm.db", create=True) as journal:
        epoch = journal.claim_epoch("who writes")
        journal.append(Batch(events=turn.events, transitions=turn.transitions), documents.get)
        for journaled in journal.events(from_seq=1):
            ...
        verify(journal)

Everything that can go wrong is a `JournalError`, by what the caller should do about it.
"""

from arcfsm.journal.errors import (
    DeposedError,
    JournalConflictError,
    JournalDamagedError,
    JournalError,
    JournalFullError,
    JournalLockedError,
    JournalMissingError,
    JournalOutdatedError,
    JournalReadOnlyError,
    JournalTooNewError,
    JournalUnreachableError,
)
from arcfsm.journal.store import Batch, Head, Journal
from arcfsm.journal.verification import Verification, verify

__all__ = [
    "Batch",
    "DeposedError",
    "Head",
    "Journal",
    "JournalConflictError",
    "JournalDamagedError",
    "JournalError",
    "JournalFullError",
    "JournalLockedError",
    "JournalMissingError",
    "JournalOutdatedError",
    "JournalReadOnlyError",
    "JournalTooNewError",
    "JournalUnreachableError",
    "Verification",
    "verify",
]
