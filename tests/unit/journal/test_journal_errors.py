"""What the drivers report becomes one line that says what to do, in any language a server speaks."""

from __future__ import annotations

import sqlite3

import psycopg
import pytest
from sqlalchemy import exc
from sqlalchemy.exc import OperationalError

from arcfsm.journal import (
    JournalConflictError,
    JournalDamagedError,
    JournalError,
    JournalFullError,
    JournalLockedError,
    JournalMissingError,
    JournalReadOnlyError,
    JournalUnreachableError,
)
from arcfsm.journal.errors import mapped, redacted, translate


def postgres_error(sqlstate, message="une erreur"):
    cause = psycopg.Error(message)
    cause.sqlstate = sqlstate
    return OperationalError("SELECT 1", None, cause)


def sqlite_error(name, message="trouble"):
    cause = sqlite3.OperationalError(message)
    cause.sqlite_errorname = name
    return OperationalError("SELECT 1", None, cause)


@pytest.mark.parametrize(
    ("sqlstate", "kind", "says"),
    [
        ("53100", JournalFullError, "make space"),
        ("53300", JournalUnreachableError, "no connection left"),
        ("42P01", JournalMissingError, "arcfsm journal init"),
        ("25006", JournalReadOnlyError, "standby"),
        ("42501", JournalUnreachableError, "permission denied"),
        ("28P01", JournalUnreachableError, "name and password"),
        ("3D000", JournalUnreachableError, "createdb"),
        ("57014", JournalLockedError, "too long"),
        ("57P03", JournalUnreachableError, "starting or stopping"),
        ("55P03", JournalLockedError, "try again"),
        ("40P01", JournalLockedError, "try again"),
        ("23505", JournalConflictError, "another writer"),
        ("22021", JournalError, "nothing was stored"),
        ("XX001", JournalDamagedError, "backup"),
        ("99999", JournalUnreachableError, "une erreur"),
    ],
)
def test_postgres_is_understood_by_code(sqlstate, kind, says):
    error = translate(postgres_error(sqlstate), "postgresql://h/d")
    assert type(error) is kind
    assert says in str(error)
    assert str(error).startswith("journal postgresql://h/d: ")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("SQLITE_BUSY", JournalLockedError),
        ("SQLITE_BUSY_SNAPSHOT", JournalLockedError),
        ("SQLITE_FULL", JournalFullError),
        ("SQLITE_IOERR_WRITE", JournalFullError),
        ("SQLITE_READONLY_DBMOVED", JournalReadOnlyError),
        ("SQLITE_CANTOPEN", JournalUnreachableError),
        ("SQLITE_NOTADB", JournalUnreachableError),
        ("SQLITE_CORRUPT", JournalDamagedError),
        ("SQLITE_CONSTRAINT_PRIMARYKEY", JournalConflictError),
    ],
)
def test_sqlite_is_understood_by_code(name, kind):
    assert type(translate(sqlite_error(name), "sqlite:///x.db")) is kind


def test_a_missing_table_has_no_code_of_its_own():
    assert type(translate(sqlite_error("SQLITE_ERROR", "no such table: events"), "x")) is JournalMissingError


def test_errors_without_a_driver_are_ours_too():
    assert type(translate(exc.TimeoutError("no connection in the pool"), "x")) is JournalUnreachableError


def test_what_the_file_system_says_is_ours_too():
    with pytest.raises(JournalUnreachableError, match=r"journal x: /d/j\.db: permission denied"), mapped("x"):
        raise PermissionError(13, "Permission denied", "/d/j.db")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://u:secret@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:sec@ret@h/d", "postgresql://u:***@h/d"),
        ("postgresql://:secret@h/d", "postgresql://:***@h/d"),
        ("postgresql://h/d?user=u&password=secret", "postgresql://h/d?user=u&password=***"),
        ("host=h sslpassword=secret user=u", "host=h sslpassword=*** user=u"),
        ("postgresql://u@h/d", "postgresql://u@h/d"),
        ("sqlite:///folder/x.db", "sqlite:///folder/x.db"),
    ],
)
def test_passwords_never_show(text, shown):
    assert redacted(text) == shown
