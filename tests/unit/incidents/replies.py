"""What a case lets the API server and the Actions service answer, and what they answer otherwise.

A reply holds from its time until the next one for the same call; the first one holds from the beginning, since a case
tells when somebody else asked, not when we do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.instant import SECOND, Instant
from arcfsm.domain.intents import CallService, Intent, RegisterRunner, ServiceCall
from tests.unit.incidents.case import START, Event

CALLS = {
    ServiceCall.REGISTER_SCALE_SET: "CreateScaleSet",
    ServiceCall.GET_SCALE_SET: "GetScaleSet",
    ServiceCall.UPDATE_SCALE_SET: "UpdateScaleSet",
    ServiceCall.DELETE_SCALE_SET: "DeleteScaleSet",
    ServiceCall.FIND_RUNNER: "GetRunner",
    ServiceCall.REMOVE_RUNNER: "RemoveRunner",
}
SESSION = "CreateSession"
REGISTER = "GenerateJitConfig"
_ALIASES = {
    "CreateRunnerScaleSet": "CreateScaleSet",
    "DeleteRunnerScaleSet": "DeleteScaleSet",
    "GetRunnerScaleSet": "GetScaleSet",
    "GetRunnerScaleSetByID": "GetScaleSet",
    "GetScaleSetByID": "GetScaleSet",
    "UpdateRunnerScaleSet": "UpdateScaleSet",
    "GetRunnerByName": "GetRunner",
    "GenerateJitRunnerConfig": "GenerateJitConfig",
}
_OUTCOMES = (
    (r"JobStillRunning", Outcome.BUSY),
    (r"AgentExists|RunnerExists|already exists", Outcome.RUNNER_EXISTS),
    (r"\b404\b|NotFound|not found", Outcome.NOT_FOUND),
    (r"\b40[13]\b|[Uu]nauthorized|[Ff]orbidden|credentials", Outcome.FORBIDDEN),
    (r"\b409\b|[Cc]onflict", Outcome.CONFLICT),
    (r"\b4(00|22)\b|[Ii]nvalid", Outcome.INVALID),
    (r"hang|time(d )?-?out|never", Outcome.TIMED_OUT),
    (r"\b(5\d\d|429)\b|[Oo]utage|unavailable", Outcome.FAILED),
    (r"\b20\d\b|^ok$|^OK$|[Ss]uccess", Outcome.OK),
)


@dataclass(frozen=True)
class Reply:
    """One scripted answer."""

    outcome: Outcome
    detail: str = ""
    status: int = 0
    answer: dict[str, Any] = field(default_factory=dict)


def read_reply(raw: Any) -> Reply:
    """Understand a reply as cases write them; what is not understood is an error of the reader."""
    if isinstance(raw, dict):
        code = raw.get("code", raw.get("status", 200))
        if code >= 300:
            message = raw.get("message", raw.get("reason", ""))
            return Reply(_outcome(f"{code} {raw.get('reason', '')}"), message, code)
        known = {"id": "id", "name": "name", "runnerId": "runner_id", "scaleSetId": "scale_set_id"}
        known["runnerScaleSetId"] = "scale_set_id"
        return Reply(Outcome.OK, "", code, {known[key]: value for key, value in raw.items() if key in known})
    text = str(raw)
    code = re.search(r"\b[2-5]\d\d\b", text)
    return Reply(_outcome(text), text, int(code[0]) if code else 0)


def _outcome(text: str) -> Outcome:
    for pattern, outcome in _OUTCOMES:
        if re.search(pattern, text):
            return outcome
    raise LookupError(f"a reply that nobody understands: {text!r}")


class Script:
    """All scripted answers of a case, by call."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._replies: dict[str, list[tuple[Instant, Reply]]] = {}
        for event in events:
            for face in ("svc", "api"):
                if face in event:
                    call = canonical(event[face]) if face == "svc" else event[face]
                    at = START + round(event["t"] * SECOND)
                    self._replies.setdefault(call, []).append((at, read_reply(event["reply"])))

    def reply(self, call: str, now: Instant) -> Reply | None:
        """Return the answer to a call at a time; None where the case has none and all goes well."""
        replies = self._replies.get(call) or self._replies.get(call.partition("(")[0]) or []
        held = [reply for at, reply in replies if at <= now] or [reply for _, reply in replies[:1]]
        return held[-1] if held else None


def canonical(call: str) -> str:
    """Return the one name of a service call, with its argument where it has one: `RemoveRunner(7)`."""
    name, separator, rest = call.partition("(")
    return f"{_ALIASES.get(name, name)}{separator}{rest}"


def call_of(intent: Intent) -> str:
    """Return how a case would name the call that an intent makes."""
    if isinstance(intent, RegisterRunner):
        return f"{REGISTER}({intent.name})"
    assert isinstance(intent, CallService)
    name = CALLS.get(intent.call, str(intent.call))
    argument = intent.arguments.get("runner_id", intent.arguments.get("id", intent.arguments.get("name", "")))
    return f"{name}({argument})" if intent.call is not ServiceCall.REGISTER_SCALE_SET else name
