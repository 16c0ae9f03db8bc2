"""Opening the database behind a journal URL, with the settings that the promises rest on.

SQLite: write-ahead log, `synchronous=FULL`, a busy timeout, and no write-ahead log on network file systems, where it
corrupts (B61). PostgreSQL: the psycopg driver and timeouts on the client's side, so that no append hangs for ever.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from arcfsm.journal.errors import JournalMissingError, JournalUnreachableError, redacted

BUSY_TIMEOUT_S: Final = 5.0
CONNECT_TIMEOUT_S: Final = 10
STATEMENT_TIMEOUT_S: Final = 60
NETWORK_FILE_SYSTEMS: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "fuse.glusterfs", "ceph"}
)


def open_engine(text: str, *, create: bool, read_only: bool) -> Engine:
    """Return an engine for a journal URL. Raises JournalError if it names nothing that can be opened."""
    url = parse_url(text)
    if url.get_backend_name() == "sqlite":
        return _sqlite(url, create=create, read_only=read_only)
    return create_engine(
        url,
        pool_size=2,
        pool_pre_ping=True,
        connect_args={
            "connect_timeout": CONNECT_TIMEOUT_S,
            "options": f"-c statement_timeout={STATEMENT_TIMEOUT_S * 1000} -c timezone=UTC",
        },
    )


def parse_url(text: str) -> URL:
    """Read a journal URL; a bare file name stands for SQLite. Raises JournalUnreachableError."""
    if "://" not in text:
        text = f"sqlite:///{text}"
    try:
        url = make_url(text)
        backend = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise JournalUnreachableError(f"{redacted(text)!r} is not a journal URL; {_EXAMPLES}") from error
    if backend == "sqlite":
        return url.set(drivername="sqlite")
    if backend in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    raise JournalUnreachableError(f"{redacted(text)!r}: {backend} is not supported; {_EXAMPLES}")


_EXAMPLES: Final = "write sqlite:///FILE or postgresql://USER@HOST/DATABASE"


def _sqlite(url: URL, *, create: bool, read_only: bool) -> Engine:
    name = url.database or ""
    where = url.render_as_string()
    if name in ("", ":memory:"):
        raise JournalUnreachableError("a journal must last: write sqlite:///FILE")
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
    write_ahead = file_system_of(path) not in NETWORK_FILE_SYSTEMS
    target = f"file:{path.absolute()}?mode={'ro' if read_only else 'rwc' if create else 'rw'}"
    engine = create_engine(
        url.set(database=target, query={"uri": "true"}),
        connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        # The driver's own transactions begin too late for us: see `begin` below.
        connection.isolation_level = None
        if not read_only:
            connection.execute(f"PRAGMA journal_mode={'WAL' if write_ahead else 'DELETE'}")
            connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN DEFERRED" if read_only else "BEGIN IMMEDIATE")

    return engine


def file_system_of(path: Path) -> str:
    """Return the type of the file system that holds a path; "" where nobody says."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return ""
    best, kind = "", ""
    target = str(path.absolute())
    for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines():
        _, mount, file_system, *_ = line.split(" ")
        if len(mount) >= len(best) and (target == mount or target.startswith(mount.rstrip("/") + "/")):
            best, kind = mount, file_system
    return kind
