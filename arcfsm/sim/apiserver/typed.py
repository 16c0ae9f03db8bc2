"""Typed decoding: what a Go server keeps of a JSON body when it reads it into structs and writes it back.

Guaranteed: unknown fields are dropped and reported, empty values of optional fields disappear, structs held by value
appear even when nobody sent them, values of a wrong type are refused with the text of Go's JSON decoder. The result
shares nothing with what was decoded.
"""

from __future__ import annotations

import base64
import binascii
import copy
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from arcfsm.sim.apiserver.quantity import canonical

Body = dict[str, Any]
_SCALARS: Final = {"string", "int32", "int64", "bool", "time", "microtime", "bytes", "quantity", "any", "intstr"}
_GO_NAMES: Final = {"time": "Time", "microtime": "MicroTime"}
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_MICRO: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
_ELEMENTS: Final = (
    ("2006", r"\d{4}"), ("-", "-"), ("01", r"\d\d"), ("-", "-"), ("02", r"\d\d"), ("T", "T"),
    ("15", r"\d\d"), (":", ":"), ("04", r"\d\d"), (":", ":"), ("05", r"\d\d"),
)  # fmt: skip
_FRACTION: Final = (".000000", r"\.\d{6}")


class DecodeError(Exception):
    """A value cannot be read into its type."""


@dataclass(frozen=True)
class Field:
    """One field of a struct: its JSON name and its type. Pointers keep empty values; `always` writes empty ones."""

    name: str
    type: str
    shape: str
    pointer: bool
    always: bool

    def go_type(self) -> str:
        """Return how Go names the type of the field's elements in an error."""
        return _GO_NAMES.get(self.type, self.type)


@dataclass
class Report:
    """What was found besides the value."""

    unknown: list[str] = field(default_factory=list)


class Types:
    """A set of struct types, read from a compact description: a struct's name, then its indented fields.

    A field is `name type`; the type may be prefixed `*` (pointer), `[]` (list) or `map:`, and followed by `!` when it
    is written although it is empty. `+Name` takes in the fields of another struct.
    """

    def __init__(self, description: str) -> None:
        self.structs: dict[str, dict[str, Field]] = {}
        fields: dict[str, Field] = {}
        for line in description.splitlines():
            if not line.strip():
                continue
            if not line.startswith(" "):
                fields = self.structs.setdefault(line.strip(), {})
                continue
            for entry in line.split(","):
                text = entry.strip()
                if not text:
                    continue
                if text.startswith("+"):
                    fields.update(self.structs[text[1:]])
                    continue
                name, _, kind = text.partition(" ")
                always = kind.endswith("!")
                kind = kind.strip().rstrip("!")
                pointer = kind.startswith("*")
                kind = kind.lstrip("*")
                shape = "list" if kind.startswith("[]") else "map" if kind.startswith("map:") else "one"
                kind = kind.removeprefix("[]").removeprefix("map:")
                fields[name] = Field(name, kind, shape, pointer, always)

    def decode(self, struct: str, value: Any, report: Report | None = None) -> Body:
        """Read a value into a struct. Raises DecodeError."""
        return self._struct(struct, value, "", struct, "", report or Report())

    def _struct(self, struct: str, value: Any, path: str, owner: str, dotted: str, report: Report) -> Body:
        fields = self.structs[struct]
        if value is None:
            value = {}
        elif not isinstance(value, dict):
            raise DecodeError(_mismatch(value, owner, dotted, f"v1.{struct}"))
        for name in value:
            if name not in fields:
                report.unknown.append(f"{path}.{name}" if path else name)
        out: Body = {}
        for name, spec in fields.items():
            given = value.get(name)
            if given is None:
                if spec.always or (spec.shape == "one" and not spec.pointer and spec.type in self.structs):
                    out[name] = self._zero(spec)
                continue
            inner = f"{path}.{name}" if path else name
            read = self._field(spec, given, inner, struct, f"{dotted}.{name}" if dotted else name, report)
            if (
                spec.pointer
                or spec.always
                or not _empty(read, by_value=spec.type in self.structs and spec.shape == "one")
            ):
                out[name] = read
        return out

    def _zero(self, spec: Field) -> Any:
        if spec.shape != "one":
            return None
        if spec.type in self.structs:
            return self._struct(spec.type, {}, "", "", "", Report())
        return {"string": "", "bytes": "", "bool": False, "int32": 0, "int64": 0, "quantity": "0"}.get(spec.type)

    def _field(self, spec: Field, value: Any, path: str, owner: str, dotted: str, report: Report) -> Any:
        if spec.shape == "list":
            if not isinstance(value, list):
                raise DecodeError(_mismatch(value, owner, dotted, f"[]{self._named(spec)}"))
            items = [self._one(spec, each, f"{path}[{n}]", owner, dotted, report) for n, each in enumerate(value)]
            return items or None
        if spec.shape == "map":
            if not isinstance(value, dict):
                raise DecodeError(_mismatch(value, owner, dotted, f"map[string]{self._named(spec)}"))
            pairs = ((k, self._one(spec, v, f"{path}.{k}", owner, dotted, report)) for k, v in value.items())
            return {k: v for k, v in pairs if not (v is None and spec.type == "any")} or None
        return self._one(spec, value, path, owner, dotted, report)

    def _named(self, spec: Field) -> str:
        return f"v1.{spec.type}" if spec.type in self.structs else spec.go_type()

    def _one(self, spec: Field, value: Any, path: str, owner: str, dotted: str, report: Report) -> Any:
        kind = spec.type
        if kind == "string":
            if value is None:
                return ""
            if isinstance(value, str):
                return value
        elif kind in self.structs:
            return self._struct(kind, value, path, owner, dotted, report)
        elif kind == "bool":
            if value is None:
                return False
            if isinstance(value, bool):
                return value
        elif kind in {"int32", "int64"}:
            if value is None:
                return 0
            if isinstance(value, int) and not isinstance(value, bool):
                return value
            if isinstance(value, float):
                raise DecodeError(_mismatch(value, owner, dotted, kind, literal=True))
        elif kind == "any":
            return copy.deepcopy(value)
        else:
            return _special(kind, value, owner, dotted)
        raise DecodeError(_mismatch(value, owner, dotted, spec.go_type()))


