"""What an update makes of an object, and whether that is allowed.

Which path a write takes decides what it may change: the main resource everything but the status, the status
subresource the status and, for built-in kinds, some metadata. What is left over of a body is dropped silently, as the
real server does it.
"""

from __future__ import annotations

from typing import Any

from arcfsm.sim.api import core_rules, metadata
from arcfsm.sim.api.failure import Cause, wrong
from arcfsm.sim.api.kinds import CRDS, NEW_EVENTS, PODS, ResourceType
from arcfsm.sim.api.pod_rules import check_pod_status, check_pod_update
from arcfsm.sim.api.structural import check
from arcfsm.sim.api.target import Target

Item = dict[str, Any]


def schema_faults(resource: ResourceType, item: Item, before: Item | None = None) -> list[Cause]:
    """Find what the schema of a custom resource does not allow; parts shared with `before` are known to be fine."""
    causes: list[Cause] = []
    if item["kind"] != resource.kind:
        causes.append(wrong("kind", metadata.quoted(item["kind"]), f"must be {resource.kind}"))
        return causes
    schema = resource.schema
    if schema is None:
        return causes
    properties = schema.get("properties") or {}
    has_status = "status" in resource.subresources
    rest = {
        name: value
        for name, value in item.items()
        if name not in {"apiVersion", "kind", "metadata"}
        and not (has_status and name == "status")
        and (before is None or value is not before.get(name))
    }
    needed = [name for name in schema.get("required") or () if name not in {"apiVersion", "kind", "metadata"}]
    root = {**schema, "required": [name for name in needed if name not in item], "properties": properties}
    check(rest, root, "", "", causes)
    return causes


def composed(target: Target, item: Item, before: Item) -> Item:
    """Return what an update makes of an object: only what this path may change."""
    resource = target.resource
    kept = before["metadata"]
    if target.subresource == "status":
        return _with_status(resource, item, before)
    if target.subresource == "finalize":
        finalizers = (item.get("spec") or {}).get("finalizers") or []
        spec = {name: value for name, value in before["spec"].items() if name != "finalizers"}
        return {**before, "spec": {**spec, "finalizers": finalizers} if finalizers else spec}
    made, warning = metadata.fold_owners(item["metadata"])
    if warning:
        target.warnings.append(warning)
    carried = metadata.carried_over(made, kept)
    after = {**item, "metadata": carried}
    if resource is CRDS:
        names = (before.get("status") or {}).get("acceptedNames") or {}
        after["spec"] = {**after.get("spec", {}), "names": {**names, **after.get("spec", {}).get("names", {})}}
    if "status" in resource.subresources:
        after.pop("status", None)
        if "status" in before:
            after["status"] = before["status"]
    if resource.counts_generations and _changes_spec(resource, after, before):
        carried["generation"] = kept.get("generation", 0) + 1
    return after


def _with_status(resource: ResourceType, item: Item, before: Item) -> Item:
    after = {name: value for name, value in before.items() if name != "status"}
    if "status" in item:
        after["status"] = item["status"]
    if resource.custom:
        kind = item["kind"]
        return after if kind == resource.kind else {**after, "kind": kind}
    carried = metadata.carried_over(item["metadata"], before["metadata"])
    if resource is PODS:
        carried.pop("ownerReferences", None)
        if "ownerReferences" in before["metadata"]:
            carried["ownerReferences"] = before["metadata"]["ownerReferences"]
        if not after["status"].get("qosClass") and (before.get("status") or {}).get("qosClass"):
            after["status"] = {**after["status"], "qosClass": before["status"]["qosClass"]}
    return {**after, "metadata": carried}


def _changes_spec(resource: ResourceType, after: Item, before: Item) -> bool:
    if resource is PODS or resource is CRDS:
        return bool(after["spec"] != before["spec"])
    ignored = {"metadata", "status"} if "status" in resource.subresources else {"metadata"}
    names = (after.keys() | before.keys()) - ignored
    return any(after.get(name) != before.get(name) or (name in after) != (name in before) for name in names)


def update_faults(target: Target, after: Item, before: Item) -> list[Cause]:
    """Find what is wrong with the result of an update."""
    resource = target.resource
    causes: list[Cause] = []
    if after["metadata"] != before["metadata"]:
        causes += metadata.check_update(resource, after["metadata"], before["metadata"])
    if resource.custom:
        if target.subresource == "status":
            return causes + _status_faults(resource, after)
        return causes + schema_faults(resource, after, before)
    if resource is PODS:
        if target.subresource == "status":
            return causes + check_pod_status(after, before)
        if after["spec"] is before["spec"]:
            return causes
        return causes + check_pod_update(after, before) if after["spec"] != before["spec"] else causes
    if resource is NEW_EVENTS or target.subresource:
        return causes
    return causes + core_rules.check_change(after, before) + core_rules.check(after)


def _status_faults(resource: ResourceType, after: Item) -> list[Cause]:
    causes: list[Cause] = []
    if after["kind"] != resource.kind:
        return [wrong("kind", metadata.quoted(after["kind"]), f"must be {resource.kind}")]
    schema = ((resource.schema or {}).get("properties") or {}).get("status")
    if schema is not None and "status" in after:
        check(after["status"], schema, "status", "", causes)
    return causes
