"""What a refusal of the service means (X4), and how it is told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import orjson

from arcfsm.actions.redaction import one_line
from arcfsm.actions.transport import HttpAnswer
from arcfsm.domain.exchange import FailureKind, ServiceFailure
from arcfsm.domain.jsonvalue import text_at

_BY_TYPE: Final = (
    ("AgentExistsException", FailureKind.RUNNER_EXISTS),
    ("AgentNotFoundException", FailureKind.NOT_FOUND),
    ("JobStillRunningException", FailureKind.BUSY),
)
_BY_STATUS: Final = {
    401: FailureKind.UNAUTHORIZED,
    403: FailureKind.UNAUTHORIZED,
    404: FailureKind.NOT_FOUND,
    407: FailureKind.UNREACHABLE,
    408: FailureKind.UNREACHABLE,
    409: FailureKind.CONFLICT,
    429: FailureKind.THROTTLED,
}
_TRACES: Final = ("ActivityId", "X-GitHub-Request-Id")


def refusal(call: str, answer: HttpAnswer, secrets: Iterable[str]) -> ServiceFailure:
    """Return what a refused call means (X4); `call` names it for people.

    The name of the type decides where the body has one that is known, else the status.
    """
    return ServiceFailure(_kind(answer), _detail(call, answer, secrets), status=answer.status)


def login_refusal(call: str, answer: HttpAnswer, secrets: Iterable[str]) -> ServiceFailure:
    """Return what a refusal on the way to the service means (X2).

    GitHub answers 404 to whoever has no right to know. It must never be taken for a scale set or a runner that is
    gone: that would release a runner which works.
    """
    kind = _kind(answer)
    if kind in {FailureKind.NOT_FOUND, FailureKind.CONFLICT, FailureKind.RUNNER_EXISTS, FailureKind.BUSY}:
        kind = FailureKind.UNAUTHORIZED
    detail = _detail(call, answer, secrets)
    if answer.status in {403, 404}:
        detail += " (is githubConfigUrl right, and may these credentials administer its runners?)"
    return ServiceFailure(kind, detail, status=answer.status)


def not_an_answer(call: str, answer: HttpAnswer, what: str) -> ServiceFailure:
    """Return what an answer means that says it was done, but not what the client needs to know."""
    return ServiceFailure(
        FailureKind.UNREACHABLE, f"{call}: HTTP {answer.status}{_traces(answer)}: {what}", status=answer.status
    )


def is_page(answer: HttpAnswer) -> bool:
    """Whether a page for people came back: some gateway speaks, not the service."""
    return "html" in answer.headers.get("content-type", "").lower()


def is_throttled(answer: HttpAnswer) -> bool:
    """Whether it came too soon. GitHub also says so with a 403 that tells when to come again."""
    if answer.status == 403:
        return "retry-after" in answer.headers or answer.headers.get("x-ratelimit-remaining") == "0"
    return answer.status == 429


def _kind(answer: HttpAnswer) -> FailureKind:
    type_name = _said(answer)[0]
    for part, kind in _BY_TYPE:
        if part in type_name:
            return kind
    if is_throttled(answer):
        return FailureKind.THROTTLED
    if answer.status >= 500:
        return FailureKind.FAILED
    if answer.status == 404 and is_page(answer):
        # What a gateway in between can't find says nothing about what the service has.
        return FailureKind.UNREACHABLE
    return _BY_STATUS.get(answer.status, FailureKind.INVALID)


def _detail(call: str, answer: HttpAnswer, secrets: Iterable[str]) -> str:
    type_name, message = _said(answer)
    short = type_name.partition(",")[0].rpartition(".")[2]
    if 300 <= answer.status < 400:
        message = "it redirects elsewhere; githubConfigUrl must be the final address"
    said = ": ".join(part for part in (short, message) if part)
    return one_line(f"{call}: HTTP {answer.status}{_traces(answer)}" + (f": {said}" if said else ""), secrets)


def _traces(answer: HttpAnswer) -> str:
    known = [f"{name} {answer.headers[name.lower()]}" for name in _TRACES if answer.headers.get(name.lower())]
    return " " + one_line(f"({', '.join(known)})") if known else ""


def _said(answer: HttpAnswer) -> tuple[str, str]:
    """Return the type's name and the message of an error body; a body that is no JSON is the message."""
    if is_page(answer):
        return "", "a page for people, not an answer of the service"
    text = answer.body.decode("utf-8-sig", "replace").strip()
    try:
        found = orjson.loads(text) if text.startswith("{") else None
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        return "", text
    return text_at(found, "typeName"), text_at(found, "message")
