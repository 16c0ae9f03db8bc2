"""Refusals: every way in which the server says no, with the reason, code, text and causes a real one gives.

A refusal is an exception that carries its `Status` body. The texts are wire facts: clients match on some of them, and
the conformance recordings compare all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from arcfsm.sim.api.request import JsonObject

RETRY_AFTER_S = 1


class ApiFailure(Exception):  # noqa: N818  # a refusal is an answer, not an error of the program
    """A request was refused. `body` is the Status object to answer with."""

    def __init__(self, status: int, body: Any, content_type: str = "application/json") -> None:
        super().__init__(body.get("message", "") if isinstance(body, dict) else str(body))
        self.status = status
        self.body = body
        self.content_type = content_type
        self.warnings: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """The machine-readable reason; empty when there is none."""
        return str(self.body.get("reason", "")) if isinstance(self.body, dict) else ""


@dataclass(frozen=True)
class Cause:
    """One fault of one field."""

    reason: str
    message: str
    field: str


def status_body(code: int, message: str, reason: str = "", details: JsonObject | None = None) -> JsonObject:
    """Build a Status object that says no."""
    body: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    if reason:
        body["reason"] = reason
    if details is not None:
        body["details"] = details
    body["code"] = code
    return body


def success(details: JsonObject | None = None, code: int | None = None) -> JsonObject:
    """Build a Status object that says yes."""
    body: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details is not None:
        body["details"] = details
    if code is not None:
        body["code"] = code
    return body


def _details(group: str, kind: str, name: str = "") -> JsonObject:
    details: JsonObject = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    return details


def qualified(kind: str, group: str) -> str:
    """Write a resource or kind with its group, as messages do."""
    return f"{kind}.{group}" if group else kind


def bad_request(message: str) -> ApiFailure:
    """400: the request makes no sense."""
    return ApiFailure(400, status_body(400, message, "BadRequest"))


def not_found(group: str, plural: str, name: str) -> ApiFailure:
    """404: no such object."""
    message = f'{qualified(plural, group)} "{name}" not found'
    return ApiFailure(404, status_body(404, message, "NotFound", _details(group, plural, name)))


def no_such_resource() -> ApiFailure:
    """404: a core path that leads nowhere."""
    message = "the server could not find the requested resource"
    return ApiFailure(404, status_body(404, message, "NotFound", {}))


def no_such_page() -> ApiFailure:
    """404: a path outside everything that is served; plain text."""
    return ApiFailure(404, "404 page not found\n", "text/plain; charset=utf-8")


def method_not_allowed() -> ApiFailure:
    """405: a core path has no such verb."""
    message = "the server does not allow this method on the requested resource"
    return ApiFailure(405, status_body(405, message, "MethodNotAllowed", {}))


def verb_not_supported(verb: str, group: str, plural: str) -> ApiFailure:
    """405: a custom resource has no such verb."""
    message = f'{verb} is not supported on resources of kind "{qualified(plural, group)}"'
    return ApiFailure(405, status_body(405, message, "MethodNotAllowed", _details(group, plural)))


def already_exists(group: str, plural: str, name: str, *, terminating: bool, generated: bool) -> ApiFailure:
    """409: the name is taken."""
    message = f'{qualified(plural, group)} "{name}" already exists'
    details = _details(group, plural, name)
    if generated:
        message += ", the server was not able to generate a unique name for the object"
        details["retryAfterSeconds"] = RETRY_AFTER_S
    if terminating:
        message = f"object is being deleted: {message}"
    return ApiFailure(409, status_body(409, message, "AlreadyExists", details))


def conflict(group: str, kind: str, name: str, why: str) -> ApiFailure:
    """409: the object is not what the request took it for."""
    message = f'Operation cannot be fulfilled on {qualified(kind, group)} "{name}": {why}'
    return ApiFailure(409, status_body(409, message, "Conflict", _details(group, kind, name)))


def modified(group: str, plural: str, name: str) -> ApiFailure:
    """409: a stale resourceVersion."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(group, plural, name, why)


