"""What is done to pods through subresources: binding one to a node, evicting one."""

from __future__ import annotations

from typing import Any

from arcfsm.sim.api.deletion import DeleteOptions
from arcfsm.sim.api.failure import bad_request, conflict, not_found, success
from arcfsm.sim.api.kinds import PODS
from arcfsm.sim.api.shapes import STRUCTS, DecodeFault, Trace, read_object
from arcfsm.sim.api.store import Store
from arcfsm.sim.api.target import Target
from arcfsm.sim.api.writing import Writer
from arcfsm.sim.clock import Clock, timestamp

Item = dict[str, Any]

CREATED = 201


def _read(kind: str, body: Any) -> Item:
    if not isinstance(body, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {kind})")
    try:
        return read_object(STRUCTS[kind], body, Trace())
    except DecodeFault as fault:
        raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {fault}') from fault


def _with_condition(item: Item, condition: Item) -> Item:
    status = item["status"]
    others = [each for each in status.get("conditions") or () if each["type"] != condition["type"]]
    return {**item, "status": {**status, "conditions": [*others, condition]}}


def bind(store: Store, clock: Clock, target: Target, body: Any) -> Item:
    """Assign a pod to a node. Raises ApiFailure."""
    binding = _read("Binding", body)
    item = store.get(PODS.table, target.key)
    if item is None:
        raise not_found("", PODS.plural, target.name)
    name = target.name
    if item["metadata"].get("deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
        raise conflict("", "pods/binding", name, why)
    node = item["spec"].get("nodeName")
    if node:
        raise conflict("", "pods/binding", name, f'pod {name} is already assigned to node "{node}"')
    condition = {
        "type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": timestamp(clock.now()),
    }  # fmt: skip
    notes = binding["metadata"].get("annotations")
    bound = _with_condition(item, condition)
    bound = {**bound, "spec": {**item["spec"], "nodeName": binding["target"].get("name", "")}}
    if notes:
        metadata = item["metadata"]
        bound["metadata"] = {**metadata, "annotations": {**(metadata.get("annotations") or {}), **notes}}
    if not target.dry:
        store.put(PODS.table, target.key, bound)
    return success(code=CREATED)


def evict(store: Store, clock: Clock, writer: Writer, target: Target, body: Any) -> Item:
    """Delete a pod because its place is needed. Raises ApiFailure."""
    eviction = _read("Eviction", body)
    item = store.get(PODS.table, target.key)
    if item is None:
        raise not_found("", PODS.plural, target.name)
    asked = eviction.get("deleteOptions") or {}
    conditions = asked.get("preconditions") or {}
    options = DeleteOptions(
        grace=asked.get("gracePeriodSeconds"), uid=conditions.get("uid"),
        resource_version=conditions.get("resourceVersion"), dry=target.dry,
    )  # fmt: skip
    if not target.dry:
        condition = {
            "type": "DisruptionTarget", "status": "True", "lastProbeTime": None,
            "lastTransitionTime": timestamp(clock.now()), "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }  # fmt: skip
        store.put(PODS.table, target.key, _with_condition(item, condition))
    writer.delete(target, options)
    return success(code=CREATED)
