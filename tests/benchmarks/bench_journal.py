"""The journal alone beside its database: appends against raw inserts, reads against raw reads, of the same rows.

Events are those of the bundled sample, told as other scale sets. Raw inserts are the driver's own executemany into one
table with the same columns and indexes, durable, in the same batches: what is left is encoding, the hash chain,
documents, projections and the checks of every append. Only ratios within one run compare.

    python tests/benchmarks/bench_journal.py [SCALE_SETS]             all of it, half a minute
    python tests/benchmarks/bench_journal.py EVENTS grow [FILE]       how cost and questions grow with the journal
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import sqlalchemy
from bench_path import imported, postgres, retold, timed
from msgspec.structs import replace

from arcfsm.audit.naming import find_objects
from arcfsm.audit.timeline import Window, decisions, transitions
from arcfsm.domain.documents import Documents
from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.instant import HOUR, MINUTE
from arcfsm.domain.kinds import CONTROLLER_STREAM, AggregateKind, StreamId
from arcfsm.domain.world import Transition, World
from arcfsm.journal import Batch, Journal, verify
from arcfsm.journal.chain import HASHED
from arcfsm.journal.tables import EVENTS
from arcfsm.replay.importing import patient_collector

BATCHES = (1, 10, 100, 1000)
EVENTS_MAX = {1: 500, 10: 4_000}
"""How many events small batches are measured with; larger ones take all."""
PAGE = 2_000
ROUNDS = 7


class Cost(NamedTuple):
    """Seconds on the wall, and of this process's CPU: other work on the machine shows in the first alone."""

    wall: float
    cpu: float

    def __truediv__(self, other: Cost) -> str:  # type: ignore[override]
        return f"{self.wall / other.wall:>9.1f} x{self.cpu / other.cpu:>9.1f} x"


def clocked(work: Callable[[], Any]) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


@dataclass(frozen=True)
class Sample:
    """Events of an import, what they refer to, and what moved."""

    events: list[JournaledEvent]
    transitions: dict[int, Transition]
    documents: Documents

    def batches(self, size: int) -> Iterator[Batch]:
        events = self.events[: EVENTS_MAX.get(size)]
        for begin in range(0, len(events), size):
            some = events[begin : begin + size]
            moved = [self.transitions[one.seq] for one in some if one.seq in self.transitions]
            yield Batch(events=some, transitions=moved, resume_points={"watch": str(begin)})


def sampled(folder: Path, scale_sets: int) -> Sample:
    path = folder / "watch.jsonl"
    path.write_bytes(b"".join(retold(scale_sets)))
    url = f"sqlite:///{folder / 'sample.db'}"
    imported(path, url)
    with Journal.open(url, read_only=True) as journal:
        documents = Documents(journal.document)
        world, moved = World(documents), {}
        events = list(journal.events())
        for journaled in events:
            if (transition := world.apply(journaled)) is not None:
                moved[journaled.seq] = transition
            for digest in journaled.event.documents():
                documents.get(digest)
    return Sample([replace(one, epoch=1) for one in events], moved, documents)


def appended(url: str, batches: Sequence[Batch], documents: Documents) -> Cost:
    with Journal.open(url, create=True) as journal:
        journal.claim_epoch("bench")
        return clocked(lambda: [journal.append(batch, documents.get) for batch in batches])


def raw_sqlite(path: Path, rows: Sequence[Sequence[tuple[Any, ...]]]) -> Cost:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(f"CREATE TABLE raw (seq INTEGER PRIMARY KEY, {', '.join(EVENTS.c.keys()[1:])})")
    connection.execute("CREATE UNIQUE INDEX raw_stream ON raw (stream, version)")
    statement = f"INSERT INTO raw VALUES ({', '.join('?' * len(EVENTS.c))})"

    def work() -> None:
        for some in rows:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(statement, some)
            connection.execute("COMMIT")

    cost = clocked(work)
    connection.close()
    return cost


def raw_postgres(server: str, rows: Sequence[Sequence[tuple[Any, ...]]], payload: str = "text") -> Cost:
    statement = f"INSERT INTO raw VALUES ({', '.join(['%s'] * len(EVENTS.c))})"
    with psycopg.connect(server) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS raw")
        cursor.execute("CREATE TABLE raw AS SELECT * FROM events WHERE false")
        cursor.execute(f"ALTER TABLE raw ALTER payload TYPE {payload} USING NULL")
        cursor.execute("ALTER TABLE raw ADD PRIMARY KEY (seq)")
        cursor.execute("CREATE UNIQUE INDEX ON raw (stream, version)")
        connection.commit()

        def work() -> None:
            for some in rows:
                cursor.executemany(statement, some)
                connection.commit()

        return clocked(work)


