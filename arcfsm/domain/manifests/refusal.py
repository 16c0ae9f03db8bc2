"""Why a manifest cannot be built: an answer that rules act on (A13, L10, L12), not an accident."""

from __future__ import annotations

from enum import StrEnum


class Refusal(StrEnum):
    """What is missing or wrong in the owner."""

    UNREGISTERED = "unregistered"
    """The annotation with the scale set id is missing, no integer, or not positive (A8, A13, H38)."""
    INVALID_URL = "invalid-url"
    INVALID_LIMITS = "invalid-limits"
    """minRunners is above maxRunners (P1)."""
    INCOMPLETE = "incomplete"
    """A field is missing without which a listener cannot start (P1)."""
    INVALID_SETTINGS = "invalid-settings"
    """The controller itself is set up wrongly."""


class Unbuildable(Exception):  # noqa: N818 - an answer, named for what the rules call it
    """Raised by builders. The detail says what to change; it never holds a value of a Secret."""

    def __init__(self, reason: Refusal, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
