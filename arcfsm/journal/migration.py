"""Bringing databases to the schema of this program, with Alembic and a lock, so that several pods may do it at once."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, text

from arcfsm.journal.schema import too_new

LOCK: Final = 0x617263_6D6967
"""PostgreSQL advisory lock of whoever migrates: the letters `arcmig`."""


def migrations_folder() -> Path:
    """Return where the migrations are: inside an installed package, beside it in a checkout."""
    installed = Path(__file__).with_name("migrations")
    return installed if installed.is_dir() else Path(__file__).parents[2] / "migrations"


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def upgrade(engine: Engine, where: str) -> None:
    """Bring the database up to date. Safe to call from several processes at once. Raises JournalTooNewError."""
    with engine.begin() as connection:
        _lock(connection)
        # Another process may have done it while we waited for the lock.
        found = MigrationContext.configure(connection).get_current_revision()
        if found is not None and not knows(found):
            raise too_new(where, found)
        command.upgrade(_config(connection), "head")


def downgrade(engine: Engine, revision: str) -> None:
    """Take the database back to an older schema."""
    with engine.begin() as connection:
        _lock(connection)
        command.downgrade(_config(connection), revision)


def knows(revision: str) -> bool:
    """Return whether there is a migration to this schema."""
    try:
        return ScriptDirectory.from_config(_config()).get_revision(revision) is not None
    except CommandError:
        return False


def _lock(connection: Connection) -> None:
    # SQLite needs none: its transactions that write begin with the lock of the whole file.
    if connection.dialect.name == "postgresql":
        # A change of a long journal may take its time, and so may whoever does it before us.
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