def rows_of(url: str) -> list[tuple[Any, ...]]:
    with Journal.open(url, read_only=True) as journal:
        return [tuple(row) for row in journal.pages(sqlalchemy.select(EVENTS), EVENTS.c.seq)]


def sliced(rows: list[tuple[Any, ...]], size: int) -> list[list[tuple[Any, ...]]]:
    rows = rows[: EVENTS_MAX.get(size)]
    return [rows[begin : begin + size] for begin in range(0, len(rows), size)]


def report_append(name: str, size: int, count: int, ours: Cost, raw: Cost) -> None:
    print(
        f"  {name:<11} batch {size:<5}{count / ours.wall:>10,.0f} events/s{count / raw.wall:>10,.0f} rows/s{ours / raw}"
    )


def report_read(name: str, url: str, raw: Callable[[], int]) -> None:
    with Journal.open(url, read_only=True) as journal:
        count = journal.head.seq
        ours = clocked(lambda: sum(1 for _ in journal.events()))
        checking = clocked(lambda: verify(journal))
    bare = clocked(raw)
    print(f"  {name:<11} {'':<11}{count / ours.wall:>10,.0f} events/s{count / bare.wall:>10,.0f} rows/s{ours / bare}")
    print(f"  {name:<11} verify     {count / checking.wall:>10,.0f} events/s{'':>17}{checking / bare}")


def report_types(url: str, rows: Sequence[Sequence[tuple[Any, ...]]]) -> None:
    """What jsonb costs in place of text: rounds take turns, since one alone says little on a shared machine."""
    rounds = [(raw_postgres(url, rows, "jsonb").wall, raw_postgres(url, rows, "text").wall) for _ in range(ROUNDS)]
    ratios = sorted(jsonb / text for jsonb, text in rounds)
    print(f"  PostgreSQL, raw inserts with jsonb in place of text: median {ratios[ROUNDS // 2]:.2f} x of", end="")
    print("".join(f" {ratio:.2f}" for ratio in ratios))


def compare(folder: Path, scale_sets: int) -> None:
    sample = sampled(folder, scale_sets)
    told = f"{len(sample.events):,} events of {scale_sets} scale sets"
    print(f"{told:<53}{'raw':<10}{'wall cost':>12}{'cpu cost':>11}")
    rows: list[tuple[Any, ...]] = []
    for size in reversed(BATCHES):
        url = f"sqlite:///{folder / f'journal-{size}.db'}"
        batches = list(sample.batches(size))
        ours = appended(url, batches, sample.documents)
        rows = rows or rows_of(url)
        raw = raw_sqlite(folder / f"raw-{size}.db", sliced(rows, size))
        report_append("SQLite FULL", size, sum(len(batch.events) for batch in batches), ours, raw)
    with postgres(folder) as server, psycopg.connect(server, autocommit=True) as admin:
        for size in reversed(BATCHES):
            admin.execute(f"CREATE DATABASE b{size}")
            url = sqlalchemy.make_url(server).set(database=f"b{size}").render_as_string(hide_password=False)
            batches = list(sample.batches(size))
            ours = appended(url, batches, sample.documents)
            raw = raw_postgres(url, sliced(rows, size))
            report_append("PostgreSQL", size, sum(len(batch.events) for batch in batches), ours, raw)
            if size == BATCHES[-1]:
                kept = url
                report_types(url, sliced(rows, size))
        columns = ", ".join(f'"{name}"' for name in HASHED)
        path = folder / f"journal-{BATCHES[-1]}.db"
        report_read("SQLite", f"sqlite:///{path}", lambda: _raw_read(sqlite3.connect(path), columns, "?"))
        with psycopg.connect(kept) as connection:
            report_read("PostgreSQL", kept, lambda: _raw_read(connection, columns, "%s"))


def _raw_read(connection: Any, columns: str, mark: str) -> int:
    """Read the same pages with the driver alone."""
    count = last = 0
    while True:
        query = f"SELECT {columns} FROM events WHERE seq > {mark} ORDER BY seq LIMIT {PAGE}"
        page = connection.execute(query, (last,)).fetchall()
        if not page:
            return count
        count, last = count + len(page), page[-1][0]


