"""Semantic equality and derivation of JSON values, under a schema (D1–D9).

Three functions, one truth each: `difference` finds the first path at which two values differ, `shortfall` the first at
which a live value does not carry what is desired, and `normalize` gives the form in which equal values are the same
JSON. They agree: there is no difference exactly where the normal forms are equal, and a value never falls short of
itself (tests/property/test_drift.py).

Values that are the same object, or the same JSON, are equal whatever their schema; Python finds that out much faster
than a walk does, so a walk only ever enters the parts that differ. Everything is pure: callers may memoize by digest.

Paths are JSON pointers (RFC 6901); "" is the whole value. Keys are visited in sorted order, so the same two values
name the same path on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, cast

from arcfsm.domain.drift.quantity import canonical_quantity
from arcfsm.domain.drift.schema import Leaf, ListOf, MapOf, Pointer, Shape, Struct
from arcfsm.domain.instant import SECOND, parse_instant
from arcfsm.domain.jsonvalue import EMPTY, Digest, Json, JsonObject, digest
from arcfsm.domain.rulebook import rule

Path: TypeAlias = str
"""A JSON pointer."""

_NO_FIELDS: Final = Struct({})
_PLAIN_ITEMS: Final = ListOf(Leaf.PLAIN)
_ZERO_TIME: Final = parse_instant("0001-01-01T00:00:00Z")


def deep_equal(a: Json, b: Json, schema: Shape) -> bool:
    """Whether two values are equal: null lists and maps equal empty ones, absent values equal zeros (D1–D5)."""
    return difference(a, b, schema) is None


def deep_derivative(desired: Json, live: Json, schema: Shape) -> bool:
    """Whether `live` carries what is desired; what is unset on the desired side matches anything (D7–D9)."""
    return shortfall(desired, live, schema) is None


def normal_digest(value: Json, schema: Shape) -> Digest:
    """Return the digest of the normal form: equal values, and no others, have the same."""
    return digest(normalize(value, schema))


@rule("D6", "values typed by value equal their absence, pointers don't; quantities and times have one spelling", "D15")
def normalize(value: Json, schema: Shape) -> Json:
    """Return the normal form of a value (D6).

    It leaves out every field that is zero and spells quantities and times in one way. None stands for the zero of any
    type, `{}` for a pointer to it. A value that does not fit its schema is taken as PLAIN.
    """
    if value is None:
        return None
    if isinstance(schema, Pointer):
        found = normalize(value, schema.to)
        return {} if found is None else found
    if isinstance(schema, Struct) and isinstance(value, dict | Mapping):
        fields = ((key, normalize(item, schema.fields.get(key, Leaf.PLAIN))) for key, item in value.items())
        return {key: item for key, item in fields if item is not None} or None
    if isinstance(schema, MapOf) and isinstance(value, dict | Mapping):
        return {key: normalize(item, schema.value) for key, item in value.items()} or None
    if isinstance(schema, ListOf) and isinstance(value, list | tuple):
        return [normalize(item, schema.item) for item in value] or None
    return _normal_leaf(value, schema if isinstance(schema, Leaf) else Leaf.PLAIN)


def _normal_leaf(value: Json, leaf: Leaf) -> Json:
    if isinstance(value, str) and leaf is Leaf.PLAIN:
        return value or None
    if leaf is Leaf.VERBATIM or (leaf is Leaf.INT_OR_STRING and isinstance(value, str)):
        return value
    if leaf is Leaf.QUANTITY and isinstance(value, str | int | float) and not isinstance(value, bool):
        spelled = canonical_quantity(value)
        if spelled is not None:
            return None if spelled == "0" else spelled
    if leaf is Leaf.TIME and isinstance(value, str):
        return _normal_time(value)
    if isinstance(value, dict | Mapping):
        return normalize(value, _NO_FIELDS)
    if isinstance(value, list | tuple):
        return normalize(value, _PLAIN_ITEMS)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value or None


def _normal_time(text: str) -> Json:
    """Spell a time as whole seconds since the epoch (`@1764590400`), the resolution that the API writes (D2)."""
    try:
        instant = parse_instant(text)
    except ValueError:
        return text or None
    return None if instant == _ZERO_TIME else f"@{instant // SECOND}"


@rule(
    "D1",
    "semantic equality: empty equals null, order counts in lists, a nil pointer differs from zero",
    "D2",
    "D3",
    "D4",
    "D5",
)
def difference(a: Json, b: Json, schema: Shape) -> Path | None:
    """Return the first path at which two values differ, or None where they are equal (D1–D5)."""
    if a is b or a == b:
        return None
    if isinstance(schema, Pointer):
        return "" if a is None or b is None else difference(a, b, schema.to)
    if schema is Leaf.PLAIN:
        schema = _evident_shape(a, b)
    if isinstance(schema, Struct) and _objects(a, b):
        left, right = cast("JsonObject", a or EMPTY), cast("JsonObject", b or EMPTY)
        for key in sorted(left.keys() | right.keys()):
            tail = difference(left.get(key), right.get(key), schema.fields.get(key, Leaf.PLAIN))
            if tail is not None:
                return _below(key, tail)
        return None
    if isinstance(schema, MapOf) and _objects(a, b):
        left, right = cast("JsonObject", a or EMPTY), cast("JsonObject", b or EMPTY)
        for key in sorted(left.keys() | right.keys()):
            both = key in left and key in right
            tail = difference(left[key], right[key], schema.value) if both else ""
            if tail is not None:
                return _below(key, tail)
        return None
    if isinstance(schema, ListOf) and _lists(a, b):
        first, second = cast("Sequence[Json]", a or ()), cast("Sequence[Json]", b or ())
        for index, (one, other) in enumerate(zip(first, second, strict=False)):
            tail = difference(one, other, schema.item)
            if tail is not None:
                return _below(str(index), tail)
        return None if len(first) == len(second) else _below(str(min(len(first), len(second))), "")
    return None if normalize(a, schema) == normalize(b, schema) else ""


@rule("D7", "derivation: unset matches anything but numbers and booleans typed by value; lists by prefix", "D8", "D9")
def shortfall(desired: Json, live: Json, schema: Shape) -> Path | None:
    """Return the first path at which `live` does not carry what is desired, or None where it does (D7–D9).

    Strings, lists, maps and pointers that are unset on the desired side match anything; lists are compared up to the
    length desired, so that what is appended is ignored and what is put in front is not; further keys of live maps are
    ignored. Numbers, booleans, quantities and times that are typed by value have no unset state: they are compared
    even where they are zero.
    """
    if desired is live or desired == live:
        return None
    if isinstance(schema, Pointer):
        if desired is None:
            return None
        return "" if live is None else shortfall(desired, live, schema.to)
    if schema is Leaf.PLAIN:
        schema = _evident_shape(desired, live)
    if isinstance(schema, Struct) and _objects(desired, live):
        wanted, found = cast("JsonObject", desired or EMPTY), cast("JsonObject", live or EMPTY)
        for key in sorted(wanted.keys() | found.keys()):
            tail = shortfall(wanted.get(key), found.get(key), schema.fields.get(key, Leaf.PLAIN))
            if tail is not None:
                return _below(key, tail)
        return None
    if isinstance(schema, MapOf) and _objects(desired, live):
        wanted, found = cast("JsonObject", desired or EMPTY), cast("JsonObject", live or EMPTY)
        for key in sorted(wanted):
            tail = shortfall(wanted[key], found[key], schema.value) if key in found else ""
            if tail is not None:
                return _below(key, tail)
        return None
    if isinstance(schema, ListOf) and _lists(desired, live):
        first, second = cast("Sequence[Json]", desired or ()), cast("Sequence[Json]", live or ())
        for index, item in enumerate(first):
            tail = shortfall(item, second[index], schema.item) if index < len(second) else ""
            if tail is not None:
                return _below(str(index), tail)
        return None
    return _leaf_shortfall(desired, live, schema)


def _leaf_shortfall(desired: Json, live: Json, schema: Shape) -> Path | None:
    """Compare what has no parts; a shape that the values don't fit counts as a leaf."""
    if schema is Leaf.PLAIN and (desired == "" or (desired is None and isinstance(live, str))):
        return None
    if schema is Leaf.INT_OR_STRING and desired == "" and isinstance(live, str):
        return None
    return None if normalize(desired, schema) == normalize(live, schema) else ""


def _evident_shape(a: Json, b: Json) -> Shape:
    """Return the shape that the JSON of two values typed by value shows."""
    if _objects(a, b):
        return _NO_FIELDS
    if _lists(a, b):
        return _PLAIN_ITEMS
    return Leaf.PLAIN


def _objects(a: Json, b: Json) -> bool:
    return (a is None or isinstance(a, dict | Mapping)) and (b is None or isinstance(b, dict | Mapping))


def _lists(a: Json, b: Json) -> bool:
    return (a is None or isinstance(a, list | tuple)) and (b is None or isinstance(b, list | tuple))


def _below(key: str, tail: Path) -> Path:
    return f"/{key.replace('~', '~0').replace('/', '~1')}{tail}"
