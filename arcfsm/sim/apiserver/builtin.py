"""Rules of the built-in kinds other than pods: defaults, what is dropped, what is refused."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any, Final

from arcfsm.sim.apiserver.metadata import dns_label_errors, subdomain_errors
from arcfsm.sim.apiserver.problems import Cause, forbidden_field, invalid_value, quoted, required, too_long, unsupported

Body = dict[str, Any]
NAME_LABEL: Final = "kubernetes.io/metadata.name"
_MEBIBYTE: Final = 1024 * 1024
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_TEXT: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_RBAC: Final = "rbac.authorization.k8s.io"


def keep_status(new: Body, old: Body) -> None:
    """Leave the status as it is: the main resource does not change it."""
    if "status" in old:
        new["status"] = old["status"]
    else:
        new.pop("status", None)


def keep_spec(new: Body, old: Body) -> None:
    """Leave all but the status as it is, as far as the kind has a spec."""
    if "spec" in old:
        new["spec"] = old["spec"]
    new["metadata"] = {**new["metadata"], "deletionTimestamp": old["metadata"].get("deletionTimestamp")}
    if new["metadata"]["deletionTimestamp"] is None:
        del new["metadata"]["deletionTimestamp"]


def drop_status(body: Body) -> None:
    """Start without a status."""
    body["status"] = {}


def namespace_name_errors(name: str) -> list[str]:
    """Say what is wrong with a namespace's name."""
    return dns_label_errors(name)


def default_namespace(body: Body) -> None:
    """Label it with its name."""
    name = body["metadata"].get("name")
    if name:
        body["metadata"]["labels"] = {**(body["metadata"].get("labels") or {}), NAME_LABEL: name}


def create_namespace(body: Body) -> None:
    """Start Active, held by the kubernetes finalizer."""
    body["status"] = {"phase": "Active"}
    finalizers = body["spec"].get("finalizers") or []
    if "kubernetes" not in finalizers:
        finalizers = [*finalizers, "kubernetes"]
    body["spec"]["finalizers"] = finalizers


def update_namespace(new: Body, old: Body) -> None:
    """Keep finalizers and phase."""
    if "finalizers" in old["spec"]:
        new["spec"]["finalizers"] = old["spec"]["finalizers"]
    else:
        new["spec"].pop("finalizers", None)
    keep_status(new, old)


def update_namespace_status(new: Body, old: Body) -> None:
    """Keep all but the status."""
    new["spec"] = old["spec"]


def default_secret(body: Body) -> None:
    """Join stringData into data; the type is Opaque."""
    plain = body.pop("stringData", None)
    if plain:
        data = dict(body.get("data") or {})
        data.update({key: base64.b64encode(value.encode()).decode() for key, value in plain.items()})
        body["data"] = data
    if not body.get("type"):
        body["type"] = "Opaque"


def _key_causes(data: Body, path: str) -> list[Cause]:
    causes = []
    for key in data:
        if len(key) > 253:
            causes.append(invalid_value(f"{path}[{key}]", key, "must be no more than 253 characters"))
        if not _KEY.fullmatch(key):
            causes.append(invalid_value(f"{path}[{key}]", key, _KEY_TEXT))
        elif key == ".":
            causes.append(invalid_value(f"{path}[{key}]", key, "must not be '.'"))
        elif key.startswith(".."):
            causes.append(
                invalid_value(f"{path}[{key}]", key, "must not start with '..'" if key != ".." else "must not be '..'")
            )
    return causes


def _decoded_size(value: str) -> int:
    return len(value) * 3 // 4 - value.count("=", -2)


_NEEDED: Final = {
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/ssh-auth": "ssh-privatekey",
}


def validate_secret(body: Body) -> list[Cause]:
    """Check keys, size and what the type asks for."""
    data = body.get("data") or {}
    causes = _key_causes(data, "data")
    if sum(_decoded_size(value) for value in data.values()) > _MEBIBYTE:
        causes.append(too_long("data", _MEBIBYTE))
    kind = body.get("type", "")
    if needed := _NEEDED.get(kind):
        if needed not in data:
            causes.append(required(f"data[{needed}]"))
        elif kind.startswith("kubernetes.io/docker"):
            try:
                json.loads(base64.b64decode(data[needed]))
            except (ValueError, binascii.Error):
                causes.append(
                    Cause(
                        "FieldValueInvalid",
                        f"data[{needed}]",
                        'Invalid value: "<secret contents redacted>": invalid character',
                    )
                )
    elif kind == "kubernetes.io/tls":
        causes += [required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data]
    elif kind == "kubernetes.io/basic-auth" and not {"username", "password"} & set(data):
        causes += [required("data[username]"), required("data[password]")]
    elif kind == "kubernetes.io/service-account-token" and not (body["metadata"].get("annotations") or {}).get(
        "kubernetes.io/service-account.name"
    ):
        causes.append(required("metadata.annotations[kubernetes.io/service-account.name]"))
    return causes


_IMMUTABLE_TEXT: Final = "field is immutable when `immutable` is set"


