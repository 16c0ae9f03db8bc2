"""What listeners are made of: the object, its identity and rights, its pod (M6, L5–L9, L15)."""

from __future__ import annotations

import pytest

from arcfsm.domain import keys, manifests
from arcfsm.domain.drift import LISTENER_SPEC, deep_equal, listener_pod_drift
from arcfsm.domain.manifests import Refusal, Unbuildable
from tests.unit.manifests.owners import PROXY, SETTINGS, URL, live, part, scale_set

NAME = "demo-5f5c4d65-listener"
SCALE_SET_LABELS = {keys.SCALE_SET_NAME: "demo", keys.SCALE_SET_NAMESPACE: "arc-runners"}


def listener(**spec):
    return live(manifests.listener_manifest(scale_set(**spec), SETTINGS), "al-uid")


def pod(settings=SETTINGS, version="100", **spec):
    return manifests.listener_pod(listener(**spec), settings, version)


def test_T018_M6_a_listener():
    made = manifests.listener_manifest(scale_set(), SETTINGS)
    assert made["metadata"] == {
        "namespace": "arc-systems",
        "name": NAME,
        "labels": {
            "team": "x",
            "app.kubernetes.io/part-of": "gha-runner-scale-set",
            "app.kubernetes.io/component": "runner-scale-set-listener",
            "app.kubernetes.io/version": "0.14.2",
            "actions.github.com/organization": "acme",
            "actions.github.com/repository": "repo",
            **SCALE_SET_LABELS,
        },
    }
    assert made["spec"] == {
        "githubConfigUrl": URL,
        "githubConfigSecret": "cred",
        "runnerScaleSetId": 7,
        "autoscalingRunnerSetNamespace": "arc-runners",
        "autoscalingRunnerSetName": "demo",
        "ephemeralRunnerSetName": "demo",
        "maxRunners": 2147483647,
        "image": "listener:1",
    }


def test_M6_everything_that_can_be_set():
    settings = SETTINGS.model_copy(update={"image_pull_secrets": ("one", "two")})
    owner = scale_set(
        maxRunners=5,
        minRunners=1,
        proxy=PROXY,
        listenerMetrics={"counters": {}},
        listenerTemplate={"spec": {}},
        listenerServiceAccountMetadata={"labels": {"sa": "1"}},
        listenerConfig={"scaler": {"qps": 10}},
        autoscalingListener={"labels": {"al": "1"}, "annotations": {"note": "1"}},
    )
    made = manifests.listener_manifest(owner, settings, phase="Stopped")
    assert made["metadata"]["labels"]["al"] == "1"
    assert made["metadata"]["annotations"] == {"note": "1"}
    assert (
        made["spec"]
        | {
            "maxRunners": 5,
            "minRunners": 1,
            "proxy": PROXY,
            "metrics": {"counters": {}},
            "template": {"spec": {}},
            "serviceAccountMetadata": {"labels": {"sa": "1"}},
            "listenerConfig": {"scaler": {"qps": 10}},
            "imagePullSecrets": [{"name": "one"}, {"name": "two"}],
            "phase": "Stopped",
        }
        == made["spec"]
    )


def test_M6_zeros_are_left_out_and_mean_the_same():
    made = manifests.listener_manifest(scale_set(maxRunners=0), SETTINGS)["spec"]
    assert "maxRunners" not in made
    assert deep_equal(made, {**made, "maxRunners": 0, "minRunners": 0, "imagePullSecrets": None}, LISTENER_SPEC)


@pytest.mark.parametrize(("field", "value"), [("runnerGroup", "gpu"), ("githubConfigUrl", URL + "/")])
def test_A16_group_and_url_to_the_letter_rename_the_listener(field, value):
    assert manifests.current_listener_name(scale_set()) == NAME
    assert manifests.current_listener_name(scale_set(**{field: value})) != NAME


