"""Structural schemas: what a CustomResourceDefinition makes of the objects sent under it.

Guaranteed: unknown fields are pruned (and reported), defaults filled in, nulls treated, and values checked, with the
texts of the real server. A schema is compiled once and shared.
"""

from __future__ import annotations

import copy
import json
import re
from dataclasses import dataclass, field
from typing import Any

from arcfsm.sim.apiserver.problems import Cause, required
from arcfsm.sim.apiserver.typed import json_kind

Body = dict[str, Any]
_MISSING: Any = object()
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


@dataclass
class Schema:
    """One node of a structural schema."""

    type: str = ""
    properties: dict[str, Schema] = field(default_factory=dict)
    items: Schema | None = None
    additional: Schema | None = None
    required: list[str] = field(default_factory=list)
    default: Any = _MISSING
    nullable: bool = False
    keep_unknown: bool = False
    embedded: bool = False
    int_or_string: bool = False
    raw: Body = field(default_factory=dict)
    defaults_below: bool = False

    @classmethod
    def compile(cls, raw: Body) -> Schema:
        """Read an OpenAPI v3 schema."""
        additional = raw.get("additionalProperties")
        schema = cls(
            type=raw.get("type", ""),
            properties={name: cls.compile(each) for name, each in (raw.get("properties") or {}).items()},
            items=cls.compile(raw["items"]) if isinstance(raw.get("items"), dict) else None,
            additional=cls.compile(additional) if isinstance(additional, dict) else None,
            required=list(raw.get("required") or []),
            default=raw.get("default", _MISSING),
            nullable=bool(raw.get("nullable")),
            keep_unknown=bool(raw.get("x-kubernetes-preserve-unknown-fields")) or additional is True,
            embedded=bool(raw.get("x-kubernetes-embedded-resource")),
            int_or_string=bool(raw.get("x-kubernetes-int-or-string")),
            raw={key: raw[key] for key in _CHECKS if key in raw},
        )
        below = [*schema.properties.values(), *(each for each in (schema.items, schema.additional) if each)]
        schema.defaults_below = any(each.defaults_below or each.default is not _MISSING for each in below)
        return schema


_CHECKS = (
    "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern",
    "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "multipleOf", "format",
    "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
)  # fmt: skip


def prune(schema: Schema, value: Any, path: str, unknown: list[str]) -> Any:
    """Return a copy without the fields the schema does not know; their paths are added to `unknown`."""
    if isinstance(value, dict):
        if schema.keep_unknown and not schema.properties:
            return copy.deepcopy(value)
        out: Body = {}
        for name, each in value.items():
            inner = f"{path}.{name}" if path else name
            known = schema.properties.get(name)
            if known is None:
                known = schema.additional
            if known is not None:
                out[name] = prune(known, each, inner, unknown)
            elif schema.keep_unknown or (schema.embedded and name in {"apiVersion", "kind", "metadata"}):
                out[name] = copy.deepcopy(each)
            else:
                unknown.append(inner)
        return out
    if isinstance(value, list):
        if schema.items is None:
            return copy.deepcopy(value)
        return [prune(schema.items, each, f"{path}[{n}]", unknown) for n, each in enumerate(value)]
    if isinstance(value, float) and value.is_integer() and schema.type == "integer":
        return int(value)
    return value


def fill(schema: Schema, value: Any) -> None:
    """Fill in defaults, in place; a null where there is a default counts as absent."""
    if isinstance(value, dict):
        for name, known in schema.properties.items():
            present = name in value
            if present and value[name] is None and not known.nullable:
                if known.default is not _MISSING:
                    present = False
                elif name not in schema.required:
                    del value[name]
                    continue
            if not present and known.default is not _MISSING:
                value[name] = copy.deepcopy(known.default)
            if name in value and value[name] is not None:
                fill(known, value[name])
        if schema.additional is not None:
            for name, each in list(value.items()):
                if name not in schema.properties:
                    if each is None and not schema.additional.nullable:
                        if schema.additional.default is _MISSING:
                            del value[name]
                            continue
                        value[name] = copy.deepcopy(schema.additional.default)
                    fill(schema.additional, value[name])
    elif isinstance(value, list) and schema.items is not None:
        for n, each in enumerate(value):
            if each is None and not schema.items.nullable and schema.items.default is not _MISSING:
                value[n] = copy.deepcopy(schema.items.default)
            fill(schema.items, value[n])


def _actual(value: Any) -> str:
    kind = json_kind(value)
    if kind == "bool":
        return "boolean"
    return "integer" if kind == "number" and isinstance(value, int) else kind


def check(schema: Schema, value: Any, path: str) -> list[Cause]:
    """Return all that is wrong with a value."""
    causes: list[Cause] = []
    _check(schema, value, path, causes)
    return causes


def _type_matches(schema: Schema, value: Any) -> bool:
    if value is None:
        return schema.nullable
    kind = _actual(value)
    if schema.int_or_string:
        return kind in {"integer", "string"}
    wanted = schema.type
    return not wanted or wanted == kind or (wanted == "number" and kind == "integer")


