"""Cases of incidents as they are written down, and the world that each of them means.

A case shows what matters and leaves out what is as it should be: children of a listener, runner specs, Secrets, owner
references of pods. `complete` puts that in, so that the controller finds a scale set at rest but for what the case
shows. The hash in a listener's name is a placeholder and becomes the real one; names of runner sets are kept, since
older controllers made them up.
"""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arcfsm.domain.instant import SECOND, Instant, format_instant, parse_instant
from arcfsm.domain.kinds import Kind
from arcfsm.domain.manifests import (
    Unbuildable,
    current_listener_name,
    listener_config_secret,
    listener_manifest,
    listener_pod,
    role,
    role_binding,
    runner_set_manifest,
    service_account,
)
from arcfsm.domain.settings import ControllerSettings
from tests.unit.incidents.cluster import Key, Object, key_of
from tests.unit.rules.hands import merge_patch

START = parse_instant("2026-01-01T00:00:00Z")
CASES = Path(__file__).parents[4] / "shared" / "incidents" / "cases.jsonl"
CONFIG_VERSION = "5"

Event = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One incident, in one of its variants."""

    id: str
    covers: tuple[str, ...]
    initial: tuple[Object, ...]
    events: tuple[Event, ...]
    expect: tuple[str, ...]
    forbid: tuple[str, ...]
    config: dict[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> ControllerSettings:
        """What the controller is told. A strategy for updates is nothing it knows: runners never block a listener."""
        known = {"buildVersion": "compatible_arc_version", "controllerNamespace": "controller_namespace"}
        told: dict[str, Any] = {"controller_namespace": "arc", "listener_image": "listener:1"}
        for name, value in self.config.items():
            if name == "updateStrategy":
                continue
            told[known[name]] = value
        return ControllerSettings(**told)


def read_cases(path: Path = CASES) -> list[Case]:
    """Read every case with its variants; nothing where the file is not there."""
    if not path.exists():
        return []
    lines = path.read_text("utf-8").splitlines()
    return [case for line in lines if line.strip() for case in _variants(json.loads(line))]


def _variants(raw: Any) -> list[Case]:
    cases = [_case(raw, raw["id"])]
    for field_name, values in (raw.get("variants") or {}).items():
        for value in values:
            varied = {**raw, "events": _replaced(raw["events"], field_name, value)}
            cases.append(_case(varied, f"{raw['id']}-{value}"))
    return cases


def _replaced(value: Any, name: str, new: Any) -> Any:
    if isinstance(value, dict):
        return {key: new if key == name else _replaced(item, name, new) for key, item in value.items()}
    return [_replaced(item, name, new) for item in value] if isinstance(value, list) else value


def _case(raw: Any, name: str) -> Case:
    raw = _with_real_names(raw)
    return Case(
        id=name,
        covers=tuple(raw["covers"]),
        initial=tuple(raw.get("initial", ())),
        events=tuple(sorted(raw["events"], key=lambda event: event["t"])),
        expect=tuple(raw["expect"]),
        forbid=tuple(raw["forbid"]),
        config=dict(raw.get("config") or {}),
    )


def _with_real_names(raw: Any) -> Any:
    """Give listeners the names that follow from their scale sets (M9)."""
    objects = [*raw.get("initial", ()), *(event["object"] for event in raw["events"] if "object" in event)]
    scale_sets = {one["metadata"]["name"]: one for one in objects if one["kind"] == Kind.SCALE_SET}
    text = json.dumps(raw)
    for one in objects:
        if one["kind"] == Kind.LISTENER:
            serves = scale_sets.get(one["spec"].get("autoscalingRunnerSetName", ""))
            if serves is not None:
                text = text.replace(json.dumps(one["metadata"]["name"]), json.dumps(current_listener_name(serves)))
    return json.loads(text)


def complete(case: Case) -> list[Object]:
    """Return the objects that are there when the story begins."""
    found: dict[Key, Object] = {key_of(one): deepcopy(one) for one in case.initial}
    for event in case.events:
        if event.get("type") in ("MODIFIED", "DELETED") and event["object"]["kind"] in set(Kind):
            found.setdefault(key_of(event["object"]), as_it_was(event["object"]))
    scale_sets = [one for one in found.values() if one["kind"] == Kind.SCALE_SET]
    for one in scale_sets:
        _complete_scale_set(one)
        _complete_runner_sets(one, found, case.settings)
        _complete_listeners(one, found, case.settings)
    for one in list(found.values()):
        if one["kind"] == Kind.RUNNER:
            _complete_runner(one, found)
    for one in list(found.values()):
        if one["kind"] == Kind.POD:
            complete_pod(one, found, case.settings)
    return [found[key] for key in sorted(found)]


def complete_pod(pod: Object, found: dict[Key, Object], settings: ControllerSettings) -> None:
    """Say whose pod it is; a listener's looks as it was made."""
    namespace, name = pod["metadata"].get("namespace", ""), pod["metadata"]["name"]
    for kind in (Kind.RUNNER, Kind.LISTENER):
        owner = found.get((kind, namespace, name))
        if owner is None or pod["metadata"].get("ownerReferences"):
            continue
        pod["metadata"]["ownerReferences"] = [_owner(owner)]
        if kind is Kind.LISTENER:
            made: Any = listener_pod(owner, settings, CONFIG_VERSION)
            given = {one["name"]: one for one in pod.get("spec", {}).get("containers", ())}
            containers = [merge_patch(one, given.get(one["name"], {})) for one in made["spec"]["containers"]]
            pod["spec"] = {**made["spec"], **pod.get("spec", {}), "containers": containers}
            for part in ("labels", "annotations"):
                pod["metadata"][part] = {**made["metadata"].get(part, {}), **pod["metadata"].get(part, {})}


