"""The tables of a journal. Columns are documented in docs/journal.md; migrations bring databases to this shape.

Times are microseconds since the Unix epoch; views render them for people. `events` and `documents` are the journal.
All other tables follow from them (projections) or can be made again (snapshots).
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    text,
)

METADATA: Final = MetaData()

EVENTS: Final = Table(
    "events",
    METADATA,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("turn", BigInteger, nullable=False),
    Column("stream", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("type", Text, nullable=False),
    Column("schema", SmallInteger, nullable=False),
    Column("recorded_at", BigInteger, nullable=False),
    Column("observed_at", BigInteger),
    Column("source", Text, nullable=False),
    Column("cause", BigInteger),
    Column("correlation", Text, nullable=False),
    Column("resource_version", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("payload", Text, nullable=False),
    Column("prev_hash", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Index("events_stream", "stream", "version", unique=True),
    Index("events_at", text("coalesce(observed_at, recorded_at)")),
)

DOCUMENTS: Final = Table(
    "documents",
    METADATA,
    Column("digest", Text, primary_key=True),
    Column("content", Text, nullable=False),
)
"""Canonical JSON by its SHA-256."""

WRITERS: Final = Table(
    "writers",
    METADATA,
    Column("epoch", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("holder", Text, nullable=False),
    Column("claimed_at", BigInteger, nullable=False),
)
"""Who was allowed to write from when: the newest epoch is the only one that may."""

RESUME_POINTS: Final = Table(
    "resume_points",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

SNAPSHOTS: Final = Table(
    "snapshots",
    METADATA,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("format", Text, nullable=False),
    Column("taken_at", BigInteger, nullable=False),
    Column("world", LargeBinary, nullable=False),
)

TRANSITIONS: Final = Table(
    "transitions",
    METADATA,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("stream", Text, nullable=False),
    Column("namespace", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("before", Text, nullable=False),
    Column("after", Text, nullable=False),
    Column("trigger", Text, nullable=False),
    Column("correlation", Text, nullable=False),
    Index("transitions_at", "at"),
)

DECISIONS: Final = Table(
    "decisions",
    METADATA,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("stream", Text, nullable=False),
    Column("rule", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("intents", Integer, nullable=False),
    Column("advisory", Boolean, nullable=False),
    Column("correlation", Text, nullable=False),
    Index("decisions_at", "at"),
)

EFFECTS: Final = Table(
    "effects",
    METADATA,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("stream", Text, nullable=False),
    Column("decision", BigInteger, nullable=False),
    Column("intent", Integer, nullable=False),
    Column("item", Integer, nullable=False),
    Column("key", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("correlation", Text, nullable=False),
    Index("effects_at", "at"),
)

GAPS: Final = Table(
    "gaps",
    METADATA,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("scope", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("since", BigInteger),
    Column("until", BigInteger),
)

OBJECTS: Final = Table(
    "objects",
    METADATA,
    Column("stream", Text, primary_key=True),
    Column("namespace", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("correlation", Text, nullable=False),
    Column("first_seq", BigInteger, nullable=False),
    Column("gone_seq", BigInteger),
    Index("objects_name", "name", "namespace"),
    Index("objects_correlation", "correlation"),
)
"""Every aggregate that was ever seen, by name."""
