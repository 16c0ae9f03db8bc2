"""What an answer means for an intent: done, decide again, try later, give up (Outcome)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.exchange import FailureKind, Reply, ServiceFailure
from arcfsm.domain.jsonvalue import JsonObject, text_at
from arcfsm.domain.observation import Change

DETAIL_MAX: Final = 500
_BY_STATUS: Final = {
    400: Outcome.INVALID,
    401: Outcome.FORBIDDEN,
    403: Outcome.FORBIDDEN,
    404: Outcome.NOT_FOUND,
    409: Outcome.CONFLICT,
    413: Outcome.INVALID,
    422: Outcome.INVALID,
    504: Outcome.TIMED_OUT,
}
_BY_KIND: Final = {
    FailureKind.NOT_FOUND: Outcome.NOT_FOUND,
    FailureKind.RUNNER_EXISTS: Outcome.RUNNER_EXISTS,
    FailureKind.BUSY: Outcome.BUSY,
    FailureKind.CONFLICT: Outcome.CONFLICT,
    FailureKind.UNAUTHORIZED: Outcome.FORBIDDEN,
    FailureKind.INVALID: Outcome.INVALID,
    FailureKind.THROTTLED: Outcome.FAILED,
    FailureKind.UNREACHABLE: Outcome.TIMED_OUT,
    FailureKind.FAILED: Outcome.FAILED,
}
_TERMINATING: Final = "because it is being terminated"


@dataclass(frozen=True, slots=True)
class Result:
    """How one effect ended, before it is a settlement."""

    outcome: Outcome
    status: int = 0
    detail: str = ""
    answer: dict[str, str | int | bool] = field(default_factory=dict)
    objects: tuple[tuple[Change, JsonObject], ...] = field(default=(), repr=False)


def already_exists(reply: Reply) -> bool:
    """Return whether a creation was refused because the name is taken."""
    return reply.status == 409 and text_at(reply.body, "reason") == "AlreadyExists"


def unknown(reply: Reply) -> bool:
    """Return whether a write may or may not have been done: no answer, or one of a server in trouble."""
    return reply.status == 0 or reply.status >= 500


def of_reply(reply: Reply, clean: Callable[[str], str]) -> Result:
    """Return what an answer of the API server means. `clean` takes credentials out of its message."""
    if reply.ok:
        return Result(Outcome.OK, reply.status)
    if reply.status == 0:
        return Result(Outcome.TIMED_OUT, 0, one_line(clean(reply.detail or "no answer")))
    message = one_line(clean(text_at(reply.body, "message"))) or f"HTTP {reply.status}"
    if already_exists(reply):
        return Result(Outcome.ALREADY_EXISTS, reply.status, message)
    if reply.status == 403 and _TERMINATING in message:
        # Its namespace goes, and takes with it what this would have been.
        return Result(Outcome.NOT_FOUND, reply.status, message)
    return Result(_BY_STATUS.get(reply.status, Outcome.FAILED), reply.status, message)


def of_failure(failure: ServiceFailure, clean: Callable[[str], str]) -> Result:
    """Return what a failure of the Actions service means."""
    return Result(_BY_KIND[failure.kind], failure.status, one_line(clean(failure.detail)))


def one_line(text: str) -> str:
    """Return a text in one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= DETAIL_MAX else line[: DETAIL_MAX - 1] + "…"
