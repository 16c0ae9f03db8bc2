"""How a runner lets go: T330–T347; H25, H26, H29, H33."""

from __future__ import annotations

import pytest

from arcfsm.domain import keys
from arcfsm.domain.events.decision import Outcome, Verdict
from arcfsm.domain.events.runner import RunnerPodChanged, RunnerPodGone, RunnerPodObserved
from arcfsm.domain.facts import ContainerFacts
from arcfsm.domain.instant import MINUTE, SECOND
from arcfsm.domain.intents import DeleteObject, RegisterRunner, ServiceCall
from arcfsm.domain.kinds import Kind
from arcfsm.domain.snapshot import freeze, thaw
from tests.unit.rules.harness import NAMESPACE, Lab, Result
from tests.unit.rules.runners import (
    BOTH,
    NO_FINALIZERS,
    answers,
    delete_runner,
    foreign,
    new_runner,
    runner_of,
    service,
)
from tests.unit.rules.telling import tell

READ = f"read Pod {NAMESPACE}/a"
RECALL = "call recall-registration name=a"
FIND = "call find-runner name=a"
REMOVE_11 = "call remove-runner runner_id=11"
RELEASED = f'patch ER a {{"metadata":{{"finalizers":["{keys.RUNNER_FINALIZER}"]}}}}'
BUSY = Result(Outcome.BUSY)


@pytest.fixture
def lab():
    return Lab()


def runner(lab, phase="Pending", *, pod=None, secret=True, deleting=True, **facts):
    """A runner with a Secret that is being deleted."""
    stream = lab.runner("a", phase, pod=pod, deleting=deleting, **facts)
    if secret:
        lab.dependent(Kind.SECRET, "a", stream=stream)
    return stream


def live(lab):
    return lab.pod(running=True, ready=True)


def over(lab):
    return lab.pod("Failed", exit=1, terminated=True)


def without_pod(lab, stream):
    """Its pod was seen and is gone."""
    pod = live(lab)
    lab.fold(stream, RunnerPodObserved(pod=pod), RunnerPodGone(pod_uid=pod.uid))


# R8, R13: over and not deleted


def test_T330_a_failed_runner_that_was_not_released_is_released(lab):
    stream = runner(lab, "Failed", pod=over(lab), deleting=False, id=11)
    assert tell(lab, lab.drive(stream)) == ["delete Pod a", "delete Secret a", REMOVE_11, RELEASED]


def test_T330_its_secret_stays_until_the_id_is_known(lab):
    stream = runner(lab, "Outdated", pod=over(lab), deleting=False)
    service(lab, ServiceCall.RECALL_REGISTRATION, Result(Outcome.FAILED), answers(runner_id=11))
    assert tell(lab, lab.drive(stream)) == ["delete Pod a", RECALL]
    lab.later(SECOND)
    assert tell(lab, lab.drive(stream)) == [RECALL, "delete Secret a", REMOVE_11, RELEASED]


def test_T331_a_succeeded_runner_keeps_its_finalizers(lab):
    stream = runner(lab, "Succeeded", pod=lab.pod("Succeeded", exit=0, terminated=True), deleting=False, id=11)
    assert tell(lab, lab.drive(stream)) == ["delete Pod a", "delete Secret a"]
    assert runner_of(lab, stream).finalizers == BOTH
    assert lab.last(stream).verdict is Verdict.WAIT


# R2–R7: deleted


def test_R2_without_our_finalizer_it_is_not_ours(lab):
    stream = runner(lab, finalizers=("foreign", keys.REGISTRATION_FINALIZER), pod=live(lab), id=11)
    assert lab.drive(stream) == []


def test_T332_a_runner_that_ended_well_deregistered_itself(lab):
    stream = runner(lab, "Succeeded", pod=lab.pod("Succeeded", exit=0, terminated=True), id=11)
    assert tell(lab, lab.drive(stream)) == ["delete Pod a", "delete Secret a", NO_FINALIZERS]


