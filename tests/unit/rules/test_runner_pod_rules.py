"""How a runner's pod is made and judged (T307–T329; H37, H40)."""

from __future__ import annotations

import pytest

from arcfsm.domain.events.decision import Outcome, Verdict
from arcfsm.domain.events.runner import RunnerPhaseChanged, RunnerPodChanged, RunnerPodGone
from arcfsm.domain.facts import ContainerFacts, PodFailure
from arcfsm.domain.instant import HOUR, MINUTE, SECOND, format_instant
from arcfsm.domain.intents import CreateObject, DeleteObject, PatchObject
from arcfsm.domain.kinds import Kind
from tests.unit.rules.harness import NAMESPACE, Lab, Result
from tests.unit.rules.runners import runner_of
from tests.unit.rules.telling import tell

CREATE = "create Pod a"
QUOTA = 'pods "a" is forbidden: exceeded quota: q'


@pytest.fixture
def lab():
    return Lab()


def podless(lab, **facts):
    """A registered runner without a pod."""
    runner = lab.runner("a", facts.pop("phase", "Pending"), id=facts.pop("id", 11), **facts)
    lab.dependent(Kind.SECRET, "a", stream=runner)
    return runner


def with_pod(lab, pod, **facts):
    """A registered runner with a pod."""
    return podless(lab, pod=pod, **facts)


def failed_at(lab, *ages):
    """Failures of pods, so long ago."""
    return [PodFailure(f"old-{number}", lab.now - age * SECOND) for number, age in enumerate(ages)]


def refused(lab, outcome, detail="", **facts):
    runner = podless(lab, **facts)
    lab.script(CreateObject, Result(outcome, detail=detail))
    return runner


# R16


def test_T307_a_pod_that_was_created_needs_nothing_more(lab):
    runner = podless(lab)
    assert tell(lab, lab.drive(runner)) == [CREATE]
    assert (runner_of(lab, runner).phase, lab.last(runner).verdict) == ("Pending", Verdict.WAIT)


@pytest.mark.parametrize("outcome", [Outcome.ALREADY_EXISTS, Outcome.NOT_FOUND])
def test_T308_a_pod_of_that_name_is_waited_for(lab, outcome):
    runner = refused(lab, outcome)
    assert tell(lab, lab.drive(runner)) == [CREATE]
    assert lab.wake_at(runner) == lab.now + 5 * SECOND
    lab.later(5 * SECOND)
    assert tell(lab, lab.drive(runner)) == [CREATE]


INVALID_POD = (
    'patch ER/status a {"phase":"Failed","reason":"InvalidPod","message":"Failed to create the pod: no such class"}'
)


@pytest.mark.parametrize(("test", "outcome"), [("T309", Outcome.INVALID), ("T312", Outcome.FORBIDDEN)])
def test_T309_T312_what_is_refused_for_good_fails_the_runner_and_releases_it(lab, test, outcome):
    runner = refused(lab, outcome, "no such class")
    assert tell(lab, lab.drive(runner)) == [
        CREATE,
        INVALID_POD,
        "delete Secret a",
        "call remove-runner runner_id=11",
        'patch ER a {"metadata":{"finalizers":["ephemeralrunner.actions.github.com/finalizer"]}}',
    ]
    assert (lab.last(runner).rule, lab.last(runner).verdict) == ("R8", Verdict.HOLD)


def test_T310_a_quota_is_waited_for(lab):
    runner = refused(lab, Outcome.FORBIDDEN, QUOTA, age=2 * MINUTE)
    assert tell(lab, lab.drive(runner)) == [CREATE]
    assert 24 * SECOND <= lab.wake_at(runner) - lab.now <= 36 * SECOND
    assert runner_of(lab, runner).phase == "Pending"
    lab.later(36 * SECOND)
    assert tell(lab, lab.drive(runner)) == [CREATE]


def test_T311_a_quota_that_lasts_ends_the_runner(lab):
    runner = refused(lab, Outcome.FORBIDDEN, QUOTA, age=11 * MINUTE)
    assert tell(lab, lab.drive(runner))[:2] == [CREATE, "delete ER a"]


