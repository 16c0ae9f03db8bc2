"""What the world remembers so that rules don't confuse before and after."""

from __future__ import annotations

import pytest

from arcfsm.domain.events.controller import TimerFired
from arcfsm.domain.events.decision import Decided, IntentSettled, Outcome, Verdict
from arcfsm.domain.events.listener import ListenerGone
from arcfsm.domain.events.runner import RunnerGone, RunnerPhaseChanged
from arcfsm.domain.events.runner_set import FinishedRunnersMarked, RunnerSetGone, RunnerSetScaled, RunnerSpecPublished
from arcfsm.domain.intents import (
    CallService,
    CreateRunners,
    DeleteObject,
    PatchObject,
    RegisterRunner,
    ServiceCall,
    births_key,
    delete_key,
    registration_key,
    removal_key,
)
from arcfsm.domain.kinds import CONTROLLER_STREAM, AggregateKind, Kind, StreamId
from arcfsm.domain.memo import Memo
from arcfsm.domain.merge_patch import merge_diff
from arcfsm.domain.ownership import Ownership
from arcfsm.domain.rules import RULES
from arcfsm.domain.snapshot import freeze, thaw
from tests.unit.rules.harness import NAMESPACE, Lab
from tests.unit.rules.scenes import annotate, edit


@pytest.fixture
def lab():
    return Lab()


def test_every_rule_of_scale_set_and_runner_set_has_a_home():
    named = {"clean", "idle", "remove", "applied", "marker", "status"}
    wanted = {f"A{n}" for n in range(1, 21)} | {f"S{n}" for n in range(1, 15)} | {f"S-{name}" for name in named}
    assert wanted <= set(RULES)


# Keys


def test_keys_of_helpers_are_those_of_the_intents():
    target = StreamId(AggregateKind.RUNNER, "er-1")
    place = {"target": target, "namespace": "ns", "name": "a"}
    assert DeleteObject(**place, kind=Kind.RUNNER, uid="er-1").key == delete_key(Kind.RUNNER, "ns", "a")
    assert RegisterRunner(**place, scale_set_id=7, manifest="m").key == registration_key("ns", "a")
    call = CallService(target=target, call=ServiceCall.REMOVE_RUNNER, namespace="ns", arguments={"runner_id": 7})
    assert call.key == removal_key(7)
    births = CreateRunners(target=target, namespace="ns", set_name="s", manifest="m", count=1, patch_id=3)
    assert births.key == births_key("ns", "s", 3)


# Runners that are still to be born (H9)


def due(lab, ers):
    return lab.world.runner_sets[ers.uid].due


def test_a_wish_owes_what_is_not_there_yet(lab):
    ers = lab.runner_set(0, 0)
    lab.runner("busy", "Running", of=ers, job=True)
    lab.runner("failed", "Failed", of=ers)
    lab.runner("done", "Succeeded", of=ers)
    lab.runner("going", of=ers, deleting=True)
    lab.fold(ers, RunnerSetScaled(replicas=5, patch_id=1))
    assert due(lab, ers) == 2


def test_whoever_appears_fills_a_slot_whatever_patch_it_carries(lab):
    ers = lab.runner_set(0, 0)
    lab.fold(ers, RunnerSetScaled(replicas=3, patch_id=7))
    lab.runner("a", of=ers, p=6)
    lab.runner("b", of=ers, p=7)
    assert due(lab, ers) == 1
    lab.runner("done", "Succeeded", of=ers, p=7)
    assert due(lab, ers) == 1


def test_a_set_that_is_first_seen_owes_nothing(lab):
    assert due(lab, lab.runner_set(5, 1)) == 0


# Who was refused (H4)


def test_the_highest_refused_revision_is_remembered_after_its_runner_is_gone(lab):
    ers = lab.runner_set(0, 0)
    er = lab.runner("a", of=ers, r=2)
    lab.fold(er, RunnerPhaseChanged(phase="Outdated"), RunnerGone())
    lab.runner("b", "Outdated", of=ers, r=1)
    assert lab.world.runner_sets[ers.uid].refused_revision == 2


def test_a_set_seen_after_its_refused_runner_knows_it_too(lab):
    orphan = StreamId(AggregateKind.RUNNER_SET, "ers-2")
    lab.runner("a", "Outdated", of=orphan, r=3)
    ers = lab.runner_set(0, 0)
    assert ers == orphan
    assert lab.world.runner_sets[ers.uid].refused_revision == 3


# The marker and its listener (H8)


def test_a_marker_stands_for_the_listener_whose_wish_is_in_force(lab):
    ers = lab.runner_set(1, 3, incarnation="pod-1")
    lab.fold(ers, FinishedRunnersMarked(finished_marker=3, incarnation="pod-2"))
    assert lab.world.runner_sets[ers.uid].marker_incarnation == "pod-1"
    lab.fold(ers, FinishedRunnersMarked(finished_marker=2, incarnation="pod-2"))
    assert lab.world.runner_sets[ers.uid].marker_incarnation == "pod-2"


# Before and after


def test_changes_of_spec_and_metadata_are_numbered(lab):
    ars = lab.scale_set()
    first = lab.world.scale_sets[ars.uid].changed_seq
    edit(lab, ars, maxRunners=3)
    second = lab.world.scale_sets[ars.uid].changed_seq
    annotate(lab, ars, a="1")
    assert first < second < lab.world.scale_sets[ars.uid].changed_seq == lab.world.head


