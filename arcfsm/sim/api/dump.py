"""How a pod's spec looks inside the server, and the difference of two of them.

A refused update of a pod tells what it tried to change as a unified diff of two dumps of the internal object. The
dump has every field, in the internal order and under its internal name, so that line numbers match the real ones.
"""

from __future__ import annotations

import difflib
import json
from typing import Any, Final

from arcfsm.sim.api.shapes import STRUCTS, Field, Struct, inner_struct, is_list

_NAMES: Final = {
    "dnsPolicy": "DNSPolicy", "dnsConfig": "DNSConfig", "tty": "TTY", "os": "OS", "ip": "IP", "httpGet": "HTTPGet",
    "tcpSocket": "TCPSocket", "grpc": "GRPC", "seLinuxOptions": "SELinuxOptions", "fsGroup": "FSGroup",
    "seLinuxChangePolicy": "SELinuxChangePolicy", "fsGroupChangePolicy": "FSGroupChangePolicy", "fsType": "FSType",
    "httpHeaders": "HTTPHeaders", "apiVersion": "APIVersion", "nfs": "NFS", "iscsi": "ISCSI", "rbd": "RBD", "fc": "FC",
    "cephfs": "CephFS", "csi": "CSI", "gcePersistentDisk": "GCEPersistentDisk", "storageos": "StorageOS",
    "awsElasticBlockStore": "AWSElasticBlockStore", "gmsaCredentialSpecName": "GMSACredentialSpecName",
    "gmsaCredentialSpec": "GMSACredentialSpec",
}  # fmt: skip
_HOST_FIELDS: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
"""Fields of the spec that the internal object keeps in the security context."""
_LEFT_OUT: Final = (*_HOST_FIELDS, "serviceAccount")
_ESCAPES: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def _go_name(name: str) -> str:
    return _NAMES.get(name) or name[:1].upper() + name[1:]


def _value(field: Field, value: Any) -> Any:
    struct = inner_struct(field.shape)
    if value is None:
        return field.shape.zero() if not field.shape.keeps_empty or isinstance(field.shape, Struct) else None
    if struct is None:
        return value
    if is_list(field.shape):
        return [_fields(struct, item) for item in value]
    return _fields(struct, value)


def _fields(struct: Struct, value: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, field in struct.fields.items():
        item = value.get(name)
        if item is None and isinstance(field.shape, Struct):
            made[_go_name(name)] = _fields(field.shape, {})
        else:
            made[_go_name(name)] = _value(field, item)
    return made


def dump_pod_spec(spec: dict[str, Any]) -> str:
    """Write a pod's spec as the server's internal object."""
    struct = STRUCTS["PodSpec"]
    made: dict[str, Any] = {}
    for name, field in struct.fields.items():
        if name in _LEFT_OUT:
            continue
        if name == "securityContext":
            host = {_go_name(each): _value(struct.fields[each], spec.get(each)) for each in _HOST_FIELDS}
            made["SecurityContext"] = host | _fields(STRUCTS["PodSecurityContext"], spec.get(name) or {})
        else:
            made[_go_name(name)] = _value(field, spec.get(name))
    text = json.dumps(made, indent=1, ensure_ascii=False)
    for character, escaped in _ESCAPES.items():
        text = text.replace(character, escaped)
    return text


def difference(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Tell the difference of two pod specs."""
    old = dump_pod_spec(before).split("\n")
    new = dump_pod_spec(after).split("\n")
    lines = list(difflib.unified_diff(old, new, n=3, lineterm=""))[2:]
    return "".join(f"{line}\n" for line in lines)
