"""The project's own definitions keep every field of the design's field tables and lose what is no field."""

from __future__ import annotations

import random

import pytest

from arcfsm.sim.api import OWN_CRDS, ApiFailure, ApiServer, load_crds
from arcfsm.sim.clock import ManualClock

GROUP = "actions.github.com/v1alpha1"
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "runner", "image": "i"}]}}
COMMON = {"githubConfigUrl": "https://example.test/org", "githubConfigSecret": "s"}
META = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
PROXY = {"http": {"url": "u", "credentialSecretRef": "s"}, "noProxy": ["x"]}
VAULT = {
    "type": "azure_key_vault",
    "azureKeyVault": {"url": "u", "tenantId": "t", "clientId": "c", "certificatePath": "p"},
}
SPECS = {
    "AutoscalingRunnerSet": {
        **COMMON,
        "runnerGroup": "g",
        "runnerScaleSetName": "n",
        "runnerScaleSetLabels": ["l"],
        "proxy": PROXY,
        "vaultConfig": VAULT,
        "template": TEMPLATE,
        "listenerTemplate": TEMPLATE,
        "autoscalingListener": META,
        "listenerMetrics": {"histograms": {"h": {"labels": ["l"], "buckets": [0.5, 1]}}},
        "listenerConfig": {"scaler": {"qps": 1, "burst": 2}},
        "ephemeralRunnerSetMetadata": META,
        "ephemeralRunnerMetadata": META,
        "ephemeralRunnerConfigSecretMetadata": META,
        "listenerServiceAccountMetadata": META,
        "minRunners": 0,
        "maxRunners": 3,
    },
    "EphemeralRunnerSet": {
        "replicas": 1,
        "patchID": 0,
        "actionableRevision": 2,
        "ephemeralRunnerMetadata": META,
        "ephemeralRunnerSpec": {**COMMON, "runnerScaleSetId": 1, "proxySecretRef": "p", "proxy": PROXY, **TEMPLATE},
    },
    "EphemeralRunner": {**COMMON, "runnerScaleSetId": 1, "vaultConfig": VAULT, "proxySecretRef": "p", **TEMPLATE},
    "AutoscalingListener": {
        **COMMON,
        "runnerScaleSetId": 1,
        "autoscalingRunnerSetNamespace": "n",
        "autoscalingRunnerSetName": "a",
        "ephemeralRunnerSetName": "e",
        "minRunners": 0,
        "maxRunners": 3,
        "image": "i",
        "imagePullSecrets": [{"name": "p"}],
        "template": TEMPLATE,
        "phase": "Running",
        "roleMetadata": META,
        "metrics": {"counters": {"c": {"labels": ["l"]}}},
    },
}
STATUS = {
    "AutoscalingRunnerSet": {"phase": "Running", "observedGeneration": 1, "currentRunners": 2},
    "EphemeralRunnerSet": {"phase": "Running", "appliedActionableRevision": 1, "finishedRunnerCleanupPatchID": 4},
    "EphemeralRunner": {
        "phase": "Running",
        "ready": False,
        "runnerId": 1,
        "runnerName": "r",
        "failures": {"u": "2026-01-02T03:04:05Z"},
        "jobRequestId": 1,
        "jobId": "j",
        "jobRepositoryName": "o/r",
        "jobWorkflowRef": "w",
        "workflowRunId": 5,
        "jobDisplayName": "d",
        "jobQueuedAt": "2026-01-02T03:04:05Z",
    },
}


@pytest.fixture
def api():
    made = ApiServer(ManualClock(), random.Random(1))
    made.create("namespaces", "", {"metadata": {"name": "n"}})
    return made


def create(api, kind, spec):
    body = {"apiVersion": GROUP, "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    return api.create(f"{kind.lower()}s", "n", body)


@pytest.mark.parametrize("kind", SPECS)
def test_fields_are_kept(api, kind):
    assert create(api, kind, SPECS[kind])["spec"] == SPECS[kind]


@pytest.mark.parametrize("kind", STATUS)
def test_status_is_kept_and_only_through_its_subresource(api, kind):
    create(api, kind, SPECS[kind])
    plural = f"{kind.lower()}s"
    assert "status" not in api.patch(plural, "n", "x", {"status": STATUS[kind]})
    assert api.patch(plural, "n", "x", {"status": STATUS[kind]}, subresource="status")["status"] == STATUS[kind]


def test_fields_without_meaning_are_dropped_and_defaults_filled_in(api):
    ports = [{"containerPort": 80}]
    containers = [{"name": "runner", "image": "i", "ports": ports, "odd": {"kept": None}}]
    spec = {**SPECS["EphemeralRunner"], "bogus": 1, "spec": {"containers": containers}}
    made = create(api, "EphemeralRunner", spec)["spec"]
    assert "bogus" not in made
    assert made["spec"]["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert "odd" in made["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("kind", "change", "field"),
    [
        ("AutoscalingRunnerSet", {"minRunners": -1}, "spec.minRunners"),
        ("EphemeralRunner", {"runnerScaleSetId": "one"}, "spec.runnerScaleSetId"),
        ("EphemeralRunner", {"githubConfigUrl": None}, "spec.githubConfigUrl"),
        ("EphemeralRunnerSet", {"patchID": None}, "spec.patchID"),
        ("EphemeralRunner", {"spec": {}}, "spec.spec.containers"),
    ],
)
def test_what_the_tables_need_is_required(api, kind, change, field):
    with pytest.raises(ApiFailure) as refused:
        create(api, kind, {**SPECS[kind], **change})
    assert refused.value.status == 422
    assert refused.value.body["details"]["causes"][0]["field"] == field


def test_every_definition_has_status_and_columns():
    definitions = load_crds(OWN_CRDS)
    assert len(definitions) == 4
    for definition in definitions:
        (version,) = definition["spec"]["versions"]
        assert version["subresources"] == {"status": {}}
        assert version["additionalPrinterColumns"][-1]["name"] == "Age"


def test_a_folder_without_definitions_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="no YAML files"):
        load_crds(tmp_path)
    (tmp_path / "x.yaml").write_text("a: [")
    with pytest.raises(ValueError, match=r"x\.yaml"):
        load_crds(tmp_path)
