"""What the rules of a runner say where another controller acts: sensible, all at once, and stable."""

from __future__ import annotations

import pytest

from arcfsm.domain import keys
from arcfsm.domain.events.decision import Verdict
from arcfsm.domain.events.runner import RunnerFinalizersChanged, RunnerPodGone
from arcfsm.domain.facts import PodFailure
from arcfsm.domain.instant import MINUTE, SECOND
from arcfsm.domain.kinds import Kind
from tests.unit.rules.harness import NAMESPACE, Lab
from tests.unit.rules.runners import BOTH, NO_FINALIZERS, new_runner
from tests.unit.rules.telling import tell

REGISTER = f"register runner {NAMESPACE}/a"


@pytest.fixture
def lab():
    return Lab(advisory=True)


def advice(lab, stream):
    decided = lab.look(stream)
    assert lab.look(stream) is None, "the same look gives the same answer"
    lab.later(3 * SECOND)
    assert lab.look(stream) is None, "and so does a later one"
    return tell(lab, decided.intents)


def test_a_new_runner_is_registered_and_gets_its_pod(lab):
    assert advice(lab, new_runner(lab)) == [REGISTER, "create Pod a"]


def test_its_secret_may_be_shown(lab):
    stream = new_runner(lab)
    lab.dependent(Kind.SECRET, "a", stream=stream)
    assert advice(lab, stream) == ["create Pod a"]


def test_where_there_is_a_pod_there_was_a_secret_shown_or_not(lab):
    stream = lab.runner("a", "Pending", pod=lab.pod(running=True))
    assert advice(lab, stream) == []
    assert lab.last(stream).verdict is Verdict.SETTLED


def test_a_lost_pod_is_recreated_without_a_new_registration(lab):
    pod = lab.pod(running=True)
    stream = lab.runner("a", "Pending", pod=pod)
    lab.fold(stream, RunnerPodGone(pod_uid=pod.uid))
    assert advice(lab, stream) == ["create Pod a"]


def test_a_runner_that_lost_its_pod_with_a_job_is_not_started_again(lab):
    """The recording pod-lost-while-busy: the other controller starts it again with a registration that is used up."""
    pod = lab.pod(running=True)
    stream = lab.runner("a", "Running", id=11, job=True, pod=pod)
    lab.fold(stream, RunnerPodGone(pod_uid=pod.uid))
    assert advice(lab, stream) == ["delete ER a"]


def test_a_pod_that_was_not_seen_yet_is_not_given_up(lab):
    stream = lab.runner("a", "Running", id=11, job=True)
    assert advice(lab, stream) == []
    assert lab.last(stream).verdict is Verdict.WAIT


def test_a_busy_runner_that_is_deleted_is_asked_about_and_kept(lab):
    stream = lab.runner("a", "Running", id=11, job=True, deleting=True, pod=lab.pod(running=True))
    assert advice(lab, stream) == ["call remove-runner runner_id=11"]


def test_an_idle_one_goes_with_everything(lab):
    stream = lab.runner("a", "Pending", id=11, deleting=True, pod=lab.pod(running=True))
    lab.dependent(Kind.SECRET, "a", stream=stream)
    assert advice(lab, stream) == [
        "call remove-runner runner_id=11",
        "delete Pod a",
        "delete Secret a",
        NO_FINALIZERS,
    ]


def test_a_refused_one_is_released(lab):
    stream = lab.runner("a", "Outdated", id=11, pod=lab.pod("Failed", exit=7, terminated=True))
    assert advice(lab, stream) == [
        "delete Pod a",
        "call remove-runner runner_id=11",
        f'patch ER a {{"metadata":{{"finalizers":["{keys.RUNNER_FINALIZER}"]}}}}',
    ]


def test_a_released_registration_is_not_held_again(lab):
    stream = lab.runner("a", "Pending", id=11, pod=lab.pod(running=True))
    lab.fold(stream, RunnerFinalizersChanged(finalizers=BOTH[:1]))
    assert advice(lab, stream) == []


def test_a_failed_pod_reads_the_same_at_every_look(lab):
    stream = lab.runner("a", "Pending", id=11, pod=lab.pod("Failed", exit=1, terminated=True))
    assert advice(lab, stream)[0] == "delete Pod a"


def test_waits_wake_in_advice_too(lab):

    stream = lab.runner("a", "Pending", id=11, failures=[PodFailure("p", lab.now)])
    assert advice(lab, stream) == []
    assert lab.wake_at(stream) == lab.now + 2 * SECOND
    lab.later(MINUTE)
    assert tell(lab, lab.look(stream).intents) == ["create Pod a"]
