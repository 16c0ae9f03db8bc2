"""Events as bytes and back: canonical JSON, a schema number per type, upcasters from every older form.

The bytes of an event are what the hash chain covers, so they never change once written; an older form is lifted on
reading. Equal events have equal bytes: keys are sorted, and neither the order of declaration nor that of a map shows.
Fields at their defaults are left out: events stay small, and a field added with a default changes no old bytes. So a
default is part of a type's schema and never changes under its number (tests/golden/event_defaults.json). Types whose
defaults do change, such as settings, are stored whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import orjson
from pydantic import ValidationError

from arcfsm.domain.events import EVENT_TYPES, DomainEvent
from arcfsm.domain.jsonvalue import Json, canonical
from arcfsm.journal.errors import JournalDamagedError, JournalTooNewError

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
"""Lifts the payload of one schema number to the next."""

UPCASTERS: Final[dict[tuple[str, int], Upcaster]] = {}
"""By event type and the schema number they lift from."""


def register_upcaster(event_type: str, from_schema: int) -> Callable[[Upcaster], Upcaster]:
    """Enter the function that lifts payloads of `event_type` from one schema number to the next."""

    def enter(upcaster: Upcaster) -> Upcaster:
        if (event_type, from_schema) in UPCASTERS:
            raise ValueError(f"{event_type} has two upcasters from schema {from_schema}")
        UPCASTERS[event_type, from_schema] = upcaster
        return upcaster

    return enter


def encode(event: DomainEvent) -> str:
    """Return the payload. Equal events give equal text."""
    fields: dict[str, Json] = event.__pydantic_serializer__.to_python(
        event, mode="json", exclude_defaults=not event.stored_whole
    )
    return canonical(fields).decode()


def decode(event_type: str, schema: int, payload: str) -> DomainEvent:
    """Return the event that was stored. Raises JournalTooNewError or JournalDamagedError."""
    cls = EVENT_TYPES.get(event_type)
    if cls is None:
        raise JournalTooNewError(
            f"the journal holds {event_type} events, which this program does not know; use a newer one"
        )
    if schema != cls.schema_number:
        payload = _lifted(cls, schema, payload)
    try:
        event: DomainEvent = cls.__pydantic_validator__.validate_json(payload)
    except ValidationError as error:
        raise JournalDamagedError(f"a stored {event_type} can't be read: {_first(error)}") from error
    return event


def _lifted(cls: type[DomainEvent], schema: int, payload: str) -> str:
    name = cls.__name__
    if schema > cls.schema_number:
        raise JournalTooNewError(
            f"the journal holds {name} of schema {schema}, this program reads up to {cls.schema_number}; "
            "use a newer one"
        )
    try:
        fields = orjson.loads(payload)
        for number in range(schema, cls.schema_number):
            upcaster = UPCASTERS.get((name, number))
            if upcaster is None:
                raise JournalDamagedError(f"nothing lifts {name} from schema {number}; this is a fault of the program")
            fields = upcaster(fields)
        return orjson.dumps(fields).decode()
    except (LookupError, TypeError, ValueError) as error:
        raise JournalDamagedError(f"a stored {name} of schema {schema} can't be lifted: {error!r}") from error


def _first(error: ValidationError) -> str:
    problem = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