def _check(schema: Schema, value: Any, path: str, causes: list[Cause]) -> None:
    if value is None and schema.nullable:
        return
    if not _type_matches(schema, value):
        wanted = "integer" if schema.int_or_string else schema.type
        actual = _actual(value)
        if schema.int_or_string:
            text = f'Invalid value: "": "{path}" must validate at least one schema (anyOf)'
            causes.append(Cause("FieldValueInvalid", "<nil>", text))
            text = f'Invalid value: "{actual}": {path} in body must be of type integer,string: "{actual}"'
            causes.append(Cause("FieldValueTypeInvalid", path, text))
        text = f'Invalid value: "{actual}": {path} in body must be of type {wanted}: "{actual}"'
        causes.append(Cause("FieldValueTypeInvalid", path, text))
        if wanted == "integer" and isinstance(value, float):
            text = f'Invalid value: "": Checked value must be of type integer (default format) in {path}'
            causes.append(Cause("FieldValueInvalid", "<nil>", text))
        return
    _facets(schema, value, path, causes)
    if isinstance(value, dict):
        causes += [
            required(f"{path}.{name}" if path else name) for name in schema.required if value.get(name, _MISSING) is _MISSING
            or (value[name] is None and not _nullable(schema, name))
        ]  # fmt: skip
        for name, each in value.items():
            known = schema.properties.get(name, schema.additional)
            if known is None or (each is None and name in schema.required and not known.nullable):
                continue
            _check(known, each, f"{path}.{name}" if path else name, causes)
    elif isinstance(value, list) and schema.items is not None:
        for n, each in enumerate(value):
            _check(schema.items, each, f"{path}[{n}]", causes)


def _nullable(schema: Schema, name: str) -> bool:
    known = schema.properties.get(name)
    return known is not None and known.nullable


def _invalid(path: str, value: Any, text: str, reason: str = "FieldValueInvalid") -> Cause:
    shown = value if isinstance(value, (int, float)) and not isinstance(value, bool) else json.dumps(value)
    return Cause(reason, path, f"Invalid value: {shown}: {path} in body {text}")


def _facets(schema: Schema, value: Any, path: str, causes: list[Cause]) -> None:
    raw = schema.raw
    if not raw:
        return
    if "enum" in raw and value not in raw["enum"]:
        listed = ", ".join(json.dumps(each) for each in raw["enum"])
        text = f"Unsupported value: {json.dumps(value)}: supported values: {listed}"
        causes.append(Cause("FieldValueNotSupported", path, text))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        _number(raw, value, path, causes)
    elif isinstance(value, str):
        if len(value) > raw.get("maxLength", len(value)):
            limit = raw["maxLength"]
            text = f"Too long: may not be more than {limit} bytes"
            causes.append(Cause("FieldValueTooLong", path, text))
        if len(value) < raw.get("minLength", 0):
            causes.append(_invalid(path, value, f"should be at least {raw['minLength']} chars long"))
        if raw.get("format") == "date-time" and not _DATE_TIME.fullmatch(value):
            text = f"{path} in body must be of type date-time: {json.dumps(value)}"
            causes.append(Cause("FieldValueTypeInvalid", path, f"Invalid value: {json.dumps(value)}: {text}"))
        if "pattern" in raw and not re.search(raw["pattern"], value):
            causes.append(_invalid(path, value, f"should match '{raw['pattern']}'"))
    elif isinstance(value, list):
        if len(value) > raw.get("maxItems", len(value)):
            text = f"Too many: {len(value)}: must have at most {raw['maxItems']} items"
            causes.append(Cause("FieldValueTooMany", path, text))
        if len(value) < raw.get("minItems", 0):
            causes.append(_invalid(path, len(value), f"should have at least {raw['minItems']} items"))
        _list_type(raw, value, path, causes)
    elif isinstance(value, dict):
        if len(value) > raw.get("maxProperties", len(value)):
            text = f"Too many: {len(value)}: must have at most {raw['maxProperties']} items"
            causes.append(Cause("FieldValueTooMany", path, text))
        if len(value) < raw.get("minProperties", 0):
            causes.append(_invalid(path, len(value), f"should have at least {raw['minProperties']} properties"))


def _number(raw: Body, value: float, path: str, causes: list[Cause]) -> None:
    low, high = raw.get("minimum"), raw.get("maximum")
    if low is not None and (value < low or (raw.get("exclusiveMinimum") and value == low)):
        word = "greater than" if raw.get("exclusiveMinimum") else "greater than or equal to"
        causes.append(_invalid(path, value, f"should be {word} {low}"))
    if high is not None and (value > high or (raw.get("exclusiveMaximum") and value == high)):
        word = "less than" if raw.get("exclusiveMaximum") else "less than or equal to"
        causes.append(_invalid(path, value, f"should be {word} {high}"))
    bits = {"int32": 31, "int64": 63}.get(raw.get("format", ""))
    if bits and isinstance(value, int) and not -(1 << bits) <= value < (1 << bits):
        text = f"Checked value must be of type integer with format {raw['format']} in {path}"
        causes.append(Cause("FieldValueInvalid", "<nil>", f'Invalid value: "": {text}'))


def _list_type(raw: Body, value: list[Any], path: str, causes: list[Cause]) -> None:
    kind = raw.get("x-kubernetes-list-type")
    keys = raw.get("x-kubernetes-list-map-keys") or []
    if kind not in {"map", "set"} and not raw.get("uniqueItems"):
        return
    seen: list[Any] = []
    for n, each in enumerate(value):
        if kind == "map":
            if not isinstance(each, dict):
                continue
            mark: Any = {key: each[key] for key in keys if key in each}
        else:
            mark = each
        if mark in seen:
            shown = json.dumps(mark, separators=(",", ":"), sort_keys=True)
            causes.append(Cause("FieldValueDuplicate", f"{path}[{n}]", f"Duplicate value: {shown}"))
        seen.append(mark)
