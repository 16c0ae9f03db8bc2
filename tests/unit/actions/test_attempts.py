"""X3, H22: what is sent again, how often, and what never is."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from arcfsm.actions.attempts import CALL_MAX, REPEATS_MAX, WAITS_MAX
from arcfsm.domain.exchange import FailureKind, ServiceFailure
from arcfsm.domain.instant import SECOND
from tests.unit.actions.scripted import LOST, NEVER_LEFT, START, Scripted, answer, listing, refused, run

NOBODY = listing()
SCALE_SET = answer(200, {"id": 5, "name": "demo", "runnerGroupName": "Default"})
JIT = answer(200, {"runner": {"id": 9, "name": "r", "runnerScaleSetId": 5}, "encodedJITConfig": "Y29uZmln"})
BUSY_SIGNS = [refused(429), refused(500), refused(502), refused(503), refused(504), LOST, NEVER_LEFT]


@pytest.mark.parametrize("trouble", BUSY_SIGNS)
@pytest.mark.parametrize(
    ("call", "good"),
    [
        (lambda service: service.find_runner("r"), NOBODY),
        (lambda service: service.update_scale_set(5, name="n"), SCALE_SET),
        (lambda service: service.remove_runner(9), answer(204)),
    ],
)
def test_X3_what_may_be_done_twice_is_sent_again(trouble, call, good):
    world = Scripted(trouble, trouble, good)
    run(call(world.service()))
    assert len(world.calls) == 3
    assert world.slept == [SECOND, 2 * SECOND]


@pytest.mark.parametrize("trouble", BUSY_SIGNS)
def test_X3_patience_is_bounded(trouble):
    world = Scripted(*[trouble] * (REPEATS_MAX + 1))
    with pytest.raises(ServiceFailure):
        run(world.service().find_runner("r"))
    assert len(world.calls) == REPEATS_MAX + 1
    assert sum(world.slept) <= WAITS_MAX


def test_X3_patience_is_shared_by_the_login_and_the_call():
    world = Scripted(refused(503), registration_token=[LOST], register=[LOST, LOST])
    with pytest.raises(ServiceFailure) as caught:
        run(world.service().find_runner("r"))
    assert caught.value.kind is FailureKind.FAILED
    assert len(world.slept) == REPEATS_MAX


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 501])
def test_X3_a_refusal_for_good_is_not_repeated(status):
    world = Scripted(refused(status))
    with pytest.raises(ServiceFailure):
        run(world.service().find_runner("r"))
    assert (len(world.calls), world.slept) == (1, [])


@pytest.mark.parametrize("trouble", [LOST, refused(500), refused(502), refused(503, retry_after="1"), refused(504)])
@pytest.mark.parametrize(
    "call",
    [
        lambda service: service.jit_configuration(5, "r", ""),
        lambda service: service.create_scale_set("demo", "", ()),
    ],
)
def test_H22_what_may_have_been_created_is_not_asked_for_again(trouble, call):
    world = Scripted(trouble)
    with pytest.raises(ServiceFailure) as caught:
        run(call(world.service()))
    assert caught.value.kind in {FailureKind.UNREACHABLE, FailureKind.FAILED}
    assert len(world.calls) == 1


@pytest.mark.parametrize("trouble", [NEVER_LEFT, refused(429)])
def test_H22_what_has_certainly_not_been_done_may_be_asked_for_again(trouble):
    world = Scripted(trouble, JIT)
    assert run(world.service().jit_configuration(5, "r", "")).runner.id == 9
    assert len(world.calls) == 2


@pytest.mark.parametrize(
    ("header", "waited"),
    [
        ("3", 3 * SECOND),
        ("0", SECOND),
        ("soon", SECOND),
        ("", SECOND),
        (formatdate((START + 7 * SECOND) / SECOND, usegmt=True), 7 * SECOND),
        (formatdate((START - 900 * SECOND) / SECOND, usegmt=True), SECOND),
    ],
)
def test_X3_retry_after_is_honoured(header, waited):
    world = Scripted(refused(429, retry_after=header), NOBODY)
    run(world.service().find_runner("r"))
    assert world.slept == [waited]


@pytest.mark.parametrize("header", ["16", "3600", "9" * 30])
def test_X3_a_longer_wait_is_left_to_the_engine(header):
    world = Scripted(refused(429, retry_after=header))
    with pytest.raises(ServiceFailure) as caught:
        run(world.service().find_runner("r"))
    assert (caught.value.kind, world.slept) == (FailureKind.THROTTLED, [])


def test_the_rate_limit_of_github_hides_behind_a_403():
    world = Scripted(NOBODY, registration_token=[refused(403, x_ratelimit_remaining="0")])
    run(world.service().find_runner("r"))
    assert len(world.slept) == 1


def test_nothing_is_sent_again_once_a_call_took_long():
    world = Scripted(LOST, LOST)
    send = world.send

    async def slow(request):
        world.now += CALL_MAX // 4
        return await send(request)

    world.send = slow
    with pytest.raises(ServiceFailure) as caught:
        run(world.service().find_runner("r"))
    assert caught.value.kind is FailureKind.UNREACHABLE
    assert len(world.calls) == 2


def test_every_exchange_is_told():
    told = []
    world = Scripted(LOST, NOBODY)
    run(world.service(observer=lambda *what: told.append(what[:2])).find_runner("r"))
    assert told == [("registration token", 201), ("registration", 200), ("find runner", 0), ("find runner", 200)]
