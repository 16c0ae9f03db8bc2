"""Whether a live listener pod still is the pod we want (D12), with the verdicts Z1, Z5 and H18.

Live pods carry much that nobody here asked for: server defaults, tolerations, a token volume, sidecars. A strict
comparison would delete and create a listener for ever, and a listener that restarts loses sessions and jobs wait. So
live pods are only ever asked whether they carry what is desired. What that cannot see (a removed toleration, an
emptied selector) lives in the AutoscalingListener's spec, whose change replaces the whole listener (D13).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from arcfsm.domain import keys
from arcfsm.domain.drift.comparison import Path, difference, shortfall
from arcfsm.domain.drift.pod_defaults import with_pod_defaults
from arcfsm.domain.drift.pod_schema import CONTAINER, POD_SPEC
from arcfsm.domain.jsonvalue import EMPTY, JsonObject, list_at, object_at, objects_at, text_at
from arcfsm.domain.rulebook import rule

_EDITABLE: Final = ("command", "env", "image")
"""What a person may have changed in a pod that we created; the rest is compared with what we asked for (H18)."""


class PodDriftReason(StrEnum):
    """What is wrong with a listener pod."""

    CONFIG_CHANGED = "config-changed"
    TEMPLATE_CHANGED = "template-changed"
    CONTAINER_MISSING = "container-missing"
    PORTS_REMOVED = "ports-removed"
    CONTAINER_CHANGED = "container-changed"
    SPEC_CHANGED = "spec-changed"


@dataclass(frozen=True, slots=True)
class PodDrift:
    """Why a listener pod must be recreated, and at which path it showed."""

    reason: PodDriftReason
    path: Path

    def __str__(self) -> str:
        return f"{_SAID[self.reason]} ({self.path})"


_SAID: Final = {
    PodDriftReason.CONFIG_CHANGED: "its configuration has changed since it started",
    PodDriftReason.TEMPLATE_CHANGED: "another pod is wanted than the one it was created as",
    PodDriftReason.CONTAINER_MISSING: "a wanted container is missing",
    PodDriftReason.PORTS_REMOVED: "it has ports that are not wanted any more",
    PodDriftReason.CONTAINER_CHANGED: "a container lacks what is wanted",
    PodDriftReason.SPEC_CHANGED: "its spec lacks what is wanted",
}


@rule("D12", "a listener pod has drifted where its config is older, ports were removed, or it lacks what is wanted")
def listener_pod_drift(
    live: JsonObject, desired: JsonObject, *, recorded: JsonObject = EMPTY, adopted_config_version: str = ""
) -> PodDrift | None:
    """Return why a live listener pod must be recreated, or None (D12, Z1, Z5, H18).

    `live` and `desired` are pods, of which `metadata.annotations` and `spec` are read. `recorded` is the pod *spec*
    that we asked for when we created this very pod; empty for a pod that was there before us. `adopted_config_version`
    is the resourceVersion of the config Secret when such a pod was adopted: it stands in for the annotation that the
    pod lacks and that is never stamped on (Z1).
    """
    early = _config_drift(live, desired, adopted_config_version) or _recorded_drift(desired, recorded)
    if early is not None:
        return early
    wanted, found = with_pod_defaults(object_at(desired, "spec")), with_pod_defaults(object_at(live, "spec"))
    return _containers_drift(wanted, found, created_by_us=bool(recorded)) or (
        None if recorded else _rest_drift(wanted, found)
    )


def _config_drift(live: JsonObject, desired: JsonObject, adopted_config_version: str) -> PodDrift | None:
    """D12 (1): a version that nobody knows is no drift, so an upgrade restarts no listener."""
    wanted = text_at(desired, "metadata", "annotations", keys.LISTENER_CONFIG_VERSION)
    found = text_at(live, "metadata", "annotations", keys.LISTENER_CONFIG_VERSION) or adopted_config_version
    if not wanted or not found or wanted == found:
        return None
    key = keys.LISTENER_CONFIG_VERSION.replace("/", "~1")
    return PodDrift(PodDriftReason.CONFIG_CHANGED, f"/metadata/annotations/{key}")


def _recorded_drift(desired: JsonObject, recorded: JsonObject) -> PodDrift | None:
    """H18: what we asked for is known exactly, so it is compared exactly. The live pod has no part in this."""
    path = difference(recorded, object_at(desired, "spec"), POD_SPEC) if recorded else None
    return None if path is None else PodDrift(PodDriftReason.TEMPLATE_CHANGED, f"/spec{path}")


def _containers_drift(wanted: JsonObject, found: JsonObject, *, created_by_us: bool) -> PodDrift | None:
    """D12 (2): containers by name, so that an injected one is ignored wherever it stands (Z5).

    Fewer ports than the live container has are drift, because the derivation cannot see a removal; their content is
    left to it, because the server completes it.
    """
    live_containers = {text_at(container, "name"): container for container in objects_at(found, "containers")}
    for container in objects_at(wanted, "containers"):
        name = text_at(container, "name")
        place = f"/spec/containers/{name}"
        live = live_containers.get(name)
        if live is None:
            return PodDrift(PodDriftReason.CONTAINER_MISSING, place)
        if len(list_at(container, "ports")) < len(list_at(live, "ports")):
            return PodDrift(PodDriftReason.PORTS_REMOVED, f"{place}/ports")
        compared = {key: container[key] for key in _EDITABLE if key in container} if created_by_us else container
        path = shortfall(compared, {key: live.get(key) for key in compared} if created_by_us else live, CONTAINER)
        if path is not None:
            return PodDrift(PodDriftReason.CONTAINER_CHANGED, place + path)
    return None


def _rest_drift(wanted: JsonObject, found: JsonObject) -> PodDrift | None:
    """D12 (3): the spec but for its containers. Init containers stay positional."""
    path = shortfall({**wanted, "containers": None}, {**found, "containers": None}, POD_SPEC)
    return None if path is None else PodDrift(PodDriftReason.SPEC_CHANGED, f"/spec{path}")
