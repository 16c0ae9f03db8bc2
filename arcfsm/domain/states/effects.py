"""What is in flight for an aggregate, and how its latest intents ended: in-flight is state (architecture.md §4.3)."""

from __future__ import annotations

import msgspec

from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import Digest


class InFlight(msgspec.Struct, frozen=True, kw_only=True):
    """An intent without an outcome."""

    key: str
    action: str
    decision: int
    index: int
    issued_at: Instant
    items: int = 1
    """Outcomes still to come."""
    content: Digest = ""
    """What the object should hold afterwards, where a breaker must recognise it (H17, H18)."""
    written: str = ""
    """What is written over what is there: `Intent.written`."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """How the latest intent with a key ended."""

    key: str
    decision: int
    outcome: Outcome
    at: Instant
    failures: int = 0
    """Consecutive failures up to this one; 0 after a success."""
    status: int = 0
    detail: str = ""
    answer: dict[str, str | int | bool] = {}
    written: str = ""
    """What was written over what was there: `Intent.written`."""
    repeats: int = 0
    """How often in a row the very same was done before, and with success: it changes nothing."""


class Effects(msgspec.Struct, frozen=True, kw_only=True):
    """The effects of one aggregate."""

    in_flight: tuple[InFlight, ...] = ()
    attempts: tuple[Attempt, ...] = ()

    def flying(self, key: str) -> InFlight | None:
        """Return the intent with this key that has no outcome yet."""
        for flight in self.in_flight:
            if flight.key == key:
                return flight
        return None

    def attempt(self, key: str) -> Attempt | None:
        """Return how the latest intent with this key ended."""
        for attempt in self.attempts:
            if attempt.key == key:
                return attempt
        return None


NO_EFFECTS = Effects()
