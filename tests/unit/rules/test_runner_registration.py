"""How a runner comes by its registration, and how its id is found again (T300–T306, T350; H22, H23)."""

from __future__ import annotations

import pytest

from arcfsm.domain.events.decision import Outcome, Verdict
from arcfsm.domain.events.runner import RunnerPodGone
from arcfsm.domain.instant import MILLISECOND, SECOND
from arcfsm.domain.intents import CreateObject, RegisterRunner, ServiceCall
from arcfsm.domain.kinds import Kind
from tests.unit.rules.harness import NAMESPACE, Lab, Result
from tests.unit.rules.runners import BOTH, answers, delete_runner, foreign, new_runner, runner_of, service
from tests.unit.rules.telling import tell

REGISTER = f"register runner {NAMESPACE}/a"
FIND = "call find-runner name=a"
RECALL = "call recall-registration name=a"
OURS = ",".join(f'"{finalizer}"' for finalizer in BOTH)


@pytest.fixture
def lab():
    return Lab()


def registered(lab, *results):
    lab.script(RegisterRunner, *results)


def test_T300_a_new_runner_gets_finalizers_registration_and_pod(lab):
    spec = {"containers": [{"name": "runner", "image": "r", "workingDir": "/w", "env": [{"name": "X", "value": "1"}]}]}
    runner = new_runner(lab, finalizers=(), spec={"runnerScaleSetId": 7, "spec": spec})
    registered(lab, answers(runner_id=11))
    done = lab.drive(runner)
    assert tell(lab, done) == [
        f'patch ER a {{"metadata":{{"finalizers":[{OURS}]}}}}',
        REGISTER,
        "create Pod a",
        'patch ER/status a {"runnerId":11,"runnerName":"a"}',
    ]
    assert (done[1].scale_set_id, done[1].work_folder) == (7, "/w")
    env = lab.patch_of(done[2])["spec"]["containers"][0]["env"]
    assert [entry["name"] for entry in env] == [
        "X",
        "ACTIONS_RUNNER_INPUT_JITCONFIG",
        "GITHUB_ACTIONS_RUNNER_EXTRA_USER_AGENT",
        "ACTIONS_RUNNER_RETURN_VERSION_DEPRECATED_EXIT_CODE",
    ]


def test_T300_one_missing_finalizer_is_added_beside_those_of_others(lab):
    runner = new_runner(lab, finalizers=("foreign", "ephemeralrunner.actions.github.com/finalizer"))
    assert tell(lab, lab.look(runner).intents) == [f'patch ER a {{"metadata":{{"finalizers":["foreign",{OURS}]}}}}']


def test_T301_removes_its_own_stale_registration(lab):
    runner = new_runner(lab)
    registered(lab, Result(Outcome.RUNNER_EXISTS), answers(runner_id=22))
    service(lab, ServiceCall.FIND_RUNNER, answers(runner_id=21, scale_set_id=7))
    assert tell(lab, lab.drive(runner)) == [REGISTER, FIND, "call remove-runner runner_id=21"]
    assert lab.wake_at(runner) == lab.now + 500 * MILLISECOND
    lab.later(500 * MILLISECOND)
    assert tell(lab, lab.drive(runner)) == [
        REGISTER,
        "create Pod a",
        'patch ER/status a {"runnerId":22,"runnerName":"a"}',
    ]


def test_T301_a_stale_registration_with_a_job_is_asked_for_again(lab):
    runner = new_runner(lab)
    registered(lab, Result(Outcome.RUNNER_EXISTS))
    service(lab, ServiceCall.FIND_RUNNER, answers(runner_id=21, scale_set_id=7))
    service(lab, ServiceCall.REMOVE_RUNNER, Result(Outcome.BUSY))
    lab.drive(runner)
    assert lab.wake_at(runner) == lab.now + 30 * SECOND
    lab.later(30 * SECOND)
    assert tell(lab, lab.drive(runner)) == ["call remove-runner runner_id=21"]


def test_T301_a_removal_that_fails_is_an_error(lab):
    runner = new_runner(lab)
    registered(lab, Result(Outcome.RUNNER_EXISTS))
    service(lab, ServiceCall.FIND_RUNNER, answers(runner_id=21, scale_set_id=7))
    service(lab, ServiceCall.REMOVE_RUNNER, Result(Outcome.FAILED, detail="500"))
    assert tell(lab, lab.drive(runner))[2:] == ["call remove-runner runner_id=21"]
    assert lab.last(runner).verdict is Verdict.WAIT
    assert "failed 1x (500)" in lab.last(runner).reason


def test_T302_a_name_that_nobody_has_is_tried_again(lab):
    runner = new_runner(lab)
    registered(lab, Result(Outcome.RUNNER_EXISTS))
    service(lab, ServiceCall.FIND_RUNNER, Result(Outcome.NOT_FOUND))
    assert tell(lab, lab.drive(runner)) == [REGISTER, FIND]
    assert lab.wake_at(runner) == lab.now + 500 * MILLISECOND


def test_T303_a_name_of_another_scale_set_is_fatal_and_both_ids_are_told(lab):
    runner = new_runner(lab)
    registered(lab, Result(Outcome.RUNNER_EXISTS))
    service(lab, ServiceCall.FIND_RUNNER, foreign(21))
    done = tell(lab, lab.drive(runner))
    assert done[:3] == [REGISTER, FIND, "delete ER a"]
    assert not [line for line in done if "remove-runner" in line]
    decided = next(one for one in lab.decisions if one.findings)
    assert decided.findings[0].text == "runner a of scale set 7 exists as 21 in scale set 8"
    assert runner.uid not in lab.world.runners, "nothing of ours is registered: nothing holds it"


