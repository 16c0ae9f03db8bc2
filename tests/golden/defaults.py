"""Defaults of every event and of what events hold, as one document: fields at their defaults are not stored.

Write it with `python tests/golden/defaults.py`. A line that changes changes the past: raise the schema number of the
types that hold the field and lift their old form instead. New lines are fine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from arcfsm.domain.events import EVENT_TYPES

PATH = Path(__file__).with_name("event_defaults.json")


def models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that a field's annotation names, at any depth."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models(part)


def defaults() -> dict[str, dict[str, Any]]:
    """Return the defaults by type and field: `RunnerPhaseChanged.1` for events, a bare name for what they hold."""
    found: dict[str, dict[str, Any]] = {}
    pending: list[tuple[str, type[BaseModel]]] = [
        (f"{name}.{cls.schema_number}", cls) for name, cls in EVENT_TYPES.items() if not cls.stored_whole
    ]
    while pending:
        name, cls = pending.pop()
        if name in found:
            continue
        found[name] = {
            field: to_jsonable_python(info.get_default(call_default_factory=True, validated_data={}))
            for field, info in cls.model_fields.items()
            if not info.is_required()
        }
        for info in cls.model_fields.values():
            pending.extend((one.__name__, one) for one in models(info.annotation))
    return {name: fields for name, fields in sorted(found.items()) if fields}


if __name__ == "__main__":
    PATH.write_text(json.dumps(defaults(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
