"""Merging of labels and annotations: nothing foreign is lost, and nothing foreign causes a patch (M1–M3, H21, Z1)."""

from __future__ import annotations

import pytest

from arcfsm.domain import keys, manifests
from tests.unit.manifests.owners import SETTINGS, scale_set

EXCLUDING = SETTINGS.model_copy(update={"excluded_label_prefixes": ("argocd.", "tmp/")})


def meta(labels=None, annotations=None):
    return {"labels": labels or {}, "annotations": annotations or {}}


def test_T416_an_excluded_label_is_kept_live_and_never_passed_on():
    merged = manifests.merge_labels({"argocd.x": "live"}, {"argocd.x": "desired", "a": "1"}, EXCLUDING)
    assert merged == {"argocd.x": "live", "a": "1"}
    assert manifests.merge_labels({}, {"argocd.x": "desired"}, EXCLUDING) == {}
    assert manifests.metadata_patch(meta({"argocd.x": "live"}), meta({"argocd.x": "desired"}), EXCLUDING) is None


@pytest.mark.parametrize("build", [manifests.runner_set_manifest, manifests.listener_manifest])
def test_M1_excluded_labels_reach_no_child(build):
    owner = scale_set(labels={"argocd.argoproj.io/instance": "ci", "tmp/x": "1", "kept": "1"})
    labels = build(owner, EXCLUDING)["metadata"]["labels"]
    assert "kept" in labels
    assert not any(key.startswith(("argocd.", "tmp/")) for key in labels)


def test_T035_a_foreign_label_causes_no_patch():
    live = meta({"a": "1", "team": "x"}, {"note": "1"})
    assert manifests.metadata_patch(live, meta({"a": "1"}), SETTINGS) is None


def test_T036_a_label_that_is_not_wanted_any_more_stays():
    assert manifests.metadata_patch(meta({"a": "1"}), meta({}), SETTINGS) is None


def test_M3_a_patch_says_only_what_changes():
    live = meta({"a": "1", "b": "2"}, {"x": "1"})
    desired = meta({"a": "1", "b": "3", "c": "4"}, {"x": "1", "y": "2"})
    expected = {"labels": {"b": "3", "c": "4"}, "annotations": {"y": "2"}}
    assert manifests.metadata_patch(live, desired, SETTINGS) == expected


@pytest.mark.parametrize("empty", [{}, {"labels": None, "annotations": None}])
def test_M2_a_null_base_is_an_empty_one(empty):
    assert manifests.metadata_patch(empty, empty, SETTINGS) is None
    assert manifests.metadata_patch(empty, meta({}, {"x": "1"}), SETTINGS) == {"annotations": {"x": "1"}}
    assert manifests.merge_annotations({}, {"x": "1"}) == {"x": "1"}


def test_Z1_the_config_version_is_never_stamped_onto_a_running_pod():
    desired = meta({"a": "1"}, {keys.LISTENER_CONFIG_VERSION: "101"})
    assert manifests.listener_pod_metadata_patch(meta({"a": "1"}), desired, SETTINGS) is None
    assert manifests.listener_pod_metadata_patch(meta(), desired, SETTINGS) == {"labels": {"a": "1"}}
