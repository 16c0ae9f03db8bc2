"""The product's own client of the Actions service in the simulated world, faults included."""

from __future__ import annotations

import pytest

from arcfsm.domain.client_identity import ClientIdentity
from arcfsm.domain.exchange import FailureKind, ServiceAccess, ServiceFailure
from arcfsm.domain.instant import HOUR, MINUTE, SECOND
from arcfsm.domain.manifests.credentials import TokenCredentials
from arcfsm.sim.faults.plan import FaultLevel
from arcfsm.sim.scenario.model import Scenario
from arcfsm.sim.service_port import actions_over
from arcfsm.sim.world import World

URL = "http://github.example.test/example-org"


class Caller:
    """A controller that does nothing but call the service."""

    def __init__(self, program):
        self._program = program
        self.ended = []

    def start(self, ports):
        actions = actions_over(ports.service, ports.clock, ports.sleep)
        access = ServiceAccess(ClientIdentity(URL, "ns", "s@u@1", "", ""), URL, TokenCredentials("simulated-pat"))
        ports.spawn(self._until_done(actions.service(access), ports))

    async def _until_done(self, service, ports):
        while True:
            try:
                self.ended.append(await self._program(service))
            except ServiceFailure as failure:
                self.ended.append(failure.kind)
                await ports.sleep(SECOND)
            else:
                return

    def step(self):
        return False

    def kill(self):
        pass


def live(program, *, seed=1, faults=FaultLevel.NONE, duration=10 * MINUTE, before=lambda _world: None):
    caller = Caller(program)
    world = World(Scenario(name="calls", scale_sets=(), duration=duration), seed, lambda: caller, faults=faults)
    before(world)
    result = world.run()
    assert result.problems == ()
    return caller, world, result


async def whole_life(service):
    """Create, use, delete. Every step finds what an earlier try may have left."""
    found = await service.find_scale_set("demo", "")
    scale_set = found or await service.create_scale_set("demo", "", ("x",))
    runner = await service.find_runner("r")
    if runner is None:
        runner = (await service.jit_configuration(scale_set.id, "r", "")).runner
    try:
        await service.remove_runner(runner.id)
    except ServiceFailure as failure:
        if failure.kind is not FailureKind.NOT_FOUND:
            raise
    await service.delete_scale_set(scale_set.id)
    return "done"


def test_a_whole_life_without_faults():
    caller, world, result = live(whole_life)
    assert caller.ended == ["done"]
    assert (world.service.service.scale_sets, world.service.service.agents) == ((), ())
    assert result.figures["service_calls"] == 8


@pytest.mark.parametrize("seed", range(25))
def test_a_whole_life_under_faults_ends_well_and_the_same_way_twice(seed):
    caller, world, result = live(whole_life, seed=seed, faults=FaultLevel.HEAVY)
    assert caller.ended[-1] == "done"
    assert world.service.service.scale_sets == ()
    _, _, again = live(whole_life, seed=seed, faults=FaultLevel.HEAVY)
    assert result.trace.lines == again.trace.lines


def test_what_may_have_been_created_is_not_asked_for_again_by_the_client():
    async def create(service):
        await service.create_scale_set("demo", "", ())

    for seed in range(25):
        caller, world, _ = live(create, seed=seed, faults=FaultLevel.HEAVY, duration=2 * MINUTE)
        # Done, or refused as a double: never a second scale set, and never told as something it isn't.
        assert len(world.service.service.scale_sets) <= 1
        assert set(caller.ended) <= {None, *FailureKind}


def test_a_clock_that_jumps_does_no_lasting_harm():
    async def look(service):
        return await service.find_runner("r")

    for jump in (2 * HOUR, -2 * HOUR):
        caller, _, _ = live(look, before=lambda world, jump=jump: world.controller_clock.jump(jump))
        assert caller.ended == [None]
