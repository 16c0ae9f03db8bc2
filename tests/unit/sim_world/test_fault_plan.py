"""The fault plan and the boundaries where it strikes."""

from __future__ import annotations

from collections import Counter

import pytest

from arcfsm.domain.instant import MINUTE, SECOND
from arcfsm.sim.clock import SIMULATION_START
from arcfsm.sim.faults import Availability, Boundary, BoundaryName, FaultLevel, FaultPlan, FaultRates, IncidentKind
from arcfsm.sim.kernel import Kernel

HORIZON = 10 * MINUTE


def test_a_plan_follows_from_its_seed():
    assert FaultPlan.draw(3, FaultLevel.HEAVY, HORIZON) == FaultPlan.draw(3, FaultLevel.HEAVY, HORIZON)
    plans = {FaultPlan.draw(seed, FaultLevel.HEAVY, HORIZON).incidents for seed in range(30)}
    assert len(plans) > 20


def test_every_kind_of_incident_is_drawn_by_some_seed():
    kinds = {i.kind for seed in range(200) for i in FaultPlan.draw(seed, FaultLevel.HEAVY, HORIZON).incidents}
    assert kinds == set(IncidentKind)


def test_light_plans_hold_nothing_rare():
    kinds = {i.kind for seed in range(200) for i in FaultPlan.draw(seed, FaultLevel.LIGHT, HORIZON).incidents}
    assert kinds.isdisjoint({IncidentKind.API_RESTORE, IncidentKind.CLOCK_JUMP})


def test_trouble_ends_before_the_run_does():
    for seed in range(100):
        plan = FaultPlan.draw(seed, FaultLevel.HEAVY, HORIZON)
        assert all(incident.at <= plan.quiet_after for incident in plan.incidents)
        outages = [i for i in plan.incidents if i.kind is IncidentKind.API_OUTAGE]
        assert all(incident.at + incident.span <= plan.quiet_after for incident in outages)


def test_no_faults_means_none():
    plan = FaultPlan.draw(1, FaultLevel.NONE, HORIZON)
    assert (plan.incidents, plan.rates) == ((), {})
    assert plan.describe() == "seed 1, faults none: no incidents"


def boundary(kernel, rates, server=None, quiet_after=HORIZON):
    plan = FaultPlan(1, FaultLevel.HEAVY, {BoundaryName.CONTROLLER_CLUSTER: rates}, (), quiet_after)
    return Boundary(
        kernel, plan, BoundaryName.CONTROLLER_CLUSTER, "c", server or Availability(), lambda status: f"refused {status}"
    )


def calls(rates, *, count=200, server=None, writes=True, quiet_after=HORIZON):
    """Make calls one after the other; returns how they were answered and how often they took effect."""
    kernel = Kernel(1)
    line = boundary(kernel, rates, server, quiet_after)
    effects, answers = [], []

    def act():
        effects.append(1)
        return "done"

    async def work():
        for _ in range(count):
            before = len(effects)
            answer = await line.call(act, writes=writes)
            answers.append((answer, len(effects) - before))

    kernel.spawn(work(), "w")
    kernel.run(SIMULATION_START + 100 * HORIZON)
    return Counter(answers)


def test_a_quiet_boundary_does_what_it_is_asked():
    assert calls(FaultRates()) == {("done", 1): 200}


@pytest.mark.parametrize(
    ("rates", "answered", "effects"),
    [
        (FaultRates(refused=1.0), True, 0),
        (FaultRates(refused_after=1.0), True, 1),
        (FaultRates(lost=1.0), False, 0),
        (FaultRates(lost_after=1.0), False, 1),
        (FaultRates(duplicated=1.0), True, 2),
    ],
)
def test_each_fault_is_what_it_says(rates, answered, effects):
    found = calls(rates, count=50)
    assert {effect for _, effect in found} == {effects}
    assert {answer is not None for answer, _ in found} == {answered}


def test_reads_are_neither_doubled_nor_conflicting():
    found = calls(FaultRates(duplicated=0.5, refused=0.5), writes=False)
    assert {effect for _, effect in found} == {0, 1}
    assert ("refused 409", 0) not in found


def test_errors_after_the_effect_never_deny_it():
    found = calls(FaultRates(refused_after=1.0))
    assert {answer for answer, _ in found} == {"refused 500", "refused 503", "refused 504"}


def test_a_server_that_is_down_answers_nothing():
    assert calls(FaultRates(), server=Availability(down=1)) == {(None, 0): 200}


def test_after_the_quiet_point_nothing_goes_wrong():
    assert calls(FaultRates(lost=1.0), quiet_after=0) == {("done", 1): 200}


def test_breaking_connections_loses_answers_on_their_way():
    kernel, server = Kernel(1), Availability()
    line = boundary(kernel, FaultRates(latency=SECOND), server)

    async def work():
        return await line.call(lambda: "done", writes=True)

    task = kernel.spawn(work(), "w")

    def break_connections():
        server.generation += 1

    kernel.after(int(0.9 * SECOND), break_connections)
    kernel.run(SIMULATION_START + 10 * SECOND)
    assert task.result() is None


def test_watch_events_stay_in_order_however_slow():
    kernel = Kernel(1)
    line = boundary(kernel, FaultRates(slow=0.5, watch_repeated=0.2))
    seen, arrives = [], 0
    for number in range(100):
        arrives, _ = line.deliver(number, arrives, seen.append, "watch")
    kernel.run(SIMULATION_START + HORIZON)
    assert list(dict.fromkeys(seen)) == list(range(100))
    assert seen == sorted(seen)
    assert len(seen) > 100


def test_two_watches_may_overtake_each_other():
    kernel = Kernel(1)
    line, other = boundary(kernel, FaultRates(slow=0.5)), boundary(kernel, FaultRates(slow=0.5))
    other.judge(writes=False)
    seen, first, second = [], 0, 0
    for number in range(50):
        first, _ = line.deliver(("a", number), first, seen.append, "watch/a")
        second, _ = other.deliver(("b", number), second, seen.append, "watch/b")
    kernel.run(SIMULATION_START + HORIZON)
    assert [item for item in seen if item[0] == "a"] != seen[::2]