def forbidden(group: str, plural: str, name: str, why: str, causes: list[JsonObject] | None = None) -> ApiFailure:
    """403: the user may not, or admission says no."""
    what = qualified(plural, group)
    if not what:
        message = f"forbidden: {why}"
    elif name:
        message = f'{what} "{name}" is forbidden: {why}'
    else:
        message = f"{what} is forbidden: {why}"
    details = _details(group, plural, name)
    if causes:
        details["causes"] = causes
    return ApiFailure(403, status_body(403, message, "Forbidden", details))


def unauthorized() -> ApiFailure:
    """401: nobody knows this token."""
    return ApiFailure(401, status_body(401, "Unauthorized", "Unauthorized"))


def invalid(group: str, kind: str, name: str, causes: Iterable[Cause]) -> ApiFailure:
    """422: faults of fields. The message tells each fault once; the causes keep repetitions, as the real ones do."""
    listed = list(causes)
    texts = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in listed))
    told = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    message = f'{qualified(kind, group)} "{name}" is invalid: {told}'
    details = _details(group, kind, name)
    details["causes"] = [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in listed]
    return ApiFailure(422, status_body(422, message, "Invalid", details))


def unprocessable() -> ApiFailure:
    """422: a patch that does not apply."""
    message = "the server rejected our request due to an error in our request"
    return ApiFailure(422, status_body(422, message, "Invalid", {}))


def unsupported_media_type(accepted: Iterable[str]) -> ApiFailure:
    """415: a body of a kind that nobody reads."""
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    return ApiFailure(415, status_body(415, message, "UnsupportedMediaType"))


def not_acceptable(offered: Iterable[str]) -> ApiFailure:
    """406: no representation that the client would take."""
    message = "only the following media types are accepted: " + ", ".join(offered)
    return ApiFailure(406, status_body(406, message, "NotAcceptable"))


def too_large(limit_bytes: int) -> ApiFailure:
    """413: more than the server reads."""
    message = f"Request entity too large: limit is {limit_bytes}"
    return ApiFailure(413, status_body(413, message, "RequestEntityTooLarge"))


def internal(message: str) -> ApiFailure:
    """500 without a reason: what the storage or a library said."""
    return ApiFailure(500, status_body(500, message))


def expired(message: str, continue_token: str = "") -> ApiFailure:
    """410: history that is gone."""
    body = status_body(410, message, "Expired")
    if continue_token:
        body["metadata"] = {"continue": continue_token}
    return ApiFailure(410, body)


def version_too_large(wanted: int, current: int) -> ApiFailure:
    """504: a resourceVersion that was not reached yet."""
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details = {"causes": [cause], "retryAfterSeconds": RETRY_AFTER_S}
    return ApiFailure(504, status_body(504, message, "Timeout", details))


# --- faults of single fields ------------------------------------------------------------------------------------------


def required(path: str, detail: str = "") -> Cause:
    """A field must be there."""
    return Cause("FieldValueRequired", f"Required value: {detail}" if detail else "Required value", path)


def wrong(path: str, shown: str, detail: str) -> Cause:
    """A value is not allowed. `shown` is the value as messages show it."""
    return Cause("FieldValueInvalid", f"Invalid value: {shown}: {detail}", path)


def duplicate(path: str, shown: str) -> Cause:
    """A value is there twice."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {shown}", path)


def denied(path: str, detail: str) -> Cause:
    """A value may not be set like this."""
    return Cause("FieldValueForbidden", f"Forbidden: {detail}", path)


def not_one_of(path: str, shown: str, supported: Iterable[str]) -> Cause:
    """A value is none of an enumeration."""
    choices = ", ".join(f'"{choice}"' for choice in supported)
    return Cause("FieldValueNotSupported", f"Unsupported value: {shown}: supported values: {choices}", path)


def missing_target(path: str, shown: str) -> Cause:
    """A value names something that is not there."""
    return Cause("FieldValueNotFound", f"Not found: {shown}", path)


def too_long(path: str, limit_bytes: int) -> Cause:
    """A value is too long."""
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit_bytes} bytes", path)
