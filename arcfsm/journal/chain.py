"""The hash chain: each row's hash covers the one before and every other column of its own."""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

import orjson

GENESIS: Final = bytes(32)
"""What the first event's hash follows."""


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

    The row is hashed as a JSON list: no shift of text from one column to the next gives the same bytes, and null
    differs from every value.
    """
    return hashlib.sha256(previous + orjson.dumps(tuple(row))).digest()


HASHED: Final = Row._fields
"""Columns in the order in which they are hashed: all but the hashes."""