def test_H40_refused_runners_come_back_at_different_times_each_always_at_the_same(lab):
    waits = set()
    for number in range(20):
        runner = lab.runner(f"r{number}", "Pending", id=number + 1, age=MINUTE)
        lab.dependent(Kind.SECRET, f"r{number}", stream=runner)
        lab.script(CreateObject, Result(Outcome.FORBIDDEN, detail=QUOTA))
        lab.drive(runner)
        waits.add(lab.wake_at(runner) - lab.now)
    assert len(waits) > 15
    assert min(waits) >= 24 * SECOND
    assert max(waits) <= 36 * SECOND


def test_T313_an_outage_is_an_error(lab):
    runner = refused(lab, Outcome.FAILED, "500")
    assert tell(lab, lab.drive(runner)) == [CREATE]
    assert lab.wake_at(runner) == lab.now + SECOND
    assert lab.last(runner).verdict is Verdict.WAIT


# R17: pods that failed


def replaced(lab, runner, pod, why=""):
    """What a failed pod costs: the pod, and an entry among the failures."""
    told = [f'"failures":{{"{pod.uid}":"{format_instant(lab.now)}"}}']
    if runner_of(lab, runner).ready:
        told.append('"ready":false')
    if why:
        told.append(f'"reason":"{why}"')
    return ["delete Pod a", f"patch ER/status a {{{','.join(told)}}}"]


def test_T314_a_pod_that_was_evicted_is_replaced(lab):
    pod = lab.pod("Failed", reason="Evicted", terminated=True)
    runner = with_pod(lab, pod, ready=True)
    expected = replaced(lab, runner, pod, "Evicted")
    assert tell(lab, lab.drive(runner)) == expected
    after = runner_of(lab, runner)
    assert (after.ready, after.reason, after.phase) == (False, "Evicted", "Pending")
    assert lab.wake_at(runner) == lab.now + 5 * SECOND
    lab.later(5 * SECOND)
    assert tell(lab, lab.drive(runner)) == [CREATE]


def test_T315_a_runner_that_took_a_job_is_not_started_again(lab):
    runner = with_pod(lab, lab.pod("Failed", reason="Evicted", terminated=True), job=True)
    assert tell(lab, lab.drive(runner))[0] == "delete ER a"
    assert not [one for one in lab.done if isinstance(one, PatchObject) and one.subresource]


def test_T316_a_failed_sidecar_does_not_spoil_a_success(lab):
    runner = with_pod(lab, lab.pod("Failed", exit=0, terminated=True), ready=True)
    assert tell(lab, lab.drive(runner)) == [
        'patch ER/status a {"phase":"Succeeded","ready":false}',
        "delete ER a",
        "delete Pod a",
        "delete Secret a",
        'patch ER a {"metadata":{"finalizers":[]}}',
    ]


OUTDATED = 'patch ER/status a {"phase":"Outdated","reason":"Outdated","message":"Runner is deprecated"}'


@pytest.mark.parametrize(
    ("test", "phase", "terminated"), [("T317 R17.3", "Failed", True), ("T324 R17.8", "Running", False)]
)
def test_T317_T324_exit_code_7_means_a_refused_version_sidecar_or_not(lab, test, phase, terminated):
    runner = with_pod(lab, lab.pod(phase, exit=7, terminated=terminated))
    assert tell(lab, lab.drive(runner)) == [
        OUTDATED,
        "delete Pod a",
        "delete Secret a",
        "call remove-runner runner_id=11",
        'patch ER a {"metadata":{"finalizers":["ephemeralrunner.actions.github.com/finalizer"]}}',
    ]
    assert lab.done[1].grace_period_s == (0 if terminated else None)
    assert runner_of(lab, runner).phase == "Outdated"


@pytest.mark.parametrize("phase", ["Failed", "Running"])
def test_T318_another_exit_code_costs_a_pod(lab, phase):
    """R17.4 and R17.9."""
    pod = lab.pod(phase, exit=1, terminated=phase == "Failed")
    runner = with_pod(lab, pod)
    assert tell(lab, lab.drive(runner)) == replaced(lab, runner, pod)


