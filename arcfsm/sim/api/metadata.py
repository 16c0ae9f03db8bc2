"""Object metadata: what the server owns of it, and what it checks of the rest.

On create the server sets uid, times and name; on update it puts back whatever a client may not change and refuses what
a client must not try. Faults of updates are told twice, because two layers of the real server find them.
"""

from __future__ import annotations

import json
import random
from typing import Any, Final

from arcfsm.sim.api import names
from arcfsm.sim.api.failure import Cause, denied, required, too_long, wrong
from arcfsm.sim.api.kinds import NAMESPACES, RBAC_GROUP, ResourceType

SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH: Final = 5
PREFIX_MAX: Final = 58
ANNOTATIONS_MAX: Final = 256 * 1024
STANDARD_FINALIZERS: Final = ("kubernetes", "foregroundDeletion", "orphan")
_SERVER_OWNED: Final = (
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion",
    "managedFields",
)  # fmt: skip


_IMMUTABLE: Final = (
    "name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
)  # fmt: skip


def quoted(text: Any) -> str:
    """Write a value as messages show it."""
    return json.dumps(text, ensure_ascii=False, separators=(",", ":"))


def new_uid(stream: random.Random) -> str:
    """Draw a uid."""
    digits = f"{stream.getrandbits(128):032x}"
    variant = "89ab"[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def new_suffix(stream: random.Random) -> str:
    """Draw what follows a generateName."""
    return "".join(stream.choice(SUFFIX_LETTERS) for _ in range(SUFFIX_LENGTH))


def fresh(
    resource: ResourceType, metadata: dict[str, Any], namespace: str, stream: random.Random, now: str
) -> dict[str, Any]:
    """Return the metadata of a new object."""
    made = {key: value for key, value in metadata.items() if key not in _SERVER_OWNED}
    if not made.get("name") and made.get("generateName"):
        made["name"] = made["generateName"][:PREFIX_MAX] + new_suffix(stream)
    if namespace:
        made["namespace"] = namespace
    else:
        made.pop("namespace", None)
    made["uid"] = new_uid(stream)
    made["creationTimestamp"] = now
    if resource.counts_generations:
        made["generation"] = 1
    return made


def fold_owners(metadata: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Drop owner references that are there twice; return the metadata and a warning where there were any."""
    owners = metadata.get("ownerReferences") or []
    kept: list[dict[str, Any]] = []
    twice: list[str] = []
    for owner in owners:
        if owner in kept:
            if owner.get("uid", "") not in twice:
                twice.append(owner.get("uid", ""))
        else:
            kept.append(owner)
    if not twice:
        return metadata, ""
    warning = (
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may "
        "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
    )
    return {**metadata, "ownerReferences": kept}, warning + ", ".join(twice)


# --- checks ---------------------------------------------------------------------------------------------------------


def check_new(resource: ResourceType, metadata: dict[str, Any]) -> list[Cause]:
    """Find what is wrong with the metadata of an object."""
    causes: list[Cause] = []
    check = _name_check(resource)
    prefix = metadata.get("generateName", "")
    if prefix:
        masked = prefix[:-1] + "a" if prefix.endswith("-") else prefix
        causes += [wrong("metadata.generateName", quoted(prefix), fault) for fault in check(masked)]
    name = metadata.get("name", "")
    if not name:
        causes.append(required("metadata.name", "name or generateName is required"))
    else:
        causes += [wrong("metadata.name", quoted(name), fault) for fault in check(name)]
    causes += check_common(metadata)
    causes += _check_finalizers(resource, metadata)
    return causes


def _name_check(resource: ResourceType) -> Any:
    if resource.table == NAMESPACES.table:
        return names.dns_label
    return names.path_segment if resource.group == RBAC_GROUP else names.dns_subdomain


def check_common(metadata: dict[str, Any]) -> list[Cause]:
    """Find what is wrong with labels, annotations and owner references."""
    causes: list[Cause] = []
    for key, value in (metadata.get("labels") or {}).items():
        causes += [wrong("metadata.labels", quoted(key), fault) for fault in names.qualified_name(key)]
        causes += [wrong("metadata.labels", quoted(value), fault) for fault in names.label_value(value)]
    size = 0
    for key, value in (metadata.get("annotations") or {}).items():
        causes += [wrong("metadata.annotations", quoted(key), fault) for fault in names.qualified_name(key.lower())]
        size += len(key.encode()) + len(value.encode())
    if size > ANNOTATIONS_MAX:
        causes.append(too_long("metadata.annotations", ANNOTATIONS_MAX))
    causes += _check_owners(metadata.get("ownerReferences") or [])
    return causes


def _check_owners(owners: list[dict[str, Any]]) -> list[Cause]:
    causes: list[Cause] = []
    path = "metadata.ownerReferences"
    controllers: list[str] = []
    for owner in owners:
        if not owner.get("apiVersion"):
            causes.append(wrong(f"{path}.apiVersion", '""', "version must not be empty"))
        absent = [name for name in ("kind", "name", "uid") if not owner.get(name)]
        causes += [wrong(f"{path}.{name}", '""', "must not be empty") for name in absent]
        if owner.get("kind") == "Event" and owner.get("apiVersion") == "v1":
            causes.append(wrong(path, _owner_text(owner), "/v1, Kind=Event is disallowed from being an owner"))
        if owner.get("controller"):
            controllers.append(f"{owner.get('kind')}/{owner.get('name')}")
    if len(controllers) > 1:
        listed = f"[{','.join(_owner_text(owner) for owner in owners)}]"
        found = f'Found "true" in references for {controllers[0]} and {controllers[1]}'
        causes.append(wrong(path, listed, f"Only one reference can have Controller set to true. {found}"))
    return causes


def _owner_text(owner: dict[str, Any]) -> str:
    order = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
    return quoted({key: owner[key] for key in order if key in owner})


def _check_finalizers(resource: ResourceType, metadata: dict[str, Any]) -> list[Cause]:
    causes: list[Cause] = []
    finalizers = metadata.get("finalizers") or []
    for index, finalizer in enumerate(finalizers):
        faults = names.qualified_name(finalizer)
        causes += [wrong("metadata.finalizers", quoted(finalizer), fault) for fault in faults]
        if not faults and not resource.custom and "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            causes.append(wrong(f"metadata.finalizers[{index}]", quoted(finalizer), detail))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        causes.append(wrong("metadata.finalizers", quoted(finalizers), detail))
    return causes


def finalizer_warnings(resource: ResourceType, metadata: dict[str, Any], before: dict[str, Any] | None) -> list[str]:
    """Warn about finalizers of custom resources that have no domain."""
    if not resource.custom:
        return []
    known = (before or {}).get("finalizers") or []
    detail = "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
    return [
        f"metadata.finalizers: {quoted(finalizer)}: {detail}"
        for finalizer in metadata.get("finalizers") or []
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS and finalizer not in known
    ]


def carried_over(metadata: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of an update with everything put back that only the server sets."""
    dropped = {"selfLink", "managedFields", "resourceVersion"}
    made = {key: value for key, value in metadata.items() if key not in dropped}
    if "namespace" in before:
        made["namespace"] = before["namespace"]
    made.setdefault("uid", before["uid"])
    made["creationTimestamp"] = before["creationTimestamp"]
    for key in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        if key in before:
            made.setdefault(key, before[key])
    made.pop("generation", None)
    if "generation" in before:
        made["generation"] = before["generation"]
    return made


def check_update(resource: ResourceType, metadata: dict[str, Any], before: dict[str, Any]) -> list[Cause]:
    """Find what is wrong with an update of metadata."""
    causes: list[Cause] = []
    if "deletionTimestamp" in before:
        known = before.get("finalizers") or []
        added = [each for each in metadata.get("finalizers") or [] if each not in known]
        if added:
            listed = ", ".join(quoted(each) for each in added)
            detail = "no new finalizers can be added if the object is being deleted, found new finalizers"
            causes.append(denied("metadata.finalizers", f"{detail} []string{{{listed}}}"))
    causes += [
        wrong(f"metadata.{key}", quoted(metadata.get(key)), "field is immutable")
        for key in _IMMUTABLE
        if metadata.get(key) != before.get(key)
    ]
    common = check_common(metadata)
    causes += common
    again = [*causes, *common, *_check_finalizers(resource, metadata)] if not resource.custom else list(causes)
    return causes + again
