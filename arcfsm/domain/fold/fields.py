"""Folding by field names: most events set exactly the fields of the state that they carry under the same names."""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from arcfsm.domain.events import DomainEvent
from arcfsm.domain.instant import Instant

S = TypeVar("S", bound=Struct)


def set_fields(state: S, event: DomainEvent, _at: Instant) -> S:
    """Return the state with the event's fields in place of its own."""
    return replace(state, **event.__dict__)


def appear(state: S, event: DomainEvent, _at: Instant) -> S:
    """Return the state of an object that was seen whole."""
    return replace(state, present=True, **event.__dict__)


def vanish(state: S, _event: DomainEvent, _at: Instant) -> S:
    """Return the state of an object that is no more; what was last known of it stays readable."""
    return replace(state, present=False)
