"""Replay: one journal gives one sequence of decisions, whatever the hash seed, the database, the batches, the start."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from arcfsm.cli.import_command import import_files
from arcfsm.domain.documents import Documents
from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events.decision import Decided, Verdict
from arcfsm.domain.snapshot import freeze, thaw
from arcfsm.domain.world import World
from arcfsm.journal import Journal
from arcfsm.journal.codec import encode
from arcfsm.replay.fold import folded, keep_snapshot
from arcfsm.replay.rederivation import rederive
from arcfsm.samples import sample_names, sample_path
from tests.unit.audit.control_story import control_story

SAMPLE = sample_names()[0]
PRINT_DERIVED = """
import hashlib, sys
from arcfsm.domain.documents import Documents
from arcfsm.domain.rules import decide
from arcfsm.domain.events.decision import Decided
from arcfsm.domain.turn import Touched
from arcfsm.domain.world import World
from arcfsm.journal import Journal
from arcfsm.journal.codec import encode
from itertools import groupby

told = hashlib.sha256()
with Journal.open(sys.argv[1], read_only=True) as journal:
    world = World(Documents(journal.document))
    for _, turn in groupby(journal.events(), key=lambda one: one.turn):
        touched = Touched()
        decided = [one for one in turn if not isinstance(one.event, Decided) and touched.apply(world, one) is None or
                   isinstance(one.event, Decided)]
        for stream in touched.in_order():
            answer = decide(world, stream, world.now)
            told.update(f"{stream} {encode(answer) if answer else None}".encode())
        for one in decided:
            if isinstance(one.event, Decided):
                world.apply(one)
print(told.hexdigest())
"""


def bring_in(url: str, *, batch_events: int = 500) -> str:
    with contextlib.redirect_stdout(io.StringIO()):
        import_files([str(sample_path(SAMPLE))], url, batch_events=batch_events)
    return url


def told(url: str) -> list[tuple[object, ...]]:
    """Everything that a journal says, but for when it was written down."""
    with Journal.open(url, read_only=True) as journal:
        return [
            (one.seq, one.turn, one.stream, type(one.event).__name__, encode(one.event), one.observed_at, one.cause)
            for one in journal.events()
        ]


@pytest.fixture(scope="module")
def sample_url(tmp_path_factory) -> str:
    return bring_in(f"sqlite:///{tmp_path_factory.mktemp('replay') / 'sample.db'}")


@pytest.fixture(scope="module")
def sample(sample_url):
    with Journal.open(sample_url, read_only=True) as journal:
        documents = Documents(journal.document)
        return documents, list(journal.events())


def changed(events: list[JournaledEvent], seq: int, **changes: object) -> list[JournaledEvent]:
    """The same events, one decision of which was another."""
    return [one if one.seq != seq else replace(one, event=one.event.model_copy(update=changes)) for one in events]


def test_replay_agrees_with_the_import(sample):
    documents, events = sample
    found = rederive(World(documents), events)
    assert found.differences == ()
    assert found.events == len(events)
    assert found.decisions == sum(isinstance(one.event, Decided) for one in events) > 20


def test_the_hash_seed_does_not_matter(sample_url):
    def digest(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", PRINT_DERIVED, sample_url]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    first, *others = (digest(seed) for seed in ("0", "1", "4242"))
    assert len(first.strip()) == hashlib.sha256().digest_size * 2
    assert others == [first, first]


def test_importing_under_another_hash_seed_gives_the_same_journal(sample_url, tmp_path):
    url = f"sqlite:///{tmp_path / 'other.db'}"
    command = [sys.executable, "-m", "arcfsm", "import", "--sample", SAMPLE, "--journal", url]
    subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "77"}, capture_output=True, check=True)
    assert told(url) == told(sample_url)


@pytest.mark.parametrize("batch_events", [1, 7, 10_000])
def test_the_batch_size_does_not_matter(sample_url, tmp_path, batch_events):
    assert told(bring_in(f"sqlite:///{tmp_path / 'b.db'}", batch_events=batch_events)) == told(sample_url)


def test_the_database_does_not_matter(sample_url, journal_url):
    bring_in(journal_url)
    assert told(journal_url) == told(sample_url)
    with Journal.open(journal_url, read_only=True) as journal:
        assert rederive(World(Documents(journal.document)), journal.events()).differences == ()


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_journal_may_end_anywhere(sample, data):
    documents, events = sample
    length = data.draw(st.integers(0, len(events)))
    found = rederive(World(documents), events[:length])
    assert found.differences == ()
    assert found.events == length


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_replay_may_start_from_a_snapshot_at_any_turn(sample, data):
    documents, events = sample
    turns = sorted({one.turn for one in events})
    start = data.draw(st.sampled_from(turns))
    world = World(documents)
    for one in events[: start - 1]:
        world.apply(one)
    found = rederive(thaw(freeze(world), documents), events[start - 1 :])
    assert found.differences == ()


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_decision_that_was_another_is_found_and_no_other_is_blamed(sample, data):
    documents, events = sample
    decisions = [one for one in events if isinstance(one.event, Decided)]
    victim = data.draw(st.sampled_from(decisions))
    change = data.draw(
        st.sampled_from(
            [
                {"reason": "because"},
                {"rule": "Z99"},
                {"verdict": Verdict.STALLED},
                {"wake_at": 4_102_444_800_000_000},
                {"advisory": False},
            ]
        )
    )
    found = rederive(World(documents), changed(events, victim.seq, **change))
    assert victim.seq in [one.seq for one in found.differences]
    # What was recorded is folded, so that other answers are judged beside it: only its own aggregate may speak again.
    assert {one.stream for one in found.differences} <= {victim.stream} or "advisory" in change


def test_a_decision_that_was_left_out_is_found(sample):
    documents, events = sample
    victim = next(one for one in events if isinstance(one.event, Decided) and one.event.rule == "A14")
    left = [one for one in events if one.seq != victim.seq]
    found = rederive(World(documents), left)
    assert [one.stream for one in found.differences][:1] == [victim.stream]
    assert found.differences[0].recorded is None
    assert found.differences[0].derived.rule == "A14"


def test_what_if_changes_decisions_and_says_both(sample):
    documents, events = sample
    assert rederive(World(documents), events, what_if={"log_level": "debug"}).differences == ()
    found = rederive(World(documents), events, what_if={"listener_image": "registry.example/other:1"})
    assert found.differences
    assert all(one.recorded is not None or one.derived is not None for one in found.differences)


def test_a_kept_snapshot_is_where_folding_starts(tmp_path):
    url = bring_in(f"sqlite:///{tmp_path / 's.db'}")
    with Journal.open(url) as journal:
        documents = Documents(journal.document)
        middle = next(one.turn for one in journal.events(from_seq=100)) - 1
        keep_snapshot(journal, folded(journal, documents, to_seq=middle))
        from_snapshot = folded(journal, Documents(journal.document))
        world = World(documents)
        for one in journal.events():
            world.apply(one)
    assert freeze(from_snapshot) == freeze(world)


def test_decisions_of_control_mode_are_derived_again(tmp_path):
    """Intents in flight and their outcomes are part of the state from which rules decide."""
    story = control_story()
    decided = [one.event for one in story.events if isinstance(one.event, Decided)]
    assert decided
    assert not any(one.advisory for one in decided)
    found = rederive(World(story.world.documents), story.events)
    assert found.differences == ()
    assert found.decisions == len(decided)
    url = f"sqlite:///{tmp_path / 'control.db'}"
    story.write(url)
    with Journal.open(url, read_only=True) as journal:
        assert rederive(World(Documents(journal.document)), journal.events()).differences == ()
