"""Replay with decisions re-derived, beside raw reads of the same rows; and start and questions on a long journal.

The journals are those of bench_path, with turns of 100 lines; one is lengthened to COUNT events by
telling its events again as later ones of other objects. Every figure of replay is the best of some rounds; only the
ratios within one run compare.

    python tests/benchmarks/bench_replay.py [COUNT] [SCALE_SETS]
"""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import UUID, uuid5

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench_path import LIVES, live, retold, timed
from lives import RECORDING, lives

from arcfsm.domain.documents import Documents
from arcfsm.domain.instant import MINUTE, format_instant
from arcfsm.domain.world import World
from arcfsm.journal import Batch, Journal
from arcfsm.journal.chain import HASHED, Row
from arcfsm.journal.rows import from_row, to_row
from arcfsm.replay.fold import folded, keep_snapshot
from arcfsm.replay.importing import patient_collector
from arcfsm.replay.rederivation import rederive

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
SCALE_SETS = int(sys.argv[2]) if len(sys.argv) > 2 else 60
ROUNDS = 3
GENERATED = 20_000
"""Events per transaction while the journal is lengthened."""
RETOLD = UUID(int=0)
"""Uids of objects that are told again are made from those of their models in this space."""
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

START = """
import resource, sys, time
from arcfsm.domain.documents import Documents
from arcfsm.journal import Journal
from arcfsm.replay.fold import folded
begun = time.perf_counter()
with Journal.open(sys.argv[1], read_only=True) as journal:
    world = folded(journal, Documents(journal.document))
    print(world.head, time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def replay(url: str) -> None:
    """Print how fast the journal is read raw, decoded, folded, and decided again."""
    path = url.removeprefix("sqlite:///")
    raws, reads, folds, replays = [], [], [], []
    for _ in range(ROUNDS):
        raws.append(timed(lambda: raw_reads(path)))
        with Journal.open(url, read_only=True) as journal:
            reads.append(timed(lambda: sum(1 for _ in journal.events())))
            folds.append(timed(lambda: folded(journal, _documents(journal))))
            replays.append(
                timed(lambda: rederive(World(Documents(journal.document, journal.documents)), journal.events()))
            )
    count, raw = raws[0][1], min(raws)[0]
    found = replays[0][1]
    print(f"{count:,} events, {found.decisions:,} decisions, {len(found.differences)} differences")
    for name, runs in (("raw reads", raws), ("read and decode", reads), ("... and fold", folds), ("replay", replays)):
        seconds = min(run[0] for run in runs)
        print(
            f"{name:<18}{count / seconds:>10,.0f} events/s{seconds / count * 1e6:>7.1f} us/event"
            f"   {raw / seconds:.3f} of raw reads"
        )


def _documents(journal: Journal) -> Documents:
    return Documents(journal.document, journal.documents)


def raw_reads(path: str) -> int:
    """Read every row with the driver alone."""
    connection = sqlite3.connect(path)
    count = sum(1 for _ in connection.execute(f"SELECT {', '.join(HASHED)} FROM events ORDER BY seq"))
    connection.close()
    return count


def lengthen(journal: Journal, events: Sequence[Row]) -> None:
    """Tell all events again and again, as later ones of other objects, until there are COUNT."""
    head = journal.head.seq
    world = World(_documents(journal))
    for journaled in journal.events():
        world.apply(journaled)
    span = max(row.recorded_at for row in events) + MINUTE
    retold_rows = retell(events, head, span)
    while head < COUNT:
        batch = [from_row(row) for _, row in zip(range(min(GENERATED, COUNT - head)), retold_rows, strict=False)]
        transitions = [moved for one in batch if (moved := world.apply(one)) is not None]
        head = journal.append(Batch(events=batch, transitions=transitions), world.documents.get).seq
    keep_snapshot(journal, world)


def retell(events: Sequence[Row], head: int, span: int) -> Iterator[Row]:
    length, again = head, 0
    while True:
        again += 1

        def renamed(text: str, again: int = again) -> str:
            return UID.sub(lambda found: str(uuid5(RETOLD, f"{again} {found[0]}")), text)

        for row in events:
            yield row._replace(
                seq=row.seq + length * again,
                turn=row.turn + length * again,
                cause=row.cause + length * again if row.cause else None,
                stream=renamed(row.stream),
                version=row.version + (length * again if row.stream.startswith("controller/") else 0),
                observed_at=row.observed_at + span * again if row.observed_at else None,
                recorded_at=row.recorded_at + span * again,
                correlation=renamed(row.correlation),
                payload=renamed(row.payload),
            )


def start(url: str) -> None:
    """Print what a start from the snapshot costs, in a process of its own."""
    answer = subprocess.run([sys.executable, "-c", START, url], capture_output=True, text=True, check=True)
    head, seconds, megabytes = answer.stdout.split()
    print(f"start from a snapshot at {int(head):,} events: {float(seconds):.2f} s, {megabytes} MB RSS")


def ask(url: str, *question: str) -> None:
    """Print how long a question takes, once with the interpreter's start and once without."""
    command = [sys.executable, "-m", "arcfsm", *question, "--journal", url]
    idle, _ = timed(
        lambda: subprocess.run([sys.executable, "-m", "arcfsm", "--version"], check=True, capture_output=True)
    )
    seconds, answer = timed(lambda: subprocess.run(command, check=False, capture_output=True, text=True))
    lines = answer.stdout.count("\n")
    print(f"{' '.join(question)}: {seconds:.2f} s ({seconds - idle:.2f} s beyond --version), {lines} lines")
    if answer.returncode:
        print(answer.stderr)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        url = f"sqlite:///{Path(name) / 'journal.db'}"
        with patient_collector():
            live(b"".join(retold(SCALE_SETS)).splitlines(keepends=True), url)
            print(f"{SCALE_SETS} scale sets")
            replay(url)
            if RECORDING.exists():
                other = f"sqlite:///{Path(name) / 'lives.db'}"
                live(b"".join(lives(LIVES)).splitlines(keepends=True), other)
                print("runners that live and end in one scale set")
                replay(other)
            with Journal.open(url) as journal:
                rows = [to_row(journaled) for journaled in journal.events()]
                seconds, _ = timed(lambda: lengthen(journal, rows))
                newest = next(journal.events(newest_first=True))
            print(
                f"lengthened to {COUNT:,} events in {seconds:.0f} s, {Path(name, 'journal.db').stat().st_size >> 20} MB"
            )
        start(url)
        ask(url, "audit", "transitions", "--since", format_instant(newest.at - MINUTE))


if __name__ == "__main__":
    main()