def _empty(value: Any, *, by_value: bool) -> bool:
    return value is None or (not by_value and (value in ("", 0, False)) and not isinstance(value, dict))


def _special(kind: str, value: Any, owner: str, dotted: str) -> Any:
    if value is None:
        return "" if kind == "bytes" else None
    if kind == "quantity":
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            try:
                return canonical(value)
            except ValueError:
                pass
        raise DecodeError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    if kind == "intstr":
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            return value
        raise DecodeError(_mismatch(value, owner, dotted, "int32"))
    if not isinstance(value, str):
        raise DecodeError(_mismatch(value, owner, dotted, _GO_NAMES.get(kind, "string")))
    if kind == "bytes":
        return _bytes(value)
    return _time(value, micro=kind == "microtime")


def _time(value: str, *, micro: bool) -> str:
    layout = "2006-01-02T15:04:05.000000Z07:00" if micro else "2006-01-02T15:04:05Z07:00"
    if (_MICRO if micro else _TIME).fullmatch(value):
        try:
            moment = datetime.fromisoformat(value.upper()).astimezone(UTC)
        except ValueError:
            raise DecodeError(f'parsing time "{value}": day out of range') from None
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")
    raise DecodeError(_bad_time(value, layout, micro=micro))


def _bad_time(value: str, layout: str, *, micro: bool) -> str:
    """Return the text of Go's time parser: where it stopped, and what it wanted there."""
    rest = value
    for element, pattern in (*_ELEMENTS, *((_FRACTION,) if micro else ()), ("Z07:00", r"(?:Z|[+-]\d\d:\d\d)$")):
        found = re.match(pattern, rest)
        if not found:
            return f'parsing time "{value}" as "{layout}": cannot parse "{rest}" as "{element}"'
        rest = rest[found.end() :]
    return f'parsing time "{value}" as "{layout}": cannot parse "{rest}" as "Z07:00"'


def _bytes(value: str) -> str:
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        clean = value.replace("\n", "").replace("\r", "")
        bad = re.search(r"[^A-Za-z0-9+/]", clean)
        at = bad.start() if bad and clean[bad.start()] != "=" else len(clean) - len(clean) % 4
        raise DecodeError(f"illegal base64 data at input byte {at}") from None
    return value


def json_kind(value: Any) -> str:
    """Return how Go's JSON decoder calls a value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "null"


def _mismatch(value: Any, owner: str, dotted: str, go_type: str, *, literal: bool = False) -> str:
    shown = f"number {value}" if literal else json_kind(value)
    return f"json: cannot unmarshal {shown} into Go struct field {owner}.{dotted} of type {go_type}"
