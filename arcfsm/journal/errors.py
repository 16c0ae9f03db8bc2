"""What can go wrong with a journal, by what the caller should do about it.

Driver errors are mapped here and nowhere else. Every message is one line: what, where, what to do. Passwords in URLs
never show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError


class JournalError(Exception):
    """The journal can't be used. Nothing was written."""


class JournalUnreachableError(JournalError):
    """The database can't be opened: wrong URL, no server, no permission, not a database. Mend that, then try again."""


class JournalMissingError(JournalError):
    """There is no journal in the database: `arcfsm journal init` makes one."""


class JournalOutdatedError(JournalError):
    """The journal has an older schema: `arcfsm journal upgrade` brings it up to date."""


class JournalTooNewError(JournalError):
    """The journal was written by a newer program: use that program."""


class JournalLockedError(JournalError):
    """Another process holds the database. Trying again later may help."""


class JournalFullError(JournalError):
    """No space is left for the journal. What was written before is whole."""


class JournalReadOnlyError(JournalError):
    """The journal can be read but not written."""


class JournalDamagedError(JournalError):
    """What is stored contradicts itself. `arcfsm journal verify` says where."""


class JournalConflictError(JournalError):
    """Another writer was faster: read on from its events and decide again."""


class DeposedError(JournalError):
    """A newer writer has claimed the journal: stop writing."""


_PASSWORD = re.compile(r"(://[^:/@\s]+):[^@\s]+@")

_SIGNS: tuple[tuple[str, type[JournalError], str], ...] = (
    ("database is locked", JournalLockedError, "another process is writing to it; try again when it is done"),
    ("database or disk is full", JournalFullError, "the disk is full; make space, nothing was lost"),
    ("could not extend file", JournalFullError, "the server's disk is full; make space, nothing was lost"),
    ("no space left", JournalFullError, "the disk is full; make space, nothing was lost"),
    ("disk i/o error", JournalFullError, "the disk can't be written; check its space and health, nothing was lost"),
    ("attempt to write a readonly database", JournalReadOnlyError, "the file or its folder is read-only"),
    ("read-only transaction", JournalReadOnlyError, "the server allows reading only"),
    ("permission denied", JournalUnreachableError, "permission denied; check the rights of this user"),
    ("file is not a database", JournalUnreachableError, "the file is not a SQLite database; check the path"),
    ("database disk image is malformed", JournalDamagedError, "the file is damaged; restore it from a copy"),
    ("unable to open database file", JournalUnreachableError, "the file can't be opened; check path and permissions"),
    ("no such table", JournalMissingError, "there is no journal in it; run `arcfsm journal init`"),
    ("undefinedtable", JournalMissingError, "there is no journal in it; run `arcfsm journal init`"),
)


def redacted(text: str) -> str:
    """Return the text with passwords in URLs blanked out."""
    return _PASSWORD.sub(r"\1:***@", text)


@contextmanager
def mapped(where: str) -> Iterator[None]:
    """Turn errors of the database layer into ours; `where` is the redacted URL."""
    try:
        yield
    except SQLAlchemyError as error:
        raise translate(error, where) from error


def translate(error: SQLAlchemyError, where: str) -> JournalError:
    """Return our error for one of the database layer's."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    text = f"{type(cause).__name__} {cause}".lower()
    for sign, kind, advice in _SIGNS:
        if sign in text:
            return kind(f"journal {where}: {advice}")
    first = redacted(str(cause).strip().partition("\n")[0])
    return JournalUnreachableError(f"journal {where}: {first or type(cause).__name__}")
