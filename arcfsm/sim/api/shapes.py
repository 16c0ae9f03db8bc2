"""The shapes of built-in kinds, and reading a body through them.

A real server turns a body into typed objects and back. What clients see of that is: unknown fields vanish (with a
warning), empty values vanish where the type says so, some fields are always there, quantities and times come back in
one form, and a value of a wrong type is refused with the decoder's words. Reading through a shape does all of it in
one pass and makes fresh containers, so what was handed in is never shared with the store.

The shapes themselves are a table, `core_types.txt`.
"""

from __future__ import annotations

from importlib import resources
from typing import Any, Final, TypeAlias

from arcfsm.sim.api.scalars import QUANTITY_PATTERN, canonical_quantity, check_base64, read_micro_time, read_time

Where: TypeAlias = "tuple[Where, str, bool] | None"
"""A path as a chain: the parent, the name, and whether the name is a position in a list or a key of a map."""

_INT_MAX: Final = {"int32": 2**31 - 1, "int64": 2**63 - 1}


class DecodeFault(ValueError):  # noqa: N818  # it is the client's fault, not ours
    """A body does not have the shape of its kind; the message is the server's."""


class _Mismatch(Exception):  # noqa: N818  # caught by the struct around it, which knows its name
    def __init__(self, found: str, wanted: str, depth: int = 0) -> None:
        super().__init__(found, wanted)
        self.found = found
        self.wanted = wanted
        self.depth = depth


class Trace:
    """What is noticed while a body is read."""

    def __init__(self, *, restoring: bool = False, unknown_below: str = "") -> None:
        self.unknown: list[str] = []
        """Paths of fields nobody knows, in the order of the body."""
        self.restoring = restoring
        """Whether the body is already a tree (after a strategic merge); faults are worded differently then."""
        self.unknown_below = unknown_below


def json_kind(value: Any) -> str:
    """Name the JSON type of a value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | float):
        return "number"
    return "array" if isinstance(value, list) else "object"


def spell(where: Where, *, positions: bool) -> str:
    """Write a path, with or without positions in lists and keys of maps."""
    parts: list[str] = []
    node = where
    while node is not None:
        parent, name, inner = node
        if positions or not inner:
            parts.append(name)
        node = parent
    text = ""
    for part in reversed(parts):
        text += part if part.startswith("[") or not text else f".{part}"
    return text


class Shape:
    """How values of one type are read."""

    name = ""
    keeps_empty = False
    """Whether an empty value stays even where empty values are left out."""

    def read(self, value: Any, trace: Trace, where: Where) -> Any:
        """Read a value that is not null."""
        raise NotImplementedError

    def zero(self) -> Any:
        """Return what stands for nothing where a value must be."""
        return None


class _Anything(Shape):
    keeps_empty = True

    def read(self, value: Any, trace: Trace, where: Where) -> Any:  # noqa: ARG002
        return value


class _Text(Shape):
    name = "string"

    def read(self, value: Any, trace: Trace, where: Where) -> Any:  # noqa: ARG002
        if type(value) is not str:
            raise _Mismatch(json_kind(value), "string")
        return value

    def zero(self) -> Any:
        return ""


class _Bool(Shape):
    name = "bool"

    def read(self, value: Any, trace: Trace, where: Where) -> Any:  # noqa: ARG002
        if type(value) is not bool:
            raise _Mismatch(json_kind(value), "bool")
        return value

    def zero(self) -> Any:
        return False


class _Integer(Shape):
    def __init__(self, name: str) -> None:
        self.name = name
        self._max = _INT_MAX[name]

    def read(self, value: Any, trace: Trace, where: Where) -> Any:  # noqa: ARG002
        if type(value) is not int:
            raise _Mismatch(f"number {value}" if isinstance(value, float) else json_kind(value), self.name)
        if not -self._max - 1 <= value <= self._max:
            raise _Mismatch(f"number {value}", self.name)
        return value

    def zero(self) -> Any:
        return 0


class _IntOrText(Shape):
    name = "intstr.IntOrString"
    keeps_empty = True

    def read(self, value: Any, trace: Trace, where: Where) -> Any:  # noqa: ARG002
        if type(value) is not int and type(value) is not str:
            raise _Mismatch(json_kind(value), "int32")
        return value

    def zero(self) -> Any:
        return 0


class _Quantity(Shape):
    name = "resource.Quantity"
    keeps_empty = True

    def read(self, value: Any, trace: Trace, where: Where) -> Any:  # noqa: ARG002
        if isinstance(value, list | dict | bool):
            raise DecodeFault(f"quantities must match the regular expression '{QUANTITY_PATTERN}'")
        return canonical_quantity(value)

    def zero(self) -> Any:
        return "0"


class _Time(Shape):
    keeps_empty = True

    def __init__(self, *, micro: bool) -> None:
        self.name = "v1.MicroTime" if micro else "v1.Time"
        self._read = read_micro_time if micro else read_time

    def read(self, value: Any, trace: Trace, where: Where) -> Any:  # noqa: ARG002
        if type(value) is not str:
            raise DecodeFault(f"json: cannot unmarshal {json_kind(value)} into Go value of type string")
        return self._read(value)


class _Bytes(Shape):
    name = "[]uint8"

    def read(self, value: Any, trace: Trace, where: Where) -> Any:  # noqa: ARG002
        if type(value) is not str:
            raise _Mismatch(json_kind(value), "[]uint8")
        check_base64(value)
        return value

    def zero(self) -> Any:
        return ""


class _Pointer(Shape):
    keeps_empty = True

    def __init__(self, inner: Shape) -> None:
        self.inner = inner
        self.name = inner.name
        self.read = inner.read  # type: ignore[method-assign]  # a pointer reads as what it points to; one call less


class _List(Shape):
    def __init__(self, inner: Shape) -> None:
        self.inner = inner

    @property
    def name(self) -> str:  # type: ignore[override]  # names of structs are known once all are read
        """The type in the decoder's words."""
        return f"[]{self.inner.name}"

    def read(self, value: Any, trace: Trace, where: Where) -> Any:
        if type(value) is not list:
            raise _Mismatch(json_kind(value), self.name)
        inner = self.inner
        read = inner.read
        return [
            inner.zero() if item is None else read(item, trace, (where, f"[{index}]", True))
            for index, item in enumerate(value)
        ]


