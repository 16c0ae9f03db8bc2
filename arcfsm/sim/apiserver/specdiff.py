"""The diff in the refusal of a pod update: both specs as the server's internal types print them, compared by line."""

from __future__ import annotations

import difflib
import json
from typing import Any, Final

from arcfsm.sim.apiserver.coretypes import CORE
from arcfsm.sim.apiserver.typed import Field

Body = dict[str, Any]
_SPEC_ORDER: Final = (
    "volumes", "initContainers", "containers", "ephemeralContainers", "restartPolicy",
    "terminationGracePeriodSeconds", "activeDeadlineSeconds", "dnsPolicy", "nodeSelector", "serviceAccountName",
    "automountServiceAccountToken", "nodeName", "securityContext", "imagePullSecrets", "hostname", "subdomain",
    "setHostnameAsFQDN", "affinity", "schedulerName", "tolerations", "hostAliases", "priorityClassName", "priority",
    "preemptionPolicy", "dnsConfig", "readinessGates", "runtimeClassName", "overhead", "enableServiceLinks",
    "topologySpreadConstraints", "os", "schedulingGates", "resourceClaims", "resources", "hostnameOverride",
    "workloadRef",
)  # fmt: skip
_HOST_FIELDS: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
_CONTEXT_ORDER: Final = (
    "seLinuxOptions", "windowsOptions", "runAsUser", "runAsGroup", "runAsNonRoot", "supplementalGroups",
    "supplementalGroupsPolicy", "fsGroup", "fsGroupChangePolicy", "sysctls", "seccompProfile", "appArmorProfile",
    "seLinuxChangePolicy",
)  # fmt: skip
_ACRONYMS: Final = {
    "dns": "DNS", "fs": "FS", "se": "SE", "tty": "TTY", "os": "OS", "http": "HTTP", "tcp": "TCP", "grpc": "GRPC",
    "ip": "IP", "csi": "CSI", "nfs": "NFS", "fc": "FC", "gce": "GCE", "aws": "AWS", "iscsi": "ISCSI", "rbd": "RBD",
    "uid": "UID", "api": "API",
}  # fmt: skip


def go_name(name: str) -> str:
    """Return how Go spells a field."""
    head = name
    for n, letter in enumerate(name):
        if letter.isupper():
            head = name[:n]
            break
    return (_ACRONYMS.get(head) or head[:1].upper() + head[1:]) + name[len(head) :]


def _internal(spec: Field, value: Any) -> Any:
    if spec.shape == "list":
        return [_one(spec, each) for each in value] if value else None
    if spec.shape == "map":
        return {key: _one(spec, value[key]) for key in sorted(value)} if value else None
    if value is None:
        if spec.pointer:
            return None
        if spec.type in CORE.structs:
            return _struct(spec.type, {})
        return {"string": "", "bool": False, "int32": 0, "int64": 0, "quantity": "0"}.get(spec.type)
    return _one(spec, value)


def _one(spec: Field, value: Any) -> Any:
    return _struct(spec.type, value) if spec.type in CORE.structs else value


def _struct(struct: str, value: Body) -> Body:
    fields = CORE.structs[struct]
    return {go_name(name): _internal(spec, value.get(name)) for name, spec in fields.items()}


def internal_spec(spec: Body) -> Body:
    """Return a pod's spec as the internal type holds it: host settings live in the security context there."""
    fields, context_fields = CORE.structs["PodSpec"], CORE.structs["PodSecurityContext"]
    out: Body = {}
    for name in _SPEC_ORDER:
        if name == "securityContext":
            context = spec.get("securityContext") or {}
            shown = {go_name(each): _internal(fields[each], spec.get(each)) for each in _HOST_FIELDS}
            shown |= {go_name(each): _internal(context_fields[each], context.get(each)) for each in _CONTEXT_ORDER}
            out["SecurityContext"] = shown
        else:
            out[go_name(name)] = _internal(fields[name], spec.get(name))
    return out


def _lines(spec: Body) -> list[str]:
    return [line + "\n" for line in json.dumps(internal_spec(spec), indent=1, ensure_ascii=False).split("\n")]


def spec_diff(old: Body, new: Body) -> str:
    """Return the changes, three lines of context around each."""
    return "".join(list(difflib.unified_diff(_lines(old), _lines(new)))[2:])