def test_T333_T334_a_busy_runner_keeps_its_pod_until_the_service_lets_it_go(lab):
    stream = runner(lab, pod=live(lab), id=11)
    lab.script("remove-runner", BUSY, Result())
    assert tell(lab, lab.drive(stream)) == [REMOVE_11]
    assert (lab.last(stream).rule, lab.last(stream).verdict) == ("R4", Verdict.WAIT)
    assert lab.wake_at(stream) == lab.now + 30 * SECOND
    lab.later(29 * SECOND)
    assert lab.drive(stream) == []
    lab.later(SECOND)
    assert tell(lab, lab.drive(stream)) == [REMOVE_11, "delete Pod a", "delete Secret a", NO_FINALIZERS]
    assert stream.uid not in lab.world.runners


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.TIMED_OUT, Outcome.FORBIDDEN, Outcome.ABANDONED])
def test_H29_no_answer_is_no_permission(lab, outcome):
    stream = runner(lab, pod=live(lab), id=11)
    lab.script("remove-runner", Result(outcome, detail="no"))
    assert tell(lab, lab.drive(stream)) == [REMOVE_11]
    assert "failed 1x (no)" in lab.last(stream).reason
    assert runner_of(lab, stream).finalizers == BOTH


def test_T334_not_found_lets_go_as_well(lab):
    stream = runner(lab, pod=live(lab), id=11)
    lab.script("remove-runner", Result(Outcome.NOT_FOUND))
    assert tell(lab, lab.drive(stream)) == [REMOVE_11, "delete Pod a", "delete Secret a", NO_FINALIZERS]


def test_T335_where_its_pod_is_unknown_nothing_goes_without_an_answer(lab):
    stream = runner(lab, id=11)
    lab.script("read Pod", Result(Outcome.FAILED), Result(before=lambda: lab.fold(stream, RunnerPodObserved(pod=pod))))
    pod = live(lab)
    lab.script("remove-runner", BUSY)
    assert tell(lab, lab.drive(stream)) == [READ]
    assert lab.last(stream).verdict is Verdict.WAIT
    lab.later(SECOND)
    assert tell(lab, lab.drive(stream)) == [READ, REMOVE_11], "it has a live pod after all"


def test_T335_a_pod_whose_creation_ended_unknown_is_looked_for_too(lab):
    stream = new_runner(lab)
    lab.script(RegisterRunner, answers(runner_id=11))
    lab.script("create Pod", Result(Outcome.TIMED_OUT))
    lab.drive(stream)
    delete_runner(lab, stream)
    assert tell(lab, lab.drive(stream)) == [READ, "delete Secret a", REMOVE_11, NO_FINALIZERS]


def test_T336_the_secret_knows_the_id_that_the_status_lacks(lab):
    stream = runner(lab)
    lab.script("read Pod", Result(Outcome.NOT_FOUND))
    service(lab, ServiceCall.RECALL_REGISTRATION, answers(runner_id=12))
    assert tell(lab, lab.drive(stream)) == [
        READ,
        RECALL,
        "delete Secret a",
        "call remove-runner runner_id=12",
        NO_FINALIZERS,
    ]


def test_T337_a_name_that_the_service_does_not_know_has_nothing_to_remove(lab):
    stream = runner(lab, secret=False)
    without_pod(lab, stream)
    service(lab, ServiceCall.FIND_RUNNER, Result(Outcome.NOT_FOUND))
    assert tell(lab, lab.drive(stream)) == [FIND, NO_FINALIZERS]


def test_T337_one_that_it_knows_by_name_is_removed(lab):
    stream = runner(lab, secret=False)
    without_pod(lab, stream)
    service(lab, ServiceCall.FIND_RUNNER, answers(runner_id=13, scale_set_id=7))
    assert tell(lab, lab.drive(stream)) == [FIND, "call remove-runner runner_id=13", NO_FINALIZERS]


def test_T338_a_name_of_another_scale_set_is_an_error_and_asked_for_again(lab):
    stream = runner(lab, secret=False)
    without_pod(lab, stream)
    service(lab, ServiceCall.FIND_RUNNER, foreign(13), Result(Outcome.NOT_FOUND))
    assert tell(lab, lab.drive(stream)) == [FIND]
    last = lab.last(stream)
    assert (last.rule, last.verdict) == ("R3", Verdict.STALLED)
    assert "belongs to scale set 8" in last.reason
    lab.later(5 * MINUTE)
    assert tell(lab, lab.drive(stream)) == [FIND, NO_FINALIZERS]


