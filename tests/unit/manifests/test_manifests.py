"""What runner sets, runners, their pods and Secrets are made of (M1–M8, A11, A13, R10)."""

from __future__ import annotations

import base64
import copy

import pytest

from arcfsm.domain import keys, manifests
from arcfsm.domain.kinds import Kind
from arcfsm.domain.manifests import Refusal, Unbuildable
from tests.unit.manifests.owners import PROXY, SETTINGS, URL, live, part, scale_set

OWNER_KEYS = {"apiVersion": keys.GROUP_VERSION, "controller": True, "blockOwnerDeletion": True}


def runner_set(**spec):
    made = live(manifests.runner_set_manifest(scale_set(**spec), SETTINGS), "ers-uid")
    made["spec"].update(patchID=3, actionableRevision=2)
    return made


def runner(**spec):
    return live(manifests.runner_manifest(runner_set(**spec), SETTINGS), "er-uid", "demo-runner-abcde")


def test_T017_M5_a_runner_set():
    assert manifests.runner_set_manifest(scale_set(), SETTINGS) == {
        "apiVersion": keys.GROUP_VERSION,
        "kind": "EphemeralRunnerSet",
        "metadata": {
            "namespace": "arc-runners",
            "name": "demo",
            "labels": {
                "team": "x",
                "app.kubernetes.io/part-of": "gha-runner-scale-set",
                "app.kubernetes.io/component": "runner-set",
                "app.kubernetes.io/version": "0.14.2",
                "actions.github.com/scale-set-name": "demo",
                "actions.github.com/scale-set-namespace": "arc-runners",
                "actions.github.com/organization": "acme",
                "actions.github.com/repository": "repo",
            },
            "annotations": {
                "actions.github.com/runner-group-name": "default",
                "actions.github.com/runner-scale-set-name": "demo",
            },
            "ownerReferences": [
                {**OWNER_KEYS, "kind": "AutoscalingRunnerSet", "name": "demo", "uid": "ars-uid"},
            ],
        },
        "spec": {
            "patchID": 0,
            "ephemeralRunnerSpec": {
                "runnerScaleSetId": 7,
                "githubConfigUrl": URL,
                "githubConfigSecret": "cred",
                "metadata": {"labels": {"of": "template"}},
                "spec": {"containers": [{"name": "runner", "image": "runner:1"}]},
            },
        },
    }


def test_M5_the_users_metadata_lies_below():
    meta = {"labels": {"own": "1", "team": "theirs"}, "annotations": {keys.RUNNER_GROUP_NAME: "no", "note": "yes"}}
    metadata = manifests.runner_set_manifest(scale_set(ephemeralRunnerSetMetadata=meta), SETTINGS)["metadata"]
    assert metadata["labels"]["own"] == "1"
    assert metadata["labels"]["team"] == "x"
    assert metadata["annotations"][keys.RUNNER_GROUP_NAME] == "default"
    assert metadata["annotations"]["note"] == "yes"


def test_M5_what_the_scale_set_lacks_is_empty_and_not_absent():
    bare = scale_set()
    del bare["metadata"]["labels"][keys.VERSION_LABEL]
    del bare["metadata"]["annotations"][keys.RUNNER_GROUP_NAME]
    metadata = manifests.runner_set_manifest(bare, SETTINGS)["metadata"]
    assert metadata["labels"][keys.VERSION_LABEL] == ""
    assert metadata["annotations"][keys.RUNNER_GROUP_NAME] == ""


def test_M5_optional_parts_are_copied_where_they_are_set():
    spec = manifests.runner_set_manifest(
        scale_set(proxy=PROXY, ephemeralRunnerMetadata={}, vaultConfig=None, githubServerTLS={"certificateFrom": {}}),
        SETTINGS,
    )["spec"]
    assert spec["ephemeralRunnerMetadata"] == {}
    assert spec["ephemeralRunnerSpec"]["proxy"] == PROXY
    assert spec["ephemeralRunnerSpec"]["githubServerTLS"] == {"certificateFrom": {}}
    assert "vaultConfig" not in spec["ephemeralRunnerSpec"]


@pytest.mark.parametrize("text", ["", "0", "abc", "-3", "7.0", "٧"])
def test_A13_without_a_scale_set_id_nothing_can_be_built(text):
    owner = scale_set(annotations={keys.SCALE_SET_ID: text})
    for build in (manifests.runner_set_manifest, manifests.listener_manifest):
        with pytest.raises(Unbuildable) as caught:
            build(owner, SETTINGS)
        assert caught.value.reason is Refusal.UNREGISTERED
        assert "runner-scale-set-id" in caught.value.detail


