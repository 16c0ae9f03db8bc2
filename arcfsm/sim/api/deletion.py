"""Deletion: grace periods, finalizers and propagation, and when an object really goes.

An object goes at once when nothing holds it. Finalizers, and for pods on a node a grace period, make it stay with a
deletionTimestamp; the last finalizer to leave takes it away. Propagation policies are finalizers that the garbage
collector removes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from arcfsm.domain.instant import SECOND, Instant, parse_instant
from arcfsm.sim.api.failure import ApiFailure, Cause, bad_request, conflict, invalid, not_one_of, wrong
from arcfsm.sim.api.kinds import NAMESPACES, PODS, ResourceType
from arcfsm.sim.api.metadata import quoted
from arcfsm.sim.api.shapes import STRUCTS, DecodeFault, Trace
from arcfsm.sim.clock import timestamp

Item = dict[str, Any]

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
_POLICIES: Final = ("Foreground", "Background", "Orphan")
_OPTION_VERSIONS: Final = ("v1", "meta.k8s.io/v1")


@dataclass(frozen=True)
class DeleteOptions:
    """How something is to be deleted."""

    grace: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    propagation: str = ""
    orphan: bool | None = None
    dry: bool = False


@dataclass(frozen=True)
class Step:
    """What a delete does to an object: what to write first, whether it then goes."""

    write: Item | None
    goes: bool


def options_from(query: dict[str, str], body: Any, group_version: str) -> DeleteOptions:
    """Read the options of a DELETE; a body replaces what the query says. Raises ApiFailure."""
    if isinstance(body, dict):
        return _from_body(body, group_version)
    grace = query.get("gracePeriodSeconds")
    if grace is not None:
        try:
            seconds: int | None = int(grace)
        except ValueError as error:
            raise bad_request(f"strconv.ParseInt: parsing {quoted(grace)}: invalid syntax") from error
    else:
        seconds = None
    orphan = query.get("orphanDependents")
    found = DeleteOptions(
        grace=seconds,
        propagation=query.get("propagationPolicy", ""),
        orphan=None if orphan is None else orphan not in {"false", "0"},
        dry="dryRun" in query,
    )
    _check(found, [query["dryRun"]] if "dryRun" in query else [])
    return found


def _from_body(body: Item, group_version: str) -> DeleteOptions:
    kind, version = body.get("kind", "DeleteOptions"), body.get("apiVersion", "v1")
    if kind != "DeleteOptions" or version not in {*_OPTION_VERSIONS, group_version}:
        scheme = '"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"'
        raise bad_request(f'no kind "{kind}" is registered for version "{version}" in scheme {scheme}')
    try:
        read = STRUCTS["DeleteOptions"].read(body, Trace(), None)
    except DecodeFault as fault:
        raise bad_request(str(fault)) from fault
    conditions = read.get("preconditions") or {}
    found = DeleteOptions(
        grace=read.get("gracePeriodSeconds"),
        uid=conditions.get("uid"),
        resource_version=conditions.get("resourceVersion"),
        propagation=read.get("propagationPolicy") or "",
        orphan=read.get("orphanDependents"),
        dry=bool(read.get("dryRun")),
    )
    _check(found, read.get("dryRun") or [])
    return found


def _check(options: DeleteOptions, dry: list[str]) -> None:
    causes: list[Cause] = []
    if options.propagation and options.orphan is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(wrong("propagationPolicy", quoted(options.propagation), detail))
    elif options.propagation and options.propagation not in _POLICIES:
        causes.append(not_one_of("propagationPolicy", quoted(options.propagation), (*_POLICIES, "nil")))
    if any(each != "All" for each in dry):
        causes.append(not_one_of("dryRun", quoted(dry), ["All"]))
    if causes:
        raise invalid("meta.k8s.io", "DeleteOptions", "", causes)


def check_preconditions(resource: ResourceType, item: Item, options: DeleteOptions) -> None:
    """Refuse to delete another object than the one meant. Raises ApiFailure."""
    metadata = item["metadata"]
    if options.uid is not None and options.uid != metadata["uid"]:
        raise _unmet(resource, metadata["name"], "UID", options.uid, metadata["uid"], "deleted and then recreated")
    wanted = options.resource_version
    if wanted is not None and wanted != metadata["resourceVersion"]:
        raise _unmet(resource, metadata["name"], "ResourceVersion", wanted, metadata["resourceVersion"], "modified")


def _unmet(resource: ResourceType, name: str, what: str, wanted: str, found: str, happened: str) -> ApiFailure:
    detail = f"the {what} in the precondition ({wanted}) does not match the {what} in record ({found})"
    return conflict(resource.group, resource.kind, name, f"{detail}. The object might have been {happened}")


def plan(resource: ResourceType, item: Item, options: DeleteOptions, now: Instant) -> Step:
    """Decide what a delete does to an object."""
    if resource is NAMESPACES:
        return _plan_namespace(item, now)
    metadata = item["metadata"]
    finalizers = _finalizers(metadata.get("finalizers") or [], options)
    changed = set(finalizers) != set(metadata.get("finalizers") or [])
    made = dict(metadata)
    if changed:
        made = _with_finalizers(made, finalizers)
    graceful, waits = _mark_gracefully(resource, item, made, options, now)
    if waits:
        return Step(None, goes=False)
    if graceful:
        stays = bool(finalizers) or made["deletionGracePeriodSeconds"] > 0
        return Step({**item, "metadata": made}, goes=not stays)
    if finalizers:
        _mark(made, now)
        return Step({**item, "metadata": made}, goes=False)
    return Step(None, goes=True)


def _plan_namespace(item: Item, now: Instant) -> Step:
    held = bool((item.get("spec") or {}).get("finalizers"))
    if not item["metadata"].get("deletionTimestamp"):
        metadata = {**item["metadata"], "deletionTimestamp": timestamp(now)}
        status = {**(item.get("status") or {}), "phase": "Terminating"}
        return Step({**item, "metadata": metadata, "status": status}, goes=False)
    return Step(None, goes=not held and not item["metadata"].get("finalizers"))


def _finalizers(present: list[str], options: DeleteOptions) -> list[str]:
    orphans = _orphans(present, options)
    waits = _waits_for_dependents(present, options)
    kept = [each for each in present if each not in {FOREGROUND, ORPHAN}]
    return kept + ([ORPHAN] if orphans else []) + ([FOREGROUND] if waits else [])


def _orphans(present: list[str], options: DeleteOptions) -> bool:
    if options.orphan is not None:
        return options.orphan
    if options.propagation:
        return options.propagation == "Orphan"
    return ORPHAN in present


def _waits_for_dependents(present: list[str], options: DeleteOptions) -> bool:
    if options.orphan is not None:
        return False
    if options.propagation:
        return options.propagation == "Foreground"
    return FOREGROUND in present and ORPHAN not in present


def _with_finalizers(metadata: Item, finalizers: list[str]) -> Item:
    made = {key: value for key, value in metadata.items() if key != "finalizers"}
    return {**made, "finalizers": finalizers} if finalizers else made


def _mark_gracefully(
    resource: ResourceType, item: Item, metadata: Item, options: DeleteOptions, now: Instant
) -> tuple[bool, bool]:
    """Mark a pod for graceful deletion. Returns whether it was marked, and whether one is already under way."""
    if resource is not PODS:
        return False, False
    marked = metadata.get("deletionTimestamp")
    if marked:
        running = metadata.get("deletionGracePeriodSeconds") or 0
        if running == 0:
            return False, False
        if options.grace is None or _positive(options.grace) >= running:
            return False, True
        asked = _positive(options.grace)
        metadata["deletionTimestamp"] = timestamp(parse_instant(marked) + (asked - running) * SECOND)
        metadata["deletionGracePeriodSeconds"] = asked
        return True, False
    grace = _grace_of(item, options)
    metadata["deletionTimestamp"] = timestamp(now + grace * SECOND)
    metadata["deletionGracePeriodSeconds"] = grace
    if metadata.get("generation"):
        metadata["generation"] += 1
    return True, False


def _positive(grace: int) -> int:
    return 1 if grace < 0 else grace


def _grace_of(item: Item, options: DeleteOptions) -> int:
    spec = item["spec"]
    if not spec.get("nodeName") or (item.get("status") or {}).get("phase") in {"Succeeded", "Failed"}:
        return 0
    grace = options.grace if options.grace is not None else spec.get("terminationGracePeriodSeconds", 0)
    return _positive(grace)


def _mark(metadata: Item, now: Instant) -> None:
    """Mark an object that has no grace period for deletion."""
    marked = metadata.get("deletionTimestamp")
    if not marked and metadata.get("generation"):
        metadata["generation"] += 1
    if not marked or parse_instant(marked) > now:
        metadata["deletionTimestamp"] = timestamp(now)
    metadata["deletionGracePeriodSeconds"] = 0


def leaves_with(before: Item, after: Item) -> bool:
    """Whether an update takes away the last thing that held a terminating object."""
    marked = before["metadata"].get("deletionTimestamp")
    if not marked or after["metadata"].get("finalizers"):
        return False
    if before["kind"] == NAMESPACES.kind and (after.get("spec") or {}).get("finalizers"):
        return False
    return not before["metadata"].get("deletionGracePeriodSeconds")


def background(uid: str) -> DeleteOptions:
    """Return the options with which the garbage collector deletes."""
    return replace(DeleteOptions(), uid=uid, propagation="Background")