def again(sample: Sample, count: int) -> Iterator[Batch]:
    """The sample over and over, as other objects at later times, in batches of 1000."""
    turn = seq = 0
    while seq < count:
        for batch in sample.batches(1000):
            moved = {one.seq: one for one in batch.transitions}
            events, transitions = [], []
            for one in batch.events:
                seq += 1
                stream = one.stream if one.stream == CONTROLLER_STREAM else _other(one.stream, turn)
                later = one.at + turn * HOUR
                journaled = replace(
                    one,
                    seq=seq,
                    turn=seq,
                    stream=stream,
                    version=one.version if stream != CONTROLLER_STREAM else one.version + turn * len(sample.events),
                    observed_at=later,
                    recorded_at=later + MINUTE,
                    cause=one.cause and one.cause + seq - one.seq,
                    correlation=_uid(one.correlation, turn),
                )
                events.append(journaled)
                if (transition := moved.get(one.seq)) is not None:
                    transitions.append(
                        transition._replace(seq=seq, at=later, stream=stream, correlation=journaled.correlation)
                    )
            yield Batch(events=events, transitions=transitions)
        turn += 1


def _other(stream: StreamId, turn: int) -> StreamId:
    return StreamId(stream.kind, _uid(stream.uid, turn))


def _uid(uid: str, turn: int) -> str:
    return uid.replace("-4000-", f"-{turn:04x}-")


def grow(folder: Path, count: int, path: Path) -> None:
    sample = sampled(folder, 40)
    url = f"sqlite:///{path}"
    if not path.exists():
        with Journal.open(url, create=True) as journal, patient_collector():
            journal.claim_epoch("bench")
            begun, shown = time.perf_counter(), 0
            for batch in again(sample, count):
                seq = journal.append(batch, sample.documents.get).seq
                if seq - shown >= count // 10:
                    took = time.perf_counter() - begun
                    print(f"  {seq:>10,} events: {(seq - shown) / took:,.0f} events/s appended")
                    begun, shown = time.perf_counter(), seq
    ask(url, sample)


def ask(url: str, sample: Sample) -> None:
    """The questions that must be quick on a journal of any length."""
    with Journal.open(url, read_only=True) as journal:
        head = journal.head
        newest = next(journal.events(newest_first=True)).at
        runner = next(one for one in sample.events if one.stream.kind is AggregateKind.RUNNER)
        name = f"runner/{runner.event.namespace}/{runner.event.name}"
        scale_set = next(one.correlation for one in journal.events(newest_first=True) if one.correlation)
        questions: dict[str, Callable[[], Any]] = {
            "find an object by name": lambda: find_objects(journal, name),
            "events of a stream": lambda: list(journal.events(stream=find_objects(journal, name)[-1].stream)),
            "the last 20 events": lambda: list(journal.events(from_seq=head.seq - 20)),
            "transitions of the last hour": lambda: transitions(journal, Window(since=newest - HOUR)),
            "decisions of the last hour": lambda: decisions(journal, Window(since=newest - HOUR)),
            "transitions of a scale set": lambda: transitions(journal, Window(scale_sets=(scale_set,))),
            "decisions of a scale set": lambda: decisions(journal, Window(scale_sets=(scale_set,))),
            "events of a scale set": lambda: list(journal.events(correlation=scale_set)),
            "seq at a time, in the middle": lambda: journal.seq_at(
                sample.events[0].at + (newest - sample.events[0].at) // 2
            ),
            "seq at a time, now": lambda: journal.seq_at(newest),
            "sources that were read": lambda: list(journal.events(types=("SourceExhausted",))),
        }
        print(f"\n{head.seq:,} events, {journal.size_bytes():,} bytes, {journal.size_bytes() / head.seq:.0f} an event")
        for question, answer in questions.items():
            seconds, found = timed(answer)
            size = len(found) if isinstance(found, list) else found
            print(f"  {question:<32}{seconds * 1000:>9.1f} ms   {size}")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        number, *more = sys.argv[1:] or ["30"]
        if more[:1] == ["grow"]:
            grow(folder, int(number), Path(more[1]) if more[1:] else folder / "grown.db")
        else:
            compare(folder, int(number))


if __name__ == "__main__":
    main()
