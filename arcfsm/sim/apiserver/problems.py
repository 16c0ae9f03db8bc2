"""Refusals: the Status objects a real API server answers with, exact in reason, code, message and causes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Body = dict[str, Any]


class Cause(NamedTuple):
    """One field that is wrong."""

    reason: str
    field: str
    message: str

    @property
    def text(self) -> str:
        """How it reads inside the message of the whole."""
        return f"{self.field}: {self.message}"


class Problem(Exception):  # noqa: N818  # a refusal is an answer, not a fault of the program
    """A request that is refused, with the answer to send."""

    def __init__(self, code: int, reason: str, message: str, details: Body | None = None, text: str = "") -> None:
        super().__init__(message or text)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.text = text
        self.warnings: list[str] = []
        self.metadata: Body = {}

    def body(self) -> Body:
        """Return the Status object."""
        body: Body = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def _details(name: str, group: str, kind: str, **more: Any) -> Body:
    details: Body = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    details.update(more)
    return details


def qualified(plural: str, group: str) -> str:
    """Return how messages name a resource: `plural.group`."""
    return f"{plural}.{group}" if group else plural


def not_found(group: str, plural: str, name: str) -> Problem:
    """No such object."""
    message = f'{qualified(plural, group)} "{name}" not found'
    return Problem(404, "NotFound", message, _details(name, group, plural))


def already_exists(group: str, plural: str, name: str) -> Problem:
    """An object of that name is there."""
    message = f'{qualified(plural, group)} "{name}" already exists'
    return Problem(409, "AlreadyExists", message, _details(name, group, plural))


def conflict(group: str, plural: str, name: str, why: str) -> Problem:
    """Somebody else was faster, or a precondition does not hold."""
    message = f'Operation cannot be fulfilled on {qualified(plural, group)} "{name}": {why}'
    return Problem(409, "Conflict", message, _details(name, group, plural))


def bad_request(message: str) -> Problem:
    """The request makes no sense."""
    return Problem(400, "BadRequest", message)


def forbidden(group: str, plural: str, name: str, why: str) -> Problem:
    """Somebody may not do this, or a policy is against it."""
    target = f' "{name}"' if name else ""
    message = f"{qualified(plural, group)}{target} is forbidden: {why}" if plural else f"forbidden: {why}"
    return Problem(403, "Forbidden", message, _details(name, group, plural))


def invalid(group: str, kind: str, name: str, causes: Sequence[Cause]) -> Problem:
    """Refuse an object for what is in it: the same complaint twice is made once."""
    texts = list(dict.fromkeys(cause.text for cause in causes))
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    message = f'{qualified(kind, group)} "{name}" is invalid: {listed}'
    listing = [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]
    return Problem(422, "Invalid", message, _details(name, group, kind, causes=listing))


def quoted(value: Any) -> str:
    """Return a value as messages show it."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, (int, float)):
        return str(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def required(field: str, detail: str = "") -> Cause:
    """A value is missing."""
    return Cause("FieldValueRequired", field, f"Required value: {detail}" if detail else "Required value")


def invalid_value(field: str, value: Any, detail: str) -> Cause:
    """A value is wrong."""
    return Cause("FieldValueInvalid", field, f"Invalid value: {quoted(value)}: {detail}")


def unsupported(field: str, value: Any, choices: Sequence[str]) -> Cause:
    """A value is none of the known ones."""
    listed = ", ".join(f'"{choice}"' for choice in choices)
    text = f"Unsupported value: {quoted(value)}: supported values: {listed}"
    return Cause("FieldValueNotSupported", field, text)


def duplicate(field: str, value: Any) -> Cause:
    """A value is there twice."""
    return Cause("FieldValueDuplicate", field, f"Duplicate value: {quoted(value)}")


def forbidden_field(field: str, detail: str) -> Cause:
    """A value may not be set or changed."""
    return Cause("FieldValueForbidden", field, f"Forbidden: {detail}")


def too_long(field: str, limit: int) -> Cause:
    """A value is too long."""
    return Cause("FieldValueTooLong", field, f"Too long: may not be more than {limit} bytes")


def success(message: str = "", details: Mapping[str, Any] | None = None) -> Body:
    """Return the Status object of a success."""
    body: Body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if message:
        body["message"] = message
    if details is not None:
        body["details"] = dict(details)
    return body
