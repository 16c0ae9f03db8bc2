"""Everything that can be wrong with a journal is one clear line, an exit code, and no loss."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys

import pytest

from arcfsm.journal import (
    Journal,
    JournalError,
    JournalFullError,
    JournalLockedError,
    JournalMissingError,
    JournalOutdatedError,
    JournalReadOnlyError,
    JournalTooNewError,
    JournalUnreachableError,
    verify,
)
from arcfsm.journal.filesystem import file_system_of
from tests.journal.writer import Writer

ROOT = os.geteuid() == 0


def arcfsm(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "arcfsm", *arguments], capture_output=True, text=True, check=False, **options
    )


@pytest.mark.parametrize(
    ("url", "kind", "says"),
    [
        ("sqlite:///nowhere.db", JournalMissingError, "arcfsm journal init"),
        ("sqlite:///no/such/folder/x.db", JournalMissingError, "no such file"),
        ("sqlite://", JournalUnreachableError, "must last"),
        ("sqlite:///:memory:", JournalUnreachableError, "must last"),
        ("mysql://u:secret@h/d", JournalUnreachableError, "mysql"),
        ("://", JournalUnreachableError, "not a journal URL"),
        ("postgresql://u:secret@127.0.0.1:1/d", JournalUnreachableError, "127.0.0.1"),
        ("postgresql://127.0.0.1:1/d?user=u&password=secret", JournalUnreachableError, "127.0.0.1"),
        ("postgresql://u:sec@secret@127.0.0.1:1/d", JournalUnreachableError, "%40"),
        ("sqlite:///x.db?mode=ro", JournalUnreachableError, "takes no options"),
    ],
)
def test_a_wrong_url_is_one_line_without_its_password(url, kind, says):
    with pytest.raises(kind) as caught:
        Journal.open(url)
    message = str(caught.value)
    assert says in message
    assert "\n" not in message
    assert "secret" not in message


def test_a_folder_and_a_missing_folder_are_named(tmp_path):
    with pytest.raises(JournalUnreachableError, match="is a folder"):
        Journal.open(f"sqlite:///{tmp_path}", create=True)
    with pytest.raises(JournalUnreachableError, match="does not exist"):
        Journal.open(f"sqlite:///{tmp_path}/no/x.db", create=True)


def test_a_file_that_is_no_database_is_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("a shopping list, not a database. " * 50)
    with pytest.raises(JournalUnreachableError, match="not a SQLite database"):
        Journal.open(f"sqlite:///{path}", create=True)
    assert path.read_text().startswith("a shopping list")


def test_an_empty_database_has_no_journal(journal_url, tmp_path):
    if journal_url.startswith("sqlite"):
        sqlite3.connect(tmp_path / "journal.db").execute("CREATE TABLE t (x)").connection.close()
    with pytest.raises(JournalMissingError, match="arcfsm journal init"):
        Journal.open(journal_url)


@pytest.mark.parametrize(("stored", "kind"), [("9999", JournalTooNewError), (None, JournalOutdatedError)])
def test_another_schema_is_refused_with_advice(journal_url, stored, kind):
    with Journal.open(journal_url, create=True) as opened, opened._engine.begin() as connection:
        if stored:
            connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{stored}'")
        else:
            connection.exec_driver_sql("DELETE FROM alembic_version")
    with pytest.raises(kind):
        Journal.open(journal_url)
    if kind is JournalTooNewError:
        with pytest.raises(kind, match="use a newer one"):
            Journal.open(journal_url, create=True)


@pytest.mark.parametrize("column", ["stream", "source"])
def test_a_stream_or_source_of_a_newer_program_is_named(journal_url, column):
    with Journal.open(journal_url, create=True) as opened:
        writer = Writer(opened)
        writer.write(*writer.runner(1))
        with opened._engine.begin() as connection:
            connection.exec_driver_sql(f"UPDATE events SET {column} = 'moon/1' WHERE seq = 2")
        with pytest.raises(JournalTooNewError, match="moon/1"):
            list(opened.events())


def test_an_event_of_a_newer_program_is_named(journal_url):
    with Journal.open(journal_url, create=True) as opened:
        writer = Writer(opened)
        writer.write(*writer.runner(1))
        with opened._engine.begin() as connection:
            connection.exec_driver_sql("UPDATE events SET type = 'RunnerTeleported' WHERE seq = 2")
        with pytest.raises(JournalTooNewError, match="RunnerTeleported"):
            list(opened.events())


def test_a_locked_file_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("arcfsm.journal.database.BUSY_TIMEOUT_S", 0.05)
    url = f"sqlite:///{tmp_path / 'x.db'}"
    with Journal.open(url, create=True) as opened:
        other = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalLockedError, match="another process"):
            opened.claim_epoch("late")
        other.execute("ROLLBACK")
        other.close()
        assert opened.claim_epoch("now") == 1


def test_a_read_only_file_can_be_read_and_says_why_not_written(tmp_path):
    path = tmp_path / "x.db"
    with Journal.open(f"sqlite:///{path}", create=True) as opened:
        writer = Writer(opened)
        writer.write(*writer.runner(1))
    path.chmod(0o444)
    with Journal.open(f"sqlite:///{path}", read_only=True) as opened:
        assert verify(opened).sound
    if ROOT:
        pytest.skip("root may write what is read-only")
    with pytest.raises(JournalReadOnlyError, match="can't be written"):
        Journal.open(f"sqlite:///{path}")


FILL = """
import sys
from arcfsm.journal import Journal, JournalError
import resource
from tests.journal.writer import Writer
with Journal.open(sys.argv[1], create=True) as journal:
    writer = Writer(journal)
    writer.write(*writer.runner(0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
    try:
        for number in range(1, 100_000):
            writer.write(*writer.runner(number))
    except JournalError as error:
        print(type(error).__name__, error)
"""


def test_a_full_disk_loses_nothing_that_was_written(tmp_path):
    path = tmp_path / "x.db"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n{FILL}",
            f"sqlite:///{path}",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(JournalFullError.__name__), done.stdout + done.stderr
    assert "nothing was lost" in done.stdout
    with Journal.open(f"sqlite:///{path}", read_only=True) as opened:
        found = verify(opened)
        assert found.sound
        assert found.events > 20


def test_the_file_system_is_recognised(tmp_path):
    assert file_system_of(tmp_path) not in ("", "nfs")


def test_commands_leave_with_three_and_one_line(tmp_path):
    for command in ("verify", "stats", "tail", "snapshot"):
        done = arcfsm("journal", command, "--journal", f"sqlite:///{tmp_path / 'none.db'}")
        assert done.returncode == 3
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert "Traceback" not in done.stderr


def test_errors_have_one_root():
    assert issubclass(JournalFullError, JournalError)
