"""Rules of object metadata that hold for every kind: names, labels, annotations, owners, finalizers, what is immutable."""

from __future__ import annotations

import re
from typing import Any, Final

from arcfsm.sim.apiserver.problems import Cause, duplicate, forbidden_field, invalid_value, quoted, required, too_long

Body = dict[str, Any]
_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*")
DNS_LABEL: Final = re.compile(_LABEL)
_NAME_PART: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_PART_TEXT: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
ANNOTATIONS_LIMIT: Final = 256 * 1024
STANDARD_FINALIZERS: Final = {"kubernetes", "orphan", "foregroundDeletion"}


def subdomain_errors(text: str) -> list[str]:
    """Say what is wrong with a DNS subdomain."""
    errors = [] if len(text) <= 253 else ["must be no more than 253 characters"]
    return errors if SUBDOMAIN.fullmatch(text) else [*errors, _SUBDOMAIN_TEXT]


def dns_label_errors(text: str) -> list[str]:
    """Say what is wrong with a DNS label."""
    errors = [] if len(text) <= 63 else ["must be no more than 63 characters"]
    return errors if DNS_LABEL.fullmatch(text) else [*errors, _LABEL_TEXT]


def path_segment_errors(text: str) -> list[str]:
    """Say what is wrong with a name that only has to fit into a path."""
    if text in {".", ".."}:
        return [f"may not be '{text}'"]
    return [f"may not contain '{bad}'" for bad in ("/", "%") if bad in text]


def qualified_name_errors(text: str) -> list[str]:
    """Say what is wrong with a name that may have a domain in front."""
    parts = text.split("/")
    if len(parts) > 2:
        return [
            f"a qualified name {_PART_TEXT.replace('must consist', 'must consist', 1)} "
            "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    errors = []
    if len(parts) == 2:
        if not parts[0]:
            errors.append("prefix part must be non-empty")
        else:
            errors += [f"prefix part {each}" for each in subdomain_errors(parts[0])]
    name = parts[-1]
    if not name:
        errors.append("name part must be non-empty")
    elif len(name) > 63:
        errors.append("name part must be no more than 63 bytes")
    if not _NAME_PART.fullmatch(name):
        errors.append(f"name part {_PART_TEXT}")
    return errors


def label_value_errors(text: str) -> list[str]:
    """Say what is wrong with the value of a label."""
    errors = [] if len(text) <= 63 else ["must be no more than 63 bytes"]
    return errors if _VALUE.fullmatch(text) else [*errors, _VALUE_TEXT]


def label_causes(labels: dict[str, str], path: str) -> list[Cause]:
    """Check labels."""
    causes = []
    for key, value in labels.items():
        causes += [invalid_value(path, key, text) for text in qualified_name_errors(key)]
        causes += [invalid_value(path, value, text) for text in label_value_errors(value)]
    return causes


def annotation_causes(annotations: dict[str, str], path: str) -> list[Cause]:
    """Check annotations."""
    causes = []
    for key in annotations:
        causes += [invalid_value(path, key, text) for text in qualified_name_errors(key.lower())]
    size = sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items())
    return causes if size <= ANNOTATIONS_LIMIT else [*causes, too_long(path, ANNOTATIONS_LIMIT)]


_OWNER_ORDER: Final = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def _owner_causes(owners: list[Body], path: str) -> list[Cause]:
    causes = []
    controllers = []
    for owner in owners:
        group, _, version = owner["apiVersion"].rpartition("/")
        if not version:
            causes.append(invalid_value(f"{path}.apiVersion", owner["apiVersion"], "version must not be empty"))
        causes += [
            invalid_value(f"{path}.{name}", owner[name], "must not be empty")
            for name in ("kind", "name", "uid")
            if not owner[name]
        ]
        if (group, version, owner["kind"]) == ("", "v1", "Event"):
            text = f"{group}/{version}, Kind=Event is disallowed from being an owner"
            causes.append(Cause("FieldValueInvalid", path, f"Invalid value: {_plain([owner])[1:-1]}: {text}"))
        if owner.get("controller"):
            controllers.append(f"{owner['kind']}/{owner['name']}")
            if len(controllers) == 2:
                text = (
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    f"{controllers[0]} and {controllers[1]}"
                )
                causes.append(Cause("FieldValueInvalid", path, f"Invalid value: {_plain(owners)}: {text}"))
    return causes


