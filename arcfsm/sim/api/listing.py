"""Lists: which version of the collection a request asks for, pages, and tokens that continue a list.

Pages are a snapshot: a token remembers the version of the first page and where it stopped. When that history was
compacted away the client gets 410 and a token with which it may go on inconsistently.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from arcfsm.sim.api.failure import (
    ApiFailure,
    Cause,
    bad_request,
    denied,
    expired,
    invalid,
    not_one_of,
    version_too_large,
)
from arcfsm.sim.api.kinds import ResourceType
from arcfsm.sim.api.metadata import quoted
from arcfsm.sim.api.rendering import View
from arcfsm.sim.api.selectors import Selector
from arcfsm.sim.api.store import Item, Store
from arcfsm.sim.api.wire_json import JsonFault, shown_character, syntax_fault

_INCONSISTENT: Final = -1
_NOT_OLDER: Final = "NotOlderThan"
_EXACT: Final = "Exact"
_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True)
class ListOptions:
    """What a list or watch asks for."""

    version: int | None = None
    """None when none was named."""
    match: str = ""
    limit: int = 0
    token: str = ""
    timeout_s: int | None = None
    bookmarks: bool = False
    initial: bool | None = None
    """sendInitialEvents, if it was said."""


def truth(text: str) -> bool:
    """Read a boolean parameter: anything but these is true."""
    return text.lower() not in {"false", "0"}


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise bad_request(f"strconv.ParseInt: parsing {quoted(text)}: invalid syntax") from error


def read_version(text: str) -> int | None:
    """Read a resourceVersion. Raises ApiFailure."""
    if text == "":
        return None
    if not text.isdigit():
        fault = f"strconv.ParseUint: parsing {quoted(text)}: invalid syntax"
        raise bad_request(f"invalid resource version: resourceVersion: Invalid value: {quoted(text)}: {fault}")
    return int(text)


def read_options(query: Mapping[str, str], *, watch: bool) -> ListOptions:
    """Read the options of a list or watch. Raises ApiFailure."""
    limit = _number(query["limit"]) if query.get("limit") else 0
    timeout = _number(query["timeoutSeconds"]) if query.get("timeoutSeconds") else None
    initial = truth(query["sendInitialEvents"]) if "sendInitialEvents" in query else None
    match = query.get("resourceVersionMatch", "")
    version_text = query.get("resourceVersion", "")
    token = query.get("continue", "")
    causes = (_watch_faults if watch else _list_faults)(match, version_text, token, initial=initial)
    if causes:
        raise invalid("meta.k8s.io", "ListOptions", "", causes)
    return ListOptions(
        version=read_version(version_text),
        match=match,
        limit=max(limit, 0),
        token=token,
        timeout_s=timeout,
        bookmarks="allowWatchBookmarks" in query and truth(query["allowWatchBookmarks"]),
        initial=initial,
    )


def _list_faults(match: str, version: str, token: str, *, initial: bool | None) -> list[Cause]:
    causes: list[Cause] = []
    field = "resourceVersionMatch"
    if match:
        if not version:
            causes.append(denied(field, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if token:
            causes.append(denied(field, "resourceVersionMatch is forbidden when continue is provided"))
        if match not in {_EXACT, _NOT_OLDER}:
            causes.append(not_one_of(field, quoted(match), [_EXACT, _NOT_OLDER, ""]))
        if match == _EXACT and version == "0":
            causes.append(denied(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if initial is not None:
        causes.append(denied("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return causes


def _watch_faults(match: str, _: str, token: str, *, initial: bool | None) -> list[Cause]:
    causes: list[Cause] = []
    field = "resourceVersionMatch"
    if initial is not None and match != _NOT_OLDER:
        causes.append(denied(field, f"sendInitialEvents requires setting resourceVersionMatch to {_NOT_OLDER}"))
    if match:
        if initial is None:
            told = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            causes.append(denied(field, told))
        if match != _NOT_OLDER:
            causes.append(not_one_of(field, quoted(match), [_NOT_OLDER]))
        if token:
            causes.append(denied(field, "resourceVersionMatch is forbidden when continue is provided"))
    return causes


def list_items(
    store: Store, resource: ResourceType, namespace: str, selector: Selector, options: ListOptions, view: View
) -> dict[str, Any]:
    """Answer a list. Raises ApiFailure."""
    start = ""
    version: int | None = None
    limit = options.limit
    if options.token:
        if options.version:
            raise bad_request("specifying resource version is not allowed when using continue")
        at, start = _read_token(options.token)
        if at != _INCONSISTENT:
            version = at
    elif options.version == 0:
        limit = 0
    elif options.version is not None:
        if options.version > store.version:
            raise version_too_large(options.version, store.version)
        if options.match == _EXACT or (not options.match and limit):
            version = options.version
    if version is not None and version < store.compacted:
        if options.token:
            raise expired(_TOO_OLD, _write_token(_INCONSISTENT, start))
        raise expired("The resourceVersion for the provided list is too old.")
    shown = version if version is not None else store.version
    rows = store.items(resource.table, namespace, version)
    if start:
        rows = [row for row in rows if row[0] >= start]
    return _page(rows, selector, limit, shown, resource, view)


def _page(
    rows: list[tuple[str, Item]], selector: Selector, limit: int, version: int, resource: ResourceType, view: View
) -> dict[str, Any]:
    chosen: list[Item] = []
    token = ""
    left = 0
    for position, (key, item) in enumerate(rows):
        if not selector.empty and not selector.matches(item):
            continue
        if limit and len(chosen) == limit:
            token = _write_token(version, key)
            left = len(rows) - position
            break
        chosen.append(item)
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if token or resource.custom:
        metadata["continue"] = token
    if token and selector.empty:
        metadata["remainingItemCount"] = left
    return view.listing(chosen, metadata)


def _write_token(version: int, start: str) -> str:
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": start}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, str]:
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except (binascii.Error, ValueError) as error:
        raise _bad_token("illegal base64 data at input byte 0") from error
    try:
        read = json.loads(raw)
        return int(read["rv"]), str(read["start"])
    except UnicodeDecodeError as error:
        first = shown_character(raw[:1].decode("latin-1"))
        raise _bad_token(f"invalid character {first} looking for beginning of value") from error
    except (ValueError, JsonFault) as error:
        raise _bad_token(syntax_fault(raw.decode("latin-1"))) from error
    except (KeyError, TypeError) as error:
        raise _bad_token("incorrect encoded start resourceVersion") from error


def _bad_token(why: str) -> ApiFailure:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")
