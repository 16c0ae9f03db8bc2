"""Listener pods drift when they must and never because somebody completed them (D12, Z1, Z5, H18)."""

from __future__ import annotations

import copy

import pytest

from arcfsm.domain import keys
from arcfsm.domain.drift import PodDriftReason, listener_pod_drift
from arcfsm.domain.drift import listener_pod as module
from arcfsm.domain.drift.comparison import difference

CONFIG_PATH = "/metadata/annotations/actions.github.com~1listener-config-resource-version"


def desired(version="100", **spec):
    return {
        "metadata": {"annotations": {keys.LISTENER_CONFIG_VERSION: version}},
        "spec": {
            "serviceAccountName": "demo-listener",
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 60,
            "volumes": [{"name": "listener-config", "secret": {"secretName": "demo-listener-config"}}],
            "containers": [
                {
                    "name": "listener",
                    "image": "listener:1",
                    "command": ["/ghalistener"],
                    "env": [{"name": "LISTENER_CONFIG_PATH", "value": "/etc/gha-listener/config.json"}],
                    "ports": [{"containerPort": 8080, "protocol": "TCP", "name": "metrics"}],
                    "volumeMounts": [
                        {"name": "listener-config", "mountPath": "/etc/gha-listener", "readOnly": True},
                    ],
                },
            ],
            **spec,
        },
    }


def container(pod, name="listener"):
    return next(one for one in pod["spec"]["containers"] if one["name"] == name)


TOKEN_VOLUME = {
    "name": "kube-api-access-x7k2p",
    "projected": {
        "defaultMode": 420,
        "sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}],
    },
}
TOLERATION = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300}


def completed(pod):
    """The pod as a real API server with its usual admission returns it."""
    live = copy.deepcopy(pod)
    for addition in ADDITIONS.values():
        addition(live)
    return live


def _sidecar_in_front(live):
    live["spec"]["containers"].insert(0, {"name": "mesh", "image": "mesh:1", "ports": [{"containerPort": 15090}]})


