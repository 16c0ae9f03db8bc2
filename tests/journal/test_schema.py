"""The schema: migrations lead to the tables the program knows, down and up again, and views read well."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from arcfsm.domain.envelope import Source
from arcfsm.domain.events.controller import GapDetected
from arcfsm.domain.events.decision import Decided, IntentSettled, Outcome, Verdict
from arcfsm.domain.events.runner import RunnerPhaseChanged
from arcfsm.domain.kinds import CONTROLLER_STREAM, AggregateKind, StreamId
from arcfsm.domain.turn import Arrival
from arcfsm.journal import Journal, JournalOutdatedError, verify
from arcfsm.journal.migration import downgrade, migrations_folder
from arcfsm.journal.schema import SCHEMA
from arcfsm.journal.tables import METADATA
from tests.journal.writer import Writer

LATE = 1_796_103_995_000_042
RUNNER = StreamId(AggregateKind.RUNNER, "er-1")


@pytest.fixture
def journal(journal_url):
    with Journal.open(journal_url, create=True) as opened:
        yield opened


def asked(journal, statement):
    with journal._reading() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(statement)]


@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection")
@pytest.mark.filterwarnings("ignore:autogenerate skipping")
def test_migrations_lead_to_the_tables_that_the_program_knows(journal):
    with journal._reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = [one for one in compare_metadata(context, METADATA) if "events_at" not in str(one)]
        names = connection.exec_driver_sql(
            "SELECT name FROM sqlite_master WHERE type = 'index'"
            if connection.dialect.name == "sqlite"
            else "SELECT indexname FROM pg_indexes"
        ).scalars()
        assert "events_at" in set(names), "an index of an expression, which reflection does not see"
    assert differences == []


def test_a_journal_of_every_older_schema_is_refused_then_upgraded_and_loses_nothing(journal, journal_url):
    writer = Writer(journal)
    head = writer.write(*writer.runner(1))
    downgrade(journal._engine, "0001")
    with pytest.raises(JournalOutdatedError, match="arcfsm journal upgrade"):
        Journal.open(journal_url)
    with Journal.open(journal_url, create=True) as upgraded:
        assert upgraded.head == head
        assert verify(upgraded).sound


def test_people_read_times_and_names(journal):
    writer = Writer(journal)
    writer.write(*writer.runner(1))
    decided = Decided(rule="R1", verdict=Verdict.WAIT, reason="for a pod", answer="a", advisory=True)
    settled = IntentSettled(decision=3, index=0, key="create", outcome=Outcome.CONFLICT, detail="409")
    writer.write(
        Arrival(stream=RUNNER, event=decided, source=Source.RULE, observed_at=LATE),
        Arrival(stream=RUNNER, event=settled, source=Source.RESPONSE, observed_at=LATE),
        Arrival(
            stream=CONTROLLER_STREAM, event=GapDetected(scope="pods", reason="410", since=LATE), source=Source.WATCH
        ),
    )
    at = "2026-12-01T05:46:35.000042Z"
    assert asked(journal, "SELECT at, namespace, name, type FROM journal WHERE seq IN (1, 3) ORDER BY seq") == [
        ("1970-01-01T00:00:00.000001Z", "ns", "runner-1", "RunnerCreated"),
        (at, "ns", "runner-1", "Decided"),
    ]
    assert asked(journal, "SELECT name, before, after FROM transition_log") == [("runner-1", "unseen", "provisioning")]
    assert asked(journal, "SELECT at, name, rule, verdict FROM decision_log") == [(at, "runner-1", "R1", "wait")]
    assert asked(journal, "SELECT at, name, outcome FROM effect_log") == [(at, "runner-1", "conflict")]
    assert asked(journal, "SELECT at, scope, since, until FROM gap_log") == [
        ("1970-01-01T00:00:01.000004Z", "pods", at, None)
    ]


def test_one_odd_payload_does_not_hide_the_others(journal):
    writer = Writer(journal)
    writer.write(*writer.runner(1))
    odd = RunnerPhaseChanged(phase="Failed", message="zero \0 and backslash-u \\u0000")
    writer.write(Arrival(stream=RUNNER, event=odd, source=Source.WATCH, actor="za\0p"))
    assert len(asked(journal, "SELECT payload FROM journal")) == 3
    (*_, read) = journal.events()
    assert read.event == odd
    assert read.actor == "za\N{REPLACEMENT CHARACTER}p"
    assert verify(journal).sound


def test_the_sql_in_the_documentation_runs(journal):
    writer = Writer(journal)
    writer.write(*writer.runner(1))
    page = (Path(__file__).parents[2] / "docs" / "journal.md").read_text("utf-8")
    statements = "".join(re.findall(r"```sql\n(.*?)```", page, re.DOTALL)).split(";\n")
    other = "json_extract" if "postgresql" in journal.where else "jsonb"
    shared = [one for one in statements if one.strip() and other not in one]
    assert len(shared) >= 4
    for statement in shared:
        asked(journal, statement)


def test_the_program_names_the_newest_migration():
    assert ScriptDirectory(str(migrations_folder())).get_current_head() == SCHEMA
