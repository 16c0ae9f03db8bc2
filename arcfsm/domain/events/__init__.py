"""Domain events: facts in our terms. `EVENT_TYPES` holds every kind by name."""

from __future__ import annotations

from arcfsm.domain.events import controller, decision, dependent, listener, runner, runner_set, scale_set
from arcfsm.domain.events.domain_event import EVENT_TYPES, DomainEvent

__all__ = [
    "EVENT_TYPES",
    "DomainEvent",
    "controller",
    "decision",
    "dependent",
    "listener",
    "runner",
    "runner_set",
    "scale_set",
    "types_of",
]


def types_of(*bases: type[DomainEvent]) -> frozenset[type[DomainEvent]]:
    """Return the classes that are one of these, for places that every event passes.

    `type(event) in` takes a quarter of what `isinstance` takes to say no, and as little for many as for one.
    """
    return frozenset(cls for cls in EVENT_TYPES.values() if issubclass(cls, bases))
