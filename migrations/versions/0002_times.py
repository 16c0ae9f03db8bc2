"""Find a time in a long journal; times and names for people in every view.

The view `journal` reads payloads as jsonb on PostgreSQL, which knows no zero character: one event that holds one would
make the whole view unreadable.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

LOGS = ("transition_log", "decision_log", "effect_log", "gap_log")
AT = "coalesce(e.observed_at, e.recorded_at)"
OBJECT = "LEFT JOIN objects o ON o.stream = {0}.stream"


def upgrade() -> None:
    """Add the index and the views."""
    op.create_index("events_at", "events", [sa.text("coalesce(observed_at, recorded_at)")])
    op.execute("DROP VIEW journal")
    view_journal(r"replace(e.payload, '\u0000', '\ufffd')::jsonb" if on_postgres() else "e.payload")
    view(
        "transition_log",
        f"t.seq, {told('t.at')} AS at, t.stream, t.namespace, t.name, t.before, t.after, t.trigger",
        "transitions t",
    )
    view(
        "decision_log",
        f"d.seq, {told('d.at')} AS at, d.stream, o.namespace, o.name, "
        "d.rule, d.verdict, d.reason, d.intents, d.advisory",
        f"decisions d {OBJECT.format('d')}",
    )
    view(
        "effect_log",
        f"f.seq, {told('f.at')} AS at, f.stream, o.namespace, o.name, f.key, f.outcome, f.detail, f.decision",
        f"effects f {OBJECT.format('f')}",
    )
    view(
        "gap_log",
        f"g.seq, {told('g.at')} AS at, g.scope, g.reason, {told('g.since')} AS since, {told('g.until')} AS until",
        "gaps g",
    )


def downgrade() -> None:
    """Leave the view as it was, and no index."""
    for name in ("journal", *LOGS):
        op.execute(f"DROP VIEW {name}")
    op.drop_index("events_at", "events")
    view_journal("e.payload::jsonb" if on_postgres() else "e.payload")


def view_journal(payload: str) -> None:
    """Make the view of all events."""
    view(
        "journal",
        f"e.seq, {told(AT)} AS at, e.stream, o.namespace, o.name, "
        f"e.type, e.source, e.actor, e.cause, {payload} AS payload",
        f"events e {OBJECT.format('e')}",
    )


def view(name: str, columns: str, source: str) -> None:
    """Make a view. Colons are part of the text, not of parameters."""
    statement = f"CREATE VIEW {name} AS SELECT {columns} FROM {source}"  # noqa: S608  # every part is ours
    op.execute(sa.text(statement.replace(":", r"\:")))


def told(microseconds: str) -> str:
    """Return the expression that writes a time as RFC 3339, to the microsecond."""
    if on_postgres():
        moment = f"to_timestamp({microseconds} / 1000000) AT TIME ZONE 'UTC'"
        seconds = f"to_char({moment}, 'YYYY-MM-DD\"T\"HH24:MI:SS')"
        return f"{seconds} || '.' || lpad(({microseconds} % 1000000)::text, 6, '0') || 'Z'"
    seconds = f"strftime('%Y-%m-%dT%H:%M:%S', {microseconds} / 1000000, 'unixepoch')"
    return f"{seconds} || printf('.%06dZ', {microseconds} % 1000000)"


def on_postgres() -> bool:
    """Whether this is PostgreSQL."""
    return op.get_bind().dialect.name == "postgresql"
