"""Work: one call that an intent asks for, ready to be carried out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events.decision import Decided
from arcfsm.domain.intents import CallService, CreateRunners, Intent, PatchObject, RegisterRunner
from arcfsm.domain.kinds import StreamId


class Pool(StrEnum):
    """Where work waits for a worker: the service may hang without the API server noticing, and the other way round."""

    CLUSTER = "cluster"
    SERVICE = "service"


@dataclass(frozen=True, slots=True)
class Work:
    """One item of an intent."""

    intent: Intent
    decision: int
    index: int
    item: int = 0
    correlation: str = ""
    """Uid of the scale set: workers are shared out fairly among them."""
    lock: str = ""
    """The resourceVersion that the decision saw, for writes that are locked to it."""

    @property
    def lane(self) -> tuple[str, ...]:
        """Work of one lane is done one after the other; lanes don't wait for each other.

        An aggregate is a lane, so that its writes keep their order; the runners of one scale-up are a lane each.
        """
        if isinstance(self.intent, CreateRunners):
            return (str(self.intent.target), str(self.decision), str(self.item))
        return (str(StreamId(*self.intent.target)),)

    @property
    def pool(self) -> Pool:
        """Whose workers carry it out."""
        return Pool.SERVICE if isinstance(self.intent, CallService | RegisterRunner) else Pool.CLUSTER


def work_of(journaled: JournaledEvent, correlation: str) -> Iterator[Work]:
    """Yield the work that a journaled decision asks for; advice asks for none."""
    event = journaled.event
    if not isinstance(event, Decided) or event.advisory:
        return
    for index, intent in enumerate(event.intents):
        lock = intent.resource_version if isinstance(intent, PatchObject) else ""
        for item in range(intent.count if isinstance(intent, CreateRunners) else 1):
            yield Work(intent, journaled.seq, index, item, correlation, lock)
