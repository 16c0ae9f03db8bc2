"""Events are stored once and served twice: as core events and as those of events.k8s.io, which renamed their fields."""

from __future__ import annotations

from typing import Any, Final

from arcfsm.sim.api.failure import Cause, required, wrong

API_VERSION: Final = "events.k8s.io/v1"
_RENAMED: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_BACK: Final = {new: old for old, new in _RENAMED.items()}


def to_new_event(item: dict[str, Any]) -> dict[str, Any]:
    """Show a stored event as events.k8s.io does."""
    made = {_RENAMED.get(name, name): value for name, value in item.items()}
    for name in ("reportingController", "reportingInstance"):
        if not made.get(name):
            made.pop(name, None)
    return {**made, "apiVersion": API_VERSION}


def from_new_event(body: dict[str, Any]) -> dict[str, Any]:
    """Turn an event of events.k8s.io into a core event."""
    made = {_BACK.get(name, name): value for name, value in body.items()}
    return {**made, "apiVersion": "v1"} if "apiVersion" in made else made


def check_new_event(item: dict[str, Any]) -> list[Cause]:
    """Find what the newer group does not accept in a new event."""
    causes: list[Cause] = []
    if not item.get("eventTime"):
        causes.append(required("eventTime"))
    else:
        if not item.get("reportingComponent"):
            causes.append(required("reportingController"))
        if not item.get("reportingInstance"):
            causes.append(required("reportingInstance"))
        if not item.get("action"):
            causes.append(required("action"))
        if not item.get("reason"):
            causes.append(required("reason"))
    kind = item.get("type", "")
    if kind not in {"Normal", "Warning"}:
        causes.append(wrong("type", f'"{kind}"', f"has invalid value: {kind}"))
    return causes