def test_the_loss_of_a_listener_is_numbered(lab):
    ars = lab.scale_set()
    al = lab.listener()
    lab.fold(al, ListenerGone())
    assert lab.world.scale_sets[ars.uid].bereft_seq == lab.world.head


def test_only_group_and_url_rename_a_listener(lab):
    ars = lab.scale_set()
    edit(lab, ars, maxRunners=3)
    assert lab.world.scale_sets[ars.uid].named_at == 0
    edit(lab, ars, runnerGroup="gpu")
    assert lab.world.scale_sets[ars.uid].named_at == lab.now


def test_a_new_revision_is_numbered(lab):
    ers = lab.runner_set(0, 0)
    lab.fold(ers, RunnerSpecPublished(runner_spec=lab.doc({}), actionable_revision=1))
    assert lab.world.runner_sets[ers.uid].revised_seq == lab.world.head


def publish(lab, ers, outcome):
    """A decision publishes content; the API makes something of it; the outcome follows."""
    content = lab.doc({"wanted": True})
    intent = PatchObject(
        target=ers, kind=Kind.RUNNER_SET, namespace=NAMESPACE, name="demo", uid=ers.uid, patch=content, content=content
    )
    lab.fold(ers, Decided(rule="A14", verdict=Verdict.ACT, reason="", intents=(intent,)))
    decision = lab.world.head
    lab.fold(ers, RunnerSpecPublished(runner_spec=lab.doc({"became": 1}), actionable_revision=1))
    lab.fold(ers, IntentSettled(decision=decision, index=0, key=intent.key, outcome=outcome))
    return content


def test_what_was_published_and_what_became_of_it_is_remembered(lab):
    ers = lab.runner_set(0, 0)
    content = publish(lab, ers, Outcome.OK)
    one = lab.world.runner_sets[ers.uid]
    assert (one.published, one.published_as) == (content, (lab.doc({"became": 1}), ""))


def test_what_failed_was_not_published(lab):
    ers = lab.runner_set(0, 0)
    publish(lab, ers, Outcome.TIMED_OUT)
    assert lab.world.runner_sets[ers.uid].published == ""


# Whom an event wakes


@pytest.mark.parametrize("owner_first", [True, False])
def test_what_goes_wakes_its_owner(lab, owner_first):
    ars = lab.scale_set()
    ers = lab.runner_set(0, 0, owner=ars)
    er, al = lab.runner("a", of=ers), lab.listener()
    for stream, event, owner in ((er, RunnerGone(), ers), (al, ListenerGone(), ars), (ers, RunnerSetGone(), ars)):
        parents = lab.world.parents_of(stream)
        lab.fold(stream, event)
        journaled = type("J", (), {"event": event, "stream": stream})
        assert lab.world.touched_by(journaled, parents) == (stream, owner)


def test_a_timer_that_fires_early_leaves_the_wait_as_it_is(lab):
    ers = lab.runner_set(0, 0)
    lab.fold(ers, Decided(rule="S4", verdict=Verdict.WAIT, reason="", wake_at=lab.now + 10))
    lab.fold(CONTROLLER_STREAM, TimerFired(due_at=lab.now + 9, target=ers))
    assert lab.world.answers[ers].wake_at == lab.now + 10
    lab.fold(CONTROLLER_STREAM, TimerFired(due_at=lab.now + 10, target=ers))
    assert lab.world.answers[ers].wake_at is None


def test_all_of_it_survives_a_snapshot(lab):
    ars = lab.scale_set()
    ers = lab.runner_set(0, 0, owner=ars)
    edit(lab, ars, runnerGroup="gpu")
    publish(lab, ers, Outcome.OK)
    for name in "cab":
        lab.runner(name, "Outdated", of=ers, r=2)
    again = thaw(freeze(lab.world), lab.world.documents)
    assert again.scale_sets == lab.world.scale_sets
    assert again.runner_sets == lab.world.runner_sets
    assert again.runners_of(ers.uid) == lab.world.runners_of(ers.uid)


# Small helpers


@pytest.mark.parametrize(
    ("live", "desired", "expected"),
    [
        ({}, {}, {}),
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {}, {"a": None}),
        ({"a": None}, {}, {}),
        ({}, {"a": None}, {}),
        ({"a": 1}, {"a": None}, {"a": None}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "d": 3}}, {"a": {"c": None, "d": 3}}),
        ({"a": [1, 2]}, {"a": [1]}, {"a": [1]}),
        ({"a": 1}, {"a": True}, {"a": True}),
        ({"a": "x"}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": {"b": 1}}, {"a": "x"}, {"a": "x"}),
    ],
)
def test_merge_patches_say_only_what_changes(live, desired, expected):
    assert merge_diff(live, desired) == expected


def test_a_memo_works_out_once_and_may_forget():
    asked = []
    memo = Memo()
    for _ in range(2):
        assert memo.recall(("a",), lambda: asked.append(1) or len(asked)) == 1
    memo.forget()
    assert memo.recall(("a",), lambda: asked.append(1) or len(asked)) == 2


def test_owners_know_what_they_own_by_age_and_forget_what_left():
    ownership = Ownership()
    ownership.assign("young", "o", (2, "a"))
    ownership.assign("old", "o", (1, "b"))
    ownership.assign("twin", "o", (2, "a"))
    assert ownership.of("o") == ["old", "twin", "young"]
    ownership.assign("old", "o", (3, "b"))
    ownership.assign("young", "p", (2, "a"))
    assert (ownership.of("o"), ownership.of("p")) == (["twin", "old"], ["young"])
    ownership.release("young")
    ownership.release("young")
    assert ownership.of("p") == []
