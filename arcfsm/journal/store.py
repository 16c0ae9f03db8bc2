"""The journal: append, read, resume points, snapshots, documents."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from typing import Any, Final, NamedTuple, Self

import orjson
from sqlalchemy import ColumnElement, Connection, Engine, Select, func, insert, select, text, true

from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import Digest, Json
from arcfsm.domain.kinds import StreamId
from arcfsm.domain.world import Transition
from arcfsm.journal.bulk import insert_rows, stored_documents
from arcfsm.journal.chain import GENESIS, HASHED, chained
from arcfsm.journal.contents import Shelf
from arcfsm.journal.database import READS, open_engine, parse_url, shown
from arcfsm.journal.errors import DeposedError, JournalConflictError, JournalDamagedError, JournalReadOnlyError, mapped
from arcfsm.journal.projection import Fold, first_difference, project, rebuild
from arcfsm.journal.rows import from_row, to_row
from arcfsm.journal.schema import bring_up_to_date, require_current
from arcfsm.journal.tables import EVENTS, METADATA, RESUME_POINTS, SNAPSHOTS, WRITERS

PAGE: Final = 2_000
"""Rows that a reader holds at once."""
DOCUMENTS_AT_ONCE: Final = 500
LOCK: Final = 0x617263_66736D
"""PostgreSQL advisory lock of the appender: the letters `arcfsm`."""


class Head(NamedTuple):
    """Where the journal ends."""

    seq: int
    hash: bytes
    epoch: int
    """The newest epoch that anybody claimed."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What one transaction adds."""

    events: Sequence[JournaledEvent]
    transitions: Sequence[Transition] = ()
    resume_points: Mapping[str, str] = field(default_factory=dict)


