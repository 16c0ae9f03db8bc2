"""What makes built-in objects other than pods valid, and what of them never changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from arcfsm.sim.api import names
from arcfsm.sim.api.failure import Cause, denied, duplicate, not_one_of, required, too_long, wrong
from arcfsm.sim.api.kinds import RBAC_GROUP
from arcfsm.sim.api.metadata import quoted
from arcfsm.sim.api.pod_rules import check_pod
from arcfsm.sim.api.scalars import check_base64, parse_quantity

Item = dict[str, Any]

DATA_MAX: Final = 1024 * 1024
_IMMUTABLE: Final = "field is immutable when `immutable` is set"
_TYPED_SECRETS: Final = {
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}


def check(item: Item) -> list[Cause]:
    """Find what is wrong with an object."""
    rule = _RULES.get(item["kind"])
    return rule(item) if rule is not None else []


def check_change(item: Item, before: Item) -> list[Cause]:
    """Find what an update changes that never changes."""
    kind = item["kind"]
    if kind in {"Secret", "ConfigMap"}:
        return _check_immutable(item, before)
    if kind in {"RoleBinding", "ClusterRoleBinding"} and item["roleRef"] != before["roleRef"]:
        role = item["roleRef"]
        shown = {"APIGroup": role["apiGroup"], "Kind": role["kind"], "Name": role["name"]}
        return [wrong("roleRef", quoted(shown), "cannot change roleRef")]
    return []


def _check_immutable(item: Item, before: Item) -> list[Cause]:
    causes: list[Cause] = []
    if before.get("immutable"):
        if not item.get("immutable"):
            causes.append(denied("immutable", _IMMUTABLE))
        causes += [
            denied(field, _IMMUTABLE) for field in ("data", "binaryData") if item.get(field) != before.get(field)
        ]
    if item["kind"] == "Secret" and item.get("type") != before.get("type"):
        causes.append(wrong("type", quoted(item.get("type", "")), "field is immutable"))
    return causes


def _secret(item: Item) -> list[Cause]:
    data = item.get("data") or {}
    causes: list[Cause] = []
    size = 0
    for key, value in data.items():
        causes += [wrong(f"data[{key}]", quoted(key), fault) for fault in names.config_key(key)]
        size += len(check_base64(value))
    if size > DATA_MAX:
        causes.append(too_long("data", DATA_MAX))
    kind = item["type"]
    causes += [required(f"data[{key}]") for key in _TYPED_SECRETS.get(kind, ()) if key not in data]
    if kind == "kubernetes.io/basic-auth" and not data.keys() & {"username", "password"}:
        causes += [required("data[username]"), required("data[password]")]
    if kind == "kubernetes.io/service-account-token":
        owner = (item["metadata"].get("annotations") or {}).get("kubernetes.io/service-account.name")
        if not owner:
            causes.append(required("metadata.annotations[kubernetes.io/service-account.name]"))
    return causes


def _config_map(item: Item) -> list[Cause]:
    causes: list[Cause] = []
    size = 0
    for field in ("data", "binaryData"):
        for key, value in (item.get(field) or {}).items():
            causes += [wrong(f"{field}[{key}]", quoted(key), fault) for fault in names.config_key(key)]
            size += len(value.encode()) if field == "data" else len(check_base64(value))
    both = (item.get("data") or {}).keys() & (item.get("binaryData") or {}).keys()
    for key in sorted(both):
        causes.append(wrong(f"data[{key}]", quoted(key), "duplicate of key present in binaryData"))
    if size > DATA_MAX:
        causes.append(too_long("[]", DATA_MAX))
    return causes


def _role(item: Item) -> list[Cause]:
    causes: list[Cause] = []
    namespaced = item["kind"] == "Role"
    for index, rule in enumerate(item.get("rules") or ()):
        path = f"rules[{index}]"
        if not rule.get("verbs"):
            causes.append(required(f"{path}.verbs", "verbs must contain at least one value"))
        elsewhere = rule.get("nonResourceURLs") or []
        if elsewhere:
            if namespaced:
                detail = "namespaced rules cannot apply to non-resource URLs"
                causes.append(wrong(f"{path}.nonResourceURLs", quoted(elsewhere), detail))
            elif rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                detail = "rules cannot apply to both regular resources and non-resource URLs"
                causes.append(wrong(f"{path}.nonResourceURLs", quoted(elsewhere), detail))
            continue
        if not rule.get("apiGroups"):
            causes.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
        if not rule.get("resources"):
            causes.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return causes


def _binding(item: Item) -> list[Cause]:
    causes: list[Cause] = []
    role = item["roleRef"]
    if role["apiGroup"] != RBAC_GROUP:
        causes.append(not_one_of("roleRef.apiGroup", quoted(role["apiGroup"]), [RBAC_GROUP]))
    kinds = ("Role", "ClusterRole") if item["kind"] == "RoleBinding" else ("ClusterRole",)
    if role["kind"] not in kinds:
        causes.append(not_one_of("roleRef.kind", quoted(role["kind"]), kinds))
    if not role["name"]:
        causes.append(required("roleRef.name"))
    else:
        causes += [wrong("roleRef.name", quoted(role["name"]), fault) for fault in names.path_segment(role["name"])]
    for index, subject in enumerate(item.get("subjects") or ()):
        causes += _check_subject(subject, f"subjects[{index}]")
    return causes


def _check_subject(subject: Item, path: str) -> list[Cause]:
    causes: list[Cause] = []
    if not subject.get("name"):
        causes.append(required(f"{path}.name"))
    group = subject.get("apiGroup", "")
    kind = subject.get("kind", "")
    if kind == "ServiceAccount":
        if subject.get("name"):
            faults = names.dns_subdomain(subject["name"])
            causes += [wrong(f"{path}.name", quoted(subject["name"]), fault) for fault in faults]
        if group:
            causes.append(not_one_of(f"{path}.apiGroup", quoted(group), [""]))
        if not subject.get("namespace"):
            causes.append(required(f"{path}.namespace"))
    elif kind in {"User", "Group"}:
        if group != RBAC_GROUP:
            causes.append(not_one_of(f"{path}.apiGroup", quoted(group), [RBAC_GROUP]))
    else:
        causes.append(not_one_of(f"{path}.kind", quoted(kind), ["ServiceAccount", "User", "Group"]))
    return causes


def _event(item: Item) -> list[Cause]:
    namespace = item["metadata"].get("namespace", "")
    about = (item.get("involvedObject") or {}).get("namespace", "")
    if about and about != namespace:
        return [wrong("involvedObject.namespace", quoted(about), "does not match event.namespace")]
    if not about and namespace != "default":
        return [wrong("involvedObject.namespace", '""', "does not match event.namespace")]
    return []


def _lease(item: Item) -> list[Cause]:
    spec = item.get("spec") or {}
    causes: list[Cause] = []
    length = spec.get("leaseDurationSeconds")
    if length is not None and length <= 0:
        causes.append(wrong("spec.leaseDurationSeconds", str(length), "must be greater than 0"))
    turns = spec.get("leaseTransitions")
    if turns is not None and turns < 0:
        causes.append(wrong("spec.leaseTransitions", str(turns), "must be greater than or equal to 0"))
    return causes


def _quota(item: Item) -> list[Cause]:
    causes: list[Cause] = []
    for key, value in (item["spec"].get("hard") or {}).items():
        if parse_quantity(value).value < 0:
            causes.append(wrong(f"spec.hard[{key}]", quoted(value), "must be greater than or equal to 0"))
    return causes


def _limit_range(item: Item) -> list[Cause]:
    seen: set[str] = set()
    causes: list[Cause] = []
    for index, limit in enumerate(item["spec"].get("limits") or ()):
        kind = limit.get("type", "")
        if kind in seen:
            causes.append(duplicate(f"spec.limits[{index}].type", quoted(kind)))
        seen.add(kind)
        for name in limit.get("min", {}):
            ceiling = limit.get("max", {}).get(name)
            if ceiling is not None and parse_quantity(limit["min"][name]).value > parse_quantity(ceiling).value:
                detail = f"min value {limit['min'][name]} is greater than max value {ceiling}"
                causes.append(wrong(f"spec.limits[{index}].min[{name}]", quoted(limit["min"][name]), detail))
    return causes


_RULES: Final[dict[str, Callable[[Item], list[Cause]]]] = {
    "Secret": _secret,
    "ConfigMap": _config_map,
    "Role": _role,
    "ClusterRole": _role,
    "RoleBinding": _binding,
    "ClusterRoleBinding": _binding,
    "Event": _event,
    "Lease": _lease,
    "ResourceQuota": _quota,
    "LimitRange": _limit_range,
    "Pod": check_pod,
}
