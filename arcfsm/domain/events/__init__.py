"""Domain events: facts in our terms. `EVENT_TYPES` holds every kind by name."""

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
]
