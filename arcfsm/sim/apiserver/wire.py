"""Bodies as they arrive: JSON with the complaints of Go's decoder, duplicate fields, and what kind a body claims."""

from __future__ import annotations

import json
from typing import Any, Final

import orjson
import yaml

from arcfsm.sim.apiserver.message import Request
from arcfsm.sim.apiserver.problems import Problem, bad_request
from arcfsm.sim.apiserver.typed import json_kind

Body = dict[str, Any]
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
BODY_LIMIT: Final = 3 * 1024 * 1024
_GO_TYPE: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


def too_large() -> Problem:
    """Build the refusal of a body that is too long."""
    message = f"Request entity too large: limit is {BODY_LIMIT}"
    return Problem(413, "RequestEntityTooLarge", message)


def not_protobuf(request: Request, kind: str) -> Problem:
    """Build the refusal of a body that says it is protobuf. None is ever read here."""
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind}): provided data does not appear to be a protobuf "
        f"message, expected prefix [107 56 115 0] ({shown(request.raw or b'')})"
    )


def unsupported_type() -> Problem:
    """Build the refusal of a body in a format nobody reads."""
    message = (
        "the body of the request was in an unknown format - accepted media types include: application/json, "
        "application/yaml, application/vnd.kubernetes.protobuf"
    )
    return Problem(415, "UnsupportedMediaType", message)


def _yaml(raw: bytes, kind: str) -> Any:
    try:
        return orjson.loads(orjson.dumps(yaml.safe_load(raw), default=str))
    except (yaml.YAMLError, TypeError) as error:
        raise _unrecognized(kind, f"yaml: {error}", shown(raw)) from None


def _marked(pairs: list[tuple[str, Any]]) -> Any:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = [key for key, _ in pairs if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
        return _Twice(found, list(dict.fromkeys(twice)))
    return found


class _Twice(dict[str, Any]):
    """An object in which fields came twice."""

    def __init__(self, found: Body, fields: list[str]) -> None:
        super().__init__(found)
        self.fields = fields


def load(request: Request, kind: str) -> tuple[Any, list[str]]:
    """Return the body of a write and the paths of fields that came twice. Raises Problem for what is not JSON."""
    if request.raw is None:
        if request.data is None:
            raise _unrecognized(kind, "unexpected end of JSON input", "<empty>")
        return request.data, []
    raw = request.raw
    if len(raw) > BODY_LIMIT:
        raise too_large()
    if request.content_type not in {"", "application/json", "application/yaml"}:
        raise unsupported_type()
    if request.content_type == "application/yaml":
        return _yaml(raw, kind), []
    if not raw.strip():
        raise _unrecognized(kind, "unexpected end of JSON input", "<empty>")
    try:
        if b'"' not in raw or len(raw) > 200_000:
            return orjson.loads(raw), []
        value = json.loads(raw, object_pairs_hook=_marked)
    except ValueError as error:
        raise _unrecognized(kind, syntax_error(raw.decode("utf-8", "replace"), error), shown(raw)) from None
    duplicates: list[str] = []
    _collect(value, "", duplicates)
    return value, duplicates


def shown(raw: bytes) -> str:
    """Return a body as the refusal of an unreadable one quotes it: the first 30 bytes, in hex when it is no object."""
    if not raw:
        return "<empty>"
    head, more = raw[:30], " ..." if len(raw) > 30 else ""
    return (head.decode("utf-8", "replace") if raw.startswith(b"{") else head.hex()) + more


def _collect(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, dict):
        if isinstance(value, _Twice):
            found.extend(f"{path}.{name}" if path else name for name in value.fields)
        for key, each in value.items():
            if isinstance(each, (dict, list)):
                _collect(each, f"{path}.{key}" if path else key, found)
    elif isinstance(value, list):
        for n, each in enumerate(value):
            if isinstance(each, (dict, list)):
                _collect(each, f"{path}[{n}]", found)


def syntax_error(text: str, error: ValueError) -> str:
    """Return the text of Go's decoder for a body that is not JSON."""
    at = error.pos if isinstance(error, json.JSONDecodeError) else 0
    while at < len(text) and text[at].isspace():
        at += 1
    if at >= len(text) or "Unterminated" in str(error):
        return "unexpected end of JSON input"
    return f"invalid character '{text[at]}' looking for beginning of value"


def _unrecognized(kind: str, why: str, quoted_body: str) -> Problem:
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; "
        f"json parse error: {why} ({quoted_body})"
    )


def _hex(request: Request, value: Any) -> str:
    return shown(request.raw if request.raw is not None else orjson.dumps(value))


def claimed_kind(request: Request, value: Any, kind: str, *, custom: bool) -> tuple[str, str]:
    """Return apiVersion and kind of a body, empty where a built-in kind may leave them out. Raises Problem."""
    if value is None and not custom:
        return "", ""
    if value is not None and not isinstance(value, dict):
        why = f"json: cannot unmarshal {json_kind(value)} into Go value of type {_GO_TYPE}"
        raise _unrecognized(kind, why, _hex(request, value))
    found: Body = value or {}
    for name in ("apiVersion", "kind"):
        if not isinstance(found.get(name, ""), str) and found.get(name) is not None:
            title = {"apiVersion": "apiVersion", "kind": "kind"}[name]
            why = f"json: cannot unmarshal {json_kind(found[name])} into Go struct field .{title} of type string"
            raise _unrecognized(kind, why, _hex(request, value))
    version, claimed = found.get("apiVersion") or "", found.get("kind") or ""
    if custom:
        if not claimed:
            raise bad_request(
                f"the object provided is unrecognized (must be of type {kind}): "
                f"Object 'Kind' is missing in '{_text(request, value)}' ({_hex(request, value)})"
            )
    return version, claimed


def _text(request: Request, value: Any) -> str:
    raw = request.raw if request.raw is not None else orjson.dumps(value)
    return raw.decode("utf-8", "replace")