@pytest.mark.parametrize("recalled", [Result(Outcome.INVALID), answers(runner_id=0)])
def test_T339_a_secret_without_a_usable_id_keeps_a_live_pod(lab, recalled):
    stream = runner(lab, pod=live(lab))
    service(lab, ServiceCall.RECALL_REGISTRATION, recalled)
    assert tell(lab, lab.drive(stream)) == [RECALL]
    assert lab.last(stream).verdict is Verdict.STALLED


def test_T339_without_a_live_pod_the_service_is_asked_by_name(lab):
    stream = runner(lab, pod=over(lab))
    service(lab, ServiceCall.RECALL_REGISTRATION, Result(Outcome.INVALID))
    service(lab, ServiceCall.FIND_RUNNER, Result(Outcome.NOT_FOUND))
    assert tell(lab, lab.drive(stream)) == [RECALL, FIND, "delete Pod a", "delete Secret a", NO_FINALIZERS]


# R14


def test_T340_the_service_is_asked_again_until_it_lets_go(lab):
    stream = runner(lab, pod=over(lab), id=11)
    lab.script("remove-runner", BUSY, Result())
    assert tell(lab, lab.drive(stream)) == ["delete Pod a", "delete Secret a", REMOVE_11]
    assert lab.wake_at(stream) == lab.now + 30 * SECOND
    lab.later(30 * SECOND)
    assert tell(lab, lab.drive(stream)) == [REMOVE_11, NO_FINALIZERS]


def test_T341_the_same_removal_is_asked_for_once_whoever_wants_it(lab):
    ers = lab.runner_set(0, 0)
    stream = lab.runner("a", "Pending", of=ers, id=11, pod=live(lab))
    wanted = lab.look(ers).intents
    delete_runner(lab, stream)
    assert tell(lab, wanted) == [REMOVE_11]
    assert lab.look(stream) is None, "it is in flight, and its answer will count for both"


def test_T342_a_removal_survives_a_restart(lab):
    stream = runner(lab, pod=over(lab), id=11)
    lab.script("remove-runner", Result(Outcome.ABANDONED), Result())
    lab.drive(stream)
    lab.world = thaw(freeze(lab.world), lab.world.documents)
    lab.later(SECOND)
    assert tell(lab, lab.drive(stream)) == [REMOVE_11, NO_FINALIZERS]


# R6


def hooked(container):
    env = [{"name": keys.CONTAINER_HOOKS_ENV, "value": "/h"}]
    containers = [{"name": "runner"}, {"name": "other"}]
    return {
        "runnerScaleSetId": 7,
        "spec": {"containers": [{**one, "env": env} if one["name"] == container else one for one in containers]},
    }


SWEEPS = [f"delete {kind} {NAMESPACE}/runner-pod=a" for kind in ("Pod", "Secret")]


def test_T343_what_container_hooks_made_goes_too(lab):
    stream = runner(lab, "Succeeded", pod=over(lab), spec=hooked("runner"))
    assert tell(lab, lab.drive(stream)) == ["delete Pod a", "delete Secret a", *SWEEPS, NO_FINALIZERS]


def test_T343_the_finalizers_stay_until_it_is_gone(lab):
    stream = runner(lab, "Succeeded", pod=over(lab), spec=hooked("runner"))
    lab.script(SWEEPS[1], Result(Outcome.FORBIDDEN))
    assert tell(lab, lab.drive(stream)) == ["delete Pod a", "delete Secret a", *SWEEPS]
    assert runner_of(lab, stream).finalizers == BOTH


def test_T344_hooks_of_another_container_mean_nothing(lab):
    stream = runner(lab, "Succeeded", pod=over(lab), spec=hooked("other"))
    assert tell(lab, lab.drive(stream)) == ["delete Pod a", "delete Secret a", NO_FINALIZERS]


# R15


def deletion_of(lab, stream):
    return next(one for one in lab.drive(stream) if isinstance(one, DeleteObject) and one.kind is Kind.POD)


def test_T345_a_pod_whose_containers_all_ended_goes_at_once(lab):
    pod = lab.pod("Running", exit=0, terminated=True)
    deletion = deletion_of(lab, runner(lab, "Succeeded", pod=pod))
    assert (deletion.uid, deletion.grace_period_s) == (pod.uid, 0)


def test_T346_a_lost_node_gets_the_usual_grace(lab):
    pod = lab.pod("Failed", ContainerFacts(state="running"), reason="NodeLost")
    deletion = deletion_of(lab, runner(lab, "Succeeded", pod=pod))
    assert (deletion.uid, deletion.grace_period_s) == (pod.uid, None)


