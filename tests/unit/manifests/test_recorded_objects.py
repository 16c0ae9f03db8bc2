"""Objects that the Go controller made on a real cluster: ours must mean the same, and theirs must not drift."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arcfsm.domain import keys, manifests
from arcfsm.domain.drift import listener_object_drift, listener_pod_drift, role_rules_changed, runner_spec_changed
from arcfsm.domain.settings import ControllerSettings

RECORDINGS = Path(__file__).parents[4] / "shared" / "recordings"
SCENARIOS = ["scale-up-and-drain", "spec-update-with-busy-runner", "pod-start-failures", "scale-set-deleted"]
SETTINGS = ControllerSettings(
    controller_namespace="arc-systems",
    listener_image="ghcr.io/actions/gha-runner-scale-set-controller:0.14.2",
    metrics_addr="0",
    user_agent_version="0.14.2",
)


@pytest.fixture(params=SCENARIOS)
def recorded(request):
    """The first object of each kind in a recording that was whole: registered, and pods with a node."""
    path = RECORDINGS / request.param / "watch.jsonl"
    if not path.exists():
        pytest.skip("the recordings live beside the project and are not here")
    found = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            one = json.loads(line)["object"]
            kind, metadata = one["kind"], one.get("metadata", {})
            if kind == "AutoscalingRunnerSet" and keys.SCALE_SET_ID not in metadata.get("annotations", {}):
                continue
            if kind == "Pod":
                kind = f"{next(iter(metadata.get('ownerReferences', [])), {}).get('kind')} Pod"
            if metadata.get("labels", {}).get(keys.SCALE_SET_NAME):
                found.setdefault(kind, one)
    return found


def without_legacy(annotations):
    return {key: value for key, value in annotations.items() if not key.endswith("-hash")}


def meta_of(one):
    metadata = one["metadata"]
    return metadata.get("labels", {}), without_legacy(metadata.get("annotations", {}))


def test_the_runner_set(recorded):
    made = manifests.runner_set_manifest(recorded["AutoscalingRunnerSet"], SETTINGS)
    theirs = recorded["EphemeralRunnerSet"]
    assert runner_spec_changed(theirs["spec"]["ephemeralRunnerSpec"], made["spec"]["ephemeralRunnerSpec"]) is None
    assert meta_of(made) == meta_of(theirs)
    assert made["metadata"]["ownerReferences"] == theirs["metadata"]["ownerReferences"]


def test_the_listener(recorded):
    made = manifests.listener_manifest(recorded["AutoscalingRunnerSet"], SETTINGS)
    theirs = recorded["AutoscalingListener"]
    assert listener_object_drift(theirs, made) is None
    assert made["spec"] == theirs["spec"]


def test_the_listeners_name_follows_from_the_url_before_it_was_replaced(recorded):
    """The recordings hide the URL of the scripted service, and with it where the listener's name comes from."""
    owner = recorded["AutoscalingRunnerSet"]
    owner["spec"]["githubConfigUrl"] = "http://127.0.0.1:38080/example-org"
    assert manifests.current_listener_name(owner) == recorded["AutoscalingListener"]["metadata"]["name"]


def test_the_listeners_children(recorded):
    owner = recorded["AutoscalingListener"]
    for build in (manifests.service_account, manifests.role, manifests.role_binding):
        made = build(owner, SETTINGS)
        theirs = recorded[made["kind"]]
        assert meta_of(made) == meta_of(theirs)
        assert made["metadata"].get("ownerReferences") == theirs["metadata"].get("ownerReferences")
        assert manifests.metadata_patch(theirs["metadata"], made["metadata"], SETTINGS) is None
        assert made.get("roleRef") == theirs.get("roleRef")
        assert made.get("subjects") == theirs.get("subjects")


def test_their_role_lacks_the_right_to_read_runners(recorded):
    assert role_rules_changed(recorded["Role"]["rules"], manifests.role_rules(recorded["AutoscalingListener"])) == (
        "/rules/1/verbs/0"
    )


def test_the_listener_pod(recorded):
    theirs = recorded["AutoscalingListener Pod"]
    made = manifests.listener_pod(recorded["AutoscalingListener"], SETTINGS, "4711")
    assert listener_pod_drift(theirs, made) is None
    assert meta_of(made)[0] == meta_of(theirs)[0]
    assert manifests.listener_pod_metadata_patch(theirs["metadata"], made["metadata"], SETTINGS) is None


def test_a_runner(recorded):
    theirs = recorded["EphemeralRunner"]
    made = manifests.runner_manifest(recorded["EphemeralRunnerSet"], SETTINGS)
    assert runner_spec_changed(theirs["spec"], made["spec"]) is None
    assert made["metadata"]["labels"] == theirs["metadata"]["labels"]
    assert made["metadata"]["ownerReferences"] == theirs["metadata"]["ownerReferences"]


def test_a_runner_pod(recorded):
    theirs = recorded["EphemeralRunner Pod"]
    owner = {**recorded["EphemeralRunner"]}
    owner["metadata"] = {**owner["metadata"], "name": theirs["metadata"]["name"]}
    made = manifests.runner_pod(owner, SETTINGS)
    assert made["spec"]["containers"][0]["env"] == theirs["spec"]["containers"][0]["env"]
    drop = {keys.POD_TEMPLATE_HASH}
    assert made["metadata"]["labels"].keys() - drop == theirs["metadata"]["labels"].keys() - drop
