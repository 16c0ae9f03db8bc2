"""`arcfsm journal …` as people meet it: what it prints, and the code it leaves with."""

from __future__ import annotations

import json
import re
import sqlite3

import pytest
from typer.testing import CliRunner

from arcfsm.cli.journal import journal_app
from arcfsm.journal import Journal
from arcfsm.journal.migration import downgrade
from tests.journal.writer import Writer


def arcfsm(*arguments):
    return CliRunner().invoke(journal_app, arguments)


@pytest.fixture
def path(tmp_path):
    with Journal.open(str(tmp_path / "x.db"), create=True) as journal:
        writer = Writer(journal)
        writer.write(*writer.runner(1))
        writer.write(*writer.runner(2))
    return tmp_path / "x.db"


def tamper(path, statement):
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_init_makes_a_journal_and_leaves_one_alone(tmp_path):
    url = f"sqlite:///{tmp_path / 'new.db'}"
    assert arcfsm("init", "--journal", url).stdout == f"{url} is ready, empty\n"
    assert arcfsm("init", "--journal", url).exit_code == 0


def test_verify_prints_the_head_and_takes_it_back(path):
    done = arcfsm("verify", "--projections", "--journal", str(path))
    assert done.exit_code == 0, done.stderr
    (head,) = re.fullmatch(r"sound: 4 events, 2 documents; head ([0-9a-f]{64})\n", done.stdout).groups()
    assert arcfsm("verify", "--expect", head.upper(), "--journal", str(path)).exit_code == 0
    tamper(path, "DELETE FROM events WHERE seq = 4")
    done = arcfsm("verify", "--expect", head, "--journal", str(path))
    assert done.exit_code == 1
    assert "rows are missing at the end" in done.stdout


def test_verify_names_the_first_bad_seq(path):
    tamper(path, "UPDATE events SET actor = 'nobody' WHERE seq = 2")
    done = arcfsm("verify", "--journal", str(path))
    assert (done.exit_code, done.stderr) == (1, "")
    assert "first bad seq: 2" in done.stdout


def test_an_expected_hash_that_is_none_is_a_usage_error(path):
    done = arcfsm("verify", "--expect", "abc", "--journal", str(path))
    assert done.exit_code == 2
    assert "64 hexadecimal digits" in done.stderr


def test_read_models_that_lie_are_found_and_made_anew(path):
    tamper(path, "UPDATE transitions SET after = 'idle'")
    assert arcfsm("verify", "--journal", str(path)).exit_code == 0
    done = arcfsm("verify", "--projections", "--journal", str(path))
    assert done.exit_code == 1
    assert "arcfsm journal upgrade --rebuild" in done.stdout
    assert "from 4 events" in arcfsm("upgrade", "--rebuild", "--journal", str(path)).stdout
    assert arcfsm("verify", "--projections", "--journal", str(path)).exit_code == 0


def test_upgrade_says_from_where_to_where(path):
    with Journal.open(str(path)) as journal:
        downgrade(journal._engine, "0001")
    assert "went from schema 0001 to schema 0002" in arcfsm("upgrade", "--journal", str(path)).stdout
    assert "is up to date" in arcfsm("upgrade", "--journal", str(path)).stdout


def test_tail_prints_the_newest_events_for_people_and_programs(path):
    lines = arcfsm("tail", "-n", "2", "--journal", str(path)).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["3", "4"]
    told = [json.loads(line) for line in arcfsm("tail", "--json", "--journal", str(path)).stdout.splitlines()]
    assert [one["type"] for one in told] == ["RunnerCreated", "RunnerPhaseChanged"] * 2
    assert told[0]["payload"]["name"] == "runner-1"


def test_stats_and_snapshot(path):
    assert "kept the folded state at seq 4" in arcfsm("snapshot", "--journal", str(path)).stdout
    stats = arcfsm("stats", "--journal", str(path)).stdout
    assert re.search(r"snapshots +1\n", stats)
    assert re.search(r"2 +\d+ +RunnerCreated\n", stats)