def test_A13_an_invalid_url_builds_nothing():
    for build in (manifests.runner_set_manifest, manifests.listener_manifest):
        with pytest.raises(Unbuildable) as caught:
            build(scale_set(githubConfigUrl="https://github.com"), SETTINGS)
        assert caught.value.reason is Refusal.INVALID_URL
        assert caught.value.detail.startswith("spec.githubConfigUrl: 'https://github.com' names no")


def test_M7_a_runner():
    made = manifests.runner_manifest(runner_set(), SETTINGS)
    assert made["metadata"] == {
        "namespace": "arc-runners",
        "labels": {**runner_set()["metadata"]["labels"], "app.kubernetes.io/component": "runner"},
        "annotations": {
            **runner_set()["metadata"]["annotations"],
            "actions.github.com/patch-id": "3",
            "actions.github.com/actionable-revision": "2",
        },
        "finalizers": [
            "ephemeralrunner.actions.github.com/finalizer",
            "ephemeralrunner.actions.github.com/runner-registration-finalizer",
        ],
        "ownerReferences": [{**OWNER_KEYS, "kind": "EphemeralRunnerSet", "name": "demo", "uid": "ers-uid"}],
    }
    assert made["spec"] == runner_set()["spec"]["ephemeralRunnerSpec"]


def test_M7_a_set_before_its_first_wish_stamps_zeros():
    made = manifests.runner_manifest(live(manifests.runner_set_manifest(scale_set(), SETTINGS), "ers"), SETTINGS)
    assert made["metadata"]["annotations"][keys.PATCH_ID] == "0"
    assert made["metadata"]["annotations"][keys.ACTIONABLE_REVISION] == "0"


def test_M7_a_runner_with_a_proxy_names_its_secret():
    assert runner(proxy=PROXY)["spec"]["proxySecretRef"] == "demo-754b578d-runner-proxy"
    assert "proxySecretRef" not in runner()["spec"]


def test_T349_the_stamps_of_the_controller_win():
    meta = {"annotations": {keys.PATCH_ID: "99", "mine": "1"}, "labels": {keys.COMPONENT: "other", "mine": "1"}}
    metadata = runner(ephemeralRunnerMetadata=meta)["metadata"]
    assert metadata["annotations"][keys.PATCH_ID] == "3"
    assert metadata["annotations"]["mine"] == "1"
    assert metadata["labels"][keys.COMPONENT] == "runner"
    assert metadata["labels"]["mine"] == "1"


def test_Z16_the_legacy_hash_is_not_passed_on():
    owner = runner_set()
    owner["metadata"]["annotations"][keys.INTEGRITY_HASH] = "67d95dfb5c"
    assert keys.INTEGRITY_HASH not in manifests.runner_manifest(owner, SETTINGS)["metadata"]["annotations"]


def test_runners_of_one_decision_differ_in_their_name_alone():
    nameless = manifests.runner_manifest(runner_set(), SETTINGS)
    made = manifests.named(nameless, "demo-runner-abcde")
    assert made["metadata"].pop("name") == "demo-runner-abcde"
    assert made == nameless


def test_M8_a_runner_pod():
    made = manifests.runner_pod(runner(), SETTINGS)
    pod_hash = made["metadata"]["labels"].pop(keys.POD_TEMPLATE_HASH)
    assert len(pod_hash) == 10
    assert made["metadata"] == {
        "namespace": "arc-runners",
        "name": "demo-runner-abcde",
        "labels": {**runner()["metadata"]["labels"], "of": "template", "actions-ephemeral-runner": "True"},
        "annotations": runner()["metadata"]["annotations"],
        "ownerReferences": [
            {**OWNER_KEYS, "kind": "EphemeralRunner", "name": "demo-runner-abcde", "uid": "er-uid"},
        ],
    }
    assert made["spec"]["containers"] == [
        {
            "name": "runner",
            "image": "runner:1",
            "env": [
                {
                    "name": "ACTIONS_RUNNER_INPUT_JITCONFIG",
                    "valueFrom": {"secretKeyRef": {"name": "demo-runner-abcde", "key": "jitToken"}},
                },
                {"name": "GITHUB_ACTIONS_RUNNER_EXTRA_USER_AGENT", "value": "actions-runner-controller/dev"},
                {"name": "ACTIONS_RUNNER_RETURN_VERSION_DEPRECATED_EXIT_CODE", "value": "1"},
            ],
        }
    ]


def test_M8_variables_are_appended_to_the_runner_alone():
    template = {"spec": {"containers": [{"name": "dind"}, {"name": "runner", "env": [{"name": "A", "value": "1"}]}]}}
    containers = manifests.runner_pod(runner(template=template), SETTINGS)["spec"]["containers"]
    assert containers[0] == {"name": "dind"}
    assert [one["name"] for one in containers[1]["env"]][:2] == ["A", "ACTIONS_RUNNER_INPUT_JITCONFIG"]