def _immutable_causes(new: Body, old: Body, fields: tuple[str, ...]) -> list[Cause]:
    if not old.get("immutable"):
        return []
    causes = []
    if not new.get("immutable"):
        causes.append(forbidden_field("immutable", _IMMUTABLE_TEXT))
    causes += [forbidden_field(name, _IMMUTABLE_TEXT) for name in fields if new.get(name) != old.get(name)]
    return causes


def validate_secret_update(new: Body, old: Body) -> list[Cause]:
    """Check that the type stays, and all of an immutable one."""
    causes = []
    if new.get("type") != old.get("type"):
        causes.append(invalid_value("type", new.get("type", ""), "field is immutable"))
    return [*causes, *_immutable_causes(new, old, ("data",)), *validate_secret(new)]


def validate_config_map(body: Body) -> list[Cause]:
    """Check keys and size."""
    data, binary = body.get("data") or {}, body.get("binaryData") or {}
    causes = [*_key_causes(data, "data"), *_key_causes(binary, "binaryData")]
    causes += [
        invalid_value(f"data[{key}]", key, "duplicate of key present in binaryData") for key in data if key in binary
    ]
    size = sum(len(value.encode()) for value in data.values()) + sum(_decoded_size(v) for v in binary.values())
    if size > _MEBIBYTE:
        causes.append(too_long("[]", _MEBIBYTE))
    return causes


def validate_config_map_update(new: Body, old: Body) -> list[Cause]:
    """Check an immutable one."""
    return [*_immutable_causes(new, old, ("data", "binaryData")), *validate_config_map(new)]


def validate_event(body: Body) -> list[Cause]:
    """Check that an event lies where what it is about lies."""
    about, namespace = body["involvedObject"].get("namespace", ""), body["metadata"].get("namespace", "")
    if about and about != namespace:
        return [invalid_value("involvedObject.namespace", about, "does not match event.namespace")]
    if not about and namespace not in {"", "default", "kube-system"}:
        return [invalid_value("involvedObject.namespace", about, "does not match event.namespace")]
    return []


def validate_new_event(body: Body) -> list[Cause]:
    """Check what the newer events API insists on."""
    causes = []
    if not body.get("eventTime"):
        causes.append(required("eventTime"))
    kind = body.get("type", "")
    if kind not in {"Normal", "Warning"}:
        causes.append(invalid_value("type", kind, f"has invalid value: {kind}"))
    if causes:
        return causes
    for name in ("reportingController", "reportingInstance", "action", "reason"):
        if not body.get(name):
            causes.append(required(name))
    return causes


_EVENT_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}


def event_to_new(body: Body) -> Body:
    """Show a stored event as the newer API does."""
    out = {_EVENT_NAMES.get(key, key): value for key, value in body.items()}
    for key in ("reportingController", "reportingInstance"):
        if not out.get(key):
            out.pop(key, None)
    return {**out, "apiVersion": "events.k8s.io/v1"}


def event_from_new(body: Body) -> Body:
    """Store an event that came through the newer API."""
    back = {new: old for old, new in _EVENT_NAMES.items()}
    out = {back.get(key, key): value for key, value in body.items()}
    out.setdefault("reportingComponent", "")
    out.setdefault("reportingInstance", "")
    return {**out, "apiVersion": "v1"}


def default_limit_range(body: Body) -> None:
    """Take missing defaults from limits, and missing requests from defaults."""
    for item in body["spec"].get("limits") or []:
        if item["type"] != "Container":
            continue
        default = dict(item.get("default") or {})
        for name, value in (item.get("max") or {}).items():
            default.setdefault(name, value)
        request = dict(item.get("defaultRequest") or {})
        for name, value in default.items():
            request.setdefault(name, value)
        for name, value in (item.get("min") or {}).items():
            request.setdefault(name, value)
        if default:
            item["default"] = default
        if request:
            item["defaultRequest"] = request