class Journal:
    """An open journal. One writer at a time; readers don't disturb it."""

    def __init__(self, engine: Engine, where: str, *, read_only: bool) -> None:
        self._engine = engine
        self.where = where
        """The URL, without its password."""
        self.read_only = read_only
        self._reader = engine.execution_options(**{READS: True})
        self._shelf = Shelf()
        self._head: Head | None = None
        self._epoch: int | None = None
        """The epoch in which this process writes, once it does."""

    @classmethod
    def open(cls, url: str, *, create: bool = False, read_only: bool = False) -> Self:
        """Open a journal; with `create`, make or upgrade it first. Raises JournalError."""
        where = shown(parse_url(url))
        with mapped(where):
            engine = open_engine(url, create=create, read_only=read_only)
        opened = cls(engine, where, read_only=read_only)
        try:
            with mapped(where):
                if create:
                    bring_up_to_date(engine, where)
                require_current(engine, where)
        except BaseException:
            opened.close()
            raise
        return opened

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Writing

    def claim_epoch(self, holder: str) -> int:
        """Become the writer: every earlier one is deposed from here on."""
        with self._writing() as connection:
            epoch = (connection.scalar(select(func.max(WRITERS.c.epoch))) or 0) + 1
            row = {"epoch": epoch, "holder": holder, "claimed_at": time.time_ns() // 1000}
            connection.execute(insert(WRITERS), [row])
        self._head, self._epoch = None, epoch
        return epoch

    def append(self, batch: Batch, document: Callable[[Digest], Json]) -> Head:
        """Add a batch in one transaction; `document` gives what the events refer to.

        Raises JournalConflictError where the events don't continue the journal, DeposedError where a newer epoch was
        claimed, and other JournalErrors; then nothing of the batch is stored.
        """
        head = self._head or self.head
        if not batch.events and not batch.resume_points:
            return head
        with self._writing() as connection:
            self._admit(connection, batch.events, head)
            previous = head.hash
            rows = []
            for journaled in batch.events:
                row = to_row(journaled)
                hashed = chained(previous, row)
                rows.append((*row, previous, hashed))
                previous = hashed
            wanted = (found for journaled in batch.events for found in journaled.event.documents())
            stored = self._shelf.add(connection, wanted, document)
            insert_rows(connection, EVENTS, rows)
            project(connection, batch.events, batch.transitions)
            self._resume(connection, batch.resume_points)
        self._shelf.keep(stored)
        if batch.events:
            self._epoch = batch.events[-1].epoch
            self._head = Head(batch.events[-1].seq, previous, self._epoch)
        return self._head or head

    def rebuild_projections(self, fold: Fold) -> None:
        """Make all projections anew from the events; `fold` tells what moved. Readers see the old ones until then."""
        with self._writing() as connection:
            rebuild(connection, self.events(), fold)

    def save_snapshot(self, seq: int, format_name: str, world: bytes) -> None:
        """Keep a folded world as of a seq."""
        with self._writing() as connection:
            connection.execute(SNAPSHOTS.delete().where(SNAPSHOTS.c.seq == seq))
            row = {"seq": seq, "format": format_name, "taken_at": time.time_ns() // 1000, "world": world}
            connection.execute(insert(SNAPSHOTS), [row])

    # Reading

    @property
    def head(self) -> Head:
        """Where the journal ends now."""
        with self._reading() as connection:
            last = connection.execute(
                select(EVENTS.c.seq, EVENTS.c.hash).order_by(EVENTS.c.seq.desc()).limit(1)
            ).first()
            epoch = connection.scalar(select(func.max(WRITERS.c.epoch))) or 0
        return Head(last.seq, bytes(last.hash), epoch) if last else Head(0, GENESIS, epoch)

    def events(
        self,
        *,
        from_seq: int = 1,
        to_seq: int | None = None,
        stream: StreamId | None = None,
        types: Sequence[str] = (),
        correlation: str = "",
        since: Instant | None = None,
        until: Instant | None = None,
        newest_first: bool = False,
    ) -> Iterator[JournaledEvent]:
        """Yield events in order of seq, a page at a time, so that a journal of any length fits into memory.

        `since` and `until` are times of the source where it told one, as `JournaledEvent.at`.
        """
        wanted = select(*(EVENTS.c[name] for name in HASHED))
        if stream is not None:
            wanted = wanted.where(EVENTS.c.stream == str(stream))
        if types:
            wanted = wanted.where(EVENTS.c.type.in_(types))
        if correlation:
            wanted = wanted.where(EVENTS.c.correlation == correlation)
        at = func.coalesce(EVENTS.c.observed_at, EVENTS.c.recorded_at)
        if since is not None:
            wanted = wanted.where(at >= since)
        if until is not None:
            wanted = wanted.where(at <= until)
        for row in self.pages(wanted, EVENTS.c.seq, from_seq, to_seq, newest_first=newest_first):
            yield from_row(row)

    def pages(
        self,
        wanted: Select[Any],
        key: ColumnElement[Any],
        from_key: int | None = None,
        to_key: int | None = None,
        *,
        newest_first: bool = False,
    ) -> Iterator[Any]:
        """Yield the rows of a query in order of its unique key column, page by page, each in a short transaction."""
        position = list(wanted.selected_columns).index(key)
        page = wanted.order_by(key.desc() if newest_first else key).limit(PAGE)
        lower = true() if from_key is None else key >= from_key
        upper = true() if to_key is None else key <= to_key
        while True:
            with self._reading() as connection:
                rows = connection.execute(page.where(lower, upper)).all()
            yield from rows
            if len(rows) < PAGE:
                return
            if newest_first:
                upper = key < rows[-1][position]
            else:
                lower = key > rows[-1][position]

    def seq_at(self, moment: Instant) -> int:
        """Return the seq of the last event that had happened by a moment; 0 if none had.

        Events stand in the order in which they were learned, which is that of their times but for late ones: the
        answer is the end of the longest beginning that holds nothing later.
        """
        at = func.coalesce(EVENTS.c.observed_at, EVENTS.c.recorded_at)
        # Not the bare column: both databases would walk the whole table in its order instead of the index of times.
        later = select(func.min(EVENTS.c.seq + 0)).where(at > moment)
        with self._reading() as connection:
            first_later = connection.scalar(later)
        return self.head.seq if first_later is None else int(first_later) - 1

    def document(self, wanted: Digest) -> Json:
        """Return a document. Raises JournalDamagedError if it is missing or not what its digest says."""
        found = self.documents((wanted,))
        if wanted not in found:
            raise JournalDamagedError(
                f"journal {self.where}: document {wanted[:12]}… is missing; run `arcfsm journal verify`"
            )
        return found[wanted]

    def documents(self, wanted: Iterable[Digest]) -> dict[Digest, Json]:
        """Return those of the wanted documents that are there. Raises JournalDamagedError for a changed one."""
        contents: dict[Digest, str] = {}
        asked = iter(wanted)
        with self._reading() as connection:
            while some := list(islice(asked, DOCUMENTS_AT_ONCE)):
                contents |= stored_documents(connection, some)
        found: dict[Digest, Json] = {}
        for name, content in contents.items():
            if sha256(content.encode()).hexdigest() != name:
                raise JournalDamagedError(f"journal {self.where}: document {name[:12]}… is not what its digest says")
            found[name] = orjson.loads(content)
        return found

    def resume_points(self) -> dict[str, str]:
        """Return how far each source was read."""
        with self._reading() as connection:
            rows = connection.execute(select(RESUME_POINTS).order_by(RESUME_POINTS.c.name)).all()
        return {row.name: row.value for row in rows}

    def latest_snapshot(self, format_name: str, *, at_or_before: int | None = None) -> tuple[int, bytes] | None:
        """Return the newest snapshot of this format, if there is one."""
        wanted = select(SNAPSHOTS.c.seq, SNAPSHOTS.c.world).where(SNAPSHOTS.c.format == format_name)
        if at_or_before is not None:
            wanted = wanted.where(SNAPSHOTS.c.seq <= at_or_before)
        with self._reading() as connection:
            found = connection.execute(wanted.order_by(SNAPSHOTS.c.seq.desc()).limit(1)).first()
        return (found.seq, bytes(found.world)) if found else None

    def size_bytes(self) -> int:
        """Return how much room the journal takes on disk."""
        with self._reading() as connection:
            if connection.dialect.name == "postgresql":
                tables = [f"pg_total_relation_size('{table.name}')" for table in METADATA.sorted_tables]
                return int(connection.scalar(text(f"SELECT {' + '.join(tables)}")) or 0)
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar() or 0
            return int(pages) * int(connection.exec_driver_sql("PRAGMA page_size").scalar() or 0)

    def rows(self, query: Select[Any]) -> Sequence[Any]:
        """Return the rows of a query over the projections."""
        with self._reading() as connection:
            return connection.execute(query).all()

    def projection_difference(self, fold: Fold) -> str:
        """Return where a projection first says something else than the events, "" where all agree."""
        with self._reading() as connection:
            return first_difference(connection, self.events(to_seq=self.head.seq), fold)

    # Inside one transaction

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        if self.read_only:
            raise JournalReadOnlyError(f"journal {self.where} was opened for reading only")
        with mapped(self.where), self._engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with mapped(self.where), self._reader.connect() as connection:
            yield connection

    def _admit(self, connection: Connection, events: Sequence[JournaledEvent], head: Head) -> None:
        """Check that the events continue the journal and that their epoch is the newest."""
        newest, last, stored = connection.exec_driver_sql(_ENDS).one()
        epochs = {journaled.epoch for journaled in events} or {self._epoch or newest}
        if epochs != {newest}:
            raise DeposedError(
                f"journal {self.where}: epoch {newest} was claimed by another writer; this one must stop"
            )
        expected = range(head.seq + 1, head.seq + 1 + len(events))
        continues = last == head.seq and bytes(stored or GENESIS) == head.hash
        if not continues or [journaled.seq for journaled in events] != list(expected):
            self._head = None
            raise JournalConflictError(
                f"journal {self.where} ends at {last}, the new events begin at {events[0].seq}: "
                "another writer was faster"
            )

    @staticmethod
    def _resume(connection: Connection, points: Mapping[str, str]) -> None:
        insert_rows(connection, RESUME_POINTS, sorted(points.items()), replace="value")


_ENDS: Final = (
    "SELECT (SELECT coalesce(max(epoch), 0) FROM writers) AS epoch, (SELECT coalesce(max(seq), 0) FROM events) AS seq,"
    " (SELECT hash FROM events ORDER BY seq DESC LIMIT 1) AS hash"
)
"""The newest epoch, the newest seq and its hash: a journal put back from a backup may have the right number alone."""