def test_M8_the_template_wins_over_the_runners_metadata():
    template = {"metadata": {"labels": {"team": "y"}, "annotations": {keys.PATCH_ID: "of template"}}, "spec": {}}
    metadata = manifests.runner_pod(runner(template=template), SETTINGS)["metadata"]
    assert metadata["labels"]["team"] == "y"
    assert metadata["annotations"][keys.PATCH_ID] == "of template"


def test_M8_the_hash_follows_the_content():
    def hash_of(owner):
        return manifests.runner_pod(owner, SETTINGS)["metadata"]["labels"][keys.POD_TEMPLATE_HASH]

    assert hash_of(runner()) == hash_of(runner())
    assert hash_of(runner()) != hash_of(runner(template={"spec": {"containers": [{"name": "runner"}]}}))
    with_legacy = runner()
    with_legacy["metadata"]["labels"][keys.RUNNER_TEMPLATE_HASH] = "x"
    assert hash_of(with_legacy) == hash_of(runner())


@pytest.mark.parametrize(
    ("proxy", "names"),
    [
        ({"https": {"url": "http://p"}}, ["https_proxy"]),
        ({"http": {}, "https": {}, "noProxy": ["a"]}, ["http_proxy", "https_proxy", "no_proxy"]),
        ({"noProxy": []}, []),
    ],
)
def test_T348_proxy_variables_of_the_configured_parts(proxy, names):
    env = part(manifests.runner_pod(runner(proxy=proxy), SETTINGS)["spec"]["containers"], "runner")["env"]
    assert [one["name"] for one in env[3:]] == names
    for one in env[3:]:
        assert one["valueFrom"]["secretKeyRef"] == {"name": "demo-754b578d-runner-proxy", "key": one["name"]}


def test_R10_the_registration_secret_without_and_with_data():
    meta = {"labels": {"own": "1", "argocd.x": "y"}, "annotations": {"note": "1"}}
    settings = SETTINGS.model_copy(update={"excluded_label_prefixes": ("argocd.",)})
    secret = manifests.jit_secret(runner(ephemeralRunnerConfigSecretMetadata=meta), settings)
    assert "data" not in secret
    assert secret["metadata"] == {
        "namespace": "arc-runners",
        "name": "demo-runner-abcde",
        "labels": {"own": "1"},
        "annotations": {"note": "1"},
        "ownerReferences": [
            {**OWNER_KEYS, "kind": "EphemeralRunner", "name": "demo-runner-abcde", "uid": "er-uid"},
        ],
    }
    data = manifests.jit_secret_data(jit_token="t", runner_name="n", runner_id=11, scale_set_id=7)
    assert data == {"jitToken": "t", "runnerName": "n", "runnerId": "11", "scaleSetId": "7"}
    assert base64.b64decode(manifests.with_data(secret, data)["data"]["runnerId"]) == b"11"
    assert "data" not in secret


def test_S5_the_proxy_secret_of_a_set():
    secret = manifests.runner_proxy_secret(runner_set(proxy=PROXY), SETTINGS)
    assert secret["metadata"]["name"] == "demo-754b578d-runner-proxy"
    assert secret["metadata"]["labels"] == {keys.SCALE_SET_NAME: "demo", keys.SCALE_SET_NAMESPACE: "arc-runners"}
    assert secret["metadata"]["ownerReferences"][0]["uid"] == "ers-uid"


def test_subject_puts_together_what_the_fold_keeps_apart():
    owner = scale_set()
    metadata = {key: owner["metadata"][key] for key in ("labels", "annotations")}
    made = manifests.subject(
        kind=Kind.SCALE_SET,
        namespace="arc-runners",
        name="demo",
        uid="ars-uid",
        metadata=metadata,
        spec=owner["spec"],
    )
    assert made == owner


@pytest.mark.parametrize(
    "build",
    [
        lambda: (owner := scale_set(proxy=PROXY), manifests.runner_set_manifest(owner, SETTINGS)),
        lambda: (owner := scale_set(listenerTemplate={"spec": {}}), manifests.listener_manifest(owner, SETTINGS)),
        lambda: (owner := runner_set(proxy=PROXY), manifests.runner_manifest(owner, SETTINGS)),
        lambda: (owner := runner(proxy=PROXY), manifests.runner_pod(owner, SETTINGS)),
    ],
)
def test_H32_manifests_share_nothing_with_their_owner(build):
    owner, made = build()
    before = copy.deepcopy(owner)
    scribble(made)
    assert owner == before


def scribble(value):
    """Change everything that can be changed."""
    if isinstance(value, dict):
        for item in list(value.values()):
            scribble(item)
        value["scribbled"] = True
    elif isinstance(value, list):
        for item in value:
            scribble(item)
        value.append("scribbled")