def test_T304_an_outage_is_an_error(lab):
    runner = new_runner(lab)
    registered(lab, Result(Outcome.FAILED, detail="503"))
    assert tell(lab, lab.drive(runner)) == [REGISTER]
    assert lab.wake_at(runner) == lab.now + SECOND


def test_T305_a_secret_without_a_usable_id_is_made_anew(lab):
    runner = lab.runner("a", "")
    lab.dependent(Kind.SECRET, "a", stream=runner)
    service(lab, ServiceCall.RECALL_REGISTRATION, Result(Outcome.INVALID))
    assert tell(lab, lab.drive(runner)) == [RECALL, "delete Secret a"]
    assert lab.wake_at(runner) == lab.now + 500 * MILLISECOND
    lab.later(500 * MILLISECOND)
    registered(lab, answers(runner_id=12))
    assert tell(lab, lab.drive(runner))[:2] == [REGISTER, "create Pod a"]


def test_T305_with_a_live_pod_both_are_kept(lab):
    runner = lab.runner("a", "Pending", pod=lab.pod(running=True))
    lab.dependent(Kind.SECRET, "a", stream=runner)
    service(lab, ServiceCall.RECALL_REGISTRATION, Result(Outcome.INVALID))
    assert tell(lab, lab.drive(runner)) == [RECALL]
    assert [finding.code for finding in lab.last(runner).findings] == ["RunnerIdUnreadable"]


def test_T306_the_id_is_written_down_once_there_is_a_pod(lab):
    runner = lab.runner("a", "Pending", pod=lab.pod(running=True))
    lab.dependent(Kind.SECRET, "a", stream=runner)
    service(lab, ServiceCall.RECALL_REGISTRATION, answers(runner_id=11))
    assert tell(lab, lab.drive(runner)) == [RECALL, 'patch ER/status a {"runnerId":11,"runnerName":"a"}']


def test_T306_before_that_the_secret_is_the_record(lab):
    runner = lab.runner("a", "")
    lab.dependent(Kind.SECRET, "a", stream=runner)
    service(lab, ServiceCall.RECALL_REGISTRATION, answers(runner_id=11))
    assert tell(lab, lab.drive(runner)) == [
        RECALL,
        "create Pod a",
        'patch ER/status a {"runnerId":11,"runnerName":"a"}',
    ]


@pytest.mark.parametrize("outcome", [Outcome.ABANDONED, Outcome.TIMED_OUT])
def test_T350_a_registration_that_ended_unknown_is_looked_up_before_a_second_one(lab, outcome):
    runner = new_runner(lab)
    registered(lab, Result(outcome), answers(runner_id=22))
    service(lab, ServiceCall.FIND_RUNNER, answers(runner_id=21, scale_set_id=7))
    assert tell(lab, lab.drive(runner)) == [REGISTER, FIND, "call remove-runner runner_id=21"]
    lab.later(SECOND)
    assert tell(lab, lab.drive(runner))[0] == REGISTER


def test_T350_where_the_service_does_not_know_it_it_is_registered(lab):
    runner = new_runner(lab)
    registered(lab, Result(Outcome.ABANDONED), answers(runner_id=22))
    service(lab, ServiceCall.FIND_RUNNER, Result(Outcome.NOT_FOUND))
    assert tell(lab, lab.drive(runner)) == [REGISTER, FIND]
    lab.later(SECOND)
    assert tell(lab, lab.drive(runner))[0] == REGISTER


def test_H23_the_outcome_of_the_registration_tells_the_id_although_the_status_does_not(lab):
    runner = new_runner(lab)
    registered(lab, answers(runner_id=11))
    lab.script(CreateObject, Result(Outcome.FAILED))
    lab.drive(runner)
    assert runner_of(lab, runner).runner_id == 0
    delete_runner(lab, runner)
    assert "call remove-runner runner_id=11" in tell(lab, lab.drive(runner))


def test_a_registration_that_vanishes_is_replaced_after_a_pause(lab):
    runner = new_runner(lab)
    registered(lab, Result(Outcome.OK, answer={"runner_id": 11}, vain=True))
    assert tell(lab, lab.drive(runner)) == [REGISTER]
    assert lab.wake_at(runner) == lab.now + 5 * SECOND


def test_A27_a_pod_that_vanished_while_it_ran_takes_its_runner_along(lab):
    """The agent may have used the registration up; a pod that only lost its place in the queue can't have."""
    pod = lab.pod(running=True)
    runner = lab.runner("a", "Pending", id=11, pod=pod)
    lab.dependent(Kind.SECRET, "a", stream=runner)
    lab.fold(runner, RunnerPodGone(pod_uid=pod.uid))
    assert tell(lab, lab.drive(runner))[0] == "delete ER a"


def test_a_restarted_pod_uses_the_registration_that_is_there(lab):
    pod = lab.pod("Pending")
    runner = lab.runner("a", "Pending", id=11, pod=pod)
    lab.dependent(Kind.SECRET, "a", stream=runner)
    lab.fold(runner, RunnerPodGone(pod_uid=pod.uid))
    assert tell(lab, lab.drive(runner)) == ["create Pod a"]


def test_what_is_leaving_gets_neither_finalizers_nor_registration_nor_pod(lab):
    """Between the service's release and the deletion the set has dropped a finalizer already (S-remove)."""
    pod = lab.pod(running=True)
    ers = lab.runner_set(0, 0)
    runner = lab.runner("a", "Pending", of=ers, id=11, pod=pod)
    lab.script("delete EphemeralRunner", Result(Outcome.FAILED))
    assert tell(lab, lab.drive(ers))[0] == "call remove-runner runner_id=11"
    lab.fold(runner, RunnerPodGone(pod_uid=pod.uid))
    assert lab.drive(runner) == []
    assert lab.last(runner).rule == "R9"
