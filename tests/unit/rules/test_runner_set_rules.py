"""Life of a runner set: finalizer, revisions, parking, deletion (T100, T127–T146; H4–H7, H12, H13)."""

from __future__ import annotations

import pytest

from arcfsm.domain import keys
from arcfsm.domain.events.decision import Outcome, Verdict
from arcfsm.domain.events.runner import RunnerGone, RunnerJobAssigned, RunnerPhaseChanged
from arcfsm.domain.events.runner_set import RunnerSetScaled, RunnerSpecPublished
from arcfsm.domain.facts import Job
from arcfsm.domain.instant import MINUTE, SECOND
from arcfsm.domain.kinds import AggregateKind, StreamId
from tests.unit.rules.harness import Lab, Result
from tests.unit.rules.telling import tell

BUSY = Result(Outcome.BUSY)
ERROR = Result(Outcome.FAILED, detail="500 Internal Server Error", status=500)
CONFLICT = Result(Outcome.CONFLICT, status=409)


@pytest.fixture
def lab():
    return Lab()


def gone(lab, name):
    lab.fold(StreamId(AggregateKind.RUNNER, lab.world.runner_named("arc-runners", name).uid), RunnerGone())


def changed(lab, name, event):
    lab.fold(StreamId(AggregateKind.RUNNER, lab.world.runner_named("arc-runners", name).uid), event)


def published(lab, ers, revision):
    lab.fold(ers, RunnerSpecPublished(runner_spec=lab.doc({"revision": revision}), actionable_revision=revision))


def released(name):
    finalizers = f'{{"metadata":{{"finalizers":["{keys.RUNNER_FINALIZER}"]}}}}'
    return [f"patch ER {name} {finalizers}", f"delete ER {name}"]


def state(lab, ers):
    subject = lab.world.runner_sets[ers.uid]
    return subject.applied_revision, subject.finished_marker, subject.phase


# S2


def test_T100_our_finalizer_comes_first(lab):
    ers = lab.runner_set(3, 1, finalizer=False)
    assert tell(lab, lab.drive(ers))[0] == f'patch ERS {{"metadata":{{"finalizers":["{keys.RUNNER_SET_FINALIZER}"]}}}}'


# S3, S-applied


def test_T127_a_revision_is_applied_after_the_idle_runners_went(lab):
    ers = lab.runner_set(2, 3, r=(2, 1), m=3)
    lab.runner("idle", of=ers, id=11, r=1)
    lab.runner("busy", "Running", of=ers, id=12, r=1, job=True)
    assert tell(lab, lab.drive(ers))[:4] == [
        "call remove-runner runner_id=11",
        *released("idle"),
        'patch ERS/status! {"appliedActionableRevision":2,"finishedRunnerCleanupPatchID":0}',
    ]
    assert state(lab, ers) == (2, 0, "Running")
    assert not lab.world.runner_named("arc-runners", "busy").deleting


def test_T127_no_step_is_taken_before_the_one_before_it_has_succeeded(lab):
    ers = lab.runner_set(1, 3, r=(2, 1))
    lab.runner("idle", of=ers, id=11, r=1)
    assert tell(lab, lab.look(ers).intents) == ["call remove-runner runner_id=11"]
    assert lab.look(ers) is None, "the question is in flight"
    lab.later(MINUTE)
    assert lab.look(ers) is None
    assert state(lab, ers)[0] == 1


def test_T128_a_young_runner_without_an_id_holds_the_revision_back(lab):
    ers = lab.runner_set(1, 3, r=(2, 1))
    lab.runner("young", of=ers, age=5 * SECOND, r=1)
    assert lab.drive(ers) == []
    assert lab.last(ers).verdict is Verdict.WAIT
    assert lab.wake_at(ers) == lab.now + 55 * SECOND
    lab.later(55 * SECOND)
    assert tell(lab, lab.drive(ers))[:2] == ["delete ER young", 'patch ERS/status! {"appliedActionableRevision":2}']


def test_T129_a_failed_removal_holds_the_revision_back_and_surfaces(lab):
    ers = lab.runner_set(1, 3, r=(2, 1))
    lab.runner("idle", of=ers, id=11, r=1)
    lab.script("remove-runner", ERROR, ERROR, Result())
    assert tell(lab, lab.drive(ers)) == ["call remove-runner runner_id=11"]
    assert state(lab, ers)[0] == 1
    decided = lab.last(ers)
    assert decided.verdict is Verdict.WAIT
    assert "500 Internal Server Error" in decided.reason
    assert decided.findings[0].code == "RunnerRemovalFailed"
    lab.later(SECOND)
    lab.drive(ers)
    assert state(lab, ers)[0] == 1
    lab.later(2 * SECOND)
    lab.drive(ers)
    assert state(lab, ers)[0] == 2


