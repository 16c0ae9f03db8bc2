"""Which schema a journal has, told without Alembic: importing it takes longer than most questions to a journal.

Only where the schema is not this program's is Alembic asked what that means, or to change it.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, Engine, inspect

from arcfsm.journal.database import READS, open_engine, parse_url, shown
from arcfsm.journal.errors import JournalMissingError, JournalOutdatedError, JournalTooNewError, mapped

SCHEMA: Final = "0002"
"""The newest migration; a test compares it with the folder of migrations."""


def schema_in(connection: Connection) -> str | None:
    """Return the schema of a database; None where it has none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return found


def schema_of(url: str) -> str:
    """Return the schema number that a journal has; "" where there is none."""
    where = shown(parse_url(url))
    with mapped(where):
        try:
            engine = open_engine(url, create=False, read_only=True)
        except JournalMissingError:
            return ""
        with engine.connect() as connection:
            found = schema_in(connection)
        engine.dispose()
    return found or ""


def bring_up_to_date(engine: Engine, where: str) -> None:
    """Give a database this program's schema where it has another. Raises JournalTooNewError."""
    with engine.execution_options(**{READS: True}).connect() as connection:
        if schema_in(connection) == SCHEMA:
            return
    from arcfsm.journal.migration import upgrade  # noqa: PLC0415  # see above

    upgrade(engine, where)


def require_current(engine: Engine, where: str) -> None:
    """Check that the journal has this program's schema. Raises JournalMissing-, Outdated- or TooNewError."""
    with engine.execution_options(**{READS: True}).connect() as connection:
        found = schema_in(connection)
        if not inspect(connection).has_table("events"):
            raise JournalMissingError(f"journal {where}: there is no journal in it; run `arcfsm journal init`")
    if found == SCHEMA:
        return
    from arcfsm.journal.migration import knows  # noqa: PLC0415  # see above

    if found is None or knows(found):
        raise JournalOutdatedError(f"journal {where} has schema {found}; run `arcfsm journal upgrade`")
    raise too_new(where, found)


def too_new(where: str, found: str) -> JournalTooNewError:
    """Return the refusal of a schema that this program does not know."""
    return JournalTooNewError(f"journal {where} has schema {found}, this program knows up to {SCHEMA}; use a newer one")