def test_T319_a_failed_init_container_costs_a_pod(lab):
    pod = lab.pod("Pending", init_exit_code=1)
    runner = with_pod(lab, pod)
    assert tell(lab, lab.drive(runner)) == replaced(lab, runner, pod)


def test_a_failed_pod_is_told_of_at_the_time_it_was_heard_of_whenever_we_look(lab):
    pod = lab.pod("Failed", exit=1, terminated=True)
    runner = with_pod(lab, pod)
    expected = replaced(lab, runner, pod)
    lab.later(20 * SECOND)
    assert tell(lab, lab.drive(runner))[:2] == expected


def test_a_pod_whose_failure_is_on_record_still_goes(lab):
    pod = lab.pod("Failed", exit=1, terminated=True)
    runner = with_pod(lab, pod, failures=[PodFailure(pod.uid, lab.now)])
    assert tell(lab, lab.drive(runner)) == ["delete Pod a"]


def test_a_failed_pod_that_is_going_is_only_told_of(lab):
    pod = lab.pod("Failed", exit=1, terminated=True, deletion_requested_at=lab.now)
    runner = with_pod(lab, pod)
    assert tell(lab, lab.drive(runner)) == replaced(lab, runner, pod)[1:]
    assert lab.last(runner).verdict is Verdict.WAIT


# R17: pods that live


def test_T320_without_a_container_status_nothing_is_concluded(lab):
    runner = with_pod(lab, lab.pod("Pending"), phase="")
    assert lab.drive(runner) == []
    assert lab.last(runner).verdict is Verdict.WAIT


def test_T321_a_pod_that_runs_makes_its_runner_pending_locked(lab):
    runner = with_pod(lab, lab.pod(running=True, ready=True), phase="")
    assert tell(lab, lab.drive(runner)) == ['patch ER/status! a {"phase":"Pending","ready":true}']
    assert (lab.last(runner).rule, lab.last(runner).verdict) == ("R17", Verdict.SETTLED)


def test_T322_readiness_says_nothing_about_the_phase(lab):
    runner = with_pod(lab, lab.pod(running=True, ready=False), phase="Running", ready=True, job=True)
    assert tell(lab, lab.drive(runner)) == ['patch ER/status! a {"ready":false}']
    assert runner_of(lab, runner).phase == "Running"


def test_T323_the_listener_writes_running_meanwhile_and_it_survives(lab):
    runner = with_pod(lab, lab.pod(running=True, ready=True), phase="")

    def listener_wins():
        lab.fold(runner, RunnerPhaseChanged(phase="Running"))

    lab.script("patch EphemeralRunner/status", Result(Outcome.CONFLICT, before=listener_wins), Result())
    assert tell(lab, lab.drive(runner)) == [
        'patch ER/status! a {"phase":"Pending","ready":true}',
        'patch ER/status! a {"ready":true}',
    ]
    assert runner_of(lab, runner).phase == "Running"


def test_T325_a_success_does_not_wait_for_a_sidecar(lab):
    runner = with_pod(lab, lab.pod("Running", exit=0))
    assert tell(lab, lab.drive(runner)) == [
        'patch ER/status a {"phase":"Succeeded"}',
        "delete ER a",
        "delete Pod a",
        "delete Secret a",
        'patch ER a {"metadata":{"finalizers":[]}}',
    ]
    assert lab.done[2].grace_period_s is None


def test_a_pod_that_is_over_is_not_observed(lab):
    pod = lab.pod("Succeeded", ContainerFacts(state="running"), ready=True)
    runner = with_pod(lab, pod, phase="")
    assert lab.drive(runner) == []


def test_the_words_of_the_pod_are_published_with_its_readiness(lab):
    runner = with_pod(lab, lab.pod(running=True, ready=True, reason="R", message="M"), phase="Pending")
    assert tell(lab, lab.drive(runner)) == ['patch ER/status! a {"ready":true,"reason":"R","message":"M"}']


# R12


@pytest.mark.parametrize(
    ("test", "ages", "wait"),
    [
        ("T326", (2,), 3),
        ("second", (60, 1), 9),
        ("fourth", (90, 60, 40, 30), 10),
        ("T328", (120, 110, 100, 60, 30), 50),
    ],
)
def test_T326_T328_the_next_pod_waits(lab, test, ages, wait):
    runner = podless(lab, failures=failed_at(lab, *ages))
    assert lab.drive(runner) == []
    assert lab.wake_at(runner) == lab.now + wait * SECOND
    lab.later(wait * SECOND)
    assert tell(lab, lab.drive(runner)) == [CREATE]