def running(container: str, *, since: Instant = START + 5 * SECOND) -> Any:
    """The status of a pod that does what it should."""
    return {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": format_instant(since)}],
        "containerStatuses": [{"name": container, "state": {"running": {"startedAt": format_instant(since)}}}],
    }


def as_it_was(later: Object) -> Object:
    """An object of which the first that is told is a change: it was there and well."""
    was = deepcopy(later)
    for key in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        was["metadata"].pop(key, None)
    if was["kind"] == Kind.POD:
        if was.get("status", {}).get("phase") == "Pending":
            was["status"] = {"phase": "Pending"}
        else:
            containers = was.get("spec", {}).get("containers") or [{"name": "runner"}]
            was["status"] = running(containers[0]["name"])
    return was


def _complete_scale_set(one: Object) -> None:
    one["metadata"].setdefault("generation", 1)
    one.setdefault("status", {}).setdefault("observedGeneration", one["metadata"]["generation"])


def _complete_runner_sets(scale_set: Object, found: dict[Key, Object], settings: ControllerSettings) -> None:
    try:
        made: Any = runner_set_manifest(scale_set, settings)
    except Unbuildable:
        return
    for one in found.values():
        owners = one["metadata"].get("ownerReferences") or ()
        if one["kind"] == Kind.RUNNER_SET and any(o["uid"] == scale_set["metadata"]["uid"] for o in owners):
            one["spec"] = merge_patch(made["spec"], one.get("spec", {}))
            for part in ("labels", "annotations"):
                one["metadata"][part] = {**made["metadata"].get(part, {}), **one["metadata"].get(part, {})}


def _complete_listeners(scale_set: Object, found: dict[Key, Object], settings: ControllerSettings) -> None:
    try:
        made: Any = listener_manifest(scale_set, settings)
    except Unbuildable:
        return
    for one in list(found.values()):
        spec = one.get("spec") or {}
        if one["kind"] != Kind.LISTENER or spec.get("autoscalingRunnerSetName") != scale_set["metadata"]["name"]:
            continue
        # Zeros are left out on the way through the API.
        one["spec"] = {key: value for key, value in merge_patch(made["spec"], spec).items() if value not in (0, "")}
        for part in ("labels", "annotations"):
            one["metadata"][part] = {**made["metadata"].get(part, {}), **one["metadata"].get(part, {})}
        if one["spec"].get("phase") == "Stopped" or one["metadata"].get("deletionTimestamp"):
            continue
        for build in (service_account, role, role_binding, listener_config_secret):
            child: Any = build(one, settings)
            child["metadata"]["creationTimestamp"] = one["metadata"]["creationTimestamp"]
            if child["kind"] == Kind.SECRET:
                child["metadata"]["resourceVersion"] = CONFIG_VERSION
            found.setdefault(key_of(child), child)
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": one["metadata"]["name"],
                "namespace": one["metadata"]["namespace"],
                "uid": f"p-{one['metadata']['name']}",
                "creationTimestamp": one["metadata"]["creationTimestamp"],
            },
            "spec": {},
            "status": running("listener"),
        }
        found.setdefault(key_of(pod), pod)


def _complete_runner(one: Object, found: dict[Key, Object]) -> None:
    metadata, status = one["metadata"], one.get("status", {})
    owners = {owner["uid"] for owner in metadata.get("ownerReferences") or ()}
    runner_set = next((o for o in found.values() if o["metadata"].get("uid") in owners), None)
    if runner_set is not None:
        one["spec"] = merge_patch(runner_set["spec"].get("ephemeralRunnerSpec", {}), one.get("spec", {}))
    if status.get("runnerId"):
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": metadata["name"],
                "namespace": metadata["namespace"],
                "uid": f"s-{metadata['name']}",
                "creationTimestamp": metadata["creationTimestamp"],
                "ownerReferences": [_owner(one)],
            },
        }
        found.setdefault(key_of(secret), secret)
    if status.get("ready") and not metadata.get("deletionTimestamp") and status.get("phase") in ("Pending", "Running"):
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": metadata["name"],
                "namespace": metadata["namespace"],
                "uid": f"p-{metadata['name']}",
                "creationTimestamp": metadata["creationTimestamp"],
            },
            "spec": {"containers": [{"name": "runner"}]},
            "status": running("runner"),
        }
        found.setdefault(key_of(pod), pod)


def _owner(owner: Object) -> Any:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
