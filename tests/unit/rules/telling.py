"""Intents as short lines, so that a test reads like the table of rules.md."""

from __future__ import annotations

import json
from collections.abc import Iterable

from arcfsm.domain.intents import CallService, CreateObject, CreateRunners, DeleteObject, Intent, PatchObject
from arcfsm.domain.kinds import Kind
from tests.unit.rules.harness import Lab

_SHORT = {Kind.SCALE_SET: "ARS", Kind.RUNNER_SET: "ERS", Kind.RUNNER: "ER", Kind.LISTENER: "AL"}


def tell(lab: Lab, intents: Iterable[Intent]) -> list[str]:
    """What was wanted or done, one line each: `delete ER a`, `patch ERS/status {"phase":"Outdated"}`."""
    return [_tell(lab, intent) for intent in intents]


def _tell(lab: Lab, intent: Intent) -> str:
    if isinstance(intent, PatchObject):
        kind = _SHORT.get(intent.kind, str(intent.kind))
        body = lab.patch_of(intent)
        if intent.subresource:
            body = body["status"]
        name = "" if intent.name == "demo" else f" {intent.name}"
        lock = "!" if intent.resource_version else ""
        part = f"/{intent.subresource}" if intent.subresource else ""
        return f"patch {kind}{part}{lock}{name} {json.dumps(body, separators=(',', ':'))}"
    if isinstance(intent, DeleteObject):
        return f"delete {_SHORT.get(intent.kind, intent.kind)} {intent.name}"
    if isinstance(intent, CreateRunners):
        return f"create {intent.count} ER for patch {intent.patch_id}"
    if isinstance(intent, CreateObject):
        return f"create {_SHORT.get(intent.kind, intent.kind)} {intent.name}"
    if isinstance(intent, CallService):
        said = " ".join(
            f"{key}={','.join(value) if isinstance(value, tuple) else value}" for key, value in intent.arguments.items()
        )
        return f"call {intent.call} {said}"
    return intent.key
