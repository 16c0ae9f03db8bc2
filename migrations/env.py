"""Run by Alembic: migrate the connection that the journal hands over. There is no other way in."""

from __future__ import annotations

from alembic import context

from arcfsm.journal.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()
