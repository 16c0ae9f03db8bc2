"""Any change to any column of any row is found, and the first bad seq is named."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from arcfsm.journal import Journal, verify
from arcfsm.journal.tables import EVENTS
from tests.journal.writer import Writer

COLUMNS = [column.name for column in EVENTS.columns if column.name != "seq"]
NUMBERS = {"turn", "version", "schema", "recorded_at", "observed_at", "cause", "epoch"}


@pytest.fixture
def journal(journal_url):
    with Journal.open(journal_url, create=True) as opened:
        writer = Writer(opened)
        for number in range(4):
            writer.write(*writer.runner(number))
        yield opened


def tamper(journal, statement, **values):
    with journal._engine.begin() as connection:
        connection.execute(text(statement), values)


@pytest.mark.parametrize("column", COLUMNS)
def test_an_edit_of_any_column_is_found(journal, column):
    value = 77 if column in NUMBERS else b"\x01" * 32 if column.endswith("hash") else "scale-set/forged"
    tamper(journal, f'UPDATE events SET "{column}" = :value WHERE seq = 4', value=value)
    found = verify(journal)
    assert not found.sound
    assert found.bad_seq == 4
    assert found.events == 3


@pytest.mark.parametrize("seq", [1, 4])
def test_a_removed_row_is_found(journal, seq):
    tamper(journal, "DELETE FROM events WHERE seq = :seq", seq=seq)
    assert verify(journal).bad_seq == seq


def test_swapped_rows_are_found(journal):
    tamper(journal, "UPDATE events SET seq = 100 WHERE seq = 3")
    tamper(journal, "UPDATE events SET seq = 3, version = 9 WHERE seq = 4")
    tamper(journal, "UPDATE events SET seq = 4 WHERE seq = 100")
    assert verify(journal).bad_seq == 3


@pytest.mark.parametrize("seq", [-1, 0, 9])
def test_an_inserted_row_is_found(journal, seq):
    tamper(
        journal,
        "INSERT INTO events SELECT :seq, turn, 'runner/forged', 1, type, schema, recorded_at, observed_at, source,"
        " cause, correlation, resource_version, actor, epoch, payload, prev_hash, hash FROM events WHERE seq = 8",
        seq=seq,
    )
    assert verify(journal).bad_seq == max(seq, 1)


def test_text_moved_from_one_column_to_the_next_is_found(journal):
    tamper(journal, "UPDATE events SET correlation = 'ab', resource_version = 'c' WHERE seq = 2")
    assert verify(journal).bad_seq == 2


def test_a_changed_or_missing_document_is_found(journal):
    tamper(journal, "UPDATE documents SET content = '{}' WHERE digest = (SELECT min(digest) FROM documents)")
    assert "is not what its digest says" in verify(journal).problem
    tamper(journal, "DELETE FROM documents WHERE digest = (SELECT min(digest) FROM documents)")
    assert "is missing" in verify(journal).problem


def test_what_was_cut_off_at_the_end_needs_a_hash_kept_elsewhere(journal):
    head = journal.head.hash.hex()
    tamper(journal, "DELETE FROM events WHERE seq > 6")
    assert verify(journal).sound, "the chain alone can't know that there was more"
    found = verify(journal, expect=head)
    assert not found.sound
    assert found.bad_seq == 7


def test_an_earlier_head_stays_in_the_chain(journal):
    head = journal.head.hash.hex()
    writer = Writer(journal)
    writer.catch_up()
    writer.write(*writer.runner(9))
    assert verify(journal, expect=head).sound
