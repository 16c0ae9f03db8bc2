"""Imports into memory: write lines, import them, look at what a journal would have got."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arcfsm.cluster.redaction import redact_text
from arcfsm.cluster.translator import ObjectTranslator
from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events.decision import Decided
from arcfsm.domain.instant import Instant, format_instant
from arcfsm.domain.world import World
from arcfsm.journal import Batch
from arcfsm.replay.importing import Adoption, Importer, Plan, SourceFile, Tally, survey


@dataclass
class Imported:
    world: World
    tally: Tally
    batches: list[Batch]
    events: list[JournaledEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.events = [one for batch in self.batches for one in batch.events]

    @property
    def facts(self) -> list[JournaledEvent]:
        """Events of objects: neither decisions nor the controller's own."""
        return [one for one in self.events if not isinstance(one.event, Decided) and one.stream.kind != "controller"]

    @property
    def told(self) -> list[str]:
        return [type(one.event).__name__ for one in self.facts]

    def of(self, *names: str) -> list[JournaledEvent]:
        return [one for one in self.events if type(one.event).__name__ in names]

    @property
    def resume(self) -> dict[str, str]:
        return dict(self.batches[-1].resume_points)


def bring_in(
    *files: Path,
    world: World | None = None,
    batch_events: int = 500,
    as_of: Instant | None = None,
    **overrides: Any,
) -> Imported:
    """Import files into a world; a new translator each time, as a new process would have."""
    world = world or World()
    adoption = Adoption(overrides, clean=redact_text)
    surveyed = [(source, survey(source, adoption, lambda _bytes: None)) for source in map(SourceFile, map(str, files))]
    batches: list[Batch] = []
    importer = Importer(world, ObjectTranslator(), write=batches.append, clock=lambda: 0)
    plan = Plan(
        files=surveyed,
        format="watch",
        adoption=adoption,
        rules_version="test",
        as_of=as_of,
        batch_events=batch_events,
    )
    return Imported(world, importer.run(plan), batches)


def event(change: str, obj: Any, at: Instant | None = None) -> dict[str, Any]:
    """A watch event, with the time of its reception where it is known."""
    received = {"received": format_instant(at)} if at is not None else {}
    return {**received, "type": change, "object": obj}


def write(path: Path, lines: Iterable[Any]) -> Path:
    """Write a file of JSON lines; strings are written as they are."""
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path
