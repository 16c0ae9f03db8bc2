"""From times to seqs, and the fold up to there."""

from __future__ import annotations

import pytest

from arcfsm.domain.documents import Documents
from arcfsm.domain.envelope import JournaledEvent, Source
from arcfsm.domain.events.controller import GapDetected
from arcfsm.domain.kinds import CONTROLLER_STREAM
from arcfsm.domain.snapshot import freeze
from arcfsm.journal import Batch, Journal
from arcfsm.replay.fold import SNAPSHOT_FORMAT, folded, keep_snapshot, snapshotted
from tests.unit.audit.control_story import control_story


def journal_of(url: str, *times: int) -> None:
    """A journal of events at these times."""
    events = [
        JournaledEvent(
            seq=seq,
            turn=seq,
            stream=CONTROLLER_STREAM,
            version=seq,
            event=GapDetected(scope="x", reason="y"),
            recorded_at=1_000_000,
            observed_at=at,
            source=Source.IMPORT,
        )
        for seq, at in enumerate(times, 1)
    ]
    with Journal.open(url, create=True) as journal:
        journal.claim_epoch("test")
        journal.append(Batch(events=events), lambda _digest: None)


@pytest.mark.parametrize(("moment", "seq"), [(0, 0), (9, 0), (10, 1), (19, 1), (20, 3), (25, 3), (30, 4), (10**18, 4)])
def test_a_time_is_the_end_of_what_had_happened_by_then(tmp_path, moment, seq):
    url = f"sqlite:///{tmp_path / 'j.db'}"
    journal_of(url, 10, 20, 20, 30)
    with Journal.open(url) as journal:
        assert journal.seq_at(moment) == seq


def test_what_was_learned_late_does_not_lead_back(tmp_path):
    url = f"sqlite:///{tmp_path / 'j.db'}"
    journal_of(url, 10, 30, 20, 40)
    with Journal.open(url) as journal:
        assert journal.seq_at(20) == 1, "at 20 the event of 30 was not known, so nor was what came after it"
        assert journal.seq_at(30) == 3


def test_times_of_the_journal_itself_count_where_the_source_has_none(journal_url):
    control_story().write(journal_url)
    with Journal.open(journal_url) as journal:
        last = next(journal.events(newest_first=True))
        assert journal.seq_at(last.at) == last.seq
        assert journal.seq_at(last.at - 1) < last.seq


def test_an_empty_journal_ends_before_every_moment(tmp_path):
    with Journal.open(f"sqlite:///{tmp_path / 'j.db'}", create=True) as journal:
        assert journal.seq_at(10**18) == 0


def test_folding_goes_on_from_the_newest_snapshot_that_fits(tmp_path):
    url = f"sqlite:///{tmp_path / 'j.db'}"
    story = control_story()
    story.write(url)
    with Journal.open(url) as journal:
        documents = Documents(journal.document)
        assert snapshotted(journal, documents).head == 0
        for seq in (40, 80):
            keep_snapshot(journal, folded(journal, documents, to_seq=seq))
        journal.save_snapshot(100, "another/9", b"not ours")
        journal.save_snapshot(90, SNAPSHOT_FORMAT, b"\x00 not a snapshot at all")
        assert snapshotted(journal, documents, at_or_before=79).head == 40
        assert snapshotted(journal, documents, at_or_before=89).head == 80
        assert freeze(folded(journal, documents)) == freeze(story.world)
