"""Requests and answers as the service spells them (X3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, urlencode

import orjson

from arcfsm import __version__
from arcfsm.actions.transport import HttpAnswer
from arcfsm.domain.exchange import RunnerReference, ScaleSetReference
from arcfsm.domain.jsonvalue import Json, JsonObject, integer_at, text_at

API_VERSION: Final = "6.0-preview"
RUNNER_SETTING: Final[JsonObject] = {"disableUpdate": True}
"""Said with every update as well, since it may replace what the service has."""
_SYSTEM: Final = "System"


def user_agent(scale_set_id: int) -> str:
    """Return the User-Agent header: a JSON object that tells the service who asks and for which scale set (X3, X6)."""
    return orjson.dumps(
        {
            "system": "actions-runner-controller",
            "version": __version__,
            "commit_sha": "",
            "scale_set_id": scale_set_id,
            "subsystem": "gha-scale-set-controller",
            "build_version": __version__,
            "build_commit_sha": "",
            "kind": "scaleset",
        }
    ).decode("ascii")


def service_url(base: str, path: str, **query: str | int) -> str:
    """Return the URL of a call below the service's base. Whatever names hold, they arrive as they are."""
    parameters = urlencode({**query, "api-version": API_VERSION}, quote_via=quote, safe="")
    return f"{base.rstrip('/')}/_apis/{path}?{parameters}"


def new_scale_set(name: str, group_id: int, labels: Iterable[str]) -> JsonObject:
    """Return the body that creates a scale set: its own name is its first label, and none stands twice (A8)."""
    listed: list[Json] = [{"type": _SYSTEM, "name": label} for label in dict.fromkeys((name, *labels))]
    return {"name": name, "runnerGroupId": group_id, "labels": listed, "RunnerSetting": RUNNER_SETTING}


def json_object(answer: HttpAnswer) -> JsonObject | None:
    """Return the object in a body, which may begin with a byte order mark; None where there is none."""
    try:
        found = orjson.loads(answer.body.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def scale_set(found: JsonObject) -> ScaleSetReference | None:
    """Read a scale set; None where that is none."""
    identity, name = integer_at(found, "id"), text_at(found, "name")
    if identity <= 0 or not name:
        return None
    return ScaleSetReference(identity, name, text_at(found, "runnerGroupName"))


def runner(found: JsonObject) -> RunnerReference | None:
    """Read a runner; None where that is none."""
    identity = integer_at(found, "id")
    if identity <= 0:
        return None
    return RunnerReference(identity, text_at(found, "name"), integer_at(found, "runnerScaleSetId"))
