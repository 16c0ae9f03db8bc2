"""The whole world: jobs come through, faults strike where they should, and a seed always tells the same story."""

from __future__ import annotations

import pytest

from arcfsm.domain.instant import MINUTE, SECOND
from arcfsm.domain.kinds import Kind
from arcfsm.sim.faults import FaultLevel
from arcfsm.sim.scenario import Scenario, load_scenario, scenario_names
from arcfsm.sim.service import JobResult, JobState
from arcfsm.sim.trace import first_difference
from arcfsm.sim.world import World, run_scenario
from tests.unit.sim_world.reference_controller import ReferenceController

# What the reference controller is too simple for: it never lists again by itself, and it has no finalizers.
BEYOND_THE_REFERENCE = {"cluster-restored", "scale-set-deleted"}


def scenario(**content):
    return Scenario.model_validate({"name": "test", "duration": "3m", **content})


def jobs(count=2, at="5s", duration="10s"):
    return {"at": at, "do": "queue-jobs", "count": count, "duration": duration}


def trouble(kind, at="20s", **more):
    return {"at": at, "do": "trouble", "incident": kind, **more}


@pytest.mark.parametrize("name", sorted(set(scenario_names()) - BEYOND_THE_REFERENCE))
def test_scenarios_that_come_along_can_be_met(name):
    result = run_scenario(load_scenario(name), 1, ReferenceController)
    assert result.problems == ()


@pytest.mark.parametrize("name", scenario_names())
def test_without_a_controller_nobody_acts_and_nothing_is_judged(name):
    world = World(load_scenario(name), 1)
    result = world.run()
    assert result.problems == ()
    assert world.cluster.objects(Kind.POD, "arc-runners") == []


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("faults", list(FaultLevel))
def test_a_seed_tells_the_same_story_twice(seed, faults):
    first, second = (run_scenario(load_scenario("quick"), seed, ReferenceController, faults=faults) for _ in range(2))
    assert first_difference(first.trace.lines, second.trace.lines) is None
    assert first.trace.digest() == second.trace.digest()


def test_different_seeds_tell_different_stories():
    digests = {run_scenario(load_scenario("quick"), seed, ReferenceController).trace.digest() for seed in range(4)}
    assert len(digests) == 4


@pytest.mark.parametrize("seed", range(8))
def test_the_world_survives_heavy_faults(seed):
    """Whatever the controller makes of it: no actor breaks, no job runs twice, no message is lost or invented."""
    world = World(load_scenario("quick"), seed, ReferenceController, faults=FaultLevel.HEAVY)
    result = world.run()
    assert [problem for problem in result.problems if "broke" in problem or "no rest" in problem] == []
    started = [line.detail for line in result.trace.lines if line.action == "job"]
    assert len(started) == len(set(started))
    for job in world.service.service.all_jobs:
        assert (job.state is JobState.COMPLETED) == (job.result is not None)


@pytest.mark.parametrize("seed", range(4))
def test_jobs_come_through_light_faults(seed):
    result = run_scenario(
        scenario(duration="15m", service={"job_lease": "2m"}, steps=[jobs(3)], expect={"jobs_completed": 3}),
        seed,
        ReferenceController,
        faults=FaultLevel.LIGHT,
    )
    assert result.problems == ()


def test_a_failure_prints_how_to_see_it_again():
    result = run_scenario(scenario(steps=[jobs(1)], expect={"jobs_completed": 2}), 7, ReferenceController)
    assert not result.passed
    assert result.problems == ("jobs completed: expected 2, found 1",)
    assert "--seed 7 --trace" in result.headline()


def test_a_killed_controller_is_started_again():
    world = World(
        scenario(steps=[jobs(2, at="30s"), trouble("controller-kill", at="10s", span="5s")]), 1, ReferenceController
    )
    result = world.run()
    assert world.controller is not None
    assert world.controller.incarnation == 2
    starts = [line for line in result.trace.of("controller") if line.action in {"start", "killed"}]
    assert [line.action for line in starts] == ["start", "killed", "start"]
    assert starts[2].at - starts[1].at == 5 * SECOND
    assert sum(job.result is JobResult.SUCCEEDED for job in world.service.service.all_jobs) == 2


def test_a_kill_comes_between_two_steps():
    """The controller dies after exactly so many more steps, and what it had sent still arrives."""

    seen = []

    class Counting(ReferenceController):
        def step(self):
            seen.append(self.ports.incarnation)
            return super().step()

    steps = [trouble("controller-kill", at="4900ms", steps=3, span="60s"), jobs(2)]
    World(scenario(duration="30s", steps=steps), 1, Counting).run()
    world = World(scenario(duration="4900ms"), 1, Counting)
    before = len(seen)
    world.run()
    assert before - (len(seen) - before) == 3
    assert set(seen) == {1}


def test_a_dead_controller_hears_and_does_nothing():
    world = World(scenario(steps=[trouble("controller-kill", at="10s", span="60s")]), 1, ReferenceController)
    world.start()
    world.kernel.run(world.kernel.start + 11 * SECOND)
    calls = [line for line in world.trace.lines if line.actor.endswith("arcfsm-controller")]
    world.kernel.run(world.kernel.start + 60 * SECOND)
    assert [line for line in world.trace.lines if line.actor.endswith("arcfsm-controller")] == calls
    assert world.controller is not None
    assert not world.controller.alive
    world.end()


def test_a_killed_listener_leaves_its_session_behind():
    world = World(scenario(duration="5m", steps=[trouble("listener-kill"), jobs(1, at="3m")]), 1, ReferenceController)
    result = world.run()
    exits = [line.detail for line in result.trace.lines if line.action == "exit"]
    assert any("active session" in detail for detail in exits)
    assert sum(job.state is JobState.COMPLETED for job in world.service.service.all_jobs) == 1