def test_T129_a_deletion_that_fails_holds_the_revision_back(lab):
    ers = lab.runner_set(0, 3, r=(2, 1))
    lab.runner("idle", of=ers, id=11, r=1)
    lab.script("delete EphemeralRunner", ERROR, Result())
    lab.drive(ers)
    assert state(lab, ers)[0] == 1
    lab.later(SECOND)
    assert tell(lab, lab.drive(ers)) == ["delete ER idle", 'patch ERS/status! {"appliedActionableRevision":2}']


def test_T130_a_busy_answer_keeps_the_runner_and_lets_the_revision_advance(lab):
    ers = lab.runner_set(1, 3, r=(2, 1))
    lab.runner("idle", of=ers, id=11, p=3, r=1)
    lab.script("remove-runner", BUSY)
    assert tell(lab, lab.drive(ers)) == [
        "call remove-runner runner_id=11",
        'patch ERS/status! {"appliedActionableRevision":2}',
    ]
    assert not lab.world.runner_named("arc-runners", "idle").deleting


def test_T130_a_busy_answer_from_before_the_revision_does_not_count(lab):
    ers = lab.runner_set(0, 0, r=(1, 1))
    lab.runner("idle", of=ers, id=11, r=1)
    lab.script("remove-runner", BUSY, Result())
    assert tell(lab, lab.drive(ers)) == ["call remove-runner runner_id=11"]
    published(lab, ers, 2)
    assert tell(lab, lab.drive(ers)) == [
        "call remove-runner runner_id=11",
        *released("idle"),
        'patch ERS/status! {"appliedActionableRevision":2}',
    ]


def test_T130_a_question_asked_before_and_answered_after_the_revision_does_not_count(lab):
    ers = lab.runner_set(0, 0, r=(1, 1))
    lab.runner("idle", of=ers, id=11, r=1)
    lab.script("remove-runner", Result(Outcome.BUSY, before=lambda: published(lab, ers, 2)), Result())
    assert tell(lab, lab.drive(ers))[:2] == ["call remove-runner runner_id=11"] * 2


def test_T131_the_phase_recovers_with_the_revision(lab):
    ers = lab.runner_set(0, 0, r=(2, 1), phase="Outdated")
    lab.runner("x", "Outdated", of=ers, r=1)
    assert tell(lab, lab.drive(ers)) == [
        "delete ER x",
        'patch ERS/status! {"appliedActionableRevision":2,"phase":"Running"}',
    ]


def test_T132_a_runner_of_the_new_revision_that_is_refused_meanwhile_parks_the_set(lab):
    ers = lab.runner_set(0, 0, r=(2, 1))
    lab.runner("y", "Outdated", of=ers, r=2)
    assert tell(lab, lab.drive(ers)) == [
        'patch ERS/status! {"appliedActionableRevision":2,"phase":"Outdated"}',
        "delete ER y",
    ]
    assert state(lab, ers) == (2, 0, "Outdated")


def test_T133_an_applied_revision_never_moves_back(lab):
    ers = lab.runner_set(0, 0, r=(2, 3), m=7)
    lab.runner("x", "Outdated", of=ers, r=2)
    assert tell(lab, lab.drive(ers)) == ["delete ER x"], "judged against 3 it is stale"
    assert state(lab, ers) == (3, 7, "Running")


def test_T134_nothing_to_change_writes_nothing(lab):
    ers = lab.runner_set(0, 0, r=(2, 2))
    assert lab.drive(ers) == []


