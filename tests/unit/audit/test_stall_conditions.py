"""Each condition of a stall: when it holds, and when it must not."""

from __future__ import annotations

import pytest

from arcfsm.audit.stalls import CONDITIONS
from arcfsm.domain.events import listener, runner, runner_set
from arcfsm.domain.facts import ContainerFacts
from arcfsm.domain.instant import HOUR, SECOND
from tests.unit.rules.harness import Lab

OTHER = {"spec": {"containers": [{"name": "runner", "image": "runner:2"}]}}


def ask(lab, name, stream):
    one = CONDITIONS[name]
    found = lab.world.aggregate(stream)
    assert isinstance(found, one.kind)
    return one.check(lab.world, found, lab.world.now)


def test_a_scale_set_without_a_listener_stalls_unless_it_is_parked_or_deleted():
    lab = Lab()
    assert "minRunners is 2" in ask(lab, "no-listener", lab.scale_set(minRunners=2)).reason
    assert ask(lab, "no-listener", lab.scale_set(name="b", phase="Outdated")) is None
    assert ask(lab, "no-listener", lab.scale_set(name="c", deleting=True)) is None
    assert ask(lab, "no-listener", lab.scale_set(name="d", id=None)) is None, "it must register first"
    heard = lab.scale_set(name="e")
    lab.listener(name="e-listener", scale_set_name="e")
    assert ask(lab, "no-listener", heard) is None


def test_an_outdated_set_for_another_spec_is_named():
    lab = Lab()
    stream = lab.scale_set(template=OTHER)
    lab.runner_set(phase="Outdated", owner=stream)
    assert "no longer wanted" in ask(lab, "no-listener", stream).reason


def test_parked_for_a_spec_that_is_still_wanted_is_no_stall():
    lab = Lab()
    same, other = lab.scale_set(phase="Outdated"), lab.scale_set(name="other", phase="Outdated", template=OTHER)
    lab.runner_set(phase="Outdated", owner=same)
    lab.runner_set(phase="Outdated", owner=other, name="other")
    assert ask(lab, "parked-for-another-spec", same) is None
    assert ask(lab, "parked-for-another-spec", other) is not None


def test_a_scale_set_without_an_id_is_unregistered():
    lab = Lab()
    assert ask(lab, "unregistered", lab.scale_set(id=None)) is not None
    assert ask(lab, "unregistered", lab.scale_set(name="b")) is None


def test_outdated_needs_a_runner_that_was_refused():
    lab = Lab()
    stream = lab.runner_set(r=(2, 2))
    lab.fold(stream, runner_set.RunnerSetPhaseChanged(phase="Outdated"))
    assert ask(lab, "outdated-without-cause", stream) is not None
    refused = lab.runner("refused", "Pending", of=stream, r=2)
    lab.fold(refused, runner.RunnerPhaseChanged(phase="Outdated"))
    assert ask(lab, "outdated-without-cause", stream) is None


def test_a_gate_is_closed_only_with_runners_due_and_the_wish_served():
    lab = Lab()
    stream = lab.runner_set(0, 0)
    lab.fold(stream, runner_set.RunnerSetScaled(replicas=3, patch_id=1))
    assert ask(lab, "gate-closed", stream) is None, "nothing of the wish was born: the gate is open"
    lab.runner("a", of=stream, p=1)
    assert "1 of 3" in ask(lab, "gate-closed", stream).reason
    lab.runner("b", of=stream, p=1)
    lab.runner("c", of=stream, p=1)
    assert ask(lab, "gate-closed", stream) is None


def test_failed_runners_hold_slots():
    lab = Lab()
    stream = lab.runner_set(1, 1)
    lab.runner("a", "Failed", of=stream, reason="InvalidPod")
    assert "a: InvalidPod" in ask(lab, "failed-runners-hold-slots", stream).reason


def test_a_second_pod_of_a_runner_with_a_job_used_its_registration_up():
    lab = Lab()
    stream = lab.runner("a", job=True, pod=lab.pod(running=True))
    assert ask(lab, "used-registration", stream) is None
    first = lab.world.runners[stream.uid].pod.uid
    lab.fold(stream, runner.RunnerPodGone(pod_uid=first), runner.RunnerPodCreated(pod=lab.pod("Pending")))
    assert ask(lab, "used-registration", stream) is not None


def test_running_without_a_pod_counts_from_when_the_pod_went():
    lab = Lab()
    stream = lab.runner("a", "Running", job=True, pod=lab.pod(running=True))
    assert ask(lab, "running-without-pod", stream) is None
    lab.later(5 * SECOND)
    lab.fold(stream, runner.RunnerPodGone(pod_uid=lab.world.runners[stream.uid].pod.uid))
    assert ask(lab, "running-without-pod", stream).since == lab.now


@pytest.mark.parametrize("make", ["scale_set", "runner_set", "listener"])
def test_a_deletion_that_waits_is_patient_and_names_what_holds_it(make):
    lab = Lab()
    stream = getattr(lab, make)(deleting=True)
    found = ask(lab, "deletion-waits", stream)
    assert found.patience == HOUR
    assert "finalizer" in found.reason


def test_a_listener_whose_pod_ended_or_is_missing_is_down():
    lab = Lab()
    stream = lab.listener(pod=lab.pod(running=True))
    assert ask(lab, "listener-down", stream) is None
    ended = ContainerFacts(state="terminated", exit_code=1, finished_at=lab.now)
    pod = lab.pod("Failed", ended, uid=lab.world.listeners[stream.uid].pod.uid)
    lab.fold(stream, listener.ListenerPodTerminated(pod=pod))
    assert ask(lab, "listener-down", stream) is not None
    lab.fold(stream, listener.ListenerPodGone(pod_uid=pod.uid))
    assert "no pod" in ask(lab, "listener-down", stream).reason
    assert ask(lab, "listener-down", lab.listener("Stopped", name="off")) is None


def test_every_condition_names_its_evidence():
    assert all(one.evidence and one.meaning.endswith(".") for one in CONDITIONS.values())
