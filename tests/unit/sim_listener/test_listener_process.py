"""The listener as a process in a pod of the simulated world: signals, configuration, limits, addresses."""

from __future__ import annotations

import pytest

from arcfsm.domain.instant import SECOND
from arcfsm.sim.clock import ManualClock
from arcfsm.sim.listener.process import TokenBucket
from arcfsm.sim.listener.service_client import api_base, registration_scope
from arcfsm.sim.scenario import Scenario
from arcfsm.sim.world import World
from tests.unit.sim_world.reference_controller import ReferenceController


def lives(*steps, **content):
    scenario = Scenario.model_validate({"name": "listener", "duration": "3m", "steps": list(steps), **content})
    world = World(scenario, 1, ReferenceController)
    result = world.run()
    return world, [line for line in result.trace.lines if line.actor.startswith("listener/")]


def notes(lines, actor="listener/1"):
    """What one process noted, without its requests."""
    return [(line.action, line.detail) for line in lines if line.actor == actor and "/" not in line.detail]


def delete_pod(at="20s", **more):
    step = {"do": "delete", "kind": "Pod", "namespace": "arc-systems", "name": "demo-listener"}
    return {"at": at, **step, **more}


def test_sigterm_closes_the_session_and_the_successor_starts_at_id_0():
    world, lines = lives(delete_pod(), {"at": "5s", "do": "queue-jobs", "duration": "2m"})
    assert notes(lines)[-2:] == [("DeleteSession", "204"), ("exit", "0 terminated")]
    successor = lines[-1].actor
    patches = [detail for action, detail in notes(lines, successor) if action == "patch"]
    assert patches[0] == "replicas=1 patchID=0"
    assert len(world.service.service.sessions) == 1


def test_a_killed_process_says_nothing():
    _, lines = lives(delete_pod(grace=0))
    assert notes(lines)[-1] == ("killed", "")
    assert any("active session" in detail for _, detail in notes(lines, "listener/2"))


def test_a_configuration_that_is_wrong_ends_the_process():
    _, lines = lives(duration="5s", scale_sets=[{"name": "demo", "min_runners": 3, "max_runners": 2}])
    assert notes(lines)[0] == ("exit", "1 min_runners 3 is above max_runners 2")


def test_the_first_answer_of_a_new_process_comes_from_the_session():
    _, lines = lives({"at": "5s", "do": "queue-jobs", "count": 2, "duration": "10s"})
    patches = [detail for action, detail in notes(lines) if action == "patch"]
    assert patches[0] == "replicas=0 patchID=0"
    assert "replicas=2 patchID=" in " ".join(patches)
    assert patches[-1] == "replicas=0 patchID=0"


def test_P9_requests_beyond_the_burst_wait():
    clock = ManualClock()
    bucket = TokenBucket(clock, qps=10, burst=3)
    assert [bucket.take() for _ in range(5)] == [0, 0, 0, SECOND // 10, 2 * SECOND // 10]
    clock.advance(10 * SECOND)
    assert [bucket.take() for _ in range(4)] == [0, 0, 0, SECOND // 10]


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("https://github.com/acme", "https://api.github.com"),
        ("https://www.github.com/acme", "https://api.github.com"),
        ("http://github.localhost/acme", "http://api.github.localhost"),
        ("https://acme.ghe.com/acme", "https://api.acme.ghe.com"),
        ("https://ghe.corp/enterprises/e1", "https://ghe.corp/api/v3"),
        ("http://127.0.0.1:8080/acme", "http://127.0.0.1:8080/api/v3"),
    ],
)
def test_X1_base_of_the_api(url, base):
    assert api_base(url) == base


@pytest.mark.parametrize(
    ("url", "scope"),
    [
        ("https://github.com/acme", "orgs/acme"),
        ("https://github.com/acme/", "orgs/acme"),
        ("https://github.com/acme/repo", "repos/acme/repo"),
        ("https://github.com/Enterprises/e1", "enterprises/e1"),
    ],
)
def test_X2_scope_of_a_registration(url, scope):
    assert registration_scope(url) == scope


def test_other_urls_name_nothing():
    with pytest.raises(ValueError, match="names no organization"):
        registration_scope("https://github.com/a/b/c")