def test_T135_conflicts_are_retried_quickly_and_then_like_other_failures(lab):
    ers = lab.runner_set(0, 0, r=(2, 1))
    lab.script("patch EphemeralRunnerSet/status", CONFLICT)
    waits = []
    for _ in range(5):
        assert tell(lab, lab.drive(ers, steps=3))[-1] == 'patch ERS/status! {"appliedActionableRevision":2}'
        waits.append(lab.wake_at(ers) - lab.now)
        lab.now = lab.wake_at(ers)
    assert state(lab, ers)[0] == 1
    assert [wait // 1000 for wait in waits] == [10, 50, 250, 16_000, 32_000]


def test_S3_waits_for_runners_of_the_old_revision_that_are_being_born(lab):
    ers = lab.runner_set(2, 1, r=(1, 1))
    lab.look(ers)
    published(lab, ers, 2)
    assert lab.look(ers).verdict is Verdict.WAIT
    assert state(lab, ers)[0] == 1


def test_H12_a_crash_between_any_two_steps_is_finished_by_the_next_look(lab):
    ers = lab.runner_set(0, 3, r=(2, 1))
    lab.runner("idle", of=ers, id=11, r=1)
    lab.script("remove-runner", Result(Outcome.ABANDONED), Result())
    lab.script("delete EphemeralRunner", Result(Outcome.ABANDONED), Result())
    lab.drive(ers)
    for _ in range(3):
        lab.later(SECOND)
        lab.drive(ers)
    assert state(lab, ers)[0] == 2
    assert tell(lab, lab.done)[-1] == 'patch ERS/status! {"appliedActionableRevision":2}'


# S4, S6, S7: refused runners


def test_T136_a_refused_runner_of_an_older_revision_is_deleted_and_nothing_else_happens(lab):
    ers = lab.runner_set(0, 0, r=(2, 2))
    lab.runner("x", "Outdated", of=ers, r=1)
    assert tell(lab, lab.drive(ers)) == ["delete ER x"]
    assert state(lab, ers)[2] == "Running"


def test_T137_without_an_applied_revision_every_refused_runner_is_current(lab):
    ers = lab.runner_set(0, 0)
    lab.runner("x", "Outdated", of=ers)
    assert tell(lab, lab.drive(ers)) == ['patch ERS/status {"phase":"Outdated"}', "delete ER x"]


def test_T138_an_unreadable_revision_counts_as_zero_and_is_stale(lab):
    ers = lab.runner_set(0, 0, r=(1, 1))
    lab.runner("x", "Outdated", of=ers, annotations={keys.ACTIONABLE_REVISION: "abc"})
    assert tell(lab, lab.drive(ers)) == ["delete ER x"]
    assert state(lab, ers)[2] == "Running"


def test_T139_a_current_refused_runner_parks_the_set_before_anything_is_deleted(lab):
    ers = lab.runner_set(5, 9, r=(1, 1))
    lab.runner("refused", "Outdated", of=ers, r=1, p=8)
    lab.runner("idle-1", of=ers, id=11, r=1, p=8)
    lab.runner("idle-2", of=ers, id=12, r=1, p=8)
    lab.runner("busy", "Running", of=ers, id=13, r=1, p=8, job=True)
    assert tell(lab, lab.drive(ers)) == [
        'patch ERS/status {"phase":"Outdated"}',
        "delete ER refused",
        "call remove-runner runner_id=11",
        "call remove-runner runner_id=12",
        *released("idle-1"),
        *released("idle-2"),
    ]
    assert [one.name for one in lab.world.runners_of(ers.uid) if not one.deleting] == ["busy"]
    decided = lab.last(ers)
    assert (decided.rule, decided.verdict) == ("S4", Verdict.HOLD)
    assert not decided.findings


def test_T140_a_parked_set_does_not_scale(lab):
    ers = lab.runner_set(5, 10, r=(1, 1), phase="Outdated")
    assert lab.drive(ers) == []
    assert lab.last(ers).rule == "S4"


def test_T141_a_busy_runner_that_ends_in_a_parked_set_is_deleted(lab):
    ers = lab.runner_set(5, 10, r=(1, 1), phase="Outdated")
    lab.runner("busy", "Running", of=ers, id=13, r=1, job=True)
    assert lab.drive(ers) == []
    changed(lab, "busy", RunnerPhaseChanged(phase="Succeeded"))
    assert tell(lab, lab.drive(ers)) == ["delete ER busy"]
    assert state(lab, ers)[2] == "Outdated"


def test_T142_T143_a_new_revision_lets_a_parked_set_go_on_and_late_refusals_do_not_park_it(lab):
    ers = lab.runner_set(2, 10, r=(1, 1), phase="Outdated")
    lab.runner("busy", "Running", of=ers, id=13, r=1, p=9, job=True)
    lab.drive(ers)
    published(lab, ers, 2)
    assert tell(lab, lab.drive(ers)) == [
        'patch ERS/status! {"appliedActionableRevision":2,"phase":"Running"}',
        "create 1 ER for patch 10",
    ]
    changed(lab, "busy", RunnerPhaseChanged(phase="Outdated"))
    assert tell(lab, lab.drive(ers)) == ["delete ER busy"]
    assert state(lab, ers)[2] == "Running"


def test_S4_asks_again_about_a_busy_runner_after_a_while(lab):
    ers = lab.runner_set(0, 0, r=(1, 1), phase="Outdated")
    lab.runner("idle", of=ers, id=11, r=1)
    lab.script("remove-runner", BUSY, Result())
    assert tell(lab, lab.drive(ers)) == ["call remove-runner runner_id=11"]
    assert lab.wake_at(ers) == lab.now + 30 * SECOND
    lab.later(30 * SECOND)
    assert tell(lab, lab.drive(ers)) == ["call remove-runner runner_id=11", *released("idle")]


def test_S4_a_runner_that_takes_a_job_before_the_service_was_asked_stays(lab):
    ers = lab.runner_set(0, 0, r=(1, 1), phase="Outdated")
    lab.runner("idle", of=ers, id=11, r=1)
    lab.script("remove-runner", BUSY)
    lab.drive(ers)
    changed(lab, "idle", RunnerJobAssigned(job=Job(job_id="job-9")))
    lab.later(30 * SECOND)
    assert lab.drive(ers) == []
    assert lab.wake_at(ers) is None


def test_H4_a_set_that_is_outdated_without_a_cause_we_saw_is_reported(lab):
    ers = lab.runner_set(0, 0, r=(1, 1))
    from arcfsm.domain.events.runner_set import RunnerSetPhaseChanged

    lab.fold(ers, RunnerSetPhaseChanged(phase="Outdated"))
    lab.drive(ers)
    assert [finding.code for finding in lab.last(ers).findings] == ["OutdatedWithoutCause"]


def test_H4_a_set_that_was_outdated_when_we_first_looked_is_believed(lab):
    ers = lab.runner_set(0, 0, r=(1, 1), phase="Outdated")
    lab.drive(ers)
    assert not lab.last(ers).findings


def test_H7_the_pass_that_finds_a_refusal_creates_nothing(lab):
    ers = lab.runner_set(5, 9, r=(1, 1))
    lab.runner("refused", "Outdated", of=ers, r=1, p=8)
    assert not any("create" in line for line in tell(lab, lab.drive(ers)))


# S1


def test_T144_a_deleted_set_lets_idle_runners_go_and_waits_for_busy_ones(lab):
    ers = lab.runner_set(2, 1, deleting=True)
    lab.runner("idle", of=ers, id=11)
    lab.runner("busy", "Running", of=ers, id=12, job=True)
    assert tell(lab, lab.drive(ers)) == ["call remove-runner runner_id=11", *released("idle")]
    assert lab.last(ers).verdict is Verdict.WAIT
    assert lab.wake_at(ers) is None
    assert lab.world.runner_sets[ers.uid].finalizers


def test_T146_a_deleted_set_waits_for_runners_that_are_being_deleted(lab):
    ers = lab.runner_set(2, 1, deleting=True)
    lab.runner("a", of=ers, id=11, deleting=True)
    assert lab.drive(ers) == []
    gone(lab, "a")
    assert tell(lab, lab.drive(ers)) == ['patch ERS {"metadata":{"finalizers":[]}}']
    assert ers.uid not in lab.world.runner_sets


def test_S1_what_is_not_ours_is_left_alone(lab):
    ers = lab.runner_set(2, 1, deleting=True, finalizer=False)
    assert lab.drive(ers) == []


def test_the_wake_of_a_gone_runner_reaches_its_set(lab):
    ers = lab.runner_set(1, 0, r=(0, 0))
    er = lab.runner("a", of=ers, id=1, p=1, deleting=True)
    lab.drive(ers)
    turn = lab.observe(er, RunnerGone())
    assert [event.stream for event in turn.events] == [er, ers]


def test_a_wish_for_a_parked_set_is_kept_for_later(lab):
    ers = lab.runner_set(0, 0, r=(1, 1), phase="Outdated")
    lab.fold(ers, RunnerSetScaled(replicas=1, patch_id=7))
    lab.drive(ers)
    published(lab, ers, 2)
    assert tell(lab, lab.drive(ers))[-1] == "create 1 ER for patch 7"


def test_a_reason_does_not_count_those_that_leave_by_themselves(lab):
    ers = lab.runner_set(0, 0, r=(1, 1), phase="Outdated")
    for name in "ab":
        lab.runner(name, of=ers, id=1, deleting=True)
    lab.runner("c", of=ers, id=3)
    lab.drive(ers)
    reason = "parked: runners of revision 1 were refused, a new runner spec lets it go on: some are being deleted"
    assert lab.last(ers).reason == reason
    gone(lab, "a")
    assert lab.look(ers) is None
