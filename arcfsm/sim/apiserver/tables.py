"""The tables that kubectl prints: columns by kind, from the definition of a custom one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from arcfsm.domain.instant import SECOND, Instant, parse_instant
from arcfsm.sim.apiserver.rendering import META, partial
from arcfsm.sim.apiserver.resources import Resource

Body = dict[str, Any]
Cells = Callable[[Body, str], list[Any]]
_NAME_TEXT: Final = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a "
    "client to request the generation of an appropriate name automatically. Name is primarily intended for creation "
    "idempotence and configuration definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)


def age(created: str, now: Instant) -> str:
    """Return how long ago something was, as kubectl writes it."""
    if not created:
        return "<unknown>"
    seconds = (now - parse_instant(created)) // SECOND
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    if seconds < 120:
        return f"{seconds}s"
    minutes = seconds // 60
    if minutes < 10:
        rest = seconds % 60
        return f"{minutes}m{rest}s" if rest else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours = minutes // 60
    if hours < 8:
        rest = minutes % 60
        return f"{hours}h{rest}m" if rest else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if hours < 192:
        rest = hours % 24
        return f"{days}d{rest}h" if rest else f"{days}d"
    return f"{days}d" if days < 730 else f"{days // 365}y"


def _pod_cells(body: Body, shown_age: str) -> list[Any]:
    status = body.get("status") or {}
    statuses = status.get("containerStatuses") or []
    ready = sum(bool(each.get("ready")) for each in statuses)
    restarts = sum(each.get("restartCount", 0) for each in statuses)
    reason = status.get("reason") or status.get("phase", "")
    for each in statuses:
        state = each.get("state") or {}
        for part in ("waiting", "terminated"):
            if (state.get(part) or {}).get("reason"):
                reason = state[part]["reason"]
    if body["metadata"].get("deletionTimestamp"):
        reason = "Terminating"
    spec = body["spec"]
    return [
        body["metadata"]["name"], f"{ready}/{len(spec.get('containers') or ())}", reason, str(restarts), shown_age,
        status.get("podIP") or "<none>", spec.get("nodeName") or "<none>", "<none>", "<none>",
    ]  # fmt: skip


_Column = tuple[str, str, int]
_COLUMNS: Final[dict[str, tuple[list[_Column], Cells]]] = {
    "pods.": (
        [("Ready", "string", 0), ("Status", "string", 0), ("Restarts", "string", 0), ("Age", "string", 0),
         ("IP", "string", 1), ("Node", "string", 1), ("Nominated Node", "string", 1), ("Readiness Gates", "string", 1)],
        _pod_cells,
    ),
    "secrets.": (
        [("Type", "string", 0), ("Data", "string", 0), ("Age", "string", 0)],
        lambda b, a: [b["metadata"]["name"], b.get("type", ""), len(b.get("data") or {}), a],
    ),
    "configmaps.": (
        [("Data", "string", 0), ("Age", "string", 0)],
        lambda b, a: [b["metadata"]["name"], len(b.get("data") or {}) + len(b.get("binaryData") or {}), a],
    ),
    "serviceaccounts.": (
        [("Secrets", "string", 0), ("Age", "string", 0)],
        lambda b, a: [b["metadata"]["name"], len(b.get("secrets") or ()), a],
    ),
    "namespaces.": (
        [("Status", "string", 0), ("Age", "string", 0)],
        lambda b, a: [b["metadata"]["name"], b["status"].get("phase", ""), a],
    ),
    "leases.coordination.k8s.io": (
        [("Holder", "string", 0), ("Age", "string", 0)],
        lambda b, a: [b["metadata"]["name"], (b.get("spec") or {}).get("holderIdentity", ""), a],
    ),
    "roles.rbac.authorization.k8s.io": (
        [("Created At", "string", 0)],
        lambda b, _: [b["metadata"]["name"], b["metadata"].get("creationTimestamp", "")],
    ),
    "rolebindings.rbac.authorization.k8s.io": (
        [("Role", "string", 0), ("Age", "string", 0)],
        lambda b, a: [b["metadata"]["name"], f"{b['roleRef']['kind']}/{b['roleRef']['name']}", a],
    ),
}  # fmt: skip


def _select(body: Body, path: str) -> Any:
    value: Any = body
    for token in re.findall(r"[^.\[\]]+|\[\d+\]", path.lstrip(".").replace("\\.", "\0")):
        key = token.replace("\0", ".")
        if isinstance(value, list) and key.strip("[]").isdigit():
            index = int(key.strip("[]"))
            value = value[index] if index < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def _custom_cells(body: Body, resource: Resource, now: Instant) -> list[Any]:
    cells: list[Any] = [body["metadata"]["name"]]
    for column in _columns_of(resource):
        value = _select(body, column["jsonPath"])
        if column["type"] == "date":
            cells.append(age(value, now) if value else None)
        elif column["type"] in {"integer", "number", "boolean"}:
            cells.append(value)
        else:
            cells.append(None if value is None else str(value))
    return cells


def _columns_of(resource: Resource) -> list[Body]:
    standard = {
        "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
        "description": "CreationTimestamp is a timestamp representing the server time when this object was created. "
        "It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this "
        "value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. "
        "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
    }  # fmt: skip
    return resource.columns or [standard]


def _definitions(resource: Resource) -> list[Body]:
    head = {"name": "Name", "type": "string", "format": "name", "description": _NAME_TEXT, "priority": 0}
    if resource.custom:
        return [
            head,
            *(
                {
                    "name": each["name"],
                    "type": each["type"],
                    "format": each.get("format", ""),
                    "description": each.get("description")
                    or f"Custom resource definition column (in JSONPath format): {each['jsonPath']}",
                    "priority": each.get("priority", 0),
                }
                for each in _columns_of(resource)
            ),
        ]
    columns, _ = _COLUMNS.get(resource.table, ([("Age", "string", 0)], None))
    return [
        head,
        *(
            {"name": name, "type": kind, "format": "", "description": "", "priority": prio}
            for name, kind, prio in columns
        ),
    ]


def table(items: list[Body], resource: Resource, meta: Body, now: Instant, include: str) -> Body:
    """Return objects as a table."""
    rows = []
    for body in items:
        shown_age = age(body["metadata"].get("creationTimestamp", ""), now)
        if resource.custom:
            cells = _custom_cells(body, resource, now)
        else:
            found = _COLUMNS.get(resource.table)
            cells = found[1](body, shown_age) if found else [body["metadata"]["name"], shown_age]
        row: Body = {"cells": cells}
        if include == "Object":
            row["object"] = {"kind": resource.kind, "apiVersion": resource.api_version, **body}
        elif include != "None":
            row["object"] = partial(body)
        rows.append(row)
    return {
        "kind": "Table",
        "apiVersion": META,
        "metadata": {k: v for k, v in meta.items() if v != ""},
        "columnDefinitions": _definitions(resource),
        "rows": rows,
    }
