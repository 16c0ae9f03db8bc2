"""Structural schemas of custom resources: unknown fields pruned, defaults filled in, everything else checked.

Shaping makes a fresh value: fields the schema does not know are dropped and reported, nulls are dropped or replaced by
a default unless the schema allows them, defaults are filled in. Checking finds faults with the texts of the real
validator, including its habit of telling one bad number twice.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, TypeAlias

from arcfsm.sim.api.failure import Cause, duplicate, not_one_of, required, wrong
from arcfsm.sim.api.scalars import read_time

Schema: TypeAlias = dict[str, Any]

_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_INT_OR_TEXT: Final = "x-kubernetes-int-or-string"
_LIST_TYPE: Final = "x-kubernetes-list-type"
_LIST_KEYS: Final = "x-kubernetes-list-map-keys"
_TYPE_FAULT: Final = "FieldValueTypeInvalid"


def shape(value: Any, schema: Schema, path: str, unknown: list[str]) -> Any:
    """Return a value as it is stored; paths of dropped fields are added to `unknown`."""
    if type(value) is dict:
        return _shape_object(value, schema, path, unknown)
    if type(value) is list:
        items = schema.get("items")
        if not isinstance(items, dict):
            return value
        return [shape(item, items, f"{path}[{index}]", unknown) for index, item in enumerate(value)]
    if type(value) is float and value.is_integer():
        return int(value)
    return value


def _shape_object(value: dict[str, Any], schema: Schema, path: str, unknown: list[str]) -> dict[str, Any]:
    properties: dict[str, Schema] = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    keeps = schema.get(_PRESERVE) or others is True
    out: dict[str, Any] = {}
    for name, item in value.items():
        inner = properties.get(name)
        if inner is None:
            if isinstance(others, dict):
                inner = others
            elif keeps:
                out[name] = item
                continue
            else:
                unknown.append(f"{path}.{name}" if path else name)
                continue
        if item is None:
            if inner.get("nullable"):
                out[name] = None
            continue
        out[name] = shape(item, inner, f"{path}.{name}" if path else name, unknown)
    for name, inner in properties.items():
        if "default" in inner and name not in out:
            out[name] = inner["default"]
    return out


def check(value: Any, schema: Schema, path: str, shown: str, causes: list[Cause]) -> None:
    """Find what the schema does not allow. `path` is the field's name; `shown` is how messages call it."""
    kind = _kind(value)
    if value is None and schema.get("nullable"):
        return
    wanted = schema.get("type")
    either = schema.get(_INT_OR_TEXT)
    if either:
        if kind not in {"integer", "string"}:
            _either_fault(kind, path, shown, causes, any_of="anyOf" in schema)
            return
    elif wanted and not _fits(kind, wanted):
        causes.append(_type_fault(kind, wanted, path, shown))
        if wanted == "integer" and kind == "number":
            causes.append(_number_fault(shown))
        return
    if "enum" in schema and value not in schema["enum"]:
        causes.append(not_one_of(path, json.dumps(value), [str(choice) for choice in schema["enum"]]))
    if isinstance(value, str):
        _check_text(value, schema, path, shown, causes)
    elif isinstance(value, dict):
        _check_object(value, schema, path, shown, causes)
    elif isinstance(value, list):
        _check_list(value, schema, path, shown, causes)
    elif kind in {"integer", "number"}:
        _check_number(value, schema, path, shown, causes)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _fits(kind: str, wanted: str) -> bool:
    return kind == wanted or (wanted == "number" and kind == "integer")


def _type_fault(kind: str, wanted: str, path: str, shown: str) -> Cause:
    return Cause(_TYPE_FAULT, f'Invalid value: "{kind}": {shown} in body must be of type {wanted}: "{kind}"', path)


def _number_fault(shown: str) -> Cause:
    return wrong("<nil>", '""', f"Checked value must be of type integer (default format) in {shown}")


def _either_fault(kind: str, path: str, shown: str, causes: list[Cause], *, any_of: bool) -> None:
    causes.append(_type_fault(kind, "integer,string", path, shown))
    if not any_of:
        return
    causes.append(wrong("<nil>", '""', f'"{shown}" must validate at least one schema (anyOf)'))
    causes.append(_type_fault(kind, "integer", path, shown))
    if kind == "number":
        causes.append(_number_fault(shown))


def _check_text(value: str, schema: Schema, path: str, shown: str, causes: list[Cause]) -> None:
    pattern = schema.get("pattern")
    quoted = json.dumps(value, ensure_ascii=False)
    if pattern and re.search(pattern, value) is None:
        causes.append(wrong(path, quoted, f"{shown} in body should match '{pattern}'"))
    least, most = schema.get("minLength"), schema.get("maxLength")
    if least is not None and len(value) < least:
        causes.append(wrong(path, quoted, f"{shown} in body should be at least {least} chars long"))
    if most is not None and len(value) > most:
        causes.append(Cause("FieldValueTooLong", f"Too long: may not be more than {most} bytes", path))
    if schema.get("format") == "date-time":
        try:
            read_time(value)
        except ValueError:
            message = f"Invalid value: {quoted}: {shown} in body must be of type date-time: {quoted}"
            causes.append(Cause(_TYPE_FAULT, message, path))


def _check_number(value: float, schema: Schema, path: str, shown: str, causes: list[Cause]) -> None:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and value < least:
        causes.append(wrong(path, json.dumps(value), f"{shown} in body should be greater than or equal to {least}"))
    if most is not None and value > most:
        causes.append(wrong(path, json.dumps(value), f"{shown} in body should be less than or equal to {most}"))


def _check_object(value: dict[str, Any], schema: Schema, path: str, shown: str, causes: list[Cause]) -> None:
    needed = [name for name in schema.get("required") or () if name not in value]
    causes += [required(f"{path}.{name}" if path else name) for name in needed]
    properties: dict[str, Schema] = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    for name, item in value.items():
        inner = properties.get(name) or (others if isinstance(others, dict) else None)
        if inner is not None:
            check(item, inner, f"{path}.{name}" if path else name, f"{shown}.{name}" if shown else name, causes)


def _check_list(value: list[Any], schema: Schema, path: str, shown: str, causes: list[Cause]) -> None:
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        causes.append(wrong(path, json.dumps(len(value)), f"{shown} in body should have at least {least} items"))
    if most is not None and len(value) > most:
        causes.append(Cause("FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items", path))
    items = schema.get("items")
    if isinstance(items, dict):
        for index, item in enumerate(value):
            check(item, items, f"{path}[{index}]", f"{shown}[{index}]", causes)
    listed = schema.get(_LIST_TYPE)
    if listed not in {"map", "set"}:
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        if listed == "map":
            if not isinstance(item, dict):
                continue
            item = {key: item[key] for key in schema.get(_LIST_KEYS, ()) if key in item}  # noqa: PLW2901  # its identity
        identity = json.dumps(item, sort_keys=True, separators=(",", ":"))
        if identity in seen:
            causes.append(duplicate(f"{path}[{index}]", identity))
        seen.add(identity)
