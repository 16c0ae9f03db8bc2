"""Opening the database behind a journal URL, with the settings that the promises rest on.

SQLite: write-ahead log, `synchronous=FULL`, a busy timeout, and a rollback journal in place of the log on network file
systems. Whoever writes takes the file's lock when its transaction begins; whoever reads takes none. PostgreSQL: the
psycopg driver and timeouts on the client's side, so that no append hangs for ever.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from arcfsm.journal import filesystem
from arcfsm.journal.errors import (
    JournalLockedError,
    JournalMissingError,
    JournalReadOnlyError,
    JournalUnreachableError,
    redacted,
)

BUSY_TIMEOUT_S: Final = 5.0
CONNECT_TIMEOUT_S: Final = 10
STATEMENT_TIMEOUT_S: Final = 60
SILENCE_S_MAX: Final = 30
"""How long a server may leave what we sent unacknowledged before the connection counts as lost."""
READS: Final = "arcfsm_reads"
"""Execution option of connections whose transactions only read."""

_EXAMPLES: Final = "write sqlite:///FILE or postgresql://USER@HOST/DATABASE"


def open_engine(text: str, *, create: bool, read_only: bool) -> Engine:
    """Return an engine for a journal URL. Raises JournalError if it names nothing that can be opened."""
    url = parse_url(text)
    if url.get_backend_name() == "sqlite":
        return _sqlite(url, create=create, read_only=read_only)
    options = f"-c statement_timeout={STATEMENT_TIMEOUT_S * 1000} -c timezone=UTC"
    if read_only:
        options += " -c default_transaction_read_only=on"
    return create_engine(
        url,
        pool_size=2,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args={
            "connect_timeout": CONNECT_TIMEOUT_S,
            "keepalives_idle": SILENCE_S_MAX,
            "tcp_user_timeout": SILENCE_S_MAX * 1000,
            "application_name": "arcfsm",
            "options": options,
        },
    )


def parse_url(text: str) -> URL:
    """Read a journal URL; a bare file name stands for SQLite. Raises JournalUnreachableError."""
    if "://" not in text:
        return URL.create("sqlite", database=text)
    try:
        url = make_url(text)
        backend = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise JournalUnreachableError(f"{redacted(text)!r} is not a journal URL; {_EXAMPLES}") from error
    if "@" in (url.host or ""):
        raise JournalUnreachableError(f"{redacted(text)!r}: an @ in the password must be written as %40")
    if backend == "sqlite":
        return url.set(drivername="sqlite")
    if backend in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    raise JournalUnreachableError(f"{redacted(text)!r}: {backend} is not supported; {_EXAMPLES}")


def shown(url: URL) -> str:
    """Return the URL as people may see it: no password, no driver."""
    return redacted(url.set(drivername=url.get_backend_name()).render_as_string())


def _sqlite(url: URL, *, create: bool, read_only: bool) -> Engine:
    path, where = _file(url, create=create), shown(url)
    if not (read_only or filesystem.is_writable(path)):
        raise JournalReadOnlyError(f"journal {where}: it can't be written; check the rights to the file and its folder")
    network = filesystem.is_network(filesystem.file_system_of(path))
    if network and read_only and filesystem.writes_ahead(path):
        raise JournalUnreachableError(
            f"journal {where}: write-ahead logs can't be read safely on a network file system; "
            "copy the file to a local disk, or open it once for writing"
        )
    mode = "ro" if read_only else "rwc" if create else "rw"
    immutable = "&immutable=1" if read_only and filesystem.is_frozen(path) else ""
    engine = create_engine(
        URL.create("sqlite", database=f"{path.absolute().as_uri()}?mode={mode}{immutable}", query={"uri": "true"}),
        hide_parameters=True,
        connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        # The driver's own transactions begin too late for us: see `begin` below.
        connection.isolation_level = None
        if not read_only:
            got = _journal_mode(connection, "delete" if network else "wal")
            if network and got == "wal":
                raise JournalLockedError(
                    f"journal {where}: on a network file system it must leave its write-ahead log first, "
                    "but another process has it open"
                )
            connection.execute("PRAGMA synchronous=FULL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        reads = read_only or connection.get_execution_options().get(READS, False)
        connection.exec_driver_sql("BEGIN DEFERRED" if reads else "BEGIN IMMEDIATE")

    return engine


def _file(url: URL, *, create: bool) -> Path:
    name, where = url.database or "", shown(url)
    if name in ("", ":memory:"):
        raise JournalUnreachableError("a journal must last: write sqlite:///FILE")
    if url.query:
        raise JournalUnreachableError(f"journal {where}: a SQLite URL takes no options; {_EXAMPLES}")
    path = Path(name)
    if path.is_dir():
        raise JournalUnreachableError(f"journal {where}: {name} is a folder; name a file in it")
    if not path.exists():
        if not create:
            raise JournalMissingError(
                f"journal {where}: there is no such file; run `arcfsm journal init` or check the path"
            )
        if not path.parent.is_dir():
            raise JournalUnreachableError(f"journal {where}: the folder {path.parent} does not exist")
    return path


def _journal_mode(connection: Any, wanted: str) -> str:
    """Set the journal mode and return the one in force.

    Several processes that open a new file at once meet here. SQLite does not wait for locks while the mode changes,
    so we do.
    """
    give_up = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            (got,) = connection.execute(f"PRAGMA journal_mode={wanted}").fetchone()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
            time.sleep(0.02)
        else:
            return str(got)
