"""The comparison part of the rule tables for runner specs, listener objects, roles and configurations (D10–D14)."""

from __future__ import annotations

import copy
import json

import pytest

from arcfsm.domain import keys
from arcfsm.domain.drift import (
    desired_spec_changed,
    listener_config_equal,
    listener_object_drift,
    role_rules_changed,
    runner_metadata_changed,
    runner_spec_changed,
)


def runner_spec(container=None, **pod):
    return {
        "githubConfigUrl": "https://github.com/acme/repo",
        "githubConfigSecret": "cred",
        "runnerScaleSetId": 7,
        "metadata": {},
        "spec": {"containers": [{"name": "runner", "image": "runner:1", **(container or {})}], **pod},
    }


LIVE = runner_spec()


def test_T028_empty_env_is_no_drift():
    assert runner_spec_changed(LIVE, runner_spec({"env": []})) is None


def test_T029_quantities_are_compared_as_numbers():
    live = runner_spec({"resources": {"limits": {"cpu": "1"}}})
    assert runner_spec_changed(live, runner_spec({"resources": {"limits": {"cpu": "1000m"}}})) is None
    assert runner_spec_changed(live, runner_spec({"resources": {"limits": {"cpu": "1001m"}}})) == (
        "/ephemeralRunnerSpec/spec/containers/0/resources/limits/cpu"
    )


def test_T030_an_empty_security_context_is_drift():
    path = "/ephemeralRunnerSpec/spec/securityContext"
    assert runner_spec_changed(LIVE, runner_spec(securityContext={})) == path


def test_T031_automount_false_is_drift():
    path = "/ephemeralRunnerSpec/spec/automountServiceAccountToken"
    assert runner_spec_changed(LIVE, runner_spec(automountServiceAccountToken=False)) == path


def test_T032_empty_resources_of_a_container_are_no_drift():
    assert runner_spec_changed(LIVE, runner_spec({"resources": {}})) is None


def test_T033_swapped_env_is_drift():
    a, b = {"name": "A", "value": "1"}, {"name": "B", "value": "2"}
    path = "/ephemeralRunnerSpec/spec/containers/0/env/0/name"
    assert runner_spec_changed(runner_spec({"env": [a, b]}), runner_spec({"env": [b, a]})) == path


def test_D10_replicas_and_the_proxy_secret_do_not_count():
    assert runner_spec_changed({**LIVE, "replicas": 1}, LIVE) is None
    assert runner_spec_changed({**LIVE, "proxySecretRef": "p"}, LIVE) is None


def test_T020_a_new_scale_set_id_is_drift():
    assert runner_spec_changed(LIVE, {**LIVE, "runnerScaleSetId": 8}) == "/ephemeralRunnerSpec/runnerScaleSetId"


def test_T034_added_runner_metadata_is_drift_of_the_metadata_alone():
    live, desired = {"labels": {"a": "1"}}, {"labels": {"a": "1", "b": "2"}}
    assert runner_metadata_changed(live, desired) == "/ephemeralRunnerMetadata/labels/b"
    assert runner_metadata_changed(live, {"labels": {"a": "1"}, "annotations": {}}) is None
    assert runner_metadata_changed(None, {}) == "/ephemeralRunnerMetadata"


def test_D11_looks_at_runner_spec_and_metadata_only():
    live = {"ephemeralRunnerSpec": LIVE, "replicas": 5, "patchID": 9, "actionableRevision": 3}
    assert desired_spec_changed(live, {"ephemeralRunnerSpec": LIVE, "patchID": 0}) is None
    with_metadata = {"ephemeralRunnerSpec": LIVE, "ephemeralRunnerMetadata": {"labels": {"a": "1"}}}
    assert desired_spec_changed(live, with_metadata) == "/ephemeralRunnerMetadata"
    assert desired_spec_changed({}, live) is not None


AL = {
    "metadata": {"labels": {"a": "1"}, "annotations": {}},
    "spec": {"image": "listener:1", "maxRunners": 5, "minRunners": 1, "phase": "Running"},
}


def al(**spec):
    changed = copy.deepcopy(AL)
    changed["spec"].update(spec)
    return changed


def test_T038_the_phase_alone_is_no_drift():
    assert listener_object_drift(al(phase="Stopped"), al(phase="")) is None


@pytest.mark.parametrize(
    ("desired", "path"),
    [
        (al(minRunners=0), "/spec/minRunners"),
        (al(image="listener:2"), "/spec/image"),
        (al(template={"spec": {"tolerations": []}}), "/spec/template"),
        (al(proxy={}), "/spec/proxy"),
        ({**AL, "metadata": {"labels": {"a": "1", "b": "2"}}}, "/metadata/labels/b"),
        ({**AL, "metadata": {"labels": {}}}, "/metadata/labels/a"),
        ({**AL, "metadata": {"labels": {"a": "1"}, "annotations": {"x": "y"}}}, "/metadata/annotations/x"),
    ],
)
def test_D13_spec_semantically_and_metadata_exactly(desired, path):
    assert listener_object_drift(AL, desired) == path
    assert listener_object_drift(desired, AL) == path


def test_D13_null_maps_and_empty_lists_are_no_drift():
    assert listener_object_drift({**AL, "metadata": {"labels": {"a": "1"}}}, al(imagePullSecrets=[])) is None


def test_D13_a_removed_toleration_replaces_the_listener():
    live = al(template={"spec": {"tolerations": [{"key": "a"}, {"key": "b"}]}})
    assert listener_object_drift(live, al(template={"spec": {"tolerations": [{"key": "a"}]}})) is not None


def test_T040_the_legacy_hash_is_not_compared():
    live = copy.deepcopy(AL)
    live["metadata"]["annotations"] = {keys.INTEGRITY_HASH: "5f9f99965d"}
    assert listener_object_drift(live, AL) is None
    live["metadata"]["annotations"]["foreign"] = "x"
    assert listener_object_drift(live, AL) == "/metadata/annotations/foreign"


def test_H34_a_field_that_the_installed_crd_prunes_is_no_drift():
    assert listener_object_drift(AL, al(listenerConfig={"scaler": {"qps": 10}})) is None
    live = al(listenerConfig={"scaler": {"qps": 5}})
    assert listener_object_drift(live, al(listenerConfig={"scaler": {"qps": 10}})) == "/spec/listenerConfig/scaler/qps"


def test_D14_role_rules_are_compared_as_a_whole():
    rule = {"apiGroups": ["g"], "resources": ["r"], "verbs": ["patch"]}
    assert role_rules_changed([{**rule, "resourceNames": []}], [rule]) is None
    assert role_rules_changed([rule, rule], [rule]) == "/rules/1"
    assert role_rules_changed(None, [rule]) == "/rules/0"


CONFIG = {"configure_url": "https://github.com/acme", "vault_type": "", "min_runners": 0, "metrics": None, "url": "a<b"}


@pytest.mark.parametrize("text", ["", "not json", "[]", "null"])
def test_H19_text_that_is_no_object_equals_nothing(text):
    assert not listener_config_equal(text, text)


def test_T212_key_order_blanks_escapes_and_explicit_zeros_do_not_count():
    go = json.dumps(dict(reversed(CONFIG.items())), indent=1).replace("<", "\\u003c") + "\n"
    assert listener_config_equal(go, json.dumps(CONFIG))
    assert listener_config_equal(json.dumps({"configure_url": "https://github.com/acme", "url": "a<b"}), go)
    assert not listener_config_equal(go, json.dumps({**CONFIG, "min_runners": 1}))
