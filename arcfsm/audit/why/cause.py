"""What may be said about a cause, and where the functions that find causes are listed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from arcfsm.audit.past import Past
from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events import DomainEvent


@dataclass(frozen=True, slots=True)
class Cause:
    """An event is behind another."""

    journaled: JournaledEvent
    words: str = ""
    """How to say it here, where the usual words miss the point."""
    then: Finder | None = None
    """How to go on from it, where its own usual cause misses the point."""
    note: str = ""
    """What is striking about how one followed from the other."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The chain ends here, and this is why: what is behind it happened outside of what the journal sees."""

    text: str


Because: TypeAlias = Cause | Origin | None
"""None: the journal does not say."""
Finder: TypeAlias = Callable[[Past, JournaledEvent], Because]

FINDERS: Final[dict[type[DomainEvent], Finder]] = {}
"""How to find what is behind an event, by its type."""


def behind(*types: type[DomainEvent]) -> Callable[[Finder], Finder]:
    """Enter a function that finds what is behind events of these types."""

    def enter(finder: Finder) -> Finder:
        for one in types:
            if one in FINDERS:
                raise ValueError(f"two functions find what is behind {one.__name__}")
            FINDERS[one] = finder
        return finder

    return enter


def follow(found: JournaledEvent | None) -> Because:
    """Return a cause in its usual words; None where there is none."""
    return None if found is None else Cause(found)


def newest(*found: JournaledEvent | None) -> JournaledEvent | None:
    """Return the latest of some events."""
    return max((one for one in found if one is not None), key=lambda one: one.seq, default=None)
