"""M10: clients are kept by what they are made of; a login is shared by whoever needs it at the same time."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from arcfsm.actions import ActionsClients
from arcfsm.domain.client_identity import ClientIdentity
from arcfsm.domain.exchange import FailureKind, ServiceFailure
from arcfsm.domain.instant import HOUR, MILLISECOND, SECOND
from arcfsm.domain.manifests.credentials import TokenCredentials
from arcfsm.sim.kernel import Kernel
from tests.unit.actions.scripted import Scripted, access, listing, proxied, refused, run

CALLERS = 20


class Opener:
    """Opens a scripted transport for every client, and remembers them."""

    def __init__(self):
        self.opened = []

    def __call__(self, of):
        self.opened.append(Scripted(*[listing()] * 9))
        return self.opened[-1]

    def clients(self, **options):
        async def sleep(_span):
            raise AssertionError("nothing is waited for")

        return ActionsClients(self, now=lambda: 0, sleep=sleep, **options)


def identity(number, secret_version=1):
    return ClientIdentity(f"https://ghe.corp/o{number}", "ns", f"github@uid@{secret_version}", "", "")


def test_M10_one_identity_is_one_client_and_one_login():
    opener = Opener()
    clients = opener.clients()
    for number in (5, 6, 5):
        run(clients.service(access(), scale_set_id=number).find_runner("r"))
    assert (len(clients), len(opener.opened), len(opener.opened[0].logins)) == (1, 1, 2)


def test_M10_a_rotated_secret_makes_another_client():
    opener = Opener()
    clients = opener.clients()
    run(clients.service(access(identity=identity(1))).find_runner("r"))
    rotated = access(credentials=TokenCredentials("another"), identity=identity(1, secret_version=2))
    run(clients.service(rotated).find_runner("r"))
    assert opener.opened[1].requests[0].headers["authorization"] == "Bearer another"


@pytest.mark.parametrize(
    "change",
    [
        {"credentials": TokenCredentials("another")},
        {"proxy": proxied("http://p:1")},
        {"root_ca": "-----BEGIN"},
        {"config_url": "https://ghe.corp/other"},
    ],
)
def test_M10_other_content_under_the_same_identity_replaces_the_client(change):
    # What a vault holds, and a Secret that is not watched, change without a trace in the identity.
    opener = Opener()
    clients = opener.clients()
    clients.service(access())
    clients.service(dataclasses.replace(access(), **change))
    assert (len(clients), [one.closed for one in opener.opened]) == (1, [1, 0])


def test_M10_the_client_that_was_not_asked_for_longest_goes_and_is_closed():
    opener = Opener()
    clients = opener.clients(kept=2)
    for number in (1, 2, 1, 3):
        clients.service(access(identity=identity(number)))
    assert (len(clients), [one.closed for one in opener.opened]) == (2, [0, 1, 0])
    clients.close()
    assert (len(clients), [one.closed for one in opener.opened]) == (0, [1, 1, 1])


def test_a_client_that_cannot_be_made_is_not_kept():
    def refuse(_access):
        raise ServiceFailure(FailureKind.INVALID, "no such proxy")

    clients = ActionsClients(refuse, now=lambda: 0, sleep=None)
    for _ in range(2):
        with pytest.raises(ServiceFailure, match="no such proxy"):
            clients.service(access())
    assert len(clients) == 0


class Slow(Scripted):
    """Every answer takes a while."""

    def __init__(self, pause, *answers, admin_lifetime=HOUR, **login):
        super().__init__(*answers, **login)
        self.admin_lifetime = admin_lifetime
        self._pause = pause

    async def send(self, request):
        await self._pause(30 * MILLISECOND)
        return await super().send(request)


def on_kernel(callers, **login):
    kernel = Kernel(1)
    world = Slow(kernel.sleep, *[listing()] * CALLERS, **login)
    clients = ActionsClients(lambda _access: world, now=kernel.now, sleep=kernel.sleep)
    ended = []
    for number in range(callers):
        kernel.spawn(outcome(clients.service(access()), ended), f"caller/{number}")
    kernel.run(kernel.start + 60 * SECOND)
    return world, ended


def on_asyncio(callers, **login):
    async def pause(span):
        await asyncio.sleep(span / SECOND)

    world = Slow(pause, *[listing()] * CALLERS, **login)
    clients = ActionsClients(lambda _access: world, now=lambda: world.now, sleep=pause)
    ended = []

    async def all_of_them():
        await asyncio.gather(*(outcome(clients.service(access()), ended) for _ in range(callers)))

    asyncio.run(all_of_them())
    return world, ended


async def outcome(service, ended):
    try:
        ended.append(await service.find_runner("r"))
    except ServiceFailure as failure:
        ended.append((failure.kind, failure.status, failure.detail))


@pytest.mark.parametrize("runs", [on_kernel, on_asyncio])
def test_many_calls_at_once_log_in_once(runs):
    world, ended = runs(CALLERS)
    assert ended == [None] * CALLERS
    assert world.logins == ["registration-token", "runner-registration"]


@pytest.mark.parametrize("runs", [on_kernel, on_asyncio])
def test_many_calls_at_once_log_in_once_even_where_the_clock_is_far_ahead(runs):
    world, ended = runs(CALLERS, admin_lifetime=-HOUR)
    assert ended == [None] * CALLERS
    assert world.logins == ["registration-token", "runner-registration"]


@pytest.mark.parametrize("runs", [on_kernel, on_asyncio])
def test_many_calls_at_once_are_refused_once(runs):
    world, ended = runs(CALLERS, registration_token=[refused(401)])
    assert len(ended) == CALLERS
    assert {kind for kind, _, _ in ended} == {FailureKind.UNAUTHORIZED}
    assert world.logins == ["registration-token"]


def test_a_login_that_is_cut_off_does_not_stop_those_who_wait_for_it():
    kernel = Kernel(1)
    world = Slow(kernel.sleep, *[listing()] * 2)
    clients = ActionsClients(lambda _access: world, now=kernel.now, sleep=kernel.sleep)
    ended = []
    first = kernel.spawn(outcome(clients.service(access()), ended), "first")
    kernel.after(10 * MILLISECOND, lambda: kernel.spawn(outcome(clients.service(access()), ended), "second"))
    kernel.after(40 * MILLISECOND, first.kill)
    kernel.run(kernel.start + SECOND)
    assert ended == [None]
    assert world.logins == ["registration-token"] * 2 + ["runner-registration"]
