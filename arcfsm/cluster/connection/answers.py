"""From the bytes of an answer to a Reply, and to lines of a watch.

Lists of built-in kinds leave `apiVersion` and `kind` out of their items, and a metadata-only answer shows a kind of its
own: readers above are told the kind of the resource in every case.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final, cast

import orjson

from arcfsm.cluster.wire import PARTIAL
from arcfsm.domain.exchange import NO_ANSWER, Reply
from arcfsm.domain.jsonvalue import JsonObject
from arcfsm.domain.kinds import RESOURCES, Resource

JSON: Final = "application/json"
PARTIAL_OBJECT: Final = f"{JSON};as={PARTIAL};g=meta.k8s.io;v=v1"
"""Without a second choice: a server that can't do it refuses (406) rather than send the content."""
PARTIAL_LIST: Final = f"{JSON};as={PARTIAL}List;g=meta.k8s.io;v=v1"
RETRY_AFTER_MAX_S: Final = 3600
_KIND_OF: Final = {resource: kind.value for kind, resource in RESOURCES.items()}


def read_reply(status: int, headers: Mapping[str, str], raw: bytes) -> Reply:
    """Read an answer. One that says "done" in no JSON object is none; a refusal may come in any form, from anybody."""
    body: JsonObject = {}
    try:
        found = orjson.loads(raw) if raw else {}
        if isinstance(found, dict):
            body = found
        elif 200 <= status < 300:
            return Reply(NO_ANSWER, detail=f"answer {status} is not a JSON object")
    except orjson.JSONDecodeError:
        if 200 <= status < 300:
            return Reply(NO_ANSWER, detail=f"answer {status} is not JSON")
    return Reply(status, body, retry_after_s=retry_after(headers.get("retry-after", "")))


def retry_after(text: str) -> int:
    """Read a `Retry-After` header, seconds or a date; 0 where there is none or it makes no sense."""
    if not text:
        return 0
    if text.isascii() and text.isdigit():
        return min(int(text[:9]), RETRY_AFTER_MAX_S)
    try:
        left = parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, OverflowError):
        return 0
    return min(max(int(left), 0), RETRY_AFTER_MAX_S)


def name_items(resource: Resource, body: JsonObject) -> None:
    """Write `apiVersion` and `kind` into the items of a list, in place: nobody else has seen it yet."""
    items = body.get("items")
    if not isinstance(items, list):
        return
    kind = kind_of(resource) or str(body.get("kind", "")).removesuffix("List")
    version = resource.api_version
    for one in items:
        if isinstance(one, dict):
            one["apiVersion"] = version
            one["kind"] = kind


def read_line(resource: Resource, raw: bytes) -> JsonObject | None:
    """Read a line of a watch, kind restored. None for what is no event."""
    try:
        line: Any = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(line, dict) or not isinstance(line.get("type"), str) or not isinstance(line.get("object"), dict):
        return None
    if line["type"] != "ERROR":
        shown = line["object"]
        kind = kind_of(resource)
        if kind and shown.get("kind") != kind:
            shown["apiVersion"], shown["kind"] = resource.api_version, kind
    return cast("JsonObject", line)


def kind_of(resource: Resource) -> str:
    """Return the kind that a resource serves, "" where that is unknown here."""
    return _KIND_OF.get(resource, "")
