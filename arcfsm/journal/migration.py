"""Bringing databases to the schema of this program, with Alembic and a lock, so that several pods may do it at once."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, inspect, text

from arcfsm.journal.database import open_engine, parse_url
from arcfsm.journal.errors import JournalMissingError, JournalOutdatedError, JournalTooNewError, mapped

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


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the database up to date. Safe to call from several processes at once."""
    with engine.begin() as connection:
        _lock(connection)
        command.upgrade(_config(connection), revision)


def downgrade(engine: Engine, revision: str) -> None:
    """Take the database back to an older schema."""
    with engine.begin() as connection:
        _lock(connection)
        command.downgrade(_config(connection), revision)


def require_current(engine: Engine, where: str) -> None:
    """Check that the journal has this program's schema. Raises JournalMissing-, Outdated- or TooNewError."""
    scripts = ScriptDirectory.from_config(_config())
    with engine.connect() as connection:
        if not inspect(connection).has_table("events"):
            raise JournalMissingError(f"journal {where}: there is no journal in it; run `arcfsm journal init`")
        found = MigrationContext.configure(connection).get_current_revision()
    newest = scripts.get_current_head()
    if found == newest:
        return
    try:
        known = found is not None and scripts.get_revision(found) is not None
    except CommandError:
        known = False
    if known or found is None:
        raise JournalOutdatedError(f"journal {where} has schema {found}; run `arcfsm journal upgrade`")
    raise JournalTooNewError(f"journal {where} has schema {found}, this program knows up to {newest}; use a newer one")


def _lock(connection: Connection) -> None:
    # SQLite needs none: its transactions that write begin with the lock of the whole file.
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})


def schema_of(url: str) -> str:
    """Return the schema number that a journal has; "" where there is none."""
    where = parse_url(url).render_as_string()
    try:
        engine = open_engine(url, create=False, read_only=True)
    except JournalMissingError:
        return ""
    with mapped(where), engine.connect() as connection:
        found = MigrationContext.configure(connection).get_current_revision()
    engine.dispose()
    return found or ""
