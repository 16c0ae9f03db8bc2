"""The gate between what rules want and what is issued: never the same intent twice, never a failing one in a hurry.

Rules are level-triggered and want the same thing at every look until it has happened. The gate leaves out what is in
flight already and what failed a moment ago. A failed intent comes back after a wait that doubles with each failure in
a row; a conflict comes back sooner, since only a newer look was missing (H3). And a write that succeeded but left no
trace (the watch is late, the installed CRD prunes the field, a webhook takes it back) is not repeated at full speed
(H34).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.fold import DONE, TAKEN
from arcfsm.domain.instant import MILLISECOND, MINUTE, SECOND, Instant, Span
from arcfsm.domain.intents import CreateObject, Intent
from arcfsm.domain.kinds import StreamId
from arcfsm.domain.states import Attempt
from arcfsm.domain.world import World

RETRY: Final[Span] = 1 * SECOND
RETRY_MAX: Final[Span] = 5 * MINUTE
CONFLICT_RETRIES: Final[tuple[Span, ...]] = (0, 10 * MILLISECOND, 50 * MILLISECOND, 250 * MILLISECOND)
"""Waits after the first, second, … conflict in a row (S-applied, S-marker); later ones wait as other failures do."""


class Gated(NamedTuple):
    """What may be issued now, and when the rest comes back."""

    issued: tuple[Intent, ...]
    flying: tuple[Intent, ...]
    waiting: tuple[tuple[Intent, Attempt, Instant], ...]


def retry_at(attempt: Attempt) -> Instant | None:
    """Return when an intent that ended this way may be tried again; None if it may be at once."""
    if attempt.outcome is Outcome.ALREADY_EXISTS:
        # It is there and about to be seen; should it vanish first, it is wanted again.
        return attempt.at + RETRY
    if attempt.outcome in DONE or attempt.failures == 0:
        return None
    if attempt.outcome is Outcome.CONFLICT and attempt.failures <= len(CONFLICT_RETRIES):
        return attempt.at + CONFLICT_RETRIES[attempt.failures - 1]
    return attempt.at + min(RETRY << min(attempt.failures - 1, 16), RETRY_MAX)


def vain_until(attempt: Attempt, intent: Intent) -> Instant | None:
    """Return when the very thing that was just done with success may be done again; None for anything else.

    A creation that finds nothing to create into (its namespace is gone) is no success, and no reason to hurry either.
    """
    if attempt.outcome is Outcome.NOT_FOUND and isinstance(intent, CreateObject):
        return attempt.at + RETRY
    if attempt.outcome not in TAKEN or not intent.written or attempt.written != intent.written:
        return None
    return attempt.at + min(RETRY << min(attempt.repeats, 16), RETRY_MAX)


def gate(world: World, intents: tuple[Intent, ...], now: Instant) -> Gated:
    """Sort intents into those to issue, those in flight, and those that wait after a failure."""
    issued: list[Intent] = []
    flying: list[Intent] = []
    waiting: list[tuple[Intent, Attempt, Instant]] = []
    for intent in intents:
        effects = world.effects_of(StreamId(*intent.target))
        attempt = effects.attempt(intent.key)
        again = (retry_at(attempt) or vain_until(attempt, intent)) if attempt else None
        if effects.flying(intent.key) is not None:
            flying.append(intent)
        elif attempt is not None and again is not None and again > now:
            waiting.append((intent, attempt, again))
        else:
            issued.append(intent)
    return Gated(tuple(issued), tuple(flying), tuple(waiting))
