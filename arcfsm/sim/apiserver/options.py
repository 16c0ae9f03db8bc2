"""The options of requests, as they come in queries and in bodies of deletes, checked with the texts of the server."""

from __future__ import annotations

from typing import Any, Final

from arcfsm.sim.apiserver.coretypes import CORE
from arcfsm.sim.apiserver.message import Request
from arcfsm.sim.apiserver.problems import (
    Cause,
    Problem,
    bad_request,
    forbidden_field,
    invalid,
    invalid_value,
    too_long,
    unsupported,
)
from arcfsm.sim.apiserver.typed import DecodeError, Report
from arcfsm.sim.apiserver.wire import load

Body = dict[str, Any]
_MANAGER_LIMIT: Final = 128
_META: Final = "meta.k8s.io"


def _dry_run_causes(values: list[str]) -> list[Cause]:
    if values and values != ["All"]:
        listed = ",".join(f'"{value}"' for value in values)
        return [Cause("FieldValueNotSupported", "dryRun", f'Unsupported value: [{listed}]: supported values: "All"')]
    return []


def _manager_causes(manager: str) -> list[Cause]:
    causes = []
    if len(manager.encode()) > _MANAGER_LIMIT:
        causes.append(too_long("fieldManager", _MANAGER_LIMIT))
    for n, letter in enumerate(manager):
        if not letter.isprintable():
            shown = '"' + "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in manager) + '"'
            text = f"Invalid value: {shown}: invalid character U+{ord(letter):04X} (at position {n})"
            causes.append(Cause("FieldValueInvalid", "fieldManager", text))
    return causes


def check_write(request: Request, kind: str, *, apply: bool = False) -> bool:
    """Check the options of a write; returns whether it is a dry run. Raises Problem."""
    dry_run = list(request.query.get("dryRun", []))
    causes = _dry_run_causes(dry_run)
    manager = request.first("fieldManager")
    causes += _manager_causes(manager)
    validation = request.first("fieldValidation")
    if validation not in {"", "Ignore", "Strict", "Warn"}:
        causes.append(unsupported("fieldValidation", validation, ["", "Ignore", "Strict", "Warn"]))
    if kind == "PatchOptions":
        if apply and not manager:
            causes.append(Cause("FieldValueRequired", "fieldManager", "Required value: is required for apply patch"))
        if not apply and "force" in request.query:
            causes.append(forbidden_field("force", "may not be specified for non-apply patch"))
    if causes:
        raise invalid(_META, kind, "", causes)
    return bool(dry_run)


def delete_options(request: Request) -> Body:
    """Return the options of a delete: those in the body, else those in the query. Raises Problem."""
    options: Body
    if request.has_body:
        try:
            value, _ = load(request, "DeleteOptions")
        except Problem as problem:
            if problem.code == 400:
                why = problem.message.partition("couldn't get")[2].rpartition(" (")[0]
                raise bad_request(f"couldn't get{why}") from None
            raise
        if isinstance(value, dict) and value.get("kind", "DeleteOptions") not in {"DeleteOptions", ""}:
            kind, version = value.get("kind"), value.get("apiVersion", "")
            raise bad_request(
                f'no kind "{kind}" is registered for version "{version}" in scheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"'
            )
        try:
            options = CORE.decode("DeleteOptions", value, Report())
        except DecodeError as error:
            raise bad_request(str(error)) from None
    else:
        options = {}
        if grace := request.first("gracePeriodSeconds"):
            try:
                options["gracePeriodSeconds"] = int(grace)
            except ValueError:
                raise bad_request(f'strconv.ParseInt: parsing "{grace}": invalid syntax') from None
        if policy := request.first("propagationPolicy"):
            options["propagationPolicy"] = policy
        if "orphanDependents" in request.query:
            options["orphanDependents"] = request.flag("orphanDependents")
        if dry_run := request.query.get("dryRun"):
            options["dryRun"] = list(dry_run)
    causes: list[Cause] = []
    chosen = options.get("propagationPolicy")
    if chosen is not None and options.get("orphanDependents") is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(invalid_value("propagationPolicy", chosen, text))
    if chosen is not None and chosen not in {"Foreground", "Background", "Orphan"}:
        causes.append(unsupported("propagationPolicy", chosen, ["Foreground", "Background", "Orphan", "nil"]))
    causes += _dry_run_causes(options.get("dryRun") or [])
    if causes:
        raise invalid(_META, "DeleteOptions", "", causes)
    return options


def list_options(request: Request, *, watch: bool) -> None:
    """Check the options of a list or watch. Raises Problem."""
    match, version = request.first("resourceVersionMatch"), request.first("resourceVersion")
    token = request.first("continue")
    causes: list[Cause] = []
    initial = "sendInitialEvents" in request.query
    if watch:
        if initial:
            if match != "NotOlderThan":
                if match:
                    causes.append(unsupported("resourceVersionMatch", match, ["NotOlderThan"]))
                else:
                    text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
                    causes.append(forbidden_field("resourceVersionMatch", text))
        elif match:
            text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            causes.append(forbidden_field("resourceVersionMatch", text))
    else:
        if initial:
            causes.append(forbidden_field("sendInitialEvents", "sendInitialEvents is forbidden for list"))
        if match:
            if not version:
                text = "resourceVersionMatch is forbidden unless resourceVersion is provided"
                causes.append(forbidden_field("resourceVersionMatch", text))
            if token:
                text = "resourceVersionMatch is forbidden when continue is provided"
                causes.append(forbidden_field("resourceVersionMatch", text))
            if match not in {"Exact", "NotOlderThan"}:
                causes.append(unsupported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""]))
            if match == "Exact" and version == "0":
                text = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
                causes.append(forbidden_field("resourceVersionMatch", text))
    if causes:
        raise invalid(_META, "ListOptions", "", causes)