def test_T327_after_the_wait_the_pod_is_recreated(lab):
    runner = podless(lab, failures=failed_at(lab, 90, 60, 25))
    assert tell(lab, lab.drive(runner)) == [CREATE]


def test_T329_the_sixth_failure_is_the_last(lab):
    runner = podless(lab, failures=failed_at(lab, 200, 180, 160, 120, 90, 1))
    assert tell(lab, lab.drive(runner))[0] == "delete ER a"


def test_a_pod_that_came_early_is_judged_although_the_wait_is_not_over(lab):
    pod = lab.pod(running=True, ready=True)
    runner = with_pod(lab, pod, failures=failed_at(lab, 1))
    assert tell(lab, lab.drive(runner)) == ['patch ER/status! a {"ready":true}']


# A job without a pod


def test_a_runner_that_lost_its_pod_with_a_job_is_not_started_again(lab):
    pod = lab.pod(running=True)
    runner = with_pod(lab, pod, phase="Running", job=True)
    lab.fold(runner, RunnerPodGone(pod_uid=pod.uid))
    assert tell(lab, lab.drive(runner))[0] == "delete ER a"


@pytest.mark.parametrize(
    ("outcome", "done"),
    [
        (Outcome.NOT_FOUND, [f"read Pod {NAMESPACE}/a", "delete ER a"]),
        (Outcome.OK, [f"read Pod {NAMESPACE}/a"]),
        (Outcome.FAILED, [f"read Pod {NAMESPACE}/a"]),
    ],
)
def test_a_pod_that_was_not_seen_yet_is_asked_for_before_its_busy_runner_is_given_up(lab, outcome, done):
    runner = podless(lab, phase="Running", job=True)
    lab.script("read Pod", Result(outcome))
    assert tell(lab, lab.drive(runner))[: len(done)] == done
    assert (runner_of(lab, runner).deleting if runner.uid in lab.world.runners else True) == (len(done) == 2)


# H37


def test_H37_a_runner_that_outlives_its_job_is_let_go_where_that_is_configured():
    lab = Lab(completed_runner_grace=HOUR)
    ers = lab.runner_set(1, 1)
    runner = with_pod(lab, lab.pod(running=True, ready=True), of=ers, phase="Running", ready=True, job=True, p=1)
    lab.script("remove-runner", Result(Outcome.BUSY), Result())
    assert lab.drive(runner) == []
    assert lab.wake_at(runner) == lab.now + HOUR
    lab.later(HOUR)
    assert tell(lab, lab.drive(runner)) == ["call remove-runner runner_id=11"]
    assert lab.wake_at(runner) == lab.now + HOUR
    lab.later(HOUR)
    lab.drive(runner, only=False)
    assert runner.uid not in lab.world.runners


def test_H37_by_default_nobody_asks(lab):
    runner = with_pod(lab, lab.pod(running=True, ready=True), phase="Running", ready=True, job=True)
    lab.later(100 * HOUR)
    assert lab.drive(runner) == []
    assert (lab.last(runner).verdict, lab.wake_at(runner)) == (Verdict.SETTLED, None)


def test_settled_runners_say_the_same_at_every_look(lab):
    pod = lab.pod(running=True, ready=True)
    runner = with_pod(lab, pod, ready=True)
    assert lab.look(runner).verdict is Verdict.SETTLED
    lab.later(HOUR)
    assert lab.look(runner) is None
    lab.observe(runner, RunnerPodChanged(pod=pod))
    assert len([one for one in lab.decisions if one.rule == "R17"]) == 1


def test_deletions_name_the_pod(lab):
    pod = lab.pod("Failed", exit=1, terminated=True)
    runner = with_pod(lab, pod)
    deletion = next(one for one in lab.drive(runner) if isinstance(one, DeleteObject))
    assert (deletion.uid, deletion.grace_period_s) == (pod.uid, 0)
