"""Reading JSON from the wire the way the server does: exact integers, repeated keys noticed, its words for faults.

Numbers that are whole become integers however they were written (`1.0`, `1e2`), because that is what the server
stores. The last of repeated keys wins; where they were is reported, since clients are warned about them.
"""

from __future__ import annotations

import json
from typing import Any, Final

_INTEGER_MAX: Final = 2**63
_LITERALS: Final = ("true", "false", "null")
_CONTROL: Final = 0x20
_SPACE: Final = " \t\n\r"


class JsonFault(ValueError):  # noqa: N818  # it is the client's fault, not ours
    """The text is not JSON; the message is the server's."""


class _Pairs:
    """Collects keys that appear twice while an object is read."""

    def __init__(self) -> None:
        self.repeated: list[tuple[int, str]] = []
        self.seen: dict[int, list[str]] = {}

    def build(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            known: set[str] = set()
            twice = []
            for key, _ in pairs:
                if key in known and key not in twice:
                    twice.append(key)
                known.add(key)
            self.seen[id(made)] = twice
        return made


def _whole(text: str) -> Any:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < _INTEGER_MAX else number


def read_json(raw: bytes) -> tuple[Any, list[str]]:
    """Parse a text; return the value and the paths of repeated keys. Raises JsonFault."""
    try:
        text = raw.decode()
        pairs = _Pairs()
        value = json.loads(text, object_pairs_hook=pairs.build, parse_float=_whole)
    except (ValueError, RecursionError) as error:
        raise JsonFault(syntax_fault(raw.decode("latin-1"))) from error
    return value, _paths(value, pairs.seen, "") if pairs.seen else []


def _paths(value: Any, seen: dict[int, list[str]], path: str) -> list[str]:
    found: list[str] = []
    if isinstance(value, dict):
        found += [f"{path}.{key}" if path else key for key in seen.get(id(value), ())]
        for key, item in value.items():
            found += _paths(item, seen, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += _paths(item, seen, f"{path}[{index}]")
    return found


def shown_character(character: str) -> str:
    """Write a character as messages about JSON do."""
    if character == "'":
        return r"'\''"
    if character == '"':
        return "'\"'"
    code = ord(character)
    special = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\\": r"\\"}
    if character in special:
        return f"'{special[character]}'"
    if code < _CONTROL or code >= 0x7F:
        return f"'\\x{code:02x}'"
    return f"'{character}'"


def syntax_fault(text: str) -> str:
    """Find the first fault of a text that is not JSON and say it in the server's words."""
    scanner = _Scanner(text)
    try:
        scanner.value()
        scanner.space()
        if scanner.at < len(text):
            scanner.fail("after top-level value")
    except JsonFault as fault:
        return str(fault)
    return "unexpected end of JSON input"


class _Scanner:
    """Walks a text as far as it is JSON."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, where: str) -> None:
        raise JsonFault(f"invalid character {shown_character(self.text[self.at])} {where}")

    def peek(self) -> str:
        if self.at >= len(self.text):
            raise JsonFault("unexpected end of JSON input")
        return self.text[self.at]

    def space(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in _SPACE:
            self.at += 1

    def value(self) -> None:
        self.space()
        first = self.peek()
        if first == "{":
            self._object()
        elif first == "[":
            self._array()
        elif first == '"':
            self._string()
        elif first.isdigit() or first == "-":
            self._number()
        else:
            self._literal(first)

    def _object(self) -> None:
        self.at += 1
        self.space()
        if self.peek() == "}":
            self.at += 1
            return
        while True:
            self.space()
            if self.peek() != '"':
                self.fail("looking for beginning of object key string")
            self._string()
            self.space()
            if self.peek() != ":":
                self.fail("after object key")
            self.at += 1
            self.value()
            self.space()
            if self.peek() == "}":
                self.at += 1
                return
            if self.peek() != ",":
                self.fail("after object key:value pair")
            self.at += 1

    def _array(self) -> None:
        self.at += 1
        self.space()
        if self.peek() == "]":
            self.at += 1
            return
        while True:
            self.value()
            self.space()
            if self.peek() == "]":
                self.at += 1
                return
            if self.peek() != ",":
                self.fail("after array element")
            self.at += 1

    def _string(self) -> None:
        self.at += 1
        while (character := self.peek()) != '"':
            if ord(character) < _CONTROL:
                self.fail("in string literal")
            if character == "\\":
                self.at += 1
                if self.peek() not in '"\\/bfnrtu':
                    self.fail("in string escape code")
            self.at += 1
        self.at += 1

    def _number(self) -> None:
        if self.peek() == "-":
            self.at += 1
            if not self.peek().isdigit():
                self.fail("in numeric literal")
        while self.at < len(self.text) and self.text[self.at] in "0123456789.eE+-":
            self.at += 1

    def _literal(self, first: str) -> None:
        word = next((word for word in _LITERALS if word[0] == first), None)
        if word is None:
            self.fail("looking for beginning of value")
            return
        for letter in word:
            if self.peek() != letter:
                self.fail(f"in literal {word} (expecting {shown_character(letter)})")
            self.at += 1