ADDITIONS = {
    "node": lambda live: live["spec"].update(nodeName="node-1"),
    "tolerations": lambda live: live["spec"].update(tolerations=[TOLERATION]),
    "token volume": lambda live: live["spec"]["volumes"].append(TOKEN_VOLUME),
    "token mount": lambda live: container(live)["volumeMounts"].append(
        {"name": TOKEN_VOLUME["name"], "readOnly": True}
    ),
    "secret mode": lambda live: live["spec"]["volumes"][0]["secret"].update(defaultMode=420),
    "legacy account": lambda live: live["spec"].update(serviceAccount="demo-listener"),
    "priority": lambda live: live["spec"].update(priority=0, preemptionPolicy="PreemptLowerPriority"),
    "service links": lambda live: live["spec"].update(enableServiceLinks=True),
    "security context": lambda live: live["spec"].update(securityContext={}),
    "scheduler": lambda live: live["spec"].update(schedulerName="default-scheduler", dnsPolicy="ClusterFirst"),
    "pull policy": lambda live: container(live).update(imagePullPolicy="Always"),
    "messages": lambda live: container(live).update(terminationMessagePath="/dev/x", terminationMessagePolicy="File"),
    "limits": lambda live: container(live).update(resources={"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}),
    "pull secrets": lambda live: live["spec"].update(imagePullSecrets=[{"name": "from-account"}]),
    "node selector": lambda live: live["spec"]["nodeSelector"].update({"pool": "system"}),
    "appended env": lambda live: container(live)["env"].append({"name": "INJECTED", "value": "1"}),
    "injected sidecar": _sidecar_in_front,
    "injected init": lambda live: live["spec"].update(initContainers=[{"name": "mesh-init"}]),
}


@pytest.mark.parametrize("addition", ADDITIONS)
def test_guard_what_others_add_to_a_live_pod_is_never_drift(addition):
    """Fails as soon as anybody makes this comparison strict: that would restart every listener for ever."""
    live = copy.deepcopy(desired())
    ADDITIONS[addition](live)
    assert live != desired()
    assert listener_pod_drift(live, desired()) is None


def test_T213_a_completed_pod_has_not_drifted():
    assert listener_pod_drift(completed(desired()), desired()) is None


@pytest.mark.parametrize("addition", ADDITIONS)
def test_the_guard_bites(addition, monkeypatch):
    """The same additions under a strict comparison: the guard above would catch it."""
    monkeypatch.setattr(module, "shortfall", difference)
    live = copy.deepcopy(desired())
    ADDITIONS[addition](live)
    assert (listener_pod_drift(live, desired()) is None) is (addition == "injected sidecar")


def test_D12_the_config_version_decides_first():
    live = completed(desired(version="100"))
    drift = listener_pod_drift(live, desired(version="101"))
    assert (drift.reason, drift.path) == (PodDriftReason.CONFIG_CHANGED, CONFIG_PATH)
    assert str(drift) == f"its configuration has changed since it started ({CONFIG_PATH})"


def test_T209_a_pod_without_the_annotation_has_not_drifted():
    live = completed(desired())
    del live["metadata"]["annotations"]
    assert listener_pod_drift(live, desired()) is None
    assert listener_pod_drift(live, desired(), adopted_config_version="100") is None
    assert listener_pod_drift(completed(desired()), desired(version="")) is None


def test_T210_its_config_changed_after_it_was_adopted():
    live = completed(desired())
    live["metadata"]["annotations"] = {}
    drift = listener_pod_drift(live, desired(version="101"), adopted_config_version="100")
    assert drift.reason is PodDriftReason.CONFIG_CHANGED


def test_T214_a_port_that_is_not_wanted_any_more():
    wanted = desired()
    del container(wanted)["ports"]
    drift = listener_pod_drift(completed(desired()), wanted)
    assert (drift.reason, drift.path) == (PodDriftReason.PORTS_REMOVED, "/spec/containers/listener/ports")


def test_T215_a_protocol_that_the_server_filled_in():
    wanted = desired()
    del container(wanted)["ports"][0]["protocol"]
    assert listener_pod_drift(completed(desired()), wanted) is None
    assert listener_pod_drift(completed(desired()), desired()) is None


def test_T216_a_sidecar_before_the_listener():
    live = copy.deepcopy(desired())
    _sidecar_in_front(live)
    assert live["spec"]["containers"][0]["name"] == "mesh"
    assert listener_pod_drift(live, desired()) is None


@pytest.mark.parametrize("recorded", [False, True])
def test_T217_the_live_image_was_edited(recorded):
    live = completed(desired())
    container(live)["image"] = "listener:evil"
    drift = listener_pod_drift(live, desired(), recorded=desired()["spec"] if recorded else {})
    assert (drift.reason, drift.path) == (PodDriftReason.CONTAINER_CHANGED, "/spec/containers/listener/image")


@pytest.mark.parametrize("probe", ["livenessProbe", "readinessProbe", "startupProbe"])
@pytest.mark.parametrize("recorded", [False, True])
def test_T218_a_probe_whose_thresholds_the_server_filled_in(probe, recorded):
    wanted = desired()
    container(wanted)[probe] = {"httpGet": {"port": 8080}}
    live = completed(wanted)
    container(live)[probe].update(timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
    container(live)[probe]["httpGet"].update(path="/", scheme="HTTP")
    before = copy.deepcopy(wanted)
    assert listener_pod_drift(live, wanted, recorded=wanted["spec"] if recorded else {}) is None
    assert wanted == before


def test_T218_a_threshold_that_is_set_still_counts():
    wanted = desired()
    container(wanted)["livenessProbe"] = {"httpGet": {"port": 8080}, "periodSeconds": 20}
    live = completed(wanted)
    container(live)["livenessProbe"].update(timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
    path = "/spec/containers/listener/livenessProbe/periodSeconds"
    assert listener_pod_drift(live, wanted).path == path


@pytest.mark.parametrize("recorded", [False, True])
def test_T219_ports_of_the_host_network(recorded):
    wanted = desired(hostNetwork=True, initContainers=[{"name": "warm", "ports": [{"containerPort": 9}]}])
    live = completed(wanted)
    live["spec"]["initContainers"] = [
        {"name": "warm", "ports": [{"containerPort": 9, "hostPort": 9, "protocol": "TCP"}]}
    ]
    container(live)["ports"][0]["hostPort"] = 8080
    assert listener_pod_drift(live, wanted, recorded=wanted["spec"] if recorded else {}) is None


def test_H18_what_we_created_is_compared_with_what_we_asked_for():
    """A removed toleration is invisible to a derivation; what was asked for is known exactly."""
    asked = desired(tolerations=[{"key": "gpu"}])
    drift = listener_pod_drift(completed(asked), desired(), recorded=asked["spec"])
    assert (drift.reason, drift.path) == (PodDriftReason.TEMPLATE_CHANGED, "/spec/tolerations/0")
    assert listener_pod_drift(completed(asked), desired()) is None


def test_H18_other_numbers_of_a_pod_that_we_created_are_not_looked_at():
    live = completed(desired())
    container(live)["stdin"] = True
    assert listener_pod_drift(live, desired(), recorded=desired()["spec"]) is None
    assert listener_pod_drift(live, desired()).reason is PodDriftReason.CONTAINER_CHANGED


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda live: live["spec"]["containers"].clear(), PodDriftReason.CONTAINER_MISSING),
        (lambda live: container(live).update(command=["/bin/sh"]), PodDriftReason.CONTAINER_CHANGED),
        (lambda live: container(live)["env"].clear(), PodDriftReason.CONTAINER_CHANGED),
        (lambda live: live["spec"].update(serviceAccountName="other"), PodDriftReason.SPEC_CHANGED),
        (lambda live: live["spec"].update(hostPID=True), PodDriftReason.SPEC_CHANGED),
        (lambda live: live["spec"].update(terminationGracePeriodSeconds=30), PodDriftReason.SPEC_CHANGED),
        (lambda live: live["spec"]["nodeSelector"].clear(), PodDriftReason.SPEC_CHANGED),
        (lambda live: live["spec"]["volumes"].insert(0, TOKEN_VOLUME), PodDriftReason.SPEC_CHANGED),
    ],
)
def test_D12_what_is_wanted_and_missing_is_drift(edit, reason):
    live = completed(desired())
    edit(live)
    assert listener_pod_drift(live, desired()).reason is reason


def test_defaults_that_admission_may_choose_are_not_filled_in():
    """A pull policy of our own making would drift against one that a plugin enforces."""
    spec = module.with_pod_defaults(desired()["spec"])
    assert spec == desired()["spec"]
