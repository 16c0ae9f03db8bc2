"""LimitRange: what it fills into the containers of a pod, and what it refuses."""

from __future__ import annotations

from typing import Any

from arcfsm.sim.apiserver.problems import forbidden
from arcfsm.sim.apiserver.quantity import parse

Body = dict[str, Any]


def apply_limits(body: Body, ranges: list[Body]) -> None:
    """Fill in requests and limits, and leave a note of it."""
    notes: list[str] = []
    for limit_range in ranges:
        for item in limit_range["spec"].get("limits") or ():
            if item["type"] == "Container":
                for group, word in (("initContainers", "init container"), ("containers", "container")):
                    for container in body["spec"].get(group) or ():
                        notes += _fill(container, item, word)
    if notes:
        meta = body["metadata"]
        note = "LimitRanger plugin set: " + "; ".join(notes)
        meta["annotations"] = {**(meta.get("annotations") or {}), "kubernetes.io/limit-ranger": note}


def _fill(container: Body, item: Body, word: str) -> list[str]:
    resources = container["resources"]
    notes = []
    for group, source, title in (("requests", "defaultRequest", "request"), ("limits", "default", "limit")):
        have = dict(resources.get(group) or {})
        added = sorted(name for name in item.get(source) or {} if name not in have)
        for name in added:
            have[name] = item[source][name]
        if added:
            resources[group] = have
            notes.append(f"{', '.join(added)} {title} for {word} {container['name']}")
    return notes


def check_limits(body: Body, ranges: list[Body]) -> None:
    """Refuse what is out of bounds. Raises Problem."""
    faults: list[str] = []
    for limit_range in ranges:
        for item in limit_range["spec"].get("limits") or ():
            if item["type"] == "Container":
                for group in ("containers", "initContainers"):
                    for container in body["spec"].get(group) or ():
                        _check(container["resources"], item, "Container", faults)
            elif item["type"] == "Pod":
                _check(_pod_total(body["spec"]), item, "Pod", faults)
    if faults:
        text = faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"
        raise forbidden("", "pods", body["metadata"]["name"], text)


def _pod_total(spec: Body) -> Body:
    total: Body = {"requests": {}, "limits": {}}
    for container in spec.get("containers") or ():
        for group in ("requests", "limits"):
            for name, value in (container["resources"].get(group) or {}).items():
                total[group][name] = str(parse(total[group].get(name, "0")) + parse(value))
    return total


def _check(resources: Body, item: Body, kind: str, faults: list[str]) -> None:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, low in sorted((item.get("min") or {}).items()):
        head = f"minimum {name} usage per {kind} is {low}"
        if name not in requests:
            faults.append(f"{head}.  No request is specified")
        elif parse(requests[name]) < parse(low):
            faults.append(f"{head}, but request is {requests[name]}")
        elif name in limits and parse(limits[name]) < parse(low):
            faults.append(f"{head}, but limit is {limits[name]}")
    for name, high in sorted((item.get("max") or {}).items()):
        head = f"maximum {name} usage per {kind} is {high}"
        if name not in limits:
            faults.append(f"{head}.  No limit is specified")
        elif parse(limits[name]) > parse(high):
            faults.append(f"{head}, but limit is {limits[name]}")
        elif name in requests and parse(requests[name]) > parse(high):
            faults.append(f"{head}, but request is {requests[name]}")
    for name, ratio in sorted((item.get("maxLimitRequestRatio") or {}).items()):
        if name in requests and name in limits and parse(requests[name]) > 0:
            found = parse(limits[name]) / parse(requests[name])
            if found > parse(ratio):
                text = f"{name} max limit to request ratio per {kind} is {ratio}, but provided ratio is {found:.6f}"
                faults.append(text)
