"""Objects that are made and torn down in a loop, under one name."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from arcfsm.audit.stalls.condition import Stall
from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events.listener import ListenerCreated
from arcfsm.domain.events.runner_set import RunnerSetCreated
from arcfsm.domain.instant import SECOND, Instant, Span
from arcfsm.domain.kinds import AggregateKind

CREATIONS_MIN: Final = 5
"""So many under one name within the window are a loop; an edit or two in a row make fewer."""
WINDOW: Final[Span] = 60 * SECOND


@dataclass(slots=True)
class _Loop:
    recent: deque[JournaledEvent] = field(default_factory=deque)
    began: JournaledEvent | None = None
    last: JournaledEvent | None = None
    count: int = 0


@dataclass(slots=True)
class Churn:
    """Watches for names that are created again and again."""

    _loops: dict[tuple[AggregateKind, str, str], _Loop] = field(default_factory=dict)

    def note(self, journaled: JournaledEvent) -> None:
        """Look at one event."""
        event = journaled.event
        if not isinstance(event, RunnerSetCreated | ListenerCreated):
            return
        loop = self._loops.setdefault((journaled.stream.kind, event.namespace, event.name), _Loop())
        loop.recent.append(journaled)
        while journaled.at - loop.recent[0].at > WINDOW:
            loop.recent.popleft()
        if len(loop.recent) >= CREATIONS_MIN:
            loop.began = loop.began or loop.recent[0]
            loop.count = max(loop.count + 1, len(loop.recent))
            loop.last = journaled

    def stalls(self, now: Instant) -> list[Stall]:
        """Return the loops that were seen."""
        return [
            Stall(
                name="recreation-loop",
                stream=loop.last.stream,
                namespace=namespace,
                object_name=name,
                since=loop.began.at,
                until=None if now - loop.last.at < WINDOW else loop.last.at,
                reason=f"recreation loop: {loop.count} {kind.value}s of this name were made one after the other",
                resolves="finding what tears them down: runners that are refused, or a second controller",
                evidence=(loop.began.seq, loop.last.seq),
            )
            for (kind, namespace, name), loop in self._loops.items()
            if loop.began is not None and loop.last is not None
        ]
