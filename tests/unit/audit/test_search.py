"""Stalls found from a snapshot are those that the whole story shows."""

from __future__ import annotations

import pytest

from arcfsm.audit.past import Past
from arcfsm.audit.search import find_stalls, turns
from arcfsm.cli.import_command import import_files
from arcfsm.domain.documents import Documents
from arcfsm.domain.snapshot import freeze, thaw
from arcfsm.domain.world import World
from arcfsm.journal import Journal
from arcfsm.samples import sample_path


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('search') / 'journal.db'}"
    import_files([str(sample_path("spec-update-with-busy-runner"))], url)
    with Journal.open(url, read_only=True) as opened:
        yield opened


def from_snapshot(journal, seq, only=None):
    documents = Documents(journal.document)
    world = World(documents)
    for one in journal.events(to_seq=seq):
        world.apply(one)
    events = journal.events(from_seq=seq + 1)
    return find_stalls(thaw(freeze(world), documents), events, until=None, past=Past(journal), only=only)


def test_a_stall_that_began_before_the_snapshot_is_found(journal):
    whole, now = find_stalls(World(Documents(journal.document)), journal.events(), until=None)
    (stall,) = whole
    head = journal.head.seq
    (found,), moment = from_snapshot(journal, head)
    assert moment == now
    assert (found.name, found.stream, found.reason, found.evidence) == (
        stall.name,
        stall.stream,
        stall.reason,
        stall.evidence,
    )
    assert found.since == stall.since


def test_where_it_begins_after_the_snapshot_nothing_differs(journal):
    whole, _ = find_stalls(World(Documents(journal.document)), journal.events(), until=None)
    first = next(one.turn for one in journal.events(types=("ListenerGone",)))
    found, _ = from_snapshot(journal, first - 1)
    assert [(one.name, one.since, one.reason) for one in found] == [(one.name, one.since, one.reason) for one in whole]


def test_only_one_object_is_looked_at_where_only_one_is_asked_for(journal):
    whole, _ = find_stalls(World(Documents(journal.document)), journal.events(), until=None)
    documents = Documents(journal.document)
    same, _ = find_stalls(World(documents), journal.events(), until=None, only=whole[0].stream)
    assert same == whole
    listener = next(journal.events(types=("ListenerCreated",))).stream
    assert find_stalls(World(documents), journal.events(), until=None, only=listener)[0] == []


def test_until_is_a_moment_of_its_own(journal):
    gone = next(journal.events(types=("ListenerGone",)))
    before, _ = find_stalls(World(Documents(journal.document)), journal.events(), until=gone.at - 1)
    assert before == []
    world = World(Documents(journal.document))
    later, now = find_stalls(world, journal.events(), until=world.now + 10**16)
    assert now >= gone.at
    assert [one.name for one in later][:1] == ["no-listener"]


def test_turns_are_whole(journal):
    events = list(journal.events())
    told = list(turns(events))
    assert [one for turn in told for one in turn] == events
    assert all(len({one.turn for one in turn}) == 1 for turn in told)


def test_what_began_long_ago_is_found_though_nothing_is_near(journal, monkeypatch):
    """Many events of others may lie between: then the objects of the scale set are asked one by one."""
    whole, _ = find_stalls(World(Documents(journal.document)), journal.events(), until=None)
    monkeypatch.setattr("arcfsm.audit.past.NEARBY_EVENTS", 1)
    found, _ = from_snapshot(journal, journal.head.seq)
    assert [(one.name, one.since, one.evidence) for one in found] == [
        (one.name, one.since, one.evidence) for one in whole
    ]
