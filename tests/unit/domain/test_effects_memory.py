"""What an aggregate remembers of its ended intents has an end."""

from __future__ import annotations

from arcfsm.domain.events.decision import IntentSettled, Outcome
from arcfsm.domain.fold import settle
from arcfsm.domain.fold.effects import ATTEMPTS_MAX
from arcfsm.domain.intents import births_key
from arcfsm.domain.states import Effects


def served(effects, wish):
    """The effects after one more wish of the listener was served."""
    key = births_key("ns", "demo", wish)
    return settle(effects, IntentSettled(decision=wish, index=0, key=key, outcome=Outcome.OK), wish)


def test_the_latest_wishes_are_remembered_and_no_others():
    effects = Effects()
    for wish in range(1, ATTEMPTS_MAX + 3):
        effects = served(effects, wish)
    assert len(effects.attempts) == ATTEMPTS_MAX
    assert effects.attempt(births_key("ns", "demo", 2)) is None
    assert effects.attempt(births_key("ns", "demo", 3)) is not None


def test_an_intent_that_ends_again_takes_no_more_room():
    effects = Effects()
    for wish in range(ATTEMPTS_MAX):
        effects = served(effects, wish)
    effects = served(effects, 0)
    assert [attempt.key for attempt in (effects.attempts[0], effects.attempts[-1])] == [
        births_key("ns", "demo", 1),
        births_key("ns", "demo", 0),
    ]
    assert len(effects.attempts) == ATTEMPTS_MAX
