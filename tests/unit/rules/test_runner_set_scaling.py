"""Scaling of a runner set: the gate, the marker, creation (T101–T104, T114–T126, T149–T153; H1, H8–H11)."""

from __future__ import annotations

import pytest

from arcfsm.domain import keys
from arcfsm.domain.events.decision import Outcome, Verdict
from arcfsm.domain.events.runner import RunnerGone, RunnerPhaseChanged
from arcfsm.domain.events.runner_set import RunnerSetScaled
from arcfsm.domain.instant import SECOND
from arcfsm.domain.intents import CreateRunners, PatchObject
from arcfsm.domain.kinds import AggregateKind, StreamId
from tests.unit.rules.harness import Lab, Result
from tests.unit.rules.telling import tell

BUSY = Result(Outcome.BUSY)
NOT_FOUND = Result(Outcome.NOT_FOUND)
ERROR = Result(Outcome.FAILED, detail="500 Internal Server Error", status=500)
CONFLICT = Result(Outcome.CONFLICT, status=409)


@pytest.fixture
def lab():
    return Lab()


# S11: scale up


def test_T101_creates_the_missing_runners(lab):
    ers = lab.runner_set(3, 1)
    assert tell(lab, lab.drive(ers)) == ["create 3 ER for patch 1"]
    born = lab.world.runners_of(ers.uid)
    assert {(one.patch_id, one.revision) for one in born} == {(1, 0)}
    assert {one.finalizers for one in born} == {(keys.RUNNER_FINALIZER, keys.REGISTRATION_FINALIZER)}
    assert lab.last(ers).reason == "patch 1 is served: 3 runners"


def test_T102_gate_is_closed_for_a_patch_that_runners_carry(lab):
    ers = lab.runner_set(3, 1)
    for name in "abc":
        lab.runner(name, of=ers, id=1, p=1)
    assert lab.drive(ers) == []
    assert lab.last(ers).verdict is Verdict.SETTLED


def test_T103_vanished_runners_come_back_only_with_a_new_patch(lab):
    ers = lab.runner_set(3, 1)
    lab.runner("a", of=ers, id=1, p=1)
    assert lab.drive(ers) == []
    decided = lab.last(ers)
    assert (decided.rule, decided.verdict) == ("S8", Verdict.HOLD)
    assert decided.reason == "1 of 3 runners exist; patch 1 is served, only a new one brings more"
    lab.fold(ers, RunnerSetScaled(replicas=3, patch_id=2))
    assert tell(lab, lab.drive(ers)) == ["create 2 ER for patch 2"]


def test_T104_creates_only_the_difference(lab):
    ers = lab.runner_set(5, 2)
    for name in "abc":
        lab.runner(name, of=ers, id=1, p=1)
    assert tell(lab, lab.drive(ers)) == ["create 2 ER for patch 2"]
    assert lab.last(ers).reason == "patch 2 is served: 5 runners"


@pytest.mark.parametrize(
    ("test", "wish", "live", "deleting", "expected"),
    [
        ("T114", (3, 4), 2, 1, []),
        ("T115", (3, 4), 1, 1, ["create 1 ER for patch 4"]),
        ("T116", (2, 0), 1, 2, []),
    ],
)
def test_T114_T115_T116_deleting_runners_count(lab, test, wish, live, deleting, expected):
    ers = lab.runner_set(*wish)
    for index in range(live):
        lab.runner(f"live-{index}", of=ers, id=1 + index, p=1)
    for index in range(deleting):
        lab.runner(f"gone-{index}", of=ers, id=11 + index, p=1, deleting=True)
    assert tell(lab, lab.drive(ers)) == expected


def test_T117_failed_runners_hold_their_slot(lab):
    ers = lab.runner_set(2, 5)
    lab.runner("a", "Failed", of=ers, p=4)
    lab.runner("b", "Failed", of=ers, p=4)
    assert lab.drive(ers) == []


def test_T121_patch_0_is_never_suppressed(lab):
    ers = lab.runner_set(2, 0)
    lab.runner("a", "Running", of=ers, id=1, p=4, job=True)
    assert tell(lab, lab.drive(ers)) == ["create 1 ER for patch 0"]


def test_T149_births_that_failed_are_tried_again_though_the_gate_is_closed(lab):
    ers = lab.runner_set(0, 1)
    lab.drive(ers)
    lab.fold(ers, RunnerSetScaled(replicas=20, patch_id=2))
    results = iter([*[Result()] * 17, *[ERROR] * 3])
    lab.script(CreateRunners, lambda intent: next(results, Result()))
    assert tell(lab, lab.drive(ers)) == ["create 20 ER for patch 2"]
    assert len(lab.world.runners_of(ers.uid)) == 17
    assert lab.last(ers).verdict is Verdict.WAIT
    assert "500 Internal Server Error" in lab.last(ers).reason
    lab.later(SECOND)
    assert tell(lab, lab.drive(ers)) == ["create 3 ER for patch 2"]
    assert lab.last(ers).verdict is Verdict.SETTLED


