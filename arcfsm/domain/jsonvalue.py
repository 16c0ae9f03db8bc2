"""JSON values, their canonical bytes and their digest.

Everything that came through an API is JSON-shaped; inside the domain it is never mutated. The canonical form (sorted
keys, no blanks, UTF-8) is what documents are stored under and what the journal's hash chain covers, so it must be the
same on every machine, Python version and hash seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

import orjson

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = "Mapping[str, Json]"
Digest: TypeAlias = str
"""SHA-256 of canonical bytes, in lower-case hexadecimal."""

EMPTY: JsonObject = {}


def canonical(value: Json) -> bytes:
    """Return the one byte form of a JSON value: keys sorted, nothing between tokens, UTF-8."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def digest(value: Json) -> Digest:
    """Return the SHA-256 of the canonical bytes."""
    return hashlib.sha256(canonical(value)).hexdigest()


def object_at(value: JsonObject, *path: str) -> JsonObject:
    """Return the object under `path`, or an empty one where anything on the way is absent or of another shape."""
    for key in path:
        child = value.get(key)
        # A plain dict is what decoders give; asking an abstract class, or making a union to ask, costs far more.
        if type(child) is not dict and not isinstance(child, Mapping):
            return EMPTY
        value = child
    return value


def text_at(value: JsonObject, *path: str) -> str:
    """Return the string under `path`, or "" (the zero value of the wire format) where there is none."""
    leaf = (value if len(path) == 1 else object_at(value, *path[:-1])).get(path[-1])
    return leaf if isinstance(leaf, str) else ""


def integer_at(value: JsonObject, *path: str) -> int:
    """Return the integer under `path`, or 0 (the zero value of the wire format) where there is none."""
    leaf = object_at(value, *path[:-1]).get(path[-1])
    return leaf if isinstance(leaf, int) and not isinstance(leaf, bool) else 0


def list_at(value: JsonObject, *path: str) -> Sequence[Json]:
    """Return the list under `path`, or an empty one."""
    leaf = (value if len(path) == 1 else object_at(value, *path[:-1])).get(path[-1])
    return cast("Sequence[Json]", leaf) if type(leaf) is list or isinstance(leaf, (list, tuple)) else ()


def objects_at(value: JsonObject, *path: str) -> tuple[JsonObject, ...]:
    """Return the objects in the list under `path`; elements of another shape are left out."""
    found = list_at(value, *path)
    return tuple([item for item in found if type(item) is dict or isinstance(item, Mapping)]) if found else ()


def strings_at(value: JsonObject, *path: str) -> dict[str, str]:
    """Return the string-to-string map under `path` (labels, annotations), keys sorted."""
    found = object_at(value, *path)
    return {key: item for key in sorted(found) if isinstance(item := found[key], str)}
