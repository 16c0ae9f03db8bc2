"""The fold of effects: an intent flies from its decision to its outcome; the latest outcome per key is kept."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from arcfsm.domain.events.decision import IntentSettled, Outcome
from arcfsm.domain.instant import Instant
from arcfsm.domain.intents import CreateObject, CreateRunners, Intent, PatchObject
from arcfsm.domain.jsonvalue import Digest
from arcfsm.domain.states import Attempt, Effects, InFlight

DONE: Final = frozenset({Outcome.OK, Outcome.NOT_FOUND, Outcome.ALREADY_EXISTS, Outcome.BUSY, Outcome.RUNNER_EXISTS})
"""Outcomes that are an answer. All others are failures, tried again after a wait."""
TAKEN: Final = frozenset({Outcome.OK, Outcome.NOT_FOUND})
"""Outcomes after which a write leaves nothing to be done."""
ATTEMPTS_MAX: Final = 256
"""Ended intents that an aggregate remembers, the latest ones. Every wish of a listener is a key of its own: a set that
serves for months would else carry all of them along, and every outcome would cost more than the one before."""


def issue(effects: Effects, intent: Intent, decision: int, index: int, at: Instant) -> Effects:
    """Return the effects with one more intent in flight."""
    flight = InFlight(
        key=intent.key,
        action=intent.action,
        decision=decision,
        index=index,
        issued_at=at,
        items=intent.count if isinstance(intent, CreateRunners) else 1,
        content=_content(intent),
        written=intent.written,
    )
    return replace(effects, in_flight=(*effects.in_flight, flight))


def settle(effects: Effects, event: IntentSettled, at: Instant) -> Effects:
    """Return the effects after an outcome. An intent that makes several objects flies until each of them has one."""
    in_flight = tuple(
        replace(flight, items=flight.items - 1) if _settles(flight, event) else flight
        for flight in effects.in_flight
        if not (_settles(flight, event) and flight.items == 1)
    )
    before = effects.attempt(event.key)
    failed = event.outcome not in DONE
    # Of the objects that one intent makes, a good one does not forgive a bad one, and ten bad ones are one failure.
    spoiled = before is not None and before.decision == event.decision and before.outcome not in DONE
    if spoiled:
        return replace(effects, in_flight=in_flight)
    flight = next((one for one in effects.in_flight if _settles(one, event)), None)
    written = flight.written if flight is not None else ""
    again = written != "" and event.outcome in TAKEN
    attempt = Attempt(
        key=event.key,
        decision=event.decision,
        outcome=event.outcome,
        at=at,
        failures=(before.failures if before else 0) + 1 if failed else 0,
        status=event.status,
        detail=event.detail,
        answer=dict(event.answer),
        written=written,
        repeats=before.repeats + 1 if before and again and (before.written, before.failures) == (written, 0) else 0,
    )
    others = [other for other in effects.attempts if other.key != event.key]
    return Effects(in_flight=in_flight, attempts=(*others[1 - ATTEMPTS_MAX :], attempt))


def _content(intent: Intent) -> Digest:
    if isinstance(intent, CreateObject):
        return intent.manifest
    return intent.content if isinstance(intent, PatchObject) else ""


def _settles(flight: InFlight, event: IntentSettled) -> bool:
    return (flight.decision, flight.index) == (event.decision, event.index)
