"""Merge patches (RFC 7386) and JSON patches (RFC 6902), as the server applies them.

Nothing is changed in place: a result shares with the original whatever the patch did not touch. The server's JSON
patch differs from the RFC in one way that is kept: `replace` of a map key that is not there adds it.
"""

from __future__ import annotations

import re
from typing import Any, Final

from arcfsm.sim.api.failure import ApiFailure, bad_request, unprocessable

OPERATIONS_MAX: Final = 10_000
_POSITION: Final = re.compile(r"0|-?[1-9]\d*")


class PatchFault(Exception):  # noqa: N818  # one operation does not apply; the answer tells no more
    """A JSON patch does not apply."""


def merge_patch(target: Any, patch: Any) -> Any:
    """Apply a merge patch."""
    if not isinstance(patch, dict):
        return patch
    out = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            out.pop(name, None)
        elif isinstance(value, dict):
            out[name] = merge_patch(out.get(name), value)
        else:
            out[name] = value
    return out


def json_patch(target: Any, operations: Any) -> Any:
    """Apply a JSON patch. Raises ApiFailure."""
    if not isinstance(operations, list):
        kind = {dict: "object", str: "string", bool: "bool"}.get(type(operations), "number")
        why = f"json: cannot unmarshal {kind} into Go value of type []handlers.jsonPatchOp"
        raise bad_request(f"error decoding patch: {why}")
    if len(operations) > OPERATIONS_MAX:
        told = f"The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {len(operations)}"
        raise ApiFailure(413, _too_many(told))
    try:
        for operation in operations:
            target = _apply(target, operation)
    except (PatchFault, KeyError, IndexError, TypeError, AttributeError) as error:
        raise unprocessable() from error
    return target


def _too_many(told: str) -> dict[str, Any]:
    return {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": f"Request entity too large: {told}", "reason": "RequestEntityTooLarge", "code": 413,
    }  # fmt: skip


def _apply(target: Any, operation: dict[str, Any]) -> Any:
    verb = operation["op"]
    path = _pointer(operation["path"])
    if verb == "add":
        return _edit(target, path, _Add(operation["value"]))
    if verb == "replace":
        return _edit(target, path, _Replace(operation["value"]))
    if verb == "remove":
        return _edit(target, path, _Remove())
    if verb == "test":
        if not _equal(_find(target, path, absent_is_null=True), operation.get("value")):
            raise PatchFault("test failed")
        if operation.get("value") is None and not _present(target, path):
            raise PatchFault("nothing to test")
        return target
    source = _pointer(operation["from"])
    value = _find(target, source)
    if verb == "move":
        target = _edit(target, source, _Remove())
    elif verb != "copy":
        raise PatchFault(verb)
    return _edit(target, path, _Add(value))


def _pointer(text: str) -> list[str]:
    if text == "":
        return []
    if not text.startswith("/"):
        raise PatchFault(text)
    return [part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/")]


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, bool) is not isinstance(right, bool):
        return False
    return bool(left == right)


def _present(target: Any, path: list[str]) -> bool:
    try:
        _find(target, path)
    except (PatchFault, KeyError, IndexError, TypeError):
        return False
    return True


def _find(target: Any, path: list[str], *, absent_is_null: bool = False) -> Any:
    for depth, part in enumerate(path):
        if isinstance(target, list):
            target = target[_position(part, len(target) - 1)]
        elif isinstance(target, dict):
            if part not in target and absent_is_null and depth == len(path) - 1:
                return None
            target = target[part]
        else:
            raise PatchFault("no container")
    return target


def _position(part: str, last: int) -> int:
    if _POSITION.fullmatch(part) is None:
        raise PatchFault(part)
    index = int(part)
    if index < 0:
        index += last + 1
    if not 0 <= index <= last:
        raise PatchFault(part)
    return index


class _Add:
    def __init__(self, value: Any) -> None:
        self.value = value

    def in_map(self, container: dict[str, Any], key: str) -> None:
        container[key] = self.value

    def in_list(self, container: list[Any], key: str) -> None:
        container.insert(len(container) if key == "-" else _position(key, len(container)), self.value)


class _Replace(_Add):
    def in_list(self, container: list[Any], key: str) -> None:
        container[_position(key, len(container) - 1)] = self.value


class _Remove(_Add):
    def __init__(self) -> None:
        super().__init__(None)

    def in_map(self, container: dict[str, Any], key: str) -> None:
        del container[key]

    def in_list(self, container: list[Any], key: str) -> None:
        del container[_position(key, len(container) - 1)]


def _edit(target: Any, path: list[str], change: _Add) -> Any:
    """Return a target with one place changed; containers on the way are copied, the rest is shared."""
    if not path:
        if isinstance(change, _Remove):
            raise PatchFault("the whole document")
        return change.value
    key, rest = path[0], path[1:]
    if isinstance(target, dict):
        copied = dict(target)
        if rest:
            copied[key] = _edit(copied[key], rest, change)
        else:
            change.in_map(copied, key)
        return copied
    if isinstance(target, list):
        listed = list(target)
        if rest:
            index = _position(key, len(listed) - 1)
            listed[index] = _edit(listed[index], rest, change)
        else:
            change.in_list(listed, key)
        return listed
    raise PatchFault("no container")
