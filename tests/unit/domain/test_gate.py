"""The gate: nothing twice, nothing in a hurry."""

from __future__ import annotations

from arcfsm.domain.events.decision import IntentSettled, Outcome
from arcfsm.domain.fold import issue, settle
from arcfsm.domain.instant import MINUTE, SECOND
from arcfsm.domain.intents import CreateObject, DeleteObject, PatchObject, ReadObject
from arcfsm.domain.kinds import AggregateKind, Kind, StreamId
from arcfsm.domain.rules.gate import CONFLICT_RETRIES, RETRY_MAX, gate, retry_at
from arcfsm.domain.states import Attempt, Effects, InFlight
from arcfsm.domain.world import World

STREAM = StreamId(AggregateKind.RUNNER, "er-1")
INTENT = DeleteObject(target=STREAM, kind=Kind.RUNNER, namespace="ns", name="a", uid="er-1")
OTHER = DeleteObject(target=STREAM, kind=Kind.POD, namespace="ns", name="a", uid="pod-1")


def attempt(outcome, failures=1, at=0):
    return Attempt(key=INTENT.key, decision=1, outcome=outcome, at=at, failures=failures)


def test_what_is_in_flight_is_not_issued_again_but_the_rest_is():
    world = World()
    flight = InFlight(key=INTENT.key, action="delete", decision=1, index=0, issued_at=0)
    world.effects[STREAM] = Effects(in_flight=(flight,))
    gated = gate(world, (INTENT, OTHER), now=0)
    assert (gated.issued, gated.flying, gated.waiting) == ((OTHER,), (INTENT,), ())


def test_a_failure_waits_and_comes_back_by_itself():
    world = World()
    world.effects[STREAM] = Effects(attempts=(attempt(Outcome.FAILED),))
    assert gate(world, (INTENT,), now=SECOND - 1).waiting[0][2] == SECOND
    assert gate(world, (INTENT,), now=SECOND).issued == (INTENT,)


def test_waits_double_up_to_a_limit():
    waits = [retry_at(attempt(Outcome.FAILED, failures)) for failures in range(1, 40)]
    assert waits[:4] == [SECOND, 2 * SECOND, 4 * SECOND, 8 * SECOND]
    assert waits[-1] == RETRY_MAX == 5 * MINUTE


def test_conflicts_come_back_sooner_at_first():
    waits = [retry_at(attempt(Outcome.CONFLICT, failures)) for failures in (1, 2, 3, 4)]
    assert tuple(waits) == CONFLICT_RETRIES
    assert retry_at(attempt(Outcome.CONFLICT, 5)) == 16 * SECOND


def test_an_answer_is_no_failure():
    for outcome in (Outcome.OK, Outcome.NOT_FOUND, Outcome.BUSY, Outcome.RUNNER_EXISTS):
        assert retry_at(attempt(outcome, 0)) is None


def test_what_exists_already_is_not_created_in_a_hot_loop():
    assert retry_at(attempt(Outcome.ALREADY_EXISTS, 0, at=7)) == 7 + SECOND


PATCH = PatchObject(target=STREAM, kind=Kind.RUNNER, namespace="ns", name="a", uid="er-1", patch="document-1")


def written(world, intent, *, seq, at, outcome=Outcome.OK):
    """Issue an intent and let it succeed, without any trace."""
    effects = issue(world.effects_of(STREAM), intent, seq, 0, at)
    done = IntentSettled(decision=seq, index=0, key=intent.key, outcome=outcome)
    world.effects[STREAM] = settle(effects, done, at)


def test_a_write_that_left_no_trace_is_repeated_ever_more_slowly():
    world, now, waits = World(), 0, []
    for seq in range(1, 13):
        written(world, PATCH, seq=seq, at=now)
        (_, _, again), *_ = gate(world, (PATCH,), now).waiting
        waits.append((again - now) // SECOND)
        now = again
        assert gate(world, (PATCH,), now).issued == (PATCH,)
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]


def test_another_write_to_the_same_object_goes_out_at_once_and_forgives():
    world = World()
    other = PATCH.model_copy(update={"patch": "document-2"})
    for seq, intent in enumerate((PATCH, PATCH, other), start=1):
        written(world, intent, seq=seq, at=0)
    assert gate(world, (PATCH,), 0).issued == (PATCH,)
    assert gate(world, (other,), 0).waiting[0][2] == SECOND


def test_what_was_deleted_a_moment_ago_is_not_deleted_again_but_with_more_haste_it_is():
    world = World()
    written(world, INTENT, seq=1, at=0)
    assert gate(world, (INTENT,), 0).waiting[0][2] == SECOND
    hasty = INTENT.model_copy(update={"grace_period_s": 0})
    assert gate(world, (hasty,), 0).issued == (hasty,)


def test_a_write_to_what_is_gone_waits_for_the_watch_to_say_so():
    world = World()
    written(world, PATCH, seq=1, at=0, outcome=Outcome.NOT_FOUND)
    assert gate(world, (PATCH,), 0).waiting[0][2] == SECOND


def test_a_creation_in_a_namespace_that_is_gone_is_no_hot_loop():
    world = World()
    create = CreateObject(target=STREAM, kind=Kind.POD, namespace="ns", name="a", manifest="document-1")
    written(world, create, seq=1, at=0, outcome=Outcome.NOT_FOUND)
    assert gate(world, (create,), 0).waiting[0][2] == SECOND
    written(world, create, seq=2, at=0)
    assert gate(world, (create,), 0).issued == (create,), "what was created and is gone is created again"


def test_questions_may_be_repeated():
    world = World()
    question = ReadObject(target=STREAM, kind=Kind.POD, namespace="ns", name="a")
    written(world, question, seq=1, at=0)
    assert gate(world, (question,), 0).issued == (question,)