def _rule_causes(rule: Body, path: str, *, namespaced: bool) -> list[Cause]:
    causes = []
    if not rule.get("verbs"):
        causes.append(required(f"{path}.verbs", "verbs must contain at least one value"))
    urls = rule.get("nonResourceURLs") or []
    if urls:
        if namespaced:
            causes.append(
                invalid_value(f"{path}.nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
            )
        if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
            causes.append(
                invalid_value(
                    f"{path}.nonResourceURLs",
                    urls,
                    "rules cannot apply to both regular resources and non-resource URLs",
                )
            )
        return causes
    if not rule.get("apiGroups"):
        causes.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        causes.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return causes


def validate_role(body: Body) -> list[Cause]:
    """Check its rules."""
    return [c for n, rule in enumerate(body["rules"] or []) for c in _rule_causes(rule, f"rules[{n}]", namespaced=True)]


def validate_cluster_role(body: Body) -> list[Cause]:
    """Check its rules."""
    return [
        c for n, rule in enumerate(body["rules"] or []) for c in _rule_causes(rule, f"rules[{n}]", namespaced=False)
    ]


def default_binding(body: Body) -> None:
    """Fill in the API groups."""
    if not body["roleRef"].get("apiGroup"):
        body["roleRef"]["apiGroup"] = _RBAC
    for subject in body.get("subjects") or []:
        if not subject.get("apiGroup") and subject.get("kind") in {"User", "Group"}:
            subject["apiGroup"] = _RBAC


def validate_binding(body: Body) -> list[Cause]:
    """Check the role and the subjects."""
    causes = []
    role = body["roleRef"]
    namespaced = body["kind"] == "RoleBinding"
    if role["apiGroup"] != _RBAC:
        causes.append(unsupported("roleRef.apiGroup", role["apiGroup"], [_RBAC]))
    kinds = ["ClusterRole", "Role"] if namespaced else ["ClusterRole"]
    if role["kind"] not in kinds:
        causes.append(unsupported("roleRef.kind", role["kind"], kinds))
    if not role["name"]:
        causes.append(required("roleRef.name"))
    for n, subject in enumerate(body.get("subjects") or []):
        causes += _subject_causes(subject, f"subjects[{n}]")
    return causes


def _subject_causes(subject: Body, path: str) -> list[Cause]:
    causes = []
    if not subject["name"]:
        causes.append(required(f"{path}.name"))
    kind, group = subject["kind"], subject.get("apiGroup", "")
    if kind == "ServiceAccount":
        if subject["name"]:
            causes += [
                invalid_value(f"{path}.name", subject["name"], text) for text in subdomain_errors(subject["name"])
            ]
        if group:
            causes.append(unsupported(f"{path}.apiGroup", group, [""]))
        if not subject.get("namespace"):
            causes.append(required(f"{path}.namespace"))
    elif kind in {"User", "Group"}:
        if group != _RBAC:
            causes.append(unsupported(f"{path}.apiGroup", group, [_RBAC]))
    else:
        causes.append(unsupported(f"{path}.kind", kind, ["Group", "ServiceAccount", "User"]))
    return causes


_REF_ORDER: Final = (("apiGroup", "APIGroup"), ("kind", "Kind"), ("name", "Name"))


def validate_binding_update(new: Body, old: Body) -> list[Cause]:
    """Check that the role stays."""
    causes = validate_binding(new)
    if new["roleRef"] != old["roleRef"]:
        shown = "{" + ",".join(f'"{title}":{quoted(new["roleRef"][key])}' for key, title in _REF_ORDER) + "}"
        causes.append(Cause("FieldValueInvalid", "roleRef", f"Invalid value: {shown}: cannot change roleRef"))
    return causes


def validate_lease(body: Body) -> list[Cause]:
    """Check durations and counts."""
    spec = body.get("spec") or {}
    causes = []
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        causes.append(invalid_value("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        causes.append(invalid_value("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
    if spec.get("holderIdentity") == "":
        causes.append(invalid_value("spec.holderIdentity", "", "must not be empty"))
    return causes


def create_definition(body: Body) -> None:
    """Fill in the names and say that it is served."""
    spec = body.get("spec") or {}
    names = spec.get("names") or {}
    kind = names.get("kind", "")
    names.setdefault("singular", kind.lower())
    names.setdefault("listKind", f"{kind}List")
    spec.setdefault("conversion", {"strategy": "None"})
    body["status"] = {
        "conditions": [
            {"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "message": "no conflicts found"},
            {
                "type": "Established",
                "status": "True",
                "reason": "InitialNamesAccepted",
                "message": "the initial names have been accepted",
            },
        ],
        "acceptedNames": names,
        "storedVersions": [each["name"] for each in spec.get("versions") or [] if each.get("storage")],
    }


def update_definition(new: Body, old: Body) -> None:
    """Keep the status; a changed spec counts up the generation."""
    keep_status(new, old)
    names = new["spec"].get("names") or {}
    names.setdefault("singular", names.get("kind", "").lower())
    names.setdefault("listKind", f"{names.get('kind', '')}List")
    new["spec"].setdefault("conversion", {"strategy": "None"})


def validate_definition(body: Body) -> list[Cause]:
    """Check that it can be served."""
    spec = body.get("spec") or {}
    names = spec.get("names") or {}
    causes = []
    if not spec.get("group"):
        causes.append(required("spec.group"))
    if spec.get("scope") not in {"Cluster", "Namespaced"}:
        causes.append(unsupported("spec.scope", spec.get("scope", ""), ["Cluster", "Namespaced"]))
    if not names.get("plural"):
        causes.append(required("spec.names.plural"))
    if not names.get("kind"):
        causes.append(required("spec.names.kind"))
    wanted = f"{names.get('plural', '')}.{spec.get('group', '')}"
    if body["metadata"].get("name") != wanted:
        causes.append(
            invalid_value("metadata.name", body["metadata"].get("name"), 'must be spec.names.plural+"."+spec.group')
        )
    if not spec.get("versions"):
        causes.append(required("spec.versions"))
    return causes


def validate_definition_update(new: Body, _: Body) -> list[Cause]:
    """Check the new form."""
    return validate_definition(new)
