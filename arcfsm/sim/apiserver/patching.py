"""Patches: merge patch, JSON patch, and strategic merge for built-in kinds. All of them return a new object."""

from __future__ import annotations

import copy
from typing import Any, Final

Body = dict[str, Any]


class PatchError(Exception):
    """The patch cannot be applied."""


def merge(target: Any, patch: Any) -> Any:
    """Apply a merge patch: objects are merged, null removes, all else replaces."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    out = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merge(out.get(key), value)
    return out


def _tokens(pointer: Any) -> list[str]:
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise PatchError
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def _index(token: str, length: int, *, adding: bool) -> int:
    if adding and token == "-":
        return length
    try:
        index = int(token)
    except ValueError:
        raise PatchError from None
    if index < 0:
        index += length
    if not 0 <= index < length + adding:
        raise PatchError
    return index


def _walk(document: Any, tokens: list[str]) -> Any:
    for token in tokens:
        if isinstance(document, dict):
            if token not in document:
                raise PatchError
            document = document[token]
        elif isinstance(document, list):
            document = document[_index(token, len(document), adding=False)]
        else:
            raise PatchError
    return document


def _add(document: Any, tokens: list[str], value: Any, *, replace: bool = False) -> Any:
    if not tokens:
        return value
    parent, last = _walk(document, tokens[:-1]), tokens[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list):
        index = _index(last, len(parent), adding=not replace)
        if replace:
            parent[index] = value
        else:
            parent.insert(index, value)
    else:
        raise PatchError
    return document


def _remove(document: Any, tokens: list[str]) -> Any:
    if not tokens:
        raise PatchError
    parent, last = _walk(document, tokens[:-1]), tokens[-1]
    if isinstance(parent, dict):
        if last not in parent:
            raise PatchError
        return parent.pop(last)
    if isinstance(parent, list):
        return parent.pop(_index(last, len(parent), adding=False))
    raise PatchError


def json_patch(target: Body, operations: list[Any]) -> Any:
    """Apply a JSON patch. Raises PatchError whatever is wrong."""
    document: Any = copy.deepcopy(target)
    for step in operations:
        if not isinstance(step, dict) or "path" not in step:
            raise PatchError
        tokens, action = _tokens(step["path"]), step.get("op")
        if action in {"add", "replace", "test"} and "value" not in step and action != "test":
            raise PatchError
        if action == "add":
            document = _add(document, tokens, copy.deepcopy(step["value"]))
        elif action == "replace":
            document = _add(document, tokens, copy.deepcopy(step["value"]), replace=True)
        elif action == "remove":
            _remove(document, tokens)
        elif action == "test":
            try:
                found = _walk(document, tokens)
            except PatchError:
                found = None
            if found != step.get("value"):
                raise PatchError
        elif action in {"move", "copy"}:
            source = _tokens(step.get("from"))
            value = _remove(document, source) if action == "move" else copy.deepcopy(_walk(document, source))
            document = _add(document, tokens, value)
        else:
            raise PatchError
    return document


MERGE_KEYS: Final[dict[str, str]] = {
    "ownerReferences": "uid",
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "env": "name",
    "ports": "containerPort",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "conditions": "type",
    "secrets": "name",
    "podIPs": "ip",
    "hostIPs": "ip",
    "topologySpreadConstraints": "topologyKey",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "readinessGates": "",
}
"""Lists of objects that strategic merge joins by a key; lists not here are replaced."""
_SETS: Final = {"finalizers"}
_DIRECTIVES: Final = ("$patch", "$retainKeys")


def strategic(target: Any, patch: Body) -> Body:
    """Apply a strategic merge patch. Raises PatchError for directives that make no sense."""
    directive = patch.get("$patch")
    if directive == "replace":
        return {key: copy.deepcopy(value) for key, value in patch.items() if key != "$patch"}
    if directive == "delete":
        return {}
    out: Body = dict(target) if isinstance(target, dict) else {}
    if isinstance(retain := patch.get("$retainKeys"), list):
        out = {key: value for key, value in out.items() if key in retain}
    for key, value in patch.items():
        if key in _DIRECTIVES or key.startswith("$setElementOrder/"):
            continue
        if key.startswith("$deleteFromPrimitiveList/"):
            name = key.split("/", 1)[1]
            if isinstance(out.get(name), list):
                out[name] = [each for each in out[name] if each not in value]
            continue
        if value is None:
            out.pop(key, None)
        elif isinstance(value, dict):
            out[key] = strategic(out.get(key), value)
        elif isinstance(value, list) and key in _SETS:
            have = out.get(key) or []
            out[key] = [*have, *(each for each in value if each not in have)]
        elif isinstance(value, list) and MERGE_KEYS.get(key) and all(isinstance(each, dict) for each in value):
            out[key] = _merged_list(out.get(key) or [], value, MERGE_KEYS[key])
        else:
            out[key] = copy.deepcopy(value)
    return out


def go_map(value: Any) -> str:
    """Return a value as Go prints it."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_map(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(go_map(each) for each in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)


def _merged_list(have: list[Body], patch: list[Body], key: str) -> list[Body]:
    if any(each.get("$patch") == "replace" for each in patch):
        return [copy.deepcopy(each) for each in patch if each.get("$patch") != "replace"]
    removed = [each.get(key) for each in patch if each.get("$patch") == "delete"]
    out = [each for each in have if each.get(key) not in removed]
    added: list[Body] = []
    for each in patch:
        if each.get("$patch") == "delete":
            continue
        if key not in each:
            raise PatchError(f"map: {go_map(each)} does not contain declared merge key: {key}")
        for n, old in enumerate(out):
            if old.get(key) == each[key]:
                out[n] = strategic(old, each)
                break
        else:
            added.append(strategic({}, each))
    return [*added, *out]