def test_H9_unborn_runners_are_owed_by_the_wish_and_no_replacements_for_finished_ones(lab):
    ers = lab.runner_set(0, 1)
    lab.drive(ers)
    lab.fold(ers, RunnerSetScaled(replicas=3, patch_id=2))
    results = iter([Result(), Result(), ERROR])
    lab.script(CreateRunners, lambda intent: next(results, Result()))
    lab.drive(ers)
    one = lab.world.runners_of(ers.uid)[0]
    lab.fold(StreamId(AggregateKind.RUNNER, one.uid), RunnerPhaseChanged(phase="Succeeded"))
    lab.later(SECOND)
    assert tell(lab, lab.drive(ers)) == ["create 1 ER for patch 2"]
    assert lab.world.runner_sets[ers.uid].due == 0


def test_H9_a_newer_wish_cancels_what_the_older_one_owed(lab):
    ers = lab.runner_set(0, 1)
    lab.drive(ers)
    lab.fold(ers, RunnerSetScaled(replicas=3, patch_id=2))
    results = iter([Result(), ERROR, ERROR])
    lab.script(CreateRunners, lambda intent: next(results, Result()))
    lab.drive(ers)
    lab.fold(ers, RunnerSetScaled(replicas=1, patch_id=3))
    lab.later(SECOND)
    assert lab.drive(ers) == []


def test_H11_births_in_flight_are_not_asked_for_twice(lab):
    ers = lab.runner_set(3, 1)
    wanted = lab.look(ers)
    assert [intent.key for intent in wanted.intents] == ["create runners of arc-runners/demo for patch 1"]
    assert lab.look(ers).verdict is Verdict.WAIT
    lab.fold(ers, RunnerSetScaled(replicas=5, patch_id=2))
    assert tell(lab, lab.look(ers).intents) == ["create 2 ER for patch 2"]


# S9, S-marker: finished runners


def test_T118_T119_T120_a_job_that_is_over_is_not_replaced(lab):
    ers = lab.runner_set(2, 5)
    lab.runner("done", "Succeeded", of=ers, id=1, p=4, job=True)
    lab.runner("busy", "Running", of=ers, id=2, p=4, job=True)
    assert tell(lab, lab.drive(ers)) == [
        'patch ERS/status! {"finishedRunnerCleanupPatchID":5}',
        "delete ER done",
    ]
    # T119: the finished one is gone, and its slot stays empty.
    gone = lab.world.runner_named("arc-runners", "done")
    lab.fold(StreamId(AggregateKind.RUNNER, gone.uid), RunnerGone())
    assert lab.drive(ers) == []
    assert (lab.last(ers).rule, lab.last(ers).verdict) == ("S11", Verdict.HOLD)
    assert lab.last(ers).reason == (
        "1 of 2 runners exist; not replacing those that finished under patch 5, only a new one brings more"
    )
    # T120: a new patch decides anew.
    lab.fold(ers, RunnerSetScaled(replicas=2, patch_id=6))
    assert tell(lab, lab.drive(ers)) == ["create 1 ER for patch 6"]


def test_T122_the_marker_may_move_down(lab):
    ers = lab.runner_set(1, 3, m=9)
    lab.runner("done", "Succeeded", of=ers, id=1, p=2)
    assert tell(lab, lab.drive(ers)) == ['patch ERS/status! {"finishedRunnerCleanupPatchID":3}', "delete ER done"]


def test_T123_a_conflicting_marker_is_decided_again(lab):
    ers = lab.runner_set(1, 3)
    lab.runner("done", "Succeeded", of=ers, id=1, p=2)
    lab.script(PatchObject, CONFLICT, Result())
    marker = 'patch ERS/status! {"finishedRunnerCleanupPatchID":3}'
    assert tell(lab, lab.drive(ers)) == [marker, marker, "delete ER done"]


def test_T123_what_is_decided_again_is_what_is_wanted_by_then(lab):
    ers = lab.runner_set(1, 3)
    lab.runner("done", "Succeeded", of=ers, id=1, p=2)
    newer = RunnerSetScaled(replicas=1, patch_id=4)
    lab.script(PatchObject, Result(Outcome.CONFLICT, before=lambda: lab.fold(ers, newer)), Result())
    assert tell(lab, lab.drive(ers)) == [
        'patch ERS/status! {"finishedRunnerCleanupPatchID":3}',
        'patch ERS/status! {"finishedRunnerCleanupPatchID":4}',
        "delete ER done",
    ]


