"""Read models say what the events say; where they don't, that is found and mended."""

from __future__ import annotations

import pytest
from sqlalchemy import select, text

from arcfsm.domain.documents import Documents
from arcfsm.domain.envelope import Source
from arcfsm.domain.events.controller import GapDetected
from arcfsm.domain.events.decision import Decided, IntentSettled, Outcome, Verdict
from arcfsm.domain.events.runner import RunnerGone
from arcfsm.domain.kinds import CONTROLLER_STREAM, AggregateKind, StreamId
from arcfsm.domain.turn import Arrival
from arcfsm.domain.world import World
from arcfsm.journal import Journal
from arcfsm.journal.projection import PROJECTIONS
from arcfsm.journal.tables import DECISIONS, EFFECTS, GAPS
from tests.journal.writer import Writer

RUNNER = StreamId(AggregateKind.RUNNER, "er-1")
DECIDED = Decided(rule="R1", verdict=Verdict.WAIT, reason="for a pod\0", answer="a", advisory=True)
SETTLED = IntentSettled(decision=3, index=0, key="create", outcome=Outcome.CONFLICT, detail="409 \0")
GAP = GapDetected(scope="pods", reason="410 \0 gone", since=1)


@pytest.fixture
def journal(journal_url):
    with Journal.open(journal_url, create=True) as opened:
        writer = Writer(opened)
        writer.write(*writer.runner(1))
        writer.write(
            Arrival(stream=RUNNER, event=DECIDED, source=Source.RULE, observed_at=7),
            Arrival(stream=RUNNER, event=SETTLED, source=Source.RESPONSE, observed_at=8),
            Arrival(stream=CONTROLLER_STREAM, event=GAP, source=Source.WATCH, observed_at=9),
        )
        writer.write(*writer.runner(2))
        writer.write(Arrival(stream=RUNNER, event=RunnerGone(), source=Source.WATCH))
        yield opened


def fold(journal):
    return World(Documents(journal.document)).apply


def everything(journal):
    return {table.name: sorted(map(tuple, journal.rows(select(table)))) for table in PROJECTIONS}


def tamper(journal, statement):
    with journal._engine.begin() as connection:
        connection.execute(text(statement))


def test_rows_hold_what_people_ask_for_and_every_database_can_hold(journal):
    assert tuple(journal.rows(select(DECISIONS))[0]) == (
        3, 7, "runner/er-1", "R1", "wait", "for a pod\N{REPLACEMENT CHARACTER}", 0, True, "",
    )  # fmt: skip
    (effect,) = journal.rows(select(EFFECTS))
    assert (effect.seq, effect.outcome, effect.detail) == (4, "conflict", "409 \N{REPLACEMENT CHARACTER}")
    (gap,) = journal.rows(select(GAPS))
    assert (gap.seq, gap.since, gap.until) == (5, 1, None)


def test_the_events_keep_what_projections_can_not_hold(journal):
    (decided,) = journal.events(types=["Decided"])
    assert decided.event == DECIDED


def test_rebuilding_changes_nothing_that_was_right(journal):
    before = everything(journal)
    assert all(before.values())
    journal.rebuild_projections(fold(journal))
    assert everything(journal) == before
    assert journal.projection_difference(fold(journal)) == ""


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("UPDATE transitions SET after = 'idle' WHERE seq = 1", "transitions says something else about event 1"),
        ("DELETE FROM decisions WHERE seq = 3", "decisions says something else about event 3"),
        ("UPDATE effects SET outcome = 'ok'", "effects says something else about event 4"),
        ("INSERT INTO gaps VALUES (6, 1, 'pods', 'forged', NULL, NULL)", "gaps says something else about event 6"),
        ("INSERT INTO gaps VALUES (99, 1, 'pods', 'forged', NULL, NULL)", "gaps has a row for event 99"),
        ("UPDATE objects SET gone_seq = NULL", "objects says something else about runner/er-1"),
        ("DELETE FROM objects WHERE name = 'runner-2'", "objects lacks runner/er-2"),
    ],
)
def test_a_row_that_is_wrong_is_named_and_mended(journal, statement, says):
    before = everything(journal)
    tamper(journal, statement)
    assert says in journal.projection_difference(fold(journal))
    journal.rebuild_projections(fold(journal))
    assert everything(journal) == before


def test_differences_are_found_in_any_batch(journal, monkeypatch):
    monkeypatch.setattr("arcfsm.journal.projection._BATCH", 2)
    assert journal.projection_difference(fold(journal)) == ""
    tamper(journal, "DELETE FROM objects WHERE name = 'runner-1'")
    tamper(journal, "DELETE FROM gaps")
    assert "gaps says something else about event 5" in journal.projection_difference(fold(journal))
