"""The journal, its documents, snapshots and projections, and views for people."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make everything."""
    op.create_table(
        "events",
        sa.Column("seq", BIG, primary_key=True, autoincrement=False),
        sa.Column("turn", sa.BigInteger, nullable=False),
        sa.Column("stream", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("schema", sa.SmallInteger, nullable=False),
        sa.Column("recorded_at", sa.BigInteger, nullable=False),
        sa.Column("observed_at", sa.BigInteger),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("cause", sa.BigInteger),
        sa.Column("correlation", sa.Text, nullable=False),
        sa.Column("resource_version", sa.Text, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("prev_hash", sa.LargeBinary, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
    )
    op.create_index("events_stream", "events", ["stream", "version"], unique=True)
    op.create_table(
        "documents",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("content", sa.Text, nullable=False),
    )
    op.create_table(
        "writers",
        sa.Column("epoch", BIG, primary_key=True, autoincrement=False),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("claimed_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "resume_points",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.create_table(
        "snapshots",
        sa.Column("seq", BIG, primary_key=True, autoincrement=False),
        sa.Column("format", sa.Text, nullable=False),
        sa.Column("taken_at", sa.BigInteger, nullable=False),
        sa.Column("world", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "transitions",
        sa.Column("seq", BIG, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        *(
            sa.Column(name, sa.Text, nullable=False)
            for name in ("stream", "namespace", "name", "before", "after", "trigger", "correlation")
        ),
    )
    op.create_table(
        "decisions",
        sa.Column("seq", BIG, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("stream", sa.Text, nullable=False),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("intents", sa.Integer, nullable=False),
        sa.Column("advisory", sa.Boolean, nullable=False),
        sa.Column("correlation", sa.Text, nullable=False),
    )
    op.create_table(
        "effects",
        sa.Column("seq", BIG, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("stream", sa.Text, nullable=False),
        sa.Column("decision", sa.BigInteger, nullable=False),
        sa.Column("intent", sa.Integer, nullable=False),
        sa.Column("item", sa.Integer, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("correlation", sa.Text, nullable=False),
    )
    op.create_table(
        "gaps",
        sa.Column("seq", BIG, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("since", sa.BigInteger),
        sa.Column("until", sa.BigInteger),
    )
    op.create_table(
        "objects",
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("namespace", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("correlation", sa.Text, nullable=False),
        sa.Column("first_seq", sa.BigInteger, nullable=False),
        sa.Column("gone_seq", sa.BigInteger),
    )
    for table in ("transitions", "decisions", "effects"):
        op.create_index(f"{table}_at", table, ["at"])
    op.create_index("objects_name", "objects", ["name", "namespace"])
    op.create_index("objects_correlation", "objects", ["correlation"])
    op.execute(_view(op.get_bind().dialect.name))


def downgrade() -> None:
    """Drop everything."""
    op.execute("DROP VIEW journal")
    for table in (
        "objects",
        "gaps",
        "effects",
        "decisions",
        "transitions",
        "snapshots",
        "resume_points",
        "writers",
        "documents",
        "events",
    ):
        op.drop_table(table)


def _view(dialect: str) -> str:
    """The journal as people read it: RFC 3339 times, the object's name, the payload as JSON."""
    if dialect == "postgresql":
        render = "to_char(to_timestamp({0} / 1000000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
        payload = "e.payload::jsonb"
    else:
        render = "strftime('%Y-%m-%dT%H:%M:%S', {0} / 1000000, 'unixepoch') || printf('.%06dZ', {0} % 1000000)"
        payload = "e.payload"
    at = render.format("coalesce(e.observed_at, e.recorded_at)")
    return f"""
        CREATE VIEW journal AS
        SELECT e.seq, {at} AS at, e.stream, o.namespace, o.name, e.type, e.source, e.actor, e.cause,
               {payload} AS payload
        FROM events e LEFT JOIN objects o ON o.stream = e.stream
    """  # noqa: S608  # both parts are ours
