"""The hash chain: each row's hash covers the one before and every other column of its own."""

from __future__ import annotations

import hashlib
from typing import Any, Final, NamedTuple

GENESIS: Final = bytes(32)
"""What the first event's hash follows."""

HASHED: Final = (
    "seq",
    "turn",
    "stream",
    "version",
    "type",
    "schema",
    "recorded_at",
    "observed_at",
    "source",
    "cause",
    "correlation",
    "resource_version",
    "actor",
    "epoch",
    "payload",
)
"""Columns in the order in which they are hashed: all but the hashes."""


class Row(NamedTuple):
    """A stored event, as the database holds it."""

    seq: int
    turn: int
    stream: str
    version: int
    type: str
    schema: int
    recorded_at: int
    observed_at: int | None
    source: str
    cause: int | None
    correlation: str
    resource_version: str
    actor: str
    epoch: int
    payload: str


def chained(previous: bytes, row: Row) -> bytes:
    """Return the hash of a row that follows `previous`.

    Columns are length-prefixed, so that no shift of text from one column to the next gives the same bytes; null
    differs from every value.
    """
    parts = [previous]
    for value in row:
        text = b"-" if value is None else b"=" + str(value).encode()
        parts.append(b"%d:" % len(text))
        parts.append(text)
    return hashlib.sha256(b"".join(parts)).digest()


def row_of(mapping: Any) -> Row:
    """Return the hashed columns of a database row."""
    return Row(*(getattr(mapping, name) for name in HASHED))
