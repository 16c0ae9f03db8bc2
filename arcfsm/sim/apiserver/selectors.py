"""Label and field selectors, read and matched as the server does."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from arcfsm.sim.apiserver.metadata import label_value_errors, qualified_name_errors

Body = dict[str, Any]
Match = Callable[[Body], bool]
_TOKEN: Final = re.compile(r"\s*(==|!=|=|!|,|\(|\)|<|>|[^\s=!,()<>]+|$)")
_PARSE: Final = "unable to parse requirement: "


class SelectorError(Exception):
    """A selector that cannot be read."""


class _Reader:
    """Reads the tokens of a label selector."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        found = _TOKEN.match(self.text, self.at)
        return found[1] if found else ""

    def take(self) -> str:
        found = _TOKEN.match(self.text, self.at)
        if not found:
            return ""
        self.at = found.end()
        return found[1]


def labels(text: str) -> Match:
    """Read a label selector. Raises SelectorError."""
    reader = _Reader(text)
    checks: list[Callable[[dict[str, str]], bool]] = []
    if not reader.peek():
        return lambda _: True
    while True:
        checks.append(_requirement(reader))
        token = reader.take()
        if not token:
            break
        if token != ",":
            raise SelectorError(f"found '{token}', expected: ',' or 'end of string'")
        if not reader.peek() or reader.peek() == ",":
            raise SelectorError(f"found '{reader.peek()}', expected: identifier after ','")

    def matches(body: Body) -> bool:
        found = body["metadata"].get("labels") or {}
        return all(check(found) for check in checks)

    return matches


def _key(token: str) -> str:
    if not token or token in {"=", "==", "!=", ",", "(", ")", "<", ">"}:
        raise SelectorError(f"found '{token}', expected: !, identifier, or 'end of string'")
    if errors := qualified_name_errors(token):
        raise SelectorError(f'{_PARSE}key: Invalid value: "{token}": {"; ".join(errors)}')
    return token


def _requirement(reader: _Reader) -> Callable[[dict[str, str]], bool]:
    if reader.peek() == "!":
        reader.take()
        absent = _key(reader.take())
        return lambda found: absent not in found
    key = _key(reader.take())
    operator = reader.peek()
    if operator in {"", ","}:
        return lambda found: key in found
    reader.take()
    if operator in {"=", "==", "!="}:
        value = "" if reader.peek() in {"", ","} else reader.take()
        _value(key, value)
        if operator == "!=":
            return lambda found: found.get(key) != value
        return lambda found: found.get(key) == value
    if operator in {"in", "notin"}:
        values = _values(reader, key)
        if operator == "in":
            return lambda found: key in found and found[key] in values
        return lambda found: key not in found or found[key] not in values
    if operator in {"<", ">"}:
        bound = reader.take()
        try:
            limit = int(bound)
        except ValueError:
            raise SelectorError(
                f"{_PARSE}values[0]: Invalid value: \"{bound}\": for 'Gt', 'Lt' operators, the value must be an integer"
            ) from None
        above = operator == ">"
        return lambda found: _compares(found.get(key), limit, above=above)
    raise SelectorError(f"{_PARSE}found '{operator}', expected: in, notin, =, ==, !=, gt, lt")


def _compares(value: str | None, limit: int, *, above: bool) -> bool:
    try:
        number = int(value or "")
    except ValueError:
        return False
    return number > limit if above else number < limit


def _value(key: str, value: str) -> None:
    if value in {"(", ")", "!", "=", "==", "!="}:
        raise SelectorError(f"found '{value}', expected: identifier")
    if errors := label_value_errors(value):
        raise SelectorError(f'{_PARSE}values[0][{key}]: Invalid value: "{value}": {"; ".join(errors)}')


def _values(reader: _Reader, key: str) -> set[str]:
    token = reader.take()
    if token != "(":
        raise SelectorError(f"{_PARSE}found '{token}' expected: '('")
    values: set[str] = set()
    expect_value = True
    while True:
        token = reader.take()
        if token == ")":
            if expect_value:
                values.add("")
            return values
        if token == ",":
            if expect_value:
                values.add("")
            expect_value = True
        elif not token or token in {"=", "==", "!=", "(", "!"}:
            raise SelectorError(f"{_PARSE}found '{token}', expected: ',' or ')'")
        else:
            _value(key, token)
            values.add(token)
            expect_value = False


def fields(text: str, known: Mapping[str, Callable[[Body], str]], *, custom: bool) -> Match:
    """Read a field selector over the fields a kind can be selected by. Raises Problem."""
    terms: list[tuple[str, str, bool]] = []
    for term in filter(None, text.split(",")):
        found = re.fullmatch(r"(.*?)(==|!=|=)(.*)", term)
        if not found:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")
        if found[1] not in known:
            if set(known) == {"metadata.name", "metadata.namespace"} and not custom:
                text = f'"{found[1]}" is not a known field selector: only "metadata.name", "metadata.namespace"'
                raise SelectorError(text)
            raise SelectorError(f"field label not supported: {found[1]}")
        terms.append((found[1], found[3], found[2] != "!="))
    return lambda body: all((known[name](body) == value) is wanted for name, value, wanted in terms)


def at(*path: str) -> Callable[[Body], str]:
    """Return how to read a field by its path, empty when it is not there."""

    def read(body: Body) -> str:
        value: Any = body
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return "" if value is None else str(value)

    return read


__all__ = ["Match", "SelectorError", "at", "fields", "labels"]
