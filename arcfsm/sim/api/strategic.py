"""Strategic merge patches of built-in kinds: lists merge by a key of their type, with directives in the patch.

What merges how is part of the shapes (`core_types.txt`): lists with a merge key, sets of strings; everything else is
replaced as a whole. New elements come before the ones that were there, which keep their order.
"""

from __future__ import annotations

from typing import Any

from arcfsm.sim.api.failure import bad_request, internal
from arcfsm.sim.api.shapes import Field, Struct, inner_struct, is_list

_DIRECTIVE = "$patch"
_DELETE_VALUES = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"
_RETAIN = "$retainKeys"


def strategic_merge(struct: Struct | None, target: Any, patch: dict[str, Any]) -> dict[str, Any]:
    """Apply a strategic merge patch. Raises ApiFailure."""
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != _DIRECTIVE}
    if directive == "delete":
        return {}
    if directive not in {None, "merge"}:
        raise bad_request(f"unknown patch type: {directive}")
    out = dict(target) if isinstance(target, dict) else {}
    retained = patch.get(_RETAIN)
    if isinstance(retained, list):
        out = {name: value for name, value in out.items() if name in retained}
    for name, value in patch.items():
        if name in {_DIRECTIVE, _RETAIN} or name.startswith(_ORDER):
            continue
        if name.startswith(_DELETE_VALUES):
            plain = name.removeprefix(_DELETE_VALUES)
            out[plain] = [item for item in out.get(plain) or [] if item not in value]
            continue
        if value is None:
            out.pop(name, None)
            continue
        field = struct.fields.get(name) if struct is not None else None
        out[name] = _merged(field, out.get(name), value)
    for name, order in patch.items():
        if name.startswith(_ORDER):
            plain = name.removeprefix(_ORDER)
            field = struct.fields.get(plain) if struct is not None else None
            out[plain] = _ordered(field, out.get(plain) or [], order)
    return out


def _merged(field: Field | None, old: Any, new: Any) -> Any:
    inner = inner_struct(field.shape) if field is not None else None
    if isinstance(new, dict):
        return strategic_merge(inner if field is None or not is_list(field.shape) else None, old, new)
    if isinstance(new, list) and field is not None and field.merge_key is not None:
        if field.merge_key == "":
            kept = list(old or [])
            return _interleaved([item for item in kept if item not in new], list(dict.fromkeys(new)), kept, "")
        return _merged_list(inner, field.merge_key, list(old or []), new)
    if isinstance(new, list) and any(isinstance(item, dict) and item.get(_DIRECTIVE) == "replace" for item in new):
        return [item for item in new if not (isinstance(item, dict) and _DIRECTIVE in item)]
    return new


def _merged_list(struct: Struct | None, key: str, old: list[Any], new: list[Any]) -> list[Any]:
    if any(isinstance(item, dict) and item.get(_DIRECTIVE) == "replace" and len(item) == 1 for item in new):
        return [item for item in new if _DIRECTIVE not in item]
    order = list(old)
    patched: list[Any] = []
    for item in new:
        if not isinstance(item, dict) or key not in item:
            parts = sorted(item.items()) if isinstance(item, dict) else []
            shown = " ".join(f"{name}:{value}" for name, value in parts)
            raise internal(f"map: map[{shown}] does not contain declared merge key: {key}")
        present: dict[str, Any] = next((each for each in old if each.get(key) == item[key]), {})
        old = [each for each in old if each.get(key) != item[key]]
        if item.get(_DIRECTIVE) == "replace":
            patched.append({name: value for name, value in item.items() if name != _DIRECTIVE})
        elif item.get(_DIRECTIVE) != "delete":
            patched.append(strategic_merge(struct, present, item))
    return _interleaved(old, patched, order, key)


def _interleaved(kept: list[Any], patched: list[Any], order: list[Any], key: str) -> list[Any]:
    """Join what only the server had with what the patch names: known elements keep their order, new ones come first."""

    def identity(item: Any) -> Any:
        return item.get(key) if key else item

    places = {identity(item): index for index, item in reversed(list(enumerate(order)))}
    made: list[Any] = []
    left, right = list(kept), list(patched)
    while left and right:
        ours, theirs = places.get(identity(left[0])), places.get(identity(right[0]))
        earlier = ours is not None and theirs is not None and ours < theirs
        made.append((left if earlier else right).pop(0))
    return made + left + right


def _ordered(field: Field | None, items: list[Any], order: list[Any]) -> list[Any]:
    key = field.merge_key if field is not None else None

    def identity(item: Any) -> Any:
        return item.get(key) if key and isinstance(item, dict) else item

    wanted = [identity(item) for item in order]
    placed = sorted((item for item in items if identity(item) in wanted), key=lambda item: wanted.index(identity(item)))
    return placed + [item for item in items if identity(item) not in wanted]
