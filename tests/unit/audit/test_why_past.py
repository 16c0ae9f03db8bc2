"""Looking back: bounded, whatever the length of a stream, and births at any age."""

from __future__ import annotations

import pytest

from arcfsm.audit import past as module
from arcfsm.audit.past import Past
from arcfsm.domain.envelope import Source
from arcfsm.domain.events.runner import RunnerCreated, RunnerDeletionRequested, RunnerPhaseChanged
from arcfsm.domain.kinds import AggregateKind, StreamId
from arcfsm.domain.turn import Arrival
from arcfsm.journal import Journal
from tests.journal.writer import Writer

ONE = StreamId(AggregateKind.RUNNER, "er-1")
PHASES = 40


@pytest.fixture
def journal(tmp_path):
    """A runner that was asked to go and then changed its phase many times, between the events of another runner."""
    with Journal.open(f"sqlite:///{tmp_path / 'journal.db'}", create=True) as opened:
        writer = Writer(opened)
        writer.write(*writer.runner(1))
        asked = RunnerDeletionRequested(deletion_requested_at=5)
        writer.write(Arrival(stream=ONE, event=asked, source=Source.WATCH))
        writer.write(*writer.runner(2))
        for number in range(PHASES):
            phase = RunnerPhaseChanged(phase=f"phase {number}")
            other = StreamId(AggregateKind.RUNNER, "er-2")
            writer.write(*(Arrival(stream=one, event=phase, source=Source.WATCH) for one in (ONE, other)))
        yield opened


@pytest.fixture
def short_sighted(monkeypatch):
    monkeypatch.setattr(module, "STREAM_EVENTS", 10)


def test_every_seq_finds_the_event_before_it(journal):
    events = [one.seq for one in journal.events(stream=ONE)]
    past = Past(journal)
    for seq in range(1, journal.head.seq + 2):
        found = next(past.several(ONE, (), seq, 1), None)
        assert (found.seq if found else 0) == max((one for one in events if one < seq), default=0)


def test_types_are_looked_for_in_order_newest_first(journal):
    head = journal.head.seq + 1
    found = list(Past(journal).several(ONE, (RunnerPhaseChanged,), head, 3))
    assert [one.event.phase for one in found] == [f"phase {number}" for number in (39, 38, 37)]
    assert Past(journal).latest(ONE, (RunnerDeletionRequested,), head).seq == 3
    assert Past(journal).latest(StreamId(AggregateKind.RUNNER, "none"), (), head) is None


@pytest.mark.usefixtures("short_sighted")
def test_what_is_too_far_back_is_not_found(journal):
    past = Past(journal)
    assert past.latest(ONE, (RunnerDeletionRequested,), journal.head.seq + 1) is None
    assert past.latest(ONE, (RunnerDeletionRequested,), 10).seq == 3, "from near it is"
    assert len(list(past.several(ONE, (), journal.head.seq + 1, 100))) == 10


@pytest.mark.usefixtures("short_sighted")
def test_a_birth_is_found_at_any_age_but_not_before_it(journal):
    past = Past(journal)
    assert past.latest(ONE, (RunnerCreated, RunnerDeletionRequested), journal.head.seq + 1).seq == 1
    assert past.latest(ONE, (RunnerCreated,), 1) is None
