"""Replay decides the same: on both databases, under any hash seed, from any snapshot, on a journal cut off anywhere."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from arcfsm.cli.import_command import import_files
from arcfsm.domain.documents import Documents
from arcfsm.domain.events.decision import Decided
from arcfsm.domain.snapshot import freeze
from arcfsm.domain.world import World
from arcfsm.journal import Journal
from arcfsm.replay.fold import folded, keep_snapshot
from arcfsm.replay.rederivation import rederive
from arcfsm.samples import sample_path

SAMPLE = str(sample_path("spec-update-with-busy-runner"))


@pytest.fixture
def imported(journal_url):
    import_files([SAMPLE], journal_url)
    with Journal.open(journal_url) as journal:
        yield journal


def test_every_decision_is_derived_again_on_both_databases(imported):
    found = rederive(World(Documents(imported.document)), imported.events())
    assert found.differences == ()
    assert found.decisions == len(list(imported.events(types=["Decided"])))


@pytest.mark.parametrize("seed", ["0", "1", "424242"])
def test_the_hash_seed_does_not_matter(tmp_path, seed):
    url = f"sqlite:///{tmp_path / 'journal.db'}"
    import_files([SAMPLE], url)
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    words = [sys.executable, "-m", "arcfsm", "replay", "--verify", "--journal", url]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("batch", [1, 7, 100, 100_000])
def test_the_size_of_transactions_does_not_matter(tmp_path, batch):
    def told(size):
        url = f"sqlite:///{tmp_path / str(size)}.db"
        import_files([SAMPLE], url, batch_events=size)
        with Journal.open(url, read_only=True) as journal:
            return [(one.seq, one.turn, one.stream, one.event, one.at, one.cause) for one in journal.events()]

    assert told(batch) == told(500)


def test_a_journal_cut_off_anywhere_replays_as_far_as_it_goes(imported):
    events = list(imported.events())
    for end in range(1, len(events), 5):
        found = rederive(World(Documents(imported.document)), events[:end])
        assert found.differences == (), f"cut after seq {end}"
        assert found.events == end


def test_a_snapshot_anywhere_gives_the_same_world_and_the_same_decisions(imported):
    whole = freeze(folded(imported, Documents(imported.document)))
    turns = sorted({one.turn for one in imported.events()})
    for turn in turns[5::20]:
        world = folded(imported, Documents(imported.document), to_seq=turn - 1)
        keep_snapshot(imported, world)
        assert freeze(folded(imported, Documents(imported.document))) == whole
        found = rederive(world, imported.events(from_seq=turn))
        assert found.differences == ()


def test_a_snapshot_of_another_format_is_not_used(imported):
    imported.save_snapshot(10, "0/of long ago", b"nonsense")
    keep_snapshot(imported, folded(imported, Documents(imported.document), to_seq=20))
    with imported._writing() as connection:
        connection.exec_driver_sql("UPDATE snapshots SET format = 'another'")
    assert folded(imported, Documents(imported.document)).head == imported.head.seq


def test_a_changed_decision_is_found_and_does_not_spread(imported):
    events = list(imported.events())
    at = next(index for index, one in enumerate(events) if isinstance(one.event, Decided))
    import dataclasses

    forged = events[at].event.model_copy(update={"reason": "because I say so"})
    events[at] = dataclasses.replace(events[at], event=forged)
    found = rederive(World(Documents(imported.document)), events)
    (difference,) = found.differences
    assert difference.seq == events[at].seq
    assert difference.recorded.reason == "because I say so"
    assert difference.derived.reason != difference.recorded.reason
