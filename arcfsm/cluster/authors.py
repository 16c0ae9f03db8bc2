"""Who wrote a change: a best guess from `metadata.managedFields`, or nothing.

Every manager's entry names the fields it wrote last and when, to the second. A change that was just made belongs to
the newest entry, if that covers the field that changed. A field that was *removed* is covered by nobody, and a deletion
leaves no entry: then the author is unknown, and unknown is what we say (B18).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from arcfsm.cluster.redaction import redact_text
from arcfsm.cluster.wire import text
from arcfsm.domain.jsonvalue import JsonObject, object_at, objects_at

FieldPath: TypeAlias = tuple[str, ...]
"""Where a field is, in the notation of `fieldsV1`: `("f:status", "f:phase")`."""

LABELS: FieldPath = ("f:metadata", "f:labels")
ANNOTATIONS: FieldPath = ("f:metadata", "f:annotations")
FINALIZERS: FieldPath = ("f:metadata", "f:finalizers")
SPEC: FieldPath = ("f:spec",)
STATUS: FieldPath = ("f:status",)


def author_of(obj: JsonObject, paths: Iterable[FieldPath]) -> str:
    """Return the manager whose write, of the newest of all, covers the first field that any covers; else ""."""
    wanted = tuple(paths)
    entries = objects_at(obj, "metadata", "managedFields") if wanted else ()
    if not entries:
        return ""
    times = [text(entry, "time") for entry in entries]
    newest = max(times)
    latest = [entry for entry, time in zip(entries, times, strict=True) if time == newest][::-1]
    for path in wanted:
        for entry in latest:
            if _covers(entry, path):
                return redact_text(text(entry, "manager"))
    return ""


def creator_of(obj: JsonObject) -> str:
    """Return the manager with the oldest write of an object that was just created; "" where there is none."""
    entries = [one for one in objects_at(obj, "metadata", "managedFields") if not text(one, "subresource")]
    oldest = min(entries, key=lambda entry: text(entry, "time"), default=None)
    return redact_text(text(oldest, "manager")) if oldest is not None else ""


def _covers(entry: JsonObject, path: FieldPath) -> bool:
    fields = object_at(entry, "fieldsV1", *path[:-1])
    return path[-1] in fields