class _Map(Shape):
    def __init__(self, inner: Shape) -> None:
        self.inner = inner

    @property
    def name(self) -> str:  # type: ignore[override]  # as lists
        """The type in the decoder's words."""
        return f"map[string]{self.inner.name}"

    def read(self, value: Any, trace: Trace, where: Where) -> Any:
        if type(value) is not dict:
            raise _Mismatch(json_kind(value), self.name)
        inner = self.inner
        read = inner.read
        return {
            key: inner.zero() if item is None else read(item, trace, (where, key, True)) for key, item in value.items()
        }


class Field:
    """One field of a struct."""

    __slots__ = ("drops_empty", "merge_key", "name", "omitted", "shape")

    def __init__(self, name: str, shape: Shape, *, omitted: bool, merge_key: str | None) -> None:
        self.name = name
        self.shape = shape
        self.omitted = omitted
        self.merge_key = merge_key
        self.drops_empty = omitted and not shape.keeps_empty


class Struct(Shape):
    """An object with known fields."""

    keeps_empty = True

    def __init__(self, type_name: str) -> None:
        self.type_name = type_name
        self.name = f"v1.{type_name}"
        self.fields: dict[str, Field] = {}
        self.always: list[Field] = []

    def close(self) -> None:
        """Prepare for reading once all fields are known."""
        self.always = [field for field in self.fields.values() if not field.omitted]

    def read(self, value: Any, trace: Trace, where: Where) -> dict[str, Any]:
        """Read an object. Raises DecodeFault, or lets the struct around it do so."""
        if type(value) is not dict:
            raise _Mismatch(json_kind(value), self.name)
        out: dict[str, Any] = {}
        fields = self.fields
        for name, item in value.items():
            field = fields.get(name)
            if field is None:
                path = spell((where, name, False), positions=True)
                trace.unknown.append(f"{trace.unknown_below}{path}")
                continue
            if item is None:
                continue
            try:
                made = field.shape.read(item, trace, (where, name, False))
            except _Mismatch as mismatch:
                raise DecodeFault(self._fault(mismatch, (where, name, False), trace)) from None
            except DecodeFault:
                raise
            except ValueError as error:
                raise DecodeFault(str(error)) from error
            if made or not field.drops_empty:
                out[name] = made if made != [] else None
        for field in self.always:
            if field.name not in out:
                out[field.name] = field.shape.zero()
        return out

    def zero(self) -> Any:
        """Return an object of which nothing is known."""
        return {field.name: field.shape.zero() for field in self.always}

    def _fault(self, mismatch: _Mismatch, where: Where, trace: Trace) -> str:
        if trace.restoring:
            wanted = mismatch.wanted
            found = {"bool": "bool", "number": "int64", "array": "slice", "object": "map"}.get(
                mismatch.found, mismatch.found
            )
            if wanted.startswith("map["):
                return f"cannot restore map from {found}"
            if wanted.startswith("[]"):
                return f"cannot restore slice from {found}"
            if wanted.startswith("v1."):
                return f"cannot restore struct from: {found}"
            return f"cannot convert {found} to {wanted}"
        path = spell(where, positions=False)
        field = f"Go struct field {self.type_name}.{path} of type {mismatch.wanted}"
        return f"json: cannot unmarshal {mismatch.found} into {field}"