def _plain(owners: list[Body]) -> str:
    shown = ["{" + ",".join(f'"{k}":{quoted(o[k])}' for k in _OWNER_ORDER if k in o) + "}" for o in owners]
    return f"[{','.join(shown)}]"


def finalizer_causes(finalizers: list[str], path: str, *, core: bool) -> list[Cause]:
    """Check finalizers: core kinds insist on a domain."""
    causes = []
    for each in finalizers:
        causes += [invalid_value(path, each, text) for text in qualified_name_errors(each)]
    if core:
        text = "name is neither a standard finalizer name nor is it fully qualified"
        causes += [
            invalid_value(f"{path}[{n}]", each, text)
            for n, each in enumerate(finalizers)
            if "/" not in each and each not in STANDARD_FINALIZERS and not qualified_name_errors(each)
        ]
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        causes.append(invalid_value(path, finalizers, "finalizer orphan and foregroundDeletion cannot be both set"))
    return causes


def causes_of(meta: Body, *, namespaced: bool, name_errors: Any, core: bool, path: str = "metadata") -> list[Cause]:
    """Check the metadata of any object."""
    causes: list[Cause] = []
    if prefix := meta.get("generateName"):
        masked = prefix[:-1] + "a" if prefix.endswith("-") and name_errors is not path_segment_errors else prefix
        causes += [invalid_value(f"{path}.generateName", prefix, text) for text in name_errors(masked)]
    name = meta.get("name", "")
    if not name:
        causes.append(required(f"{path}.name", "name or generateName is required"))
    else:
        causes += [invalid_value(f"{path}.name", name, text) for text in name_errors(name)]
    if namespaced:
        if not meta.get("namespace"):
            causes.append(required(f"{path}.namespace"))
    elif meta.get("namespace"):
        causes.append(forbidden_field(f"{path}.namespace", "not allowed on this type"))
    causes += shared_causes(meta, core=core, path=path)
    return causes


def shared_causes(meta: Body, *, core: bool, path: str = "metadata") -> list[Cause]:
    """Check what creates and updates have in common."""
    causes: list[Cause] = []
    if meta.get("generation", 0) < 0:
        causes.append(invalid_value(f"{path}.generation", meta["generation"], "must be greater than or equal to 0"))
    causes += label_causes(meta.get("labels", {}), f"{path}.labels")
    causes += annotation_causes(meta.get("annotations", {}), f"{path}.annotations")
    causes += _owner_causes(meta.get("ownerReferences", []), f"{path}.ownerReferences")
    causes += finalizer_causes(meta.get("finalizers", []), f"{path}.finalizers", core=core)
    return causes


def update_causes(new: Body, old: Body, path: str = "metadata") -> list[Cause]:
    """Check what may not change: identity, deletion marks, new finalizers on what is being deleted."""
    causes: list[Cause] = []
    if old.get("deletionTimestamp"):
        added = [each for each in new.get("finalizers", []) if each not in old.get("finalizers", [])]
        if added:
            listed = ", ".join(f'"{each}"' for each in sorted(added))
            causes.append(
                forbidden_field(
                    f"{path}.finalizers",
                    "no new finalizers can be added if the object is being deleted, found new finalizers "
                    f"[]string{{{listed}}}",
                )
            )
    for name in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if new.get(name) != old.get(name):
            value = new.get(name)
            causes.append(invalid_value(f"{path}.{name}", value, "field is immutable"))
    return causes


def duplicate_owner_uids(meta: Body) -> list[str]:
    """Fold owner references that are there twice, in place; returns the uids of those."""
    owners = meta.get("ownerReferences")
    if not owners:
        return []
    unique: list[Body] = []
    twice: list[str] = []
    for owner in owners:
        if owner in unique:
            twice.append(owner["uid"])
        else:
            unique.append(owner)
    if twice:
        meta["ownerReferences"] = unique
    return twice


__all__ = [
    "annotation_causes",
    "causes_of",
    "dns_label_errors",
    "duplicate",
    "duplicate_owner_uids",
    "finalizer_causes",
    "label_causes",
    "label_value_errors",
    "path_segment_errors",
    "qualified_name_errors",
    "shared_causes",
    "subdomain_errors",
    "update_causes",
]
