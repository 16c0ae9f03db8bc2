"""The pod of a listener: T209–T211, T213–T226, T230–T231; H18, H28, H31, H39, Z1."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest

from arcfsm.domain import keys
from arcfsm.domain.events.decision import Outcome, Verdict
from arcfsm.domain.events.listener import ListenerPodChanged, ListenerPodGone, ListenerPodObserved, ListenerSpecChanged
from arcfsm.domain.instant import HOUR, MINUTE, SECOND
from arcfsm.domain.intents import DeleteObject, PatchObject
from arcfsm.domain.kinds import Kind
from arcfsm.domain.rules.listener_pod import restart_delay
from arcfsm.domain.settings import ControllerSettings
from tests.unit.rules.harness import CONTROLLER_NAMESPACE, LISTENER, Lab, Result
from tests.unit.rules.listeners import (
    CONFIG,
    CREATE_POD,
    DELETE_POD,
    SAME,
    WRITE_CONFIG,
    adopted,
    edit_secret,
    end,
    listener_of,
    start,
    up,
)
from tests.unit.rules.scenes import scene
from tests.unit.rules.telling import tell


@pytest.fixture
def lab():
    return Lab()


def settled(lab, al):
    """Nothing is written; what is there was compared once."""
    lab.script("write Secret", SAME)
    return tell(lab, lab.drive(al)) == [WRITE_CONFIG] and lab.last(al).verdict is Verdict.SETTLED


def edited(change):
    """A change of the pod that the other controller created."""

    def apply(pod):
        copied = deepcopy(pod)
        change(copied["spec"])
        return copied

    return apply


def container(spec):
    return next(one for one in spec["containers"] if one["name"] == "listener")


# Z1


def test_T209_a_pod_without_a_stamp_is_neither_recreated_nor_stamped(lab):
    _, _, al = adopted(lab)
    assert settled(lab, al)


def test_T209_not_even_when_its_metadata_is_merged(lab):
    _, _, al = adopted(lab, change=lambda pod: {**pod, "metadata": {**pod["metadata"], "labels": {}}})
    lab.script("write Secret", SAME)
    patch = next(one for one in lab.drive(al) if isinstance(one, PatchObject))
    assert list(lab.patch_of(patch)["metadata"]) == ["labels"]


def test_T210_when_the_configuration_moves_on_it_is_recreated(lab):
    _, _, al = adopted(lab)
    lab.script("write Secret", SAME)
    lab.drive(al)
    lab.done.clear()
    lab.later(MINUTE)
    edit_secret(lab, al, CONFIG, modified_at=None)
    assert tell(lab, lab.drive(al)) == [WRITE_CONFIG, DELETE_POD, CREATE_POD]


def test_T210_our_own_first_write_counts_too(lab):
    """The effect found that the configuration says something else than it should: the harm is proven (Z1)."""
    _, _, al = adopted(lab)
    assert tell(lab, lab.drive(al)) == [WRITE_CONFIG, DELETE_POD, CREATE_POD]


def test_T210_a_pod_that_was_seen_before_its_secret_is_measured_by_the_first_version_seen(lab):
    _, _, al = scene(lab)
    lab.fold(al, ListenerPodObserved(pod=lab.pod(running=True)))
    assert listener_of(lab, al).config_version_at_pod == ""
    for _ in range(2):
        lab.dependent(Kind.SECRET, CONFIG, namespace=CONTROLLER_NAMESPACE, stream=al)
        versions = {lab.world.dependent(Kind.SECRET, CONTROLLER_NAMESPACE, CONFIG).resource_version}
        versions.add(listener_of(lab, al).config_version_at_pod)
    assert len(versions) == 2, "the second version is another one than it started with"


def test_T211_a_configuration_written_after_the_pod_started_means_it_read_an_older_one(lab):
    _, _, al = adopted(lab)
    edit_secret(
        lab, al, CONFIG, modified_at=lab.now + SECOND, resource_version=listener_of(lab, al).config_version_at_pod
    )
    lab.script("write Secret", SAME)
    assert tell(lab, lab.drive(al)) == [WRITE_CONFIG, DELETE_POD, CREATE_POD]


def test_D12_another_stamp_is_drift_the_same_is_none(lab):
    _, _, al = adopted(lab, stamp="7")
    lab.script("write Secret", SAME)
    assert tell(lab, lab.drive(al)) == [WRITE_CONFIG, DELETE_POD, CREATE_POD]


# D12: what a cluster adds is no drift, what somebody changes is


def defaults(spec):
    spec["tolerations"] = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}]
    spec["volumes"].append({"name": "kube-api-access-x", "projected": {"sources": []}})
    spec["nodeName"] = "node-1"
    spec["schedulerName"] = "default-scheduler"
    container(spec)["imagePullPolicy"] = "IfNotPresent"


def sidecar_first(spec):
    spec["containers"].insert(0, {"name": "istio-proxy", "image": "proxy"})


@pytest.mark.parametrize(("test", "change"), [("T213", defaults), ("T215", lambda spec: None), ("T216", sidecar_first)])
def test_T213_T215_T216_additions_are_no_drift(lab, test, change):
    _, _, al = adopted(lab, change=edited(change))
    assert settled(lab, al)


def test_T214_a_removed_port_is_drift():
    lab = Lab(metrics_addr="0")
    port = {"containerPort": 8080, "protocol": "TCP", "name": "metrics"}
    _, _, al = adopted(lab, change=edited(lambda spec: container(spec).update(ports=[port])))
    lab.script("write Secret", SAME)
    assert tell(lab, lab.drive(al)) == [WRITE_CONFIG, DELETE_POD, CREATE_POD]


@pytest.mark.parametrize("ours", [True, False])
def test_T217_an_edited_image_is_drift_whoever_created_the_pod(lab, ours):
    _, _, al = up(lab) if ours else adopted(lab)
    lab.script("write Secret", SAME)
    lab.drive(al)
    pod = listener_of(lab, al).pod
    spec = deepcopy(lab.world.documents.mapping(pod.spec))
    container(spec)["image"] = "evil"
    lab.fold(al, ListenerPodChanged(pod=replace(pod, spec=lab.doc(spec))))
    assert tell(lab, lab.drive(al)) == [DELETE_POD, CREATE_POD]


PROBE = {"httpGet": {"path": "/", "port": 8080}}


def probed(spec):
    container(spec)["livenessProbe"] = {
        **PROBE,
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }


def on_host(spec):
    for port in container(spec)["ports"]:
        port["hostPort"] = port["containerPort"]


@pytest.mark.parametrize(
    ("test", "template", "change"),
    [
        ("T218", {"containers": [{"name": "listener", "livenessProbe": PROBE}]}, probed),
        ("T219", {"hostNetwork": True, "containers": []}, on_host),
    ],
)
def test_T218_T219_server_defaults_are_no_drift(lab, test, template, change):
    _, _, al = adopted(lab, change=edited(change), listenerTemplate={"spec": template})
    assert settled(lab, al)


def test_H18_a_pod_of_ours_is_compared_with_what_we_asked_for(lab):
    _, _, al = up(lab)
    assert listener_of(lab, al).pod_wanted
    pod = listener_of(lab, al).pod
    spec = deepcopy(lab.world.documents.mapping(pod.spec))
    defaults(spec)
    container(spec)["livenessProbe"] = {"exec": {"command": ["x"]}}
    lab.fold(al, ListenerPodChanged(pod=replace(pod, spec=lab.doc(spec))))
    assert lab.drive(al) == []


def mutate(lab, al):
    """A webhook that gives every pod another image."""
    pod = listener_of(lab, al).pod
    spec = deepcopy(lab.world.documents.mapping(pod.spec))
    container(spec)["image"] = "mirror/listener:1"
    lab.fold(al, ListenerPodChanged(pod=replace(pod, spec=lab.doc(spec))))


def test_H18_a_pod_that_always_comes_out_different_is_given_up_on(lab):
    _, _, al = up(lab)
    for _ in range(3):
        mutate(lab, al)
        assert tell(lab, lab.drive(al)) == [DELETE_POD, CREATE_POD]
        lab.later(10 * SECOND)
    mutate(lab, al)
    assert lab.drive(al) == []
    last = lab.last(al)
    assert (last.verdict, last.findings[0].code) == (Verdict.STALLED, "ListenerNotConverging")
    lab.later(HOUR)
    assert lab.drive(al) == [], "a pause alone changes nothing"


def test_H18_a_pod_that_ended_is_replaced_all_the_same(lab):
    _, _, al = up(lab)
    for _ in range(3):
        mutate(lab, al)
        lab.drive(al)
        lab.later(10 * SECOND)
    mutate(lab, al)
    end(lab, al, 0)
    assert tell(lab, lab.drive(al))[:1] == [DELETE_POD]


def test_H18_recreations_far_apart_are_no_loop(lab):
    _, _, al = up(lab)
    for _ in range(8):
        mutate(lab, al)
        assert tell(lab, lab.drive(al)) == [DELETE_POD, CREATE_POD]
        lab.later(3 * MINUTE)


# L11.2: ended


def test_T220_an_evicted_pod_is_replaced_at_once(lab):
    _, _, al = up(lab)
    end(lab, al, 137, reason=keys.REASON_EVICTED, phase="Failed")
    assert tell(lab, lab.drive(al)) == [DELETE_POD, CREATE_POD]


def test_T221_a_failure_is_replaced_after_a_wait(lab):
    _, _, al = up(lab)
    end(lab, al, 1, ago=4 * SECOND)
    assert lab.drive(al) == []
    assert lab.wake_at(al) == lab.now + 11 * SECOND
    lab.later(11 * SECOND)
    assert tell(lab, lab.drive(al)) == [DELETE_POD, CREATE_POD]


def test_T222_a_clean_end_is_replaced_at_once(lab):
    _, _, al = up(lab)
    end(lab, al, 0)
    assert tell(lab, lab.drive(al)) == [DELETE_POD, CREATE_POD]


def test_T223_H31_a_dead_pod_is_deleted_and_not_patched(lab):
    _, _, al = up(lab)
    end(lab, al, 0, metadata=lab.doc({"labels": {}, "annotations": {}}))
    assert tell(lab, lab.drive(al)) == [DELETE_POD, CREATE_POD]


def test_T224_a_label_that_somebody_removed_is_put_back(lab):
    _, _, al = up(lab)
    pod = listener_of(lab, al).pod
    metadata = deepcopy(lab.world.documents.mapping(pod.metadata))
    del metadata["labels"][keys.SCALE_SET_NAME]
    metadata["labels"]["foreign"] = "x"
    lab.fold(al, ListenerPodChanged(pod=replace(pod, metadata=lab.doc(metadata))))
    (patch,) = lab.drive(al)
    assert (patch.kind, patch.uid) == (Kind.POD, pod.uid)
    assert lab.patch_of(patch) == {"metadata": {"labels": {keys.SCALE_SET_NAME: "demo"}}}


def test_T225_a_missing_pod_is_created_with_the_version_it_will_read(lab):
    _, _, al = up(lab)
    lab.fold(al, ListenerPodGone(pod_uid=listener_of(lab, al).pod.uid))
    (create,) = lab.drive(al)
    config = lab.world.dependent(Kind.SECRET, CONTROLLER_NAMESPACE, CONFIG)
    assert lab.patch_of(create)["metadata"]["annotations"] == {keys.LISTENER_CONFIG_VERSION: config.resource_version}


def test_T226_with_an_invalid_url_no_pod_and_no_error(lab):
    _, _, al = scene(lab)
    spec = {**lab.world.documents.mapping(listener_of(lab, al).spec), "githubConfigUrl": "https://github.com"}
    lab.fold(al, ListenerSpecChanged(spec=lab.doc(spec)))
    assert not [line for line in tell(lab, lab.drive(al)) if "Pod" in line or "Secret" in line]
    last = lab.last(al)
    assert (last.rule, last.verdict, last.wake_at) == ("L12", Verdict.STALLED, None)


def test_T230_a_template_may_take_the_grace_period_away(lab):
    """How the overlay works is tested with the manifests; here that the pod that a listener gets has it."""
    _, _, al = scene(lab, listenerTemplate={"spec": {"containers": []}})
    create = lab.drive(al)[-1]
    assert "terminationGracePeriodSeconds" not in lab.patch_of(create)["spec"]


def test_T231_failures_in_a_row_wait_longer_and_longer(lab):
    _, _, al = up(lab)
    waits = []
    for _ in range(7):
        start(lab, al)
        end(lab, al, 1)
        assert lab.drive(al) == []
        waits.append((lab.wake_at(al) - lab.now) // SECOND)
        lab.now = lab.wake_at(al)
        assert tell(lab, lab.drive(al)) == [DELETE_POD, CREATE_POD]
    assert waits == [15, 30, 60, 120, 240, 300, 300]


def test_H28_a_steady_run_resets_the_wait():
    settings = ControllerSettings()
    first = 0
    second = first + 15 * SECOND + 10 * MINUTE
    assert restart_delay([first, second], settings) == 15 * SECOND
    assert restart_delay([first, second - 1], settings) == 30 * SECOND
    assert restart_delay([first, second, second + MINUTE], settings) == 30 * SECOND
    assert restart_delay([], settings) == 15 * SECOND


def test_H28_without_a_delay_it_is_replaced_at_once():
    lab = Lab(listener_restart_delay=0)
    _, _, al = up(lab)
    end(lab, al, 1)
    assert tell(lab, lab.drive(al)) == [DELETE_POD, CREATE_POD]


def test_a_pod_that_its_node_refused_is_replaced_but_not_in_a_hurry(lab):
    _, _, al = up(lab)
    pod = listener_of(lab, al).pod
    lab.fold(al, ListenerPodChanged(pod=replace(pod, container=None, phase="Failed", reason="OutOfcpu")))
    assert lab.drive(al) == []
    assert lab.wake_at(al) == pod.created_at + 15 * SECOND
    lab.later(15 * SECOND)
    assert tell(lab, lab.drive(al)) == [DELETE_POD, CREATE_POD]


def test_L11_3_a_pod_that_is_going_is_waited_for(lab):
    _, _, al = up(lab)
    pod = listener_of(lab, al).pod
    lab.fold(al, ListenerPodChanged(pod=replace(pod, deletion_requested_at=lab.now)))
    assert lab.drive(al) == []
    assert (lab.last(al).rule, lab.last(al).verdict) == ("L11", Verdict.WAIT)


def test_H33_deletions_name_the_pod_and_a_successor_is_looked_at_first(lab):
    _, _, al = up(lab)
    pod = listener_of(lab, al).pod
    end(lab, al, 0)
    lab.script("delete Pod", Result(Outcome.CONFLICT), Result())
    lab.script("read Pod", Result(Outcome.FAILED))
    done = lab.drive(al)
    assert tell(lab, done) == [DELETE_POD, f"read Pod {CONTROLLER_NAMESPACE}/{LISTENER}"]
    assert isinstance(done[0], DeleteObject)
    assert (done[0].uid, done[0].grace_period_s) == (pod.uid, None)


def test_unusable_metrics_settings_are_said():
    lab = Lab(metrics_addr="nonsense")
    _, _, al = scene(lab)
    assert CREATE_POD not in tell(lab, lab.drive(al))
    assert "metrics address" in lab.last(al).reason
    assert lab.last(al).verdict is Verdict.STALLED
