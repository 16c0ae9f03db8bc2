"""How objects look to a client: whole, metadata only, or as rows of a table.

Stored objects are shared, so a view that needs another form builds one and leaves the original alone.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from arcfsm.domain.instant import SECOND, Instant, parse_instant
from arcfsm.sim.api.failure import bad_request, not_acceptable
from arcfsm.sim.api.kinds import NEW_EVENTS, PrinterColumn, ResourceType
from arcfsm.sim.api.new_events import to_new_event
from arcfsm.sim.api.request import JSON, PROTOBUF, YAML

_ACCEPTS_MAX: Final = 256
_META_GROUP: Final = "meta.k8s.io"
_MEDIA: Final = (JSON, YAML, PROTOBUF, "application/*", "*/*")
META_VERSION: Final = "meta.k8s.io/v1"
_BOOKMARK_BODIES: Final[dict[str, dict[str, Any]]] = {
    "Pod": {"spec": {"containers": None}, "status": {}},
    "Role": {"rules": None},
    "ClusterRole": {"rules": None},
    "RoleBinding": {"roleRef": {"apiGroup": "", "kind": "", "name": ""}},
    "ClusterRoleBinding": {"roleRef": {"apiGroup": "", "kind": "", "name": ""}},
    "Lease": {"spec": {}},
    "Namespace": {"spec": {}, "status": {}},
    "ResourceQuota": {"spec": {}, "status": {}},
    "LimitRange": {"spec": {"limits": None}},
    "Event": {
        "involvedObject": {}, "source": {}, "firstTimestamp": None, "lastTimestamp": None, "eventTime": None,
        "reportingComponent": "", "reportingInstance": "",
    },
}  # fmt: skip
"""What a zero object of a kind shows beside its metadata."""
_CORE_COLUMNS: Final[dict[str, tuple[PrinterColumn, ...]]] = {
    "Pod": (
        PrinterColumn("Ready", "string", ("#ready",)), PrinterColumn("Status", "string", ("#phase",)),
        PrinterColumn("Restarts", "string", ("#restarts",)),
    ),
    "Secret": (PrinterColumn("Type", "string", ("type",)), PrinterColumn("Data", "string", ("#data",))),
    "ConfigMap": (PrinterColumn("Data", "string", ("#data",)),),
    "Namespace": (PrinterColumn("Status", "string", ("status", "phase")),),
    "Event": (
        PrinterColumn("Type", "string", ("type",)), PrinterColumn("Reason", "string", ("reason",)),
        PrinterColumn("Object", "string", ("involvedObject", "name")),
        PrinterColumn("Message", "string", ("message",)),
    ),
    "Lease": (PrinterColumn("Holder", "string", ("spec", "holderIdentity")),),
    "RoleBinding": (PrinterColumn("Role", "string", ("roleRef", "name")),),
}  # fmt: skip
_AGE: Final = PrinterColumn("Age", "date", ("metadata", "creationTimestamp"))


@lru_cache(maxsize=_ACCEPTS_MAX)
def accepted_form(accept: str) -> str:
    """Find the form a client takes, its first choice first. Raises ApiFailure when there is none."""
    for choice in accept.split(",") if accept else [JSON]:
        media, *parameters = (part.strip() for part in choice.split(";"))
        wanted = dict(parameter.partition("=")[::2] for parameter in parameters)
        shape = wanted.get("as", "")
        if not shape and media in _MEDIA:
            return "whole"
        if media not in _MEDIA or wanted.get("g", _META_GROUP) != _META_GROUP:
            continue
        if shape.startswith("PartialObjectMetadata"):
            return "partial"
        if shape == "Table" and wanted.get("v") in {"v1", "v1beta1"}:
            return "table"
    raise not_acceptable((JSON, YAML, PROTOBUF))


class View:
    """One way of looking at one resource."""

    def __init__(self, resource: ResourceType, form: str = "whole", include: str = "", now: Instant = 0) -> None:
        if form == "table" and include not in {"", "Metadata", "Object", "None"}:
            detail = "must be 'Metadata', 'Object', 'None', or empty"
            why = f'includeObject: Invalid value: "{include}": {detail}'
            raise bad_request(f"Unable to convert to Table as requested: {why}")
        self.resource = resource
        self.form = form
        self._include = include
        self._now = now

    def item(self, item: dict[str, Any]) -> dict[str, Any]:
        """Show one object."""
        if self.form == "partial":
            return _partial(item["metadata"])
        if self.form == "table":
            return self._table({"resourceVersion": item["metadata"].get("resourceVersion", "")}, [item])
        return to_new_event(item) if self.resource is NEW_EVENTS else item

    def listing(self, items: list[dict[str, Any]], metadata: dict[str, Any]) -> dict[str, Any]:
        """Show a list."""
        resource = self.resource
        if self.form == "partial":
            shown = [_partial(item["metadata"]) for item in items]
            kept = {key: value for key, value in metadata.items() if value != ""}
            return {
                "kind": "PartialObjectMetadataList", "apiVersion": META_VERSION, "metadata": kept, "items": shown,
            }  # fmt: skip
        if self.form == "table":
            return self._table({key: value for key, value in metadata.items() if value != ""}, items)
        if resource is NEW_EVENTS:
            items = [to_new_event(item) for item in items]
        if not resource.custom:
            items = [{key: value for key, value in item.items() if key not in {"kind", "apiVersion"}} for item in items]
        return {
            "kind": resource.names_list, "apiVersion": resource.api_version, "metadata": metadata, "items": items,
        }  # fmt: skip

    def bookmark(self, version: int, annotations: dict[str, str]) -> dict[str, Any]:
        """Show the object of a bookmark: nothing but how far the stream is."""
        metadata: dict[str, Any] = {"resourceVersion": str(version)}
        if annotations:
            metadata["annotations"] = annotations
        if self.form == "partial":
            return _partial(metadata)
        if self.form == "table":
            return {**self._table({"resourceVersion": str(version)}, []), "columnDefinitions": None}
        resource = self.resource
        return {
            "kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata,
            **_BOOKMARK_BODIES.get(resource.kind if not resource.custom else "", {}),
        }  # fmt: skip

    def _table(self, metadata: dict[str, Any], items: list[dict[str, Any]]) -> dict[str, Any]:
        own = self.resource.columns
        columns = own or (*(() if self.resource.custom else _CORE_COLUMNS.get(self.resource.kind, ())), _AGE)
        definitions = [{"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}]
        definitions += [
            {
                "name": column.name, "type": column.type, "format": column.format, "description": column.description,
                "priority": column.priority,
            }
            for column in columns
        ]  # fmt: skip
        rows = []
        for item in items:
            row: dict[str, Any] = {
                "cells": [item["metadata"]["name"], *(self._cell(item, column) for column in columns)]
            }
            if self._include in {"", "Metadata"}:
                row["object"] = _partial(item["metadata"])
            elif self._include == "Object":
                row["object"] = item
            rows.append(row)
        return {
            "kind": "Table", "apiVersion": META_VERSION, "metadata": metadata, "columnDefinitions": definitions,
            "rows": rows,
        }  # fmt: skip

    def _cell(self, item: dict[str, Any], column: PrinterColumn) -> Any:
        if column.path[0].startswith("#"):
            return _counted(item, column.path[0])
        value: Any = item
        for part in column.path:
            value = value.get(part) if isinstance(value, dict) else None
        if column.type == "date" and isinstance(value, str):
            return _age(self._now - parse_instant(value))
        return value if value is not None or column.type != "string" else ""


def _partial(metadata: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "PartialObjectMetadata", "apiVersion": META_VERSION, "metadata": metadata}


def _counted(item: dict[str, Any], what: str) -> Any:
    if what == "#data":
        return len(item.get("data") or {}) + len(item.get("binaryData") or {})
    status = item.get("status") or {}
    statuses = status.get("containerStatuses") or []
    if what == "#ready":
        return f"{sum(1 for each in statuses if each.get('ready'))}/{len(item['spec'].get('containers') or [])}"
    if what == "#restarts":
        return str(sum(each.get("restartCount", 0) for each in statuses))
    if item["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for each in statuses:
        state = each.get("state") or {}
        for form in ("waiting", "terminated"):
            if (state.get(form) or {}).get("reason"):
                return state[form]["reason"]
    return status.get("reason") or status.get("phase", "")


def _age(span: int) -> str:
    seconds = max(span // SECOND, 0)
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
