"""What can go wrong with a journal, by what the caller should do about it.

Driver errors are mapped here and nowhere else: first by the code that SQLite or PostgreSQL gives, which is the same in
every language a server speaks, then by words, since failed connections carry no code. Every message is one line: what,
where, what to do. Passwords in URLs never show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from arcfsm.errors import ArcfsmError


class JournalError(ArcfsmError):
    """The journal can't be used. Nothing was written."""

    exit_code = 3


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


_Meaning = tuple[type[JournalError], str]

_BUSY: Final[_Meaning] = (JournalLockedError, "another process is writing to it; try again when it is done")
_CONFLICT: Final[_Meaning] = (
    JournalConflictError,
    "what was to be written is there already; another writer was faster",
)
_DENIED: Final[_Meaning] = (JournalUnreachableError, "permission denied; check the rights of this user")
_FULL: Final[_Meaning] = (JournalFullError, "the disk is full; make space, nothing was lost")
_MISSING: Final[_Meaning] = (JournalMissingError, "there is no journal in it; run `arcfsm journal init`")
_READ_ONLY: Final[_Meaning] = (JournalReadOnlyError, "it can't be written; check the rights to the file and its folder")
_REFUSED: Final[_Meaning] = (JournalUnreachableError, "the server refused this user; check name and password")
_SHUTDOWN: Final[_Meaning] = (JournalUnreachableError, "the server is starting or stopping; try again")

_POSTGRES: Final[dict[str, _Meaning]] = {
    "22": (JournalError, "the database can't hold one of the values; nothing was stored"),
    "23505": _CONFLICT,
    "25006": (JournalReadOnlyError, "the server allows reading only; is it a standby?"),
    "28": _REFUSED,
    "3D000": (JournalUnreachableError, "the server has no such database; make it with `createdb`"),
    "40": _BUSY,
    "42501": _DENIED,
    "42P01": _MISSING,
    "53100": (JournalFullError, "the server's disk is full; make space, nothing was lost"),
    "53300": (JournalUnreachableError, "the server has no connection left; close some or raise its limit"),
    "55P03": _BUSY,
    "57014": (JournalLockedError, "the server took too long, perhaps behind another writer; try again"),
    "57P": _SHUTDOWN,
    "XX001": (JournalDamagedError, "the database is damaged; restore it from a backup"),
}
"""By SQLSTATE, or by its beginning."""

_SQLITE: Final[dict[str, _Meaning]] = {
    "SQLITE_BUSY": _BUSY,
    "SQLITE_CANTOPEN": (JournalUnreachableError, "the file can't be opened; check path and permissions"),
    "SQLITE_CONSTRAINT": _CONFLICT,
    "SQLITE_CORRUPT": (JournalDamagedError, "the file is damaged; restore it from a copy"),
    "SQLITE_FULL": _FULL,
    "SQLITE_IOERR": (JournalFullError, "the disk can't be written; check its space and health, nothing was lost"),
    "SQLITE_LOCKED": _BUSY,
    "SQLITE_NOTADB": (JournalUnreachableError, "the file is not a SQLite database; check the path"),
    "SQLITE_PERM": _DENIED,
    "SQLITE_READONLY": _READ_ONLY,
}
"""By the name of the result code, without what refines it."""

_WORDS: Final[tuple[tuple[str, _Meaning], ...]] = (
    ("no such table", _MISSING),
    ("no space left", _FULL),
    ("permission denied", _DENIED),
    ("authentication failed", _REFUSED),
    ("is starting up", _SHUTDOWN),
    ("too many clients", _POSTGRES["53300"]),
)

_PASSWORD: Final = re.compile(r"(://[^:/@\s]*):[^/\s]*@")
_PASSWORD_OPTION: Final = re.compile(r"\b(\w*password)=[^&\s]+", re.IGNORECASE)


def redacted(text: str) -> str:
    """Return the text with passwords in URLs and connection options blanked out."""
    return _PASSWORD_OPTION.sub(r"\1=***", _PASSWORD.sub(r"\1:***@", text))


@contextmanager
def mapped(where: str) -> Iterator[None]:
    """Turn errors of the database layer and of the file system into ours; `where` is the redacted URL."""
    try:
        yield
    except SQLAlchemyError as error:
        raise translate(error, where) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise JournalUnreachableError(f"journal {where}: {error.filename or 'the file'}: {reason.lower()}") from error


def translate(error: SQLAlchemyError, where: str) -> JournalError:
    """Return our error for one of the database layer's."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    kind, advice = _meaning(cause)
    return kind(f"journal {where}: {advice}")


def _meaning(cause: BaseException) -> _Meaning:
    sqlstate = getattr(cause, "sqlstate", None) or ""
    for length in (5, 3, 2):
        if found := _POSTGRES.get(sqlstate[:length]):
            return found
    result = "_".join(getattr(cause, "sqlite_errorname", "").split("_")[:2])
    if found := _SQLITE.get(result):
        return found
    text = str(cause).lower()
    for sign, found in _WORDS:
        if sign in text:
            return found
    first = redacted(str(cause).strip().partition("\n")[0])
    return JournalUnreachableError, first or type(cause).__name__