def test_an_outage_of_the_api_server_breaks_watches_and_ends():
    world = World(
        scenario(steps=[jobs(2, at="15s"), trouble("api-outage", at="10s", span="20s")]), 1, ReferenceController
    )
    result = world.run()
    quiet = [line for line in result.trace.lines if 10 * SECOND < line.at < 30 * SECOND and " 20" in line.detail]
    assert [line for line in quiet if line.actor.startswith("system:")] == []
    assert sum(job.result is JobResult.SUCCEEDED for job in world.service.service.all_jobs) == 2


@pytest.mark.parametrize("kind", ["api-compaction", "watches-dropped"])
def test_broken_watches_are_resumed(kind):
    world = World(scenario(steps=[trouble(kind, at="10s"), jobs(2, at="15s")]), 1, ReferenceController)
    world.run()
    assert sum(job.result is JobResult.SUCCEEDED for job in world.service.service.all_jobs) == 2


def test_a_restored_api_server_goes_back_in_versions():
    world = World(scenario(steps=[jobs(2), trouble("api-restore", at="25s", span="20s")]), 1, ReferenceController)
    world.start()
    world.kernel.run(world.kernel.start + 24 * SECOND)
    before = world.cluster.version
    world.kernel.run(world.kernel.start + 26 * SECOND)
    assert world.cluster.version < before
    world.end()


@pytest.mark.parametrize("kind", ["service-outage", "service-throttle"])
def test_the_service_goes_away_and_comes_back(kind):
    world = World(scenario(duration="6m", steps=[trouble(kind, at="4s", span="30s"), jobs(2)]), 1, ReferenceController)
    result = world.run()
    refused = [line for line in result.trace.lines if line.detail.split(" ")[1:2] in (["503"], ["429"])]
    assert refused
    assert sum(job.result is JobResult.SUCCEEDED for job in world.service.service.all_jobs) == 2


def test_only_the_controllers_clock_jumps():
    world = World(scenario(steps=[trouble("clock-jump", at="10s", span="1h")]), 1, ReferenceController)
    world.run()
    assert world.controller_clock.now() - world.clock.now() == 60 * MINUTE


@pytest.mark.parametrize("kind", ["pod-evicted", "pod-deleted"])
def test_a_struck_runner_pod_is_named(kind):
    world = World(scenario(steps=[jobs(1, duration="1m"), trouble(kind)]), 1, ReferenceController)
    result = world.run()
    assert [line.action for line in result.trace.of("incident")] == [kind, "strikes"]


def test_a_runner_started_again_with_a_used_registration_lingers():
    """The pod of a busy runner is deleted and made again: the zombie of the recordings, until the job's lease ends."""
    content = {"service": {"job_lease": "60s"}, "steps": [jobs(1, duration="5m"), trouble("pod-deleted")]}
    world = World(scenario(**content), 1, ReferenceController)
    result = world.run()
    lingers = [line for line in result.trace.lines if line.action == "lingers"]
    assert len(lingers) == 1
    assert [job.result for job in world.service.service.all_jobs] == [JobResult.ABANDONED]
    assert world.service.service.agents == ()


def test_an_incident_that_finds_nothing_says_so():
    result = World(scenario(steps=[trouble("pod-evicted")]), 1).run()
    assert [line.action for line in result.trace.of("incident")] == ["pod-evicted", "nothing to strike"]


def test_a_gitops_tool_insists_but_not_for_ever():
    step = {
        "at": "2s",
        "do": "gitops",
        "kind": "AutoscalingRunnerSet",
        "labels": {"a": "1"},
        "annotations": {"b": None},
        "reaction": "1s",
        "times_max": 3,
    }
    edit = {
        "at": "10s",
        "do": "patch",
        "kind": "AutoscalingRunnerSet",
        "name": "demo",
        "patch": {"metadata": {"labels": {"a": "2"}, "annotations": {"b": "x"}}},
        "every": "5s",
        "times": 5,
    }
    world = World(scenario(steps=[step, edit]), 1)
    result = world.run()
    insisted = result.trace.of("system:serviceaccount:argocd:argocd-application-controller")
    assert [line.action for line in insisted] == ["POST", "PATCH", "PATCH", "PATCH"]
    metadata = world.cluster.objects(Kind.SCALE_SET, "arc-runners")[0]["metadata"]
    assert (metadata["labels"], metadata["annotations"]) == ({"a": "2"}, {"b": "x"})


def test_jobs_can_be_cancelled():
    world = World(
        scenario(steps=[jobs(2, duration="10m"), {"at": "60s", "do": "cancel-jobs", "count": 2}]),
        1,
        ReferenceController,
    )
    world.run()
    assert [job.result for job in world.service.service.all_jobs] == [JobResult.CANCELED] * 2
    assert world.service.service.agents == ()


def test_a_user_creates_and_deletes():
    steps = [
        {"at": "1s", "do": "create", "kind": "ConfigMap", "object": {"metadata": {"name": "c"}, "data": {"a": "b"}}},
        {"at": "2s", "do": "create", "kind": "ConfigMap", "object": {"metadata": {"name": "d"}}},
        {"at": "3s", "do": "delete", "kind": "ConfigMap", "name": "d"},
    ]
    world = World(scenario(steps=steps), 1)
    world.run()
    assert [item["metadata"]["name"] for item in world.cluster.objects(Kind.CONFIG_MAP, "arc-runners")] == ["c"]
