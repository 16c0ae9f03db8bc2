"""Resource quotas: what a new object would use, whether it still fits, and keeping count.

What is used is kept in the quota's status and written before the object is, as the real server does it: the quota's
resourceVersion lies between. A quota whose status nobody computed yet refuses everything it covers.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from arcfsm.sim.api.defaulting import containers_of
from arcfsm.sim.api.failure import forbidden
from arcfsm.sim.api.kinds import QUOTAS, ResourceType
from arcfsm.sim.api.scalars import Quantity, parse_quantity
from arcfsm.sim.api.store import Store

Item = dict[str, Any]

_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_COUNTED: Final = ("pods", "secrets", "configmaps", "resourcequotas", "services", "replicationcontrollers")


def usage(resource: ResourceType, item: Item) -> dict[str, Quantity]:
    """Return what one object uses of everything that can be limited."""
    one = Quantity(Decimal(1), "decimal")
    group = f".{resource.group}" if resource.group else ""
    used = {f"count/{resource.plural}{group}": one}
    if not resource.group and resource.plural in _COUNTED:
        used[resource.plural] = one
    if resource.kind == "Pod" and not resource.custom:
        for name in _compute_names(item):
            used[f"requests.{name}"] = _total(item, "requests", name)
            used[f"limits.{name}"] = _total(item, "limits", name)
            if name in _COMPUTE:
                used[name] = used[f"requests.{name}"]
    return used


def _compute_names(item: Item) -> list[str]:
    found = dict.fromkeys(_COMPUTE)
    for _, _, container in containers_of(item["spec"]):
        for group in ("requests", "limits"):
            found.update(dict.fromkeys(container["resources"].get(group, {})))
    return list(found)


def _total(item: Item, group: str, name: str) -> Quantity:
    total = Quantity(Decimal(0), "decimal")
    most = Decimal(0)
    for place, _, container in containers_of(item["spec"]):
        amount = parse_quantity(container["resources"].get(group, {}).get(name, 0))
        if place == "containers":
            total = _plus(total, amount)
        elif place == "initContainers":
            most = max(most, amount.value)
    return total._replace(value=max(total.value, most))


def _plus(left: Quantity, right: Quantity) -> Quantity:
    return Quantity(left.value + right.value, left.style if left.value else right.style)


def charge(store: Store, resource: ResourceType, item: Item, namespace: str, *, dry: bool) -> None:
    """Count a new object against the quotas of its namespace. Raises ApiFailure when one is exceeded."""
    if not store.table(QUOTAS.table):
        return
    wanted = usage(resource, item)
    writes: list[tuple[str, Item]] = []
    for key, quota in store.items(QUOTAS.table, namespace):
        status = quota.get("status") or {}
        hard = status.get("hard") or {}
        covered = sorted(name for name in hard if name in wanted)
        if not covered or not _in_scope(quota["spec"], resource, item):
            continue
        name = quota["metadata"]["name"]
        refuse = _Refusal(resource, item, name)
        refuse.unless_specified(covered)
        used = status.get("used") or {}
        unknown = [each for each in covered if each not in used]
        if unknown:
            raise refuse.because(f"status unknown for quota: {name}, resources: {','.join(unknown)}")
        after = {each: _plus(parse_quantity(used[each]), wanted[each]) for each in covered}
        beyond = [
            each for each in covered if wanted[each].value and after[each].value > parse_quantity(hard[each]).value
        ]
        if beyond:
            listed = [",".join(f"{each}={source[each]}" for each in beyond) for source in (wanted, used, hard)]
            told = f"requested: {listed[0]}, used: {listed[1]}, limited: {listed[2]}"
            raise refuse.because(f"exceeded quota: {name}, {told}")
        counted = {**used, **{each: str(value) for each, value in after.items()}}
        if counted != used:
            writes.append((key, {**quota, "status": {**status, "used": counted}}))
    if not dry:
        for key, quota in writes:
            store.put(QUOTAS.table, key, quota)


def _in_scope(spec: Item, resource: ResourceType, item: Item) -> bool:
    """Whether a quota's scopes select an object; scopes are about pods only."""
    scopes = list(spec.get("scopes") or ())
    selector = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    scopes += [each["scopeName"] for each in selector if each.get("operator") == "Exists"]
    if not scopes:
        return True
    if resource.kind != "Pod" or resource.custom:
        return False
    limited = item["spec"].get("activeDeadlineSeconds") is not None
    best_effort = item["status"].get("qosClass") == "BestEffort"
    holds = {
        "Terminating": limited,
        "NotTerminating": not limited,
        "BestEffort": best_effort,
        "NotBestEffort": not best_effort,
        "PriorityClass": bool(item["spec"].get("priorityClassName")),
    }
    return all(holds.get(scope, False) for scope in scopes)


class _Refusal:
    def __init__(self, resource: ResourceType, item: Item, quota: str) -> None:
        self._resource = resource
        self._item = item
        self._quota = quota

    def because(self, why: str) -> Exception:
        name = self._item["metadata"]["name"]
        return forbidden(self._resource.group, self._resource.plural, name, why)

    def unless_specified(self, covered: list[str]) -> None:
        """Refuse a pod that does not say what a quota limits."""
        if self._resource.kind != "Pod" or self._resource.custom:
            return
        missing: list[str] = []
        for limited in covered:
            group, _, name = limited.rpartition(".")
            if limited in _COMPUTE:
                group, name = "requests", limited
            if group not in {"requests", "limits"} or name not in _COMPUTE:
                continue
            silent = [
                container["name"]
                for _, _, container in containers_of(self._item["spec"])
                if name not in container["resources"].get(group, {})
            ]
            if silent:
                missing.append(f"{limited} for: {','.join(silent)}")
        if missing:
            raise self.because(f"failed quota: {self._quota}: must specify {'; '.join(missing)}")
