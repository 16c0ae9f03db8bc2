"""Admission: what the server adds to a new object beyond defaults, and why it may refuse a valid one.

Steps run in the real order: the ones that change an object before it is validated, the ones that only refuse after it.
Pod rules look at pods, never into templates inside custom resources.
"""

from __future__ import annotations

import random
from typing import Any, Final

from arcfsm.sim.api.defaulting import containers_of
from arcfsm.sim.api.failure import ApiFailure, forbidden, not_found
from arcfsm.sim.api.kinds import LIMIT_RANGES, NAMESPACES, PODS, SERVICE_ACCOUNTS, ResourceType
from arcfsm.sim.api.metadata import new_suffix
from arcfsm.sim.api.pod_security import violations
from arcfsm.sim.api.scalars import parse_quantity
from arcfsm.sim.api.store import Store, object_key

Item = dict[str, Any]

_PRIORITIES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_TOLERATED_SECONDS: Final = 300
_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_TOKEN_SECONDS: Final = 3607
_FILE_MODE: Final = 0o644
_KEPT_NAMESPACES: Final = ("default", "kube-system", "kube-public")


def check_namespace(store: Store, resource: ResourceType, namespace: str, name: str) -> None:
    """Refuse to create in a namespace that is not there or goes away. Raises ApiFailure."""
    if not namespace:
        return
    found = store.get(NAMESPACES.table, namespace)
    if found is None:
        raise not_found("", NAMESPACES.plural, namespace)
    if found["metadata"].get("deletionTimestamp"):
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        cause = {
            "reason": "NamespaceTerminating", "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }  # fmt: skip
        raise forbidden(resource.group, resource.plural, name, why, [cause])


def check_kept(resource: ResourceType, name: str) -> None:
    """Refuse to delete a namespace the cluster needs. Raises ApiFailure."""
    if resource is NAMESPACES and name in _KEPT_NAMESPACES:
        raise forbidden("", resource.plural, name, "this namespace may not be deleted")


def complete_pod(store: Store, item: Item, namespace: str, stream: random.Random, *, accounts: bool) -> None:
    """Add to a new pod what admission adds, in place. Raises ApiFailure."""
    spec = item["spec"]
    name = item["metadata"].get("name", "")
    if accounts:
        _add_account(store, item, namespace, stream)
    for limits in _limits_of(store, namespace):
        _apply_limits(item, limits)
    class_name = spec.get("priorityClassName", "")
    if class_name and class_name not in _PRIORITIES:
        raise _pod_refused(name, f"no PriorityClass with name {class_name} was found")
    priority = _PRIORITIES.get(class_name, 0)
    if spec.get("priority", priority) != priority:
        given = f"the integer value of priority ({spec['priority']}) must not be provided in pod spec"
        raise _pod_refused(
            name, f"{given}; priority admission controller computed {priority} from the given PriorityClass name"
        )
    spec["priority"] = priority
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    runtime = spec.get("runtimeClassName")
    if runtime:
        raise _pod_refused(name, f'pod rejected: RuntimeClass "{runtime}" not found')
    tolerations = spec.get("tolerations") or []
    added = [
        {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATED_SECONDS}
        for taint in _TAINTS
        if not any(_tolerates(each, taint) for each in tolerations)
    ]
    if tolerations or added:
        spec["tolerations"] = [*tolerations, *added]


def check_new_pod(store: Store, item: Item, namespace: str) -> None:
    """Refuse a valid pod that its namespace does not allow. Raises ApiFailure."""
    name = item["metadata"]["name"]
    for limits in _limits_of(store, namespace):
        broken = _beyond_limits(item, limits)
        if broken:
            raise _pod_refused(name, broken[0] if len(broken) == 1 else f"[{', '.join(broken)}]")
    found = store.get(NAMESPACES.table, namespace) or {"metadata": {}}
    labels = found["metadata"].get("labels") or {}
    level = labels.get("pod-security.kubernetes.io/enforce", "privileged")
    version = labels.get("pod-security.kubernetes.io/enforce-version", "latest")
    broken = violations(item["spec"], level)
    if broken:
        raise _pod_refused(name, f'violates PodSecurity "{level}:{version}": {", ".join(broken)}')


def _pod_refused(name: str, why: str) -> ApiFailure:
    return forbidden("", PODS.plural, name, why)


def _tolerates(toleration: Item, taint: str) -> bool:
    key_fits = toleration.get("key", "") in {"", taint}
    return key_fits and toleration.get("effect", "") in {"", "NoExecute"}


# --- limit ranges ---------------------------------------------------------------------------------------------------


def _limits_of(store: Store, namespace: str) -> list[Item]:
    table = store.table(LIMIT_RANGES.table)
    if not table:
        return []
    return [
        limit for _, found in store.items(LIMIT_RANGES.table, namespace) for limit in found["spec"].get("limits") or ()
    ]


def _apply_limits(item: Item, limits: Item) -> None:
    if limits.get("type") != "Container":
        return
    told: dict[str, list[str]] = {"request": [], "limit": []}
    for place, _, container in containers_of(item["spec"]):
        what = "init container" if place == "initContainers" else "container"
        resources = container["resources"]
        for group, source, word in (("limits", "default", "limit"), ("requests", "defaultRequest", "request")):
            present = resources.get(group, {})
            missing = {key: value for key, value in limits.get(source, {}).items() if key not in present}
            if missing:
                resources[group] = {**missing, **present}
                told[word].append(f"{', '.join(sorted(missing))} {word} for {what} {container['name']}")
    notes = told["request"] + told["limit"]
    if notes:
        metadata = item["metadata"]
        note = "LimitRanger plugin set: " + "; ".join(notes)
        metadata["annotations"] = {**(metadata.get("annotations") or {}), "kubernetes.io/limit-ranger": note}


def _beyond_limits(item: Item, limits: Item) -> list[str]:
    kind = limits.get("type", "")
    broken: list[str] = []
    for asked, limited in _measured(item, kind):
        for name, bound in sorted((limits.get("min") or {}).items()):
            least = parse_quantity(bound).value
            if name not in asked:
                broken.append(f"minimum {name} usage per {kind} is {bound}.  No request is specified")
            elif parse_quantity(asked[name]).value < least:
                broken.append(f"minimum {name} usage per {kind} is {bound}, but request is {asked[name]}")
        for name, bound in sorted((limits.get("max") or {}).items()):
            most = parse_quantity(bound).value
            if name not in limited:
                broken.append(f"maximum {name} usage per {kind} is {bound}.  No limit is specified")
            elif parse_quantity(limited[name]).value > most:
                broken.append(f"maximum {name} usage per {kind} is {bound}, but limit is {limited[name]}")
    return broken


def _measured(item: Item, kind: str) -> list[tuple[Item, Item]]:
    each = [
        (container["resources"].get("requests", {}), container["resources"].get("limits", {}))
        for _, _, container in containers_of(item["spec"])
    ]
    if kind == "Container":
        return each
    if kind == "Pod":
        return [(_sum([asked for asked, _ in each]), _sum([limited for _, limited in each]))]
    return []


def _sum(parts: list[Item]) -> Item:
    total: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            amount = parse_quantity(value)
            before = parse_quantity(total.get(name, 0))
            total[name] = str(amount._replace(value=amount.value + before.value))
    return total


# --- service accounts -----------------------------------------------------------------------------------------------


def _add_account(store: Store, item: Item, namespace: str, stream: random.Random) -> None:
    spec = item["spec"]
    name = spec.get("serviceAccountName") or "default"
    account = store.get(SERVICE_ACCOUNTS.table, object_key(namespace, name))
    if account is None:
        why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        raise _pod_refused(item["metadata"].get("name", ""), why)
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = account["imagePullSecrets"]
    automount = spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken", True))
    if automount:
        _mount_token(spec, f"kube-api-access-{new_suffix(stream)}")


def _mount_token(spec: Item, volume: str) -> None:
    mounted = False
    for place, _, container in containers_of(spec):
        mounts = container.get("volumeMounts") or []
        if place == "ephemeralContainers" or any(each.get("mountPath") == _TOKEN_PATH for each in mounts):
            continue
        container["volumeMounts"] = [*mounts, {"name": volume, "readOnly": True, "mountPath": _TOKEN_PATH}]
        mounted = True
    if not mounted:
        return
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
    ]
    projected = {"sources": sources, "defaultMode": _FILE_MODE}
    spec["volumes"] = [*(spec.get("volumes") or []), {"name": volume, "projected": projected}]
