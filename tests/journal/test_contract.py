"""What a journal promises, on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import threading

import pytest
from msgspec.structs import replace
from sqlalchemy import select

from arcfsm.domain.envelope import Source
from arcfsm.domain.events.controller import GapDetected
from arcfsm.domain.events.runner import RunnerGone
from arcfsm.domain.kinds import CONTROLLER_STREAM, AggregateKind, StreamId
from arcfsm.domain.turn import Arrival
from arcfsm.journal import (
    Batch,
    DeposedError,
    Journal,
    JournalConflictError,
    JournalDamagedError,
    JournalError,
    JournalReadOnlyError,
    verify,
)
from arcfsm.journal.migration import downgrade
from arcfsm.journal.schema import schema_of
from arcfsm.journal.tables import GAPS, OBJECTS, TRANSITIONS
from tests.journal.writer import Writer


@pytest.fixture
def journal(journal_url):
    with Journal.open(journal_url, create=True) as opened:
        yield opened


def test_what_was_appended_is_read_back_in_order_and_whole(journal):
    writer = Writer(journal)
    for number in range(5):
        writer.write(*writer.runner(number), points={"runners": str(number)})
    found = list(journal.events())
    assert [one.seq for one in found] == list(range(1, 11))
    assert [one.version for one in found] == [1, 2] * 5
    assert found[0].event.name == "runner-0"
    assert found[0].observed_at == 0
    assert found[1].actor == "arc"
    assert {one.epoch for one in found} == {writer.epoch}
    assert [one.turn for one in found] == [1, 1, 3, 3, 5, 5, 7, 7, 9, 9]
    assert journal.resume_points() == {"runners": "4"}
    assert journal.document(found[0].event.spec) == {"labels": {"n": "0"}}
    assert verify(journal).sound


def test_reading_pages_without_end(journal, monkeypatch):
    monkeypatch.setattr("arcfsm.journal.store.PAGE", 3)
    writer = Writer(journal)
    for number in range(5):
        writer.write(*writer.runner(number))
    assert [one.seq for one in journal.events(from_seq=2, to_seq=9)] == list(range(2, 10))
    assert [one.seq for one in journal.events(newest_first=True)] == list(range(10, 0, -1))
    stream = StreamId(AggregateKind.RUNNER, "er-3")
    assert [one.seq for one in journal.events(stream=stream)] == [7, 8]
    assert [one.seq for one in journal.events(types=["RunnerCreated"])] == [1, 3, 5, 7, 9]


def test_projections_are_written_with_the_events(journal):
    writer = Writer(journal)
    writer.write(*writer.runner(1))
    gap = GapDetected(scope="pods", reason="410", since=1, until=2)
    writer.write(Arrival(stream=CONTROLLER_STREAM, event=gap, source=Source.WATCH))
    writer.write(Arrival(stream=StreamId(AggregateKind.RUNNER, "er-1"), event=RunnerGone(), source=Source.WATCH))
    moved = journal.rows(select(TRANSITIONS.c.before, TRANSITIONS.c.after).order_by(TRANSITIONS.c.seq))
    assert [tuple(row) for row in moved] == [("unseen", "provisioning"), ("provisioning", "gone")]
    assert journal.rows(select(GAPS.c.reason))[0].reason == "410"
    (known,) = journal.rows(select(OBJECTS))
    assert (known.namespace, known.name, known.first_seq, known.gone_seq) == ("ns", "runner-1", 1, 4)


def test_people_read_times_and_names_in_a_view(journal):
    writer = Writer(journal)
    writer.write(*writer.runner(1))
    with journal._reading() as connection:
        row = connection.exec_driver_sql("SELECT at, name, type FROM journal ORDER BY seq LIMIT 1").one()
    assert tuple(row) == ("1970-01-01T00:00:00.000001Z", "runner-1", "RunnerCreated")


def test_the_second_of_two_writers_loses_cleanly(journal_url):
    with Journal.open(journal_url, create=True) as first, Journal.open(journal_url) as second:
        one = Writer(first)
        two = Writer(second, epoch=one.epoch)
        one.write(*one.runner(1))
        with pytest.raises(JournalConflictError, match="another writer was faster"):
            two.write(*two.runner(2))
        assert [event.event.name for event in first.events(types=["RunnerCreated"])] == ["runner-1"]
        assert verify(first).sound


def test_racing_writers_leave_a_gapless_sound_journal(journal_url):
    with Journal.open(journal_url, create=True) as opened:
        epoch = opened.claim_epoch("race")
    won = []

    def race(number):
        with Journal.open(journal_url) as mine:
            writer = Writer(mine, epoch=epoch)
            writer.catch_up()
            try:
                writer.write(*writer.runner(number))
            except JournalConflictError:
                return
            won.append(number)

    threads = [threading.Thread(target=race, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Journal.open(journal_url, read_only=True) as opened:
        assert won
        assert opened.head.seq == 2 * len(won)
        assert verify(opened).sound


def test_a_deposed_writer_can_not_append(journal_url):
    with Journal.open(journal_url, create=True) as first, Journal.open(journal_url) as second:
        deposed = Writer(first)
        deposed.write(*deposed.runner(1))
        second.claim_epoch("the next one")
        with pytest.raises(DeposedError, match="must stop"):
            deposed.write(*deposed.runner(2))
        assert first.head.seq == 2


def test_an_epoch_that_nobody_claimed_can_not_append(journal):
    writer = Writer(journal, epoch=journal.claim_epoch("one") + 1)
    with pytest.raises(DeposedError):
        writer.write(*writer.runner(1))


def test_a_journal_put_back_from_a_backup_under_its_writer_is_noticed(journal_url):
    with Journal.open(journal_url, create=True) as first, Journal.open(journal_url) as second:
        one = Writer(first)
        one.write(*one.runner(1))
        with second._engine.begin() as connection:
            for table in ("events", "transitions", "objects"):
                connection.exec_driver_sql(f"DELETE FROM {table}")
        two = Writer(second, epoch=one.epoch)
        two.write(*two.runner(2))
        with pytest.raises(JournalConflictError):
            one.write(*one.runner(3))


def test_resume_points_move_on_without_events(journal):
    writer = Writer(journal)
    head = writer.write(*writer.runner(1), points={"runners": "1", "pods": "1"})
    assert writer.append(Batch(events=[], resume_points={"runners": "2"})) == head
    assert journal.resume_points() == {"pods": "1", "runners": "2"}


def test_a_deposed_writer_moves_no_resume_point(journal_url):
    with Journal.open(journal_url, create=True) as first, Journal.open(journal_url) as second:
        writer = Writer(first)
        writer.write(*writer.runner(1), points={"runners": "1"})
        second.claim_epoch("the next one")
        with pytest.raises(DeposedError):
            writer.append(Batch(events=[], resume_points={"runners": "9"}))
        assert second.resume_points() == {"runners": "1"}


def test_who_tails_a_journal_misses_nothing(journal_url):
    count = 40
    with Journal.open(journal_url, create=True) as journal:
        writer = Writer(journal)

        def write():
            for number in range(count):
                writer.write(*writer.runner(number))

        thread = threading.Thread(target=write)
        thread.start()
        seen = []
        with Journal.open(journal_url, read_only=True) as reader:
            while len(seen) < 2 * count:
                seen += [one.seq for one in reader.events(from_seq=len(seen) + 1)]
        thread.join()
    assert seen == list(range(1, 2 * count + 1))


def test_large_documents_go_through_in_one_batch(journal):
    writer = Writer(journal)
    arrivals = []
    for number in range(6):
        (created, _) = writer.runner(number)
        large = writer.world.documents.intern({"n": number, "text": "x" * 700_000})
        arrivals.append(replace(created, event=created.event.model_copy(update={"spec": large})))
    writer.write(*arrivals)
    with_text = journal.document(arrivals[-1].event.spec)
    assert with_text["n"] == 5
    assert verify(journal).sound


def test_events_are_found_by_scale_set_and_time(journal):
    writer = Writer(journal)
    for number in range(4):
        writer.write(
            *(replace(one, correlation=f"ars-{number % 2}", observed_at=number) for one in writer.runner(number))
        )
    assert [one.seq for one in journal.events(correlation="ars-1")] == [3, 4, 7, 8]
    assert [one.seq for one in journal.events(since=1, until=2)] == [3, 4, 5, 6]
    assert [journal.seq_at(moment) for moment in (-1, 0, 2, 9)] == [0, 2, 6, 8]


def test_a_late_event_ends_the_beginning_before_it(journal):
    writer = Writer(journal)
    for number in (5, 9, 3):
        writer.write(replace(writer.runner(number)[0], observed_at=number))
    assert journal.seq_at(5) == 1


def test_nothing_of_a_failed_append_stays(journal):
    writer = Writer(journal)
    head = writer.write(*writer.runner(1), points={"runners": "1"})
    batch = writer.batch(*writer.runner(2), points={"runners": "2"})

    def missing(_digest):
        raise KeyError("gone")

    with pytest.raises(KeyError):
        journal.append(batch, missing)
    assert journal.head == head
    assert journal.resume_points() == {"runners": "1"}
    assert writer.append(batch).seq == 4


def test_a_document_that_is_not_what_its_digest_says_is_refused(journal):
    writer = Writer(journal)
    batch = writer.batch(*writer.runner(1))
    with pytest.raises(JournalDamagedError, match="nothing was stored"):
        journal.append(batch, lambda _digest: {"other": "content"})
    assert journal.head.seq == 0


def test_a_reader_can_not_write(journal_url):
    Journal.open(journal_url, create=True).close()
    with Journal.open(journal_url, read_only=True) as opened, pytest.raises(JournalReadOnlyError):
        opened.claim_epoch("reader")


def test_the_newest_snapshot_of_the_format_is_found(journal):
    for seq, form in ((3, "a"), (7, "a"), (9, "b")):
        journal.save_snapshot(seq, form, f"world {seq}".encode())
    assert journal.latest_snapshot("a") == (7, b"world 7")
    assert journal.latest_snapshot("a", at_or_before=6) == (3, b"world 3")
    assert journal.latest_snapshot("c") is None
    journal.save_snapshot(7, "a", b"again")
    assert journal.latest_snapshot("a") == (7, b"again")


def test_migrations_go_down_and_up_again(journal_url):
    with Journal.open(journal_url, create=True) as opened:
        downgrade(opened._engine, "base")
    assert schema_of(journal_url) == ""
    with Journal.open(journal_url, create=True) as opened:
        assert opened.head.seq == 0
    assert schema_of(journal_url) == "0002"


def test_several_processes_may_upgrade_at_once(journal_url):
    failures = []

    def upgrade():
        try:
            Journal.open(journal_url, create=True).close()
        except JournalError as error:
            failures.append(error)

    threads = [threading.Thread(target=upgrade) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
