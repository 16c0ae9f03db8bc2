"""Checking the hash chain: every column of every row, the order, the numbering, the documents.

What it proves: nobody changed, removed, swapped or inserted a row before the newest one without recomputing every
hash after it. What it can't prove by itself: that the newest rows are still there, and that nobody recomputed the
whole chain. For both, keep the head's hash somewhere else and give it back with `--expect`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple

from sqlalchemy import select

from arcfsm.journal.chain import GENESIS, HASHED, Row, chained
from arcfsm.journal.codec import decode
from arcfsm.journal.errors import JournalDamagedError
from arcfsm.journal.store import Journal
from arcfsm.journal.tables import DOCUMENTS, EVENTS


class Verification(NamedTuple):
    """What was found."""

    events: int
    documents: int
    head: str
    """Hash of the last event that is right."""
    bad_seq: int | None = None
    """The first event that is wrong."""
    problem: str = ""

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problem


def verify(journal: Journal, *, expect: str = "", progress: Callable[[int], None] = lambda _seq: None) -> Verification:
    """Walk the whole chain and every document. Stops at the first thing that is wrong.

    `expect` is the hash of an event, as the head of an earlier verification printed it: it must be somewhere in the
    chain.
    """
    previous, seq, wanted = GENESIS, 0, set[str]()
    expected_seen = not expect
    columns = select(*(EVENTS.c[name] for name in HASHED), EVENTS.c.prev_hash, EVENTS.c.hash)
    for found in journal.pages(columns, EVENTS.c.seq):
        row = Row(*found[: len(HASHED)])
        problem = _problem(row, bytes(found.prev_hash), bytes(found.hash), previous, seq)
        if problem:
            return Verification(seq, len(wanted), previous.hex(), seq + 1, problem)
        try:
            wanted.update(decode(row.type, row.schema, row.payload).documents())
        except JournalDamagedError as error:
            return Verification(seq, len(wanted), previous.hex(), row.seq, str(error))
        previous, seq = bytes(found.hash), row.seq
        expected_seen = expected_seen or previous.hex() == expect
        if seq % 10_000 == 0:
            progress(seq)
    if not expected_seen:
        missing = (
            f"no event has the expected hash {expect[:16]}…: rows are missing at the end, or the chain was made anew"
        )
        return Verification(seq, len(wanted), previous.hex(), seq + 1, missing)
    documents = len(wanted)
    damaged = _damaged_document(journal, wanted)
    return Verification(seq, documents, previous.hex(), None, damaged)


def _problem(row: Row, stored_previous: bytes, stored: bytes, previous: bytes, seq: int) -> str:
    if row.seq != seq + 1:
        return f"event {seq + 1} is missing; the next one is {row.seq}"
    if stored_previous != previous:
        return f"event {row.seq} does not follow the one before it"
    if chained(previous, row) != stored:
        return f"event {row.seq} is not what it was when it was written"
    return ""


def _damaged_document(journal: Journal, wanted: set[str]) -> str:
    stored = select(DOCUMENTS.c.digest, DOCUMENTS.c.content)
    for digest, content in journal.pages(stored, DOCUMENTS.c.digest):
        if hashlib.sha256(content.encode()).hexdigest() != digest:
            return f"document {digest[:16]}… is not what its digest says"
        wanted.discard(digest)
    return f"document {min(wanted)[:16]}… is missing" if wanted else ""
