"""The words in which a schema says how a JSON value was typed before it became JSON (D6).

JSON cannot tell an absent boolean from a pointer to false, or a struct from a map. Comparisons must: to take the first
two for equal hides real changes, to take `resources: {}` for different from absent bumps revisions for ever. So a
schema names what is special (pointers, maps, lists of such, quantities, times, ports); whatever it does not name is
typed by value, and its JSON shows whether it is a scalar, a list or a struct.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias


class Leaf(Enum):
    """Values without named parts."""

    PLAIN = "plain"
    """Typed by value: absent equals its zero (`""`, 0, false, an empty list, a struct of zeros)."""
    QUANTITY = "quantity"
    TIME = "time"
    INT_OR_STRING = "int-or-string"
    VERBATIM = "verbatim"
    """Raw JSON, compared as it is."""


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    """An object with known fields; fields not named are PLAIN. The empty struct equals an absent one."""

    fields: Mapping[str, Shape]


@dataclass(frozen=True, slots=True, eq=False)
class Pointer:
    """A value that may be nil: absent and set to zero are different (D4)."""

    to: Shape


@dataclass(frozen=True, slots=True, eq=False)
class ListOf:
    """An ordered list; null equals empty (D3)."""

    item: Shape


@dataclass(frozen=True, slots=True, eq=False)
class MapOf:
    """A map from any key; null equals empty, but a key with a zero value is there (D3)."""

    value: Shape


Shape: TypeAlias = "Leaf | Struct | Pointer | ListOf | MapOf"

PLAIN: Final = Leaf.PLAIN
QUANTITY: Final = Leaf.QUANTITY
TIME: Final = Leaf.TIME
INT_OR_STRING: Final = Leaf.INT_OR_STRING
VERBATIM: Final = Leaf.VERBATIM
STRINGS: Final = MapOf(PLAIN)
"""A map of strings: labels, annotations, node selectors."""


def struct(pointers: str = "", **fields: Shape) -> Struct:
    """Describe a struct: the names of pointers with nothing special behind them, and the fields that are special."""
    return Struct({**dict.fromkeys(pointers.split(), Pointer(PLAIN)), **fields})
