"""Label and field selectors: parsed with the server's refusals, matched against objects.

An absent label counts as not equal to anything; an absent field is the empty text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from arcfsm.sim.api.failure import bad_request
from arcfsm.sim.api.kinds import COMMON_FIELDS, ResourceType

_SYMBOLS: Final = "=!(),><"
_OPERATORS: Final = ("=", "==", "!=", "in", "notin", ">", "<")
_LABEL_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")


@dataclass(frozen=True)
class Requirement:
    """One requirement on one label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: dict[str, str]) -> bool:
        """Whether labels fulfil it."""
        value = labels.get(self.key)
        if self.operator == "exists":
            return value is not None
        if self.operator == "!":
            return value is None
        if self.operator in {"!=", "notin"}:
            return value is None or value not in self.values
        if value is None:
            return False
        if self.operator in {">", "<"}:
            try:
                number, limit = int(value), int(self.values[0])
            except ValueError:
                return False
            return number > limit if self.operator == ">" else number < limit
        return value in self.values


@dataclass(frozen=True)
class Selector:
    """What a list or watch selects."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[tuple[str, str, str], ...] = ()
    """Field, `=` or `!=`, value."""

    @property
    def empty(self) -> bool:
        """Whether everything is selected."""
        return not self.labels and not self.fields

    def matches(self, item: dict[str, Any]) -> bool:
        """Whether an object is selected."""
        if self.labels:
            labels = item["metadata"].get("labels") or {}
            if not all(requirement.matches(labels) for requirement in self.labels):
                return False
        return all((field_value(item, name) == value) is (sign == "=") for name, sign, value in self.fields)


EVERYTHING: Final = Selector()


def field_value(item: dict[str, Any], name: str) -> str:
    """Return the text of a field of an object as selectors see it."""
    if name == "spec.hostNetwork":
        return "true" if item.get("spec", {}).get("hostNetwork") else "false"
    if name == "source":
        return str((item.get("source") or {}).get("component") or item.get("reportingComponent") or "")
    if name == "spec.unschedulable":
        return "true" if item.get("spec", {}).get("unschedulable") else "false"
    value: Any = item
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return "" if value is None else str(value)


def parse_selector(resource: ResourceType, labels: str, fields: str) -> Selector:
    """Parse both selectors of a request. Raises ApiFailure."""
    if not labels and not fields:
        return EVERYTHING
    return Selector(parse_labels(labels), parse_fields(resource, fields))


def parse_fields(resource: ResourceType, text: str) -> tuple[tuple[str, str, str], ...]:
    """Parse a field selector. Raises ApiFailure."""
    found: list[tuple[str, str, str]] = []
    for term in text.split(",") if text else ():
        if not term:
            continue
        match = re.fullmatch(r"(.*?)(!=|==|=)(.*)", term)
        if match is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        name, sign, value = match.groups()
        if name not in COMMON_FIELDS and name not in resource.fields:
            if resource.custom or resource.converts_fields:
                raise bad_request(f"field label not supported: {name}")
            raise bad_request(f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"')
        found.append((name, "!=" if sign == "!=" else "=", value))
    return tuple(found)


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
        elif text[at] in _SYMBOLS:
            double = text[at : at + 2]
            found.append(double if double in {"==", "!="} else text[at])
            at += len(found[-1])
        else:
            end = at
            while end < len(text) and text[end] not in _SYMBOLS + " \t\r\n":
                end += 1
            found.append(text[at:end])
            at = end
    return found


def parse_labels(text: str) -> tuple[Requirement, ...]:
    """Parse a label selector. Raises ApiFailure."""
    if not text:
        return ()
    return _LabelParser(_tokens(text)).parse()


class _LabelParser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def parse(self) -> tuple[Requirement, ...]:
        found: list[Requirement] = []
        if not self._tokens:
            return ()
        while True:
            token = self._peek()
            if token == "!" or self._is_word(token):
                found.append(self._requirement())
                after = self._next()
                if after == "":
                    return tuple(found)
                if after != ",":
                    raise bad_request(f"found '{after}', expected: ',' or 'end of string'")
                following = self._peek()
                if following != "!" and not self._is_word(following):
                    raise bad_request(f"found '{following}', expected: identifier after ','")
            elif token == "":
                return tuple(found)
            else:
                raise bad_request(f"found '{token}', expected: !, identifier, or 'end of string'")

    def _requirement(self) -> Requirement:
        if self._peek() == "!":
            self._next()
            return Requirement(self._next(), "!")
        key = self._next()
        operator = self._peek()
        if operator in {"", ","}:
            return Requirement(key, "exists")
        self._next()
        if operator not in _OPERATORS:
            names = "in, notin, =, ==, !=, gt, lt"
            raise bad_request(f"unable to parse requirement: found '{operator}', expected: {names}")
        if operator in {"in", "notin"}:
            return Requirement(key, operator, self._values())
        value = self._exact()
        if operator in {">", "<"} and not re.fullmatch(r"[+-]?\d+", value):
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise bad_request(f'unable to parse requirement: values[0]: Invalid value: "{value}": {detail}')
        return Requirement(key, operator, (value,))

    def _exact(self) -> str:
        token = self._peek()
        if token in {"", ","}:
            return ""
        self._next()
        if not self._is_word(token):
            raise bad_request(f"unable to parse requirement: found '{token}', expected: identifier")
        return token

    def _values(self) -> tuple[str, ...]:
        opening = self._next()
        if opening != "(":
            raise bad_request(f"unable to parse requirement: found '{opening}' expected: '('")
        values: list[str] = []
        while True:
            token = self._next()
            if token == ")":
                return tuple(values) if values else ("",)
            if token == ",":
                if not values or self._peek() in {",", ")"}:
                    values.append("")
                continue
            if not self._is_word(token):
                raise bad_request(f"unable to parse requirement: found '{token}', expected: ',', ')' or identifier")
            values.append(token)
            if self._peek() not in {",", ")"}:
                raise bad_request(f"unable to parse requirement: found '{self._peek()}', expected: ',' or ')'")

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _is_word(self, token: str) -> bool:
        return bool(token) and token[0] not in _SYMBOLS
