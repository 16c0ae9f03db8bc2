"""What one JSON text of a watch stream says: an object came, changed, went; a bookmark; an error; nothing we can use.

Understood are `{"received", "type", "object"}` as our recorder writes it, `{"type", "object"}` as the API and
`kubectl --output-watch-events` write it, objects without a type as `kubectl get -w -o json` writes them (for these
"modified" is all that can be said: that one is new or gone does not show), and lists of such objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from arcfsm.domain.instant import Instant, parse_instant
from arcfsm.domain.jsonvalue import EMPTY, JsonObject, integer_at, list_at, text_at
from arcfsm.replay.importing.texts import Text

_WORD: Final = re.compile(r"[A-Za-z]{1,40}")


class Says(StrEnum):
    """The kinds of records."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"
    BARE = "bare"
    """An object without a type."""
    BROKEN = "broken"
    """Something that can't be understood."""


_WATCH_EVENTS: Final = {says.value: says for says in Says if says not in {Says.BARE, Says.BROKEN}}
OBJECT_WORDS: Final = frozenset({Says.ADDED, Says.MODIFIED, Says.DELETED, Says.BARE})


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One record, with the line it begins at."""

    line: int
    says: Says
    object: JsonObject = msgspec.field(default_factory=lambda: EMPTY)
    received: Instant | None = None
    problem: str = ""
    """Why it is broken, or what the error says."""


class OtherFormatError(Exception):
    """The text belongs to another format; the message names it."""


def records_of(text: Text) -> Iterator[Record]:
    """Yield the records of one text: one, or one for every item of a list. Raises OtherFormatError."""
    if text.broken:
        yield Record(line=text.line, says=Says.BROKEN, problem=text.broken)
        return
    value = text.value
    if not isinstance(value, Mapping):
        yield Record(line=text.line, says=Says.BROKEN, problem="it is no object")
        return
    inner = value.get("object")
    if "type" in value and isinstance(inner, Mapping):
        yield _event(text.line, text_at(value, "type"), inner, text_at(value, "received"))
        return
    if text_at(value, "apiVersion").startswith("audit.k8s.io/"):
        raise OtherFormatError("audit")
    kind = text_at(value, "kind")
    if kind == "Status":
        yield Record(line=text.line, says=Says.ERROR, problem=_error(value))
    elif kind.endswith("List") and isinstance(value.get("items"), list):
        for item in list_at(value, "items"):
            if isinstance(item, Mapping):
                yield Record(line=text.line, says=Says.BARE, object=item)
            else:
                yield Record(line=text.line, says=Says.BROKEN, problem="the list holds something that is no object")
    elif kind and isinstance(value.get("metadata"), Mapping):
        yield Record(line=text.line, says=Says.BARE, object=value)
    else:
        yield Record(line=text.line, says=Says.BROKEN, problem="it is neither a watch event nor an object")


def _event(line: int, kind: str, inner: JsonObject, received: str) -> Record:
    says = _WATCH_EVENTS.get(kind.upper())
    if says is None:
        return Record(line=line, says=Says.BROKEN, problem="its type is none of a watch event")
    at = _received(received)
    if says is Says.ERROR:
        return Record(line=line, says=says, received=at, problem=_error(inner))
    return Record(line=line, says=says, object=inner, received=at)


def _received(text: str) -> Instant | None:
    try:
        return parse_instant(text) if text else None
    except (ValueError, OverflowError):
        return None


def _error(status: JsonObject) -> str:
    reason = _WORD.fullmatch(text_at(status, "reason"))
    code = integer_at(status, "code")
    return " ".join(part for part in ("the watch ended:", str(code or ""), reason[0] if reason else "error") if part)