def test_L5_service_account():
    meta = {"labels": {"own": "1", "team": "lower"}, "annotations": {"iam": "role"}}
    made = manifests.service_account(listener(listenerServiceAccountMetadata=meta), SETTINGS)
    assert made["metadata"]["labels"] == {**listener()["metadata"]["labels"], "own": "1"}
    assert made["metadata"]["annotations"] == {"iam": "role"}
    assert (made["metadata"]["namespace"], made["metadata"]["name"]) == ("arc-systems", NAME)
    assert made["metadata"]["ownerReferences"][0]["kind"] == "AutoscalingListener"


def test_L6_L9_role():
    made = manifests.role(listener(), SETTINGS)
    assert made["metadata"] == {
        "namespace": "arc-runners",
        "name": NAME,
        "labels": {
            **listener()["metadata"]["labels"],
            "auto-scaling-listener-name": NAME,
            "auto-scaling-listener-namespace": "arc-systems",
        },
    }
    assert made["rules"] == [
        {
            "apiGroups": ["actions.github.com"],
            "resources": ["ephemeralrunnersets"],
            "resourceNames": ["demo"],
            "verbs": ["patch"],
        },
        {
            "apiGroups": ["actions.github.com"],
            "resources": ["ephemeralrunners", "ephemeralrunners/status"],
            "verbs": ["get", "patch"],
        },
    ]


def test_L7_role_binding():
    made = manifests.role_binding(listener(listenerRoleBindingMetadata={"annotations": {"note": "1"}}), SETTINGS)
    assert made["metadata"]["annotations"] == {"note": "1"}
    assert made["metadata"]["labels"] == manifests.role(listener(), SETTINGS)["metadata"]["labels"]
    assert made["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": NAME}
    assert made["subjects"] == [{"kind": "ServiceAccount", "name": NAME, "namespace": "arc-systems"}]


def test_M6_secrets_of_a_listener():
    owner = listener(listenerConfigSecretMetadata={"labels": {"own": "1"}, "annotations": {"note": "1"}})
    config = manifests.listener_config_secret(owner, SETTINGS)
    assert config["metadata"]["name"] == NAME + "-config"
    assert (config["metadata"]["labels"], config["metadata"]["annotations"]) == ({"own": "1"}, {"note": "1"})
    proxy = manifests.listener_proxy_secret(owner, SETTINGS)
    assert proxy["metadata"]["name"] == NAME + "-proxy"
    assert proxy["metadata"]["labels"] == SCALE_SET_LABELS
    assert "data" not in config
    assert "data" not in proxy


def test_L15_the_built_in_pod():
    made = pod()
    assert made["metadata"]["labels"] == listener()["metadata"]["labels"]
    assert made["metadata"]["annotations"] == {keys.LISTENER_CONFIG_VERSION: "100"}
    assert made["spec"] == {
        "serviceAccountName": NAME,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 60,
        "volumes": [{"name": "listener-config", "secret": {"secretName": NAME + "-config"}}],
        "containers": [
            {
                "name": "listener",
                "image": "listener:1",
                "command": ["/ghalistener"],
                "env": [{"name": "LISTENER_CONFIG_PATH", "value": "/etc/gha-listener/config.json"}],
                "ports": [{"containerPort": 8080, "protocol": "TCP", "name": "metrics"}],
                "volumeMounts": [{"name": "listener-config", "mountPath": "/etc/gha-listener", "readOnly": True}],
            }
        ],
    }
    assert "annotations" not in pod(version="")["metadata"]


def test_L15_proxy_variables_come_from_the_proxy_secret():
    env = pod(proxy=PROXY)["spec"]["containers"][0]["env"]
    assert [one["name"] for one in env] == ["LISTENER_CONFIG_PATH", "http_proxy", "no_proxy"]
    assert env[1]["valueFrom"]["secretKeyRef"] == {"name": NAME + "-proxy", "key": "http_proxy"}


def test_L15_pull_secrets_and_entry_point_come_from_the_controller():
    settings = SETTINGS.model_copy(update={"image_pull_secrets": ("one",), "listener_entrypoint": "/x"})
    owner = live(manifests.listener_manifest(scale_set(), settings), "al")
    spec = manifests.listener_pod(owner, settings, "1")["spec"]
    assert spec["imagePullSecrets"] == [{"name": "one"}]
    assert spec["containers"][0]["command"] == ["/x"]