def _load() -> dict[str, Struct]:
    text = resources.files("arcfsm.sim.api").joinpath("core_types.txt").read_text(encoding="utf-8")
    structs: dict[str, Struct] = {}
    rows: list[tuple[Struct, str, str, str | None]] = []
    current: Struct | None = None
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            current = structs[line] = Struct(line)
            continue
        if current is None:
            raise ValueError(f"a field before any struct: {line!r}")
        name, type_text, *rest = line.split()
        rows.append((current, name, type_text, rest[0][1:] if rest else None))
    simple: dict[str, Shape] = {
        "string": _Text(), "bool": _Bool(), "int32": _Integer("int32"), "int64": _Integer("int64"),
        "bytes": _Bytes(), "Quantity": _Quantity(), "Time": _Time(micro=False), "MicroTime": _Time(micro=True),
        "IntOrString": _IntOrText(), "any": _Anything(),
    }  # fmt: skip

    def shape(type_text: str) -> Shape:
        if type_text.startswith("*"):
            return _Pointer(shape(type_text[1:]))
        if type_text.startswith("[]"):
            return _List(shape(type_text[2:]))
        if type_text.startswith("{}"):
            return _Map(shape(type_text[2:]))
        return simple.get(type_text) or structs[type_text]

    for struct, name, type_text, merge_key in rows:
        omitted = name.endswith("?")
        plain = name.rstrip("?")
        struct.fields[plain] = Field(plain, shape(type_text), omitted=omitted, merge_key=merge_key)
    for struct in structs.values():
        struct.close()
    return structs


STRUCTS: Final = _load()
OBJECT_META: Final = STRUCTS["ObjectMeta"]


def inner_struct(shape: Shape) -> Struct | None:
    """Return the struct behind pointers, lists and maps, if there is one."""
    while isinstance(shape, _Pointer | _List | _Map):
        shape = shape.inner
    return shape if isinstance(shape, Struct) else None


def is_list(shape: Shape) -> bool:
    """Whether values are lists."""
    return isinstance(shape, _List)


def read_object(struct: Struct, body: dict[str, Any], trace: Trace) -> dict[str, Any]:
    """Read a whole object. Its kind and apiVersion are left out. Raises DecodeFault."""
    rest = {name: value for name, value in body.items() if name not in {"kind", "apiVersion"}}
    return struct.read(rest, trace, None)


def read_metadata(value: Any, trace: Trace) -> dict[str, Any]:
    """Read the metadata of a custom resource. Raises DecodeFault."""
    if type(value) is not dict:
        raise DecodeFault(f"json: cannot unmarshal {json_kind(value)} into Go value of type v1.ObjectMeta")
    return OBJECT_META.read(value, trace, None)
