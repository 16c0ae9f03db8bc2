"""SQLite on the disks people have: read-only, networked, full, oddly named; and processes that are killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

import pytest

from arcfsm.journal import (
    Journal,
    JournalFullError,
    JournalLockedError,
    JournalReadOnlyError,
    JournalUnreachableError,
    verify,
)
from tests.journal.writer import Writer


@pytest.fixture
def mounted(tmp_path):
    """A file system of one megabyte of this test's own."""
    folder = tmp_path / "small"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"only root can mount a small disk: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def journal_mode(journal):
    with journal._reading() as connection:
        return connection.exec_driver_sql("PRAGMA journal_mode").scalar()


def test_a_disk_that_is_really_full_loses_nothing(mounted):
    url = f"sqlite:///{mounted / 'x.db'}"
    with Journal.open(url, create=True) as journal:
        writer = Writer(journal)
        head = writer.write(*writer.runner(0))
        with pytest.raises(JournalFullError, match="nothing was lost"):  # noqa: PT012  # nobody knows which append it is
            for number in range(1, 10_000):
                head = writer.write(*writer.runner(number))
        assert journal.head == head
    with Journal.open(url, read_only=True) as journal:
        assert verify(journal).head == head.hash.hex()


def test_a_journal_on_a_read_only_disk_can_be_read(mounted):
    url = f"sqlite:///{mounted / 'x.db'}"
    with Journal.open(url, create=True) as journal:
        writer = Writer(journal)
        writer.write(*writer.runner(1))
    subprocess.run(["mount", "-o", "remount,ro", mounted], check=True)
    with Journal.open(url, read_only=True) as journal:
        assert verify(journal).sound
    with pytest.raises(JournalReadOnlyError, match="can't be written"):
        Journal.open(url)


def test_a_network_file_system_gets_no_write_ahead_log(tmp_path, monkeypatch):
    monkeypatch.setattr("arcfsm.journal.filesystem.file_system_of", lambda _path: "nfs4")
    url = f"sqlite:///{tmp_path / 'x.db'}"
    with Journal.open(url, create=True) as journal:
        writer = Writer(journal)
        writer.write(*writer.runner(1))
        assert journal_mode(journal) == "delete"
        with Journal.open(url, read_only=True) as reader:
            assert verify(reader).sound


def test_a_journal_that_moved_to_a_network_file_system(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'x.db'}"
    with Journal.open(url, create=True) as local:
        Writer(local)
        monkeypatch.setattr("arcfsm.journal.filesystem.file_system_of", lambda _path: "cifs")
        with pytest.raises(JournalLockedError):
            Journal.open(url)
    with pytest.raises(JournalUnreachableError, match="network file system"):
        Journal.open(url, read_only=True)
    with Journal.open(url) as moved:
        assert journal_mode(moved) == "delete"


@pytest.mark.parametrize("name", ["a%20b.db", "what?.db", "x#y.db", "ein weißer Wal.db"])
def test_a_file_may_have_any_name(tmp_path, name):
    path = tmp_path / name
    with Journal.open(str(path), create=True) as journal:
        Writer(journal)
    assert path.exists()
    with Journal.open(str(path), read_only=True) as journal:
        assert journal.head.epoch == 1


def test_a_copy_made_while_closed_is_a_journal(tmp_path):
    with Journal.open(f"sqlite:///{tmp_path / 'x.db'}", create=True) as journal:
        writer = Writer(journal)
        head = writer.write(*writer.runner(1))
    shutil.copy(tmp_path / "x.db", tmp_path / "copy.db")
    with Journal.open(f"sqlite:///{tmp_path / 'copy.db'}", read_only=True) as copy:
        assert copy.head == head


def test_readers_take_no_lock(tmp_path, monkeypatch):
    monkeypatch.setattr("arcfsm.journal.database.BUSY_TIMEOUT_S", 0.05)
    url = f"sqlite:///{tmp_path / 'x.db'}"
    with Journal.open(url, create=True) as journal, Journal.open(url) as other:
        writer = Writer(journal)
        writer.write(*writer.runner(1))
        reading = other.events()
        next(reading)
        with other._reading() as held:
            held.exec_driver_sql("SELECT count(*) FROM events").one()
            writer.write(*writer.runner(2))
        with journal._writing():
            assert len(list(other.events())) == 4


KILLED = """
import sys
from arcfsm.journal import Journal
from tests.journal.writer import Writer
with Journal.open(sys.argv[1], create=True) as journal:
    writer = Writer(journal)
    for number in range(1_000_000):
        print(writer.write(*writer.runner(number)).hash.hex(), flush=True)
"""


def test_what_was_acknowledged_survives_a_kill(journal_url):
    process = subprocess.Popen([sys.executable, "-c", KILLED, journal_url], stdout=subprocess.PIPE, text=True)
    told = [process.stdout.readline().strip() for _ in range(25)]
    os.kill(process.pid, signal.SIGKILL)
    told += process.stdout.read().split("\n")[:-1]
    process.stdout.close()
    process.wait()
    acknowledged = told[-1] if len(told[-1]) == 64 else told[-2]
    with Journal.open(journal_url) as journal:
        found = verify(journal, expect=acknowledged)
        assert found.sound, found
        writer = Writer(journal)
        writer.catch_up()
        writer.write(*writer.runner(0))
        assert verify(journal, expect=acknowledged).sound
