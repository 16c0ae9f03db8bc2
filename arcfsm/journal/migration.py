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

from arcfsm.journal.database import READS, open_engine, parse_url, shown
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


def upgrade(engine: Engine, where: str, revision: str = "head") -> None:
    """Bring the database up to date. Safe to call from several processes at once. Raises JournalTooNewError."""
    scripts = ScriptDirectory.from_config(_config())
    with engine.execution_options(**{READS: True}).connect() as connection:
        found = MigrationContext.configure(connection).get_current_revision()
    if found == scripts.get_current_head() and revision == "head":
        return
    with engine.begin() as connection:
        _lock(connection)
        # Another process may have done it while we waited for the lock.
        found = MigrationContext.configure(connection).get_current_revision()
        if found is not None and not _knows(scripts, found):
            raise _too_new(where, found, scripts)
        command.upgrade(_config(connection), revision)


def downgrade(engine: Engine, revision: str) -> None:
    """Take the database back to an older schema."""
    with engine.begin() as connection:
        _lock(connection)
        command.downgrade(_config(connection), revision)


def require_current(engine: Engine, where: str) -> None:
    """Check that the journal has this program's schema. Raises JournalMissing-, Outdated- or TooNewError."""
    scripts = ScriptDirectory.from_config(_config())
    with engine.execution_options(**{READS: True}).connect() as connection:
        if not inspect(connection).has_table("events"):
            raise JournalMissingError(f"journal {where}: there is no journal in it; run `arcfsm journal init`")
        found = MigrationContext.configure(connection).get_current_revision()
    if found == scripts.get_current_head():
        return
    if found is None or _knows(scripts, found):
        raise JournalOutdatedError(f"journal {where} has schema {found}; run `arcfsm journal upgrade`")
    raise _too_new(where, found, scripts)


def _knows(scripts: ScriptDirectory, revision: str) -> bool:
    try:
        return scripts.get_revision(revision) is not None
    except CommandError:
        return False


def _too_new(where: str, found: str, scripts: ScriptDirectory) -> JournalTooNewError:
    newest = scripts.get_current_head()
    return JournalTooNewError(f"journal {where} has schema {found}, this program knows up to {newest}; use a newer one")


def _lock(connection: Connection) -> None:
    # SQLite needs none: its transactions that write begin with the lock of the whole file.
    if connection.dialect.name == "postgresql":
        # A change of a long journal may take its time, and so may whoever does it before us.
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})


def schema_of(url: str) -> str:
    """Return the schema number that a journal has; "" where there is none."""
    where = shown(parse_url(url))
    with mapped(where):
        try:
            engine = open_engine(url, create=False, read_only=True)
        except JournalMissingError:
            return ""
        with engine.connect() as connection:
            found = MigrationContext.configure(connection).get_current_revision()
        engine.dispose()
    return found or ""