def test_T124_a_failed_reaping_is_an_error_and_is_repeated(lab):
    ers = lab.runner_set(2, 5)
    lab.runner("done", "Succeeded", of=ers, id=1, p=4)
    lab.script("delete EphemeralRunner", ERROR, Result())
    assert tell(lab, lab.drive(ers)) == ['patch ERS/status! {"finishedRunnerCleanupPatchID":5}', "delete ER done"]
    assert lab.last(ers).verdict is Verdict.WAIT
    assert "500 Internal Server Error" in lab.last(ers).reason
    assert lab.world.runner_sets[ers.uid].finished_marker == 5
    lab.later(SECOND)
    assert tell(lab, lab.drive(ers)) == ["delete ER done"]


def test_T125_our_own_outcome_is_newer_than_any_watch(lab):
    ers = lab.runner_set(2, 5)
    lab.runner("done", "Succeeded", of=ers, id=1, p=4)
    lab.drive(ers)
    assert lab.world.runner_sets[ers.uid].finished_marker == 5, "folded from the answer, no watch event came"
    gone = lab.world.runner_named("arc-runners", "done")
    lab.fold(StreamId(AggregateKind.RUNNER, gone.uid), RunnerGone())
    assert lab.drive(ers) == []


def test_T126_the_status_says_only_what_this_pass_changed(lab):
    ers = lab.runner_set(2, 5, phase="")
    lab.runner("done", "Succeeded", of=ers, id=1, p=4)
    told = tell(lab, lab.drive(ers))
    assert 'patch ERS/status {"phase":"Running"}' in told
    assert [line for line in told if "Applied" in line] == []


def test_H10_reaping_and_scaling_are_two_decisions(lab):
    ers = lab.runner_set(3, 0)
    lab.runner("done", "Succeeded", of=ers, id=1, p=4)
    assert tell(lab, lab.drive(ers)) == ["delete ER done", "create 2 ER for patch 0"]


# S8, and who speaks: the incarnations of listeners


def test_T152_deleting_runners_keep_the_gate_closed(lab):
    ers = lab.runner_set(2, 7)
    lab.runner("a", of=ers, id=1, p=7, deleting=True)
    assert lab.drive(ers) == []


def test_T153_a_new_listener_is_not_bound_by_the_old_ones_numbers(lab):
    ers = lab.runner_set(2, 3, m=3, incarnation="pod-2", marker_incarnation="pod-1")
    lab.runner("a", "Running", of=ers, id=1, p=3, job=True, incarnation="pod-1")
    assert tell(lab, lab.drive(ers)) == ["create 1 ER for patch 3"]


def test_H8_the_same_numbers_of_the_same_listener_do_bind(lab):
    ers = lab.runner_set(2, 3, m=3, incarnation="pod-2")
    lab.runner("a", "Running", of=ers, id=1, p=2, job=True, incarnation="pod-2")
    assert lab.drive(ers) == []


def test_H8_an_equal_marker_of_another_listener_is_made_void_before_it_is_set(lab):
    ers = lab.runner_set(1, 3, m=3, incarnation="pod-2", marker_incarnation="pod-1")
    lab.runner("done", "Succeeded", of=ers, id=1, p=2, incarnation="pod-1")
    assert tell(lab, lab.drive(ers)) == [
        'patch ERS/status! {"finishedRunnerCleanupPatchID":0}',
        'patch ERS/status! {"finishedRunnerCleanupPatchID":3}',
        "delete ER done",
    ]
    assert lab.world.runner_sets[ers.uid].marker_incarnation == "pod-2"


# S14, buckets


def test_T150_the_first_pass_records_the_phase(lab):
    ers = lab.runner_set(0, 0, phase="")
    assert tell(lab, lab.drive(ers)) == ['patch ERS/status {"phase":"Running"}']
    assert lab.last(ers).verdict is Verdict.SETTLED


def test_S14_a_status_that_cannot_be_written_does_not_stop_scaling(lab):
    ers = lab.runner_set(1, 1, phase="")
    lab.script("patch EphemeralRunnerSet/status", ERROR)
    assert "create 1 ER for patch 1" in tell(lab, lab.drive(ers))


def test_S14_an_old_crd_gets_the_count_it_requires(lab):
    ers = lab.runner_set(0, 0, phase="")
    lab.script("patch EphemeralRunnerSet/status", Result(Outcome.INVALID, status=422), Result())
    lab.drive(ers)
    lab.later(SECOND)
    assert tell(lab, lab.drive(ers)) == ['patch ERS/status {"phase":"Running","currentReplicas":0}']


def test_T151_a_refused_runner_that_is_being_deleted_says_nothing(lab):
    ers = lab.runner_set(1, 2)
    lab.runner("a", "Outdated", of=ers, p=1, deleting=True)
    assert lab.drive(ers) == []
    assert lab.world.runner_sets[ers.uid].phase == "Running"