@pytest.mark.parametrize(("setting", "grace"), [(-1, None), (0, 0), (5, 5)])
def test_R15_the_grace_is_a_setting(setting, grace):
    lab = Lab(terminated_pod_grace_s=setting)
    assert deletion_of(lab, runner(lab, "Succeeded", pod=over(lab))).grace_period_s == grace


def test_T347_another_pod_of_that_name_is_looked_at_before_anything_is_deleted(lab):
    stream = runner(lab, "Succeeded", pod=over(lab), secret=False)
    lab.script("delete Pod", Result(Outcome.CONFLICT), Result())
    lab.script("read Pod", Result(Outcome.FAILED), Result(Outcome.NOT_FOUND))
    assert tell(lab, lab.drive(stream)) == ["delete Pod a", READ]
    lab.later(SECOND)
    assert tell(lab, lab.drive(stream)) == [READ, NO_FINALIZERS]


def test_T347_the_successor_is_judged_by_itself(lab):
    stream = runner(lab, "Succeeded", pod=over(lab), secret=False)
    successor = live(lab)
    lab.script("delete Pod", Result(Outcome.CONFLICT), Result())
    lab.script("read Pod", Result(before=lambda: lab.fold(stream, RunnerPodObserved(pod=successor))))
    assert tell(lab, lab.drive(stream)) == ["delete Pod a", READ, "delete Pod a", NO_FINALIZERS]
    assert lab.done[2].uid == successor.uid


# Hazards


def test_H25_a_service_that_never_lets_go_is_given_up_long_after_the_pod_went(lab):
    stream = runner(lab, id=11)
    without_pod(lab, stream)
    lab.script("remove-runner", BUSY)
    lab.drive(stream)
    for _ in range(19):
        lab.later(30 * SECOND)
        assert tell(lab, lab.drive(stream)) == [REMOVE_11]
    lab.later(30 * SECOND)
    assert tell(lab, lab.drive(stream)) == [NO_FINALIZERS]
    assert [finding.code for finding in lab.decisions[-1].findings] == ["RegistrationAbandoned"]


def test_H25_a_pod_that_lives_is_never_given_up(lab):
    stream = runner(lab, pod=live(lab), id=11)
    lab.script("remove-runner", BUSY)
    lab.later(60 * MINUTE)
    assert tell(lab, lab.drive(stream)) == [REMOVE_11]
    assert runner_of(lab, stream).finalizers == BOTH


def test_H26_a_runner_that_never_registered_needs_no_service(lab):
    stream = new_runner(lab)
    delete_runner(lab, stream)
    assert tell(lab, lab.drive(stream)) == [NO_FINALIZERS]


def test_H26_one_that_tried_may_be_registered_whatever_came_of_it(lab):
    stream = new_runner(lab)
    lab.script(RegisterRunner, Result(Outcome.FAILED))
    service(lab, ServiceCall.FIND_RUNNER, answers(runner_id=21, scale_set_id=7))
    lab.drive(stream)
    delete_runner(lab, stream)
    assert tell(lab, lab.drive(stream)) == [FIND, "call remove-runner runner_id=21", NO_FINALIZERS]


def test_H26_one_that_is_being_registered_is_waited_for(lab):
    stream = new_runner(lab)
    assert isinstance(lab.look(stream).intents[0], RegisterRunner)
    delete_runner(lab, stream)
    decided = lab.look(stream)
    assert (decided.rule, decided.verdict, decided.intents) == ("R3", Verdict.WAIT, ())


def test_an_impossible_id_keeps_the_runner_and_says_so(lab):
    stream = runner(lab, pod=live(lab), id=-1)
    assert lab.drive(stream) == []
    assert lab.last(stream).verdict is Verdict.STALLED
    assert lab.last(stream).findings[0].code == "RegistrationUnclear"


def test_reasons_don_t_change_while_nothing_does(lab):
    stream = runner(lab, pod=live(lab), id=11)
    lab.script("remove-runner", BUSY)
    lab.drive(stream)
    decisions = len(lab.decisions)
    lab.later(10 * SECOND)
    assert lab.look(stream) is None
    lab.observe(stream, RunnerPodChanged(pod=runner_of(lab, stream).pod))
    assert len(lab.decisions) == decisions
