"""ResourceQuota: what an object uses, what is refused, and the usage that is written before the object is."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from arcfsm.sim.apiserver.problems import forbidden, qualified
from arcfsm.sim.apiserver.quantity import parse, show
from arcfsm.sim.apiserver.resources import Resource
from arcfsm.sim.apiserver.store import Store

Body = dict[str, Any]
_COUNTED: Final = {
    "pods", "secrets", "configmaps", "services", "resourcequotas", "replicationcontrollers", "persistentvolumeclaims",
}  # fmt: skip
_POD_COMPUTE: Final = {
    "cpu": ("requests", "cpu"), "memory": ("requests", "memory"),
    "ephemeral-storage": ("requests", "ephemeral-storage"),
}  # fmt: skip


def _compute_key(name: str) -> tuple[str, str] | None:
    if name in _POD_COMPUTE:
        return _POD_COMPUTE[name]
    group, _, resource = name.partition(".")
    return (group, resource) if group in {"requests", "limits"} and resource else None


def pod_amount(spec: Body, group: str, name: str) -> Decimal:
    """Return what a pod asks for: the sum of its containers, or its hungriest init container."""
    total = sum(
        (parse((c["resources"].get(group) or {}).get(name, "0")) for c in spec.get("containers") or ()), Decimal(0)
    )
    sidecars, peak = Decimal(0), Decimal(0)
    for container in spec.get("initContainers") or ():
        amount = parse((container["resources"].get(group) or {}).get(name, "0"))
        if container.get("restartPolicy") == "Always":
            sidecars += amount
            peak = max(peak, sidecars)
        else:
            peak = max(peak, sidecars + amount)
    return max(total + sidecars, peak)


def _usage(body: Body, resource: Resource, hard: Body) -> dict[str, Decimal]:
    used: dict[str, Decimal] = {}
    counted = {f"count/{qualified(resource.plural, resource.group)}"}
    if not resource.group and resource.plural in _COUNTED:
        counted.add(resource.plural)
    for name in hard:
        if name in counted:
            used[name] = Decimal(1)
        elif resource.kind == "Pod" and not resource.group and (found := _compute_key(name)):
            used[name] = pod_amount(body["spec"], *found)
    return used


def _in_scope(body: Body, resource: Resource, spec: Body) -> bool:
    scopes = spec.get("scopes") or ()
    if not scopes:
        return True
    if resource.kind != "Pod":
        return False
    pod = body["spec"]
    terminating = pod.get("activeDeadlineSeconds") is not None
    best_effort = body.get("status", {}).get("qosClass") == "BestEffort"
    tests = {
        "Terminating": terminating, "NotTerminating": not terminating, "BestEffort": best_effort,
        "NotBestEffort": not best_effort, "PriorityClass": bool(pod.get("priorityClassName")),
    }  # fmt: skip
    return all(tests.get(scope, False) for scope in scopes)


def _lacking(body: Body, used: dict[str, Decimal]) -> str:
    """Return which computed amounts some container does not name."""
    faults = []
    for name in sorted(used):
        found = _compute_key(name)
        if found is None:
            continue
        group, resource = found
        lacking = sorted(
            c["name"] for c in (*(body["spec"].get("initContainers") or ()), *(body["spec"].get("containers") or ()))
            if resource not in (c["resources"].get(group) or {})
        )  # fmt: skip
        if lacking:
            faults.append(f"{name} for: {','.join(lacking)}")
    return "; ".join(faults)


def _shown(name: str, amounts: dict[str, str], names: list[str]) -> str:
    return f"{name}: " + ",".join(f"{each}={amounts[each]}" for each in names)


def charge(
    store: Store,
    put: Callable[[str, tuple[str, str], Body], Body],
    body: Body,
    resource: Resource,
    namespace: str,
    *,
    dry_run: bool,
) -> None:
    """Refuse what is beyond a quota; otherwise write the new usage. Raises Problem."""
    charged: list[tuple[tuple[str, str], Body]] = []
    for key, quota in store.items("resourcequotas.", namespace):
        hard = quota.get("status", {}).get("hard") or quota["spec"].get("hard") or {}
        used = _usage(body, resource, quota["spec"].get("hard") or {})
        if not used or not _in_scope(body, resource, quota["spec"]):
            continue
        charged.append((key, _checked(body, resource, quota, hard, used)))
    if dry_run:
        return
    for key, quota in charged:
        put("resourcequotas.", key, quota)


def _checked(body: Body, resource: Resource, quota: Body, hard: Body, used: dict[str, Decimal]) -> Body:
    name, plural, group = body["metadata"].get("name", ""), resource.plural, resource.group
    title = quota["metadata"]["name"]
    if resource.kind == "Pod" and (lacking := _lacking(body, used)):
        raise forbidden(group, plural, name, f"failed quota: {title}: must specify {lacking}")
    have = quota.get("status", {}).get("used") or {}
    unknown = sorted(each for each in used if each not in have or each not in hard)
    if unknown:
        text = f"status unknown for quota: {title}, resources: {','.join(unknown)}"
        raise forbidden(group, plural, name, text)
    total = {each: parse(have[each]) + used[each] for each in used}
    over = sorted(each for each in used if used[each] > 0 and total[each] > parse(hard[each]))
    if over:
        requested = {each: _like(used[each], hard[each]) for each in over}
        text = ", ".join(
            [
                f"exceeded quota: {title}",
                _shown("requested", requested, over),
                _shown("used", have, over),
                _shown("limited", hard, over),
            ]
        )
        raise forbidden(group, plural, name, text)
    new_used = {**have, **{each: _like(total[each], hard[each]) for each in used}}
    return {**quota, "metadata": dict(quota["metadata"]), "status": {**quota["status"], "used": new_used}}


def _like(amount: Decimal, model: str) -> str:
    return show(amount, binary=model.endswith("i"))
