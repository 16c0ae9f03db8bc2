"""Drift: whether what is there still is what is wanted, by meaning and not by bytes (rules.md Part 4).

Questions that rules ask, each answered with None for "no" or with the path (or reason) of the first difference:

    runner_spec_changed(live, desired) -> Path | None              D10  ephemeralRunnerSpec of set, or spec of a runner
    runner_metadata_changed(live | None, desired | None)           A15  ephemeralRunnerMetadata
    desired_spec_changed(live, desired) -> Path | None             D11  whole spec of an EphemeralRunnerSet
    listener_object_drift(live, desired) -> Path | None            D13  AutoscalingListener {metadata, spec}
    listener_pod_drift(live, desired, recorded=, adopted_config_version=) -> PodDrift | None    D12, Z1, Z5, H18
    role_rules_changed(live, desired) -> Path | None               D14
    listener_config_equal(live, desired) -> bool                   H19  texts of config.json; inside effects only

Beneath them, over any JSON and a schema (`POD_SPEC`, `RUNNER_SPEC`, `LISTENER_SPEC`, …):

    difference(a, b, schema) -> Path | None         deep_equal(a, b, schema) -> bool
    shortfall(desired, live, schema) -> Path | None     deep_derivative(desired, live, schema) -> bool
    normalize(value, schema) -> Json                normal_digest(value, schema) -> Digest

All of it is pure and cheap where nothing differs. Labels and annotations of children are not compared here but merged
(`arcfsm.domain.manifests.metadata_patch`, M1–M3).
"""

from __future__ import annotations

from arcfsm.domain.drift.comparison import (
    Path,
    deep_derivative,
    deep_equal,
    difference,
    normal_digest,
    normalize,
    shortfall,
)
from arcfsm.domain.drift.listener_pod import PodDrift, PodDriftReason, listener_pod_drift
from arcfsm.domain.drift.pod_defaults import with_pod_defaults
from arcfsm.domain.drift.pod_schema import CONTAINER, OBJECT_META, POD_SPEC, POD_TEMPLATE
from arcfsm.domain.drift.purposes import (
    desired_spec_changed,
    listener_config_equal,
    listener_object_drift,
    role_rules_changed,
    runner_metadata_changed,
    runner_spec_changed,
)
from arcfsm.domain.drift.resource_schema import (
    LISTENER_CONFIG,
    LISTENER_SPEC,
    RESOURCE_META,
    ROLE_RULES,
    RUNNER_SET_SPEC,
    RUNNER_SPEC,
)

__all__ = [
    "CONTAINER",
    "LISTENER_CONFIG",
    "LISTENER_SPEC",
    "OBJECT_META",
    "POD_SPEC",
    "POD_TEMPLATE",
    "RESOURCE_META",
    "ROLE_RULES",
    "RUNNER_SET_SPEC",
    "RUNNER_SPEC",
    "Path",
    "PodDrift",
    "PodDriftReason",
    "deep_derivative",
    "deep_equal",
    "desired_spec_changed",
    "difference",
    "listener_config_equal",
    "listener_object_drift",
    "listener_pod_drift",
    "normal_digest",
    "normalize",
    "role_rules_changed",
    "runner_metadata_changed",
    "runner_spec_changed",
    "shortfall",
    "with_pod_defaults",
]