@pytest.mark.parametrize(
    ("address", "port"), [(":9090", 9090), ("0.0.0.0:81", 81), ("[::]:82", 82), ("0", None), ("", None)]
)
def test_L15_the_metrics_port(address, port):
    container = pod(SETTINGS.model_copy(update={"metrics_addr": address}))["spec"]["containers"][0]
    assert [one["containerPort"] for one in container.get("ports", [])] == ([port] if port else [])


@pytest.mark.parametrize("address", [":http", "localhost", ":0", ":65536", ":"])
def test_L15_a_metrics_address_without_a_port(address):
    with pytest.raises(Unbuildable) as caught:
        pod(SETTINGS.model_copy(update={"metrics_addr": address}))
    assert caught.value.reason is Refusal.INVALID_SETTINGS


TEMPLATE = {
    "metadata": {"labels": {"team": "lower", "added": "1"}, "annotations": {keys.LISTENER_CONFIG_VERSION: "7"}},
    "spec": {
        "containers": [
            {"name": "sidecar", "image": "s:1"},
            {
                "name": "listener",
                "image": "mine:1",
                "args": ["-v"],
                "env": [{"name": "A", "value": "1"}],
                "ports": [{"containerPort": 1}],
                "resources": {"limits": {"cpu": "1"}},
                "securityContext": {},
            },
        ],
        "volumes": [{"name": "more"}],
        "tolerations": [{"key": "a"}],
        "serviceAccountName": "ignored",
        "automountServiceAccountToken": False,
        "nodeSelector": {"pool": "system"},
    },
}


def test_T230_template_drops_grace_period():
    made = pod(listenerTemplate=TEMPLATE)
    assert "terminationGracePeriodSeconds" not in made["spec"]
    assert made["metadata"]["labels"]["team"] == "x"
    assert made["metadata"]["labels"]["added"] == "1"
    assert made["metadata"]["annotations"][keys.LISTENER_CONFIG_VERSION] == "100"


def test_T230_a_grace_period_of_the_template_counts():
    template = {"spec": {"terminationGracePeriodSeconds": 5}}
    assert pod(listenerTemplate=template)["spec"]["terminationGracePeriodSeconds"] == 5


def test_T230_without_a_template_the_grace_period_stays():
    assert pod()["spec"]["terminationGracePeriodSeconds"] == 60
    assert "terminationGracePeriodSeconds" not in pod(listenerTemplate={"spec": {}, "metadata": {}})["spec"]


def test_L15_what_a_template_lays_over_the_pod():
    spec = pod(listenerTemplate=TEMPLATE)["spec"]
    assert spec["serviceAccountName"] == NAME
    assert "automountServiceAccountToken" not in spec
    assert spec["nodeSelector"] == {"pool": "system"}
    assert spec["restartPolicy"] == "Never"
    assert spec["tolerations"] == [{"key": "a"}]
    assert [one["name"] for one in spec["volumes"]] == ["listener-config", "more"]
    assert [one["name"] for one in spec["containers"]] == ["listener", "sidecar"]


def test_L15_what_a_template_lays_over_the_container():
    container = part(pod(listenerTemplate=TEMPLATE)["spec"]["containers"], "listener")
    assert container["image"] == "mine:1"
    assert container["command"] == ["/ghalistener"]
    assert container["args"] == ["-v"]
    assert [one["name"] for one in container["env"]] == ["LISTENER_CONFIG_PATH", "A"]
    assert [one["containerPort"] for one in container["ports"]] == [8080, 1]
    assert container["resources"] == {"limits": {"cpu": "1"}}
    assert container["securityContext"] == {}
    assert len(container["volumeMounts"]) == 1


def test_L15_a_pod_as_built_has_not_drifted_from_itself():
    made = pod(listenerTemplate=TEMPLATE, proxy=PROXY)
    assert listener_pod_drift(made, made) is None
    assert listener_pod_drift(made, pod(listenerTemplate=TEMPLATE, proxy=PROXY), recorded=made["spec"]) is None
