"""The base of every event, and the registry by which the journal finds the class of a stored one.

An event is a fact in our terms: frozen, named in the past tense, holding what rules and people need and no more. Big
content is stored once as a document and referred to by digest. Adding a field with a default keeps the schema number;
anything else raises it and brings an upcaster.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from arcfsm.domain.jsonvalue import Digest


class DomainEvent(BaseModel):
    """A fact. Subclasses that are facts themselves set `abstract=False` by simply being leaves; see `register`."""

    # Most programs that read a journal meet few of the classes: validators are built when they are first asked for.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    schema_number: ClassVar[int] = 1
    stored_whole: ClassVar[bool] = False
    """Whether defaults are written out, too: where a later change of a default must not change the past."""
    document_fields: ClassVar[tuple[str, ...]] = ()
    """Names of the fields that hold digests of documents."""

    def documents(self) -> Iterator[Digest]:
        """Yield the digests of the documents this event refers to."""
        for name in self.document_fields:
            found = getattr(self, name)
            if found:
                yield found


EVENT_TYPES: dict[str, type[DomainEvent]] = {}
"""Every kind of event by its name, in the order of declaration."""


def register(cls: type[DomainEvent]) -> type[DomainEvent]:
    """Enter an event class into the registry. Raises ValueError if the name is taken."""
    if cls.__name__ in EVENT_TYPES:
        raise ValueError(f"two event types are called {cls.__name__}")
    EVENT_TYPES[cls.__name__] = cls
    return cls
