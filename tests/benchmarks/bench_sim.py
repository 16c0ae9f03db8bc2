"""How fast the simulated world is. Run as a program: prints figures, asserts nothing about time.

python -m tests.benchmarks.bench_sim
"""

from __future__ import annotations

import time

from arcfsm.domain.kinds import RESOURCES, Kind
from arcfsm.sim.faults import FaultLevel
from arcfsm.sim.faults.cluster import MERGE_PATCH, ClusterRequest, resource_path
from arcfsm.sim.faults.host import ClusterHost
from arcfsm.sim.faults.store import simulated_store
from arcfsm.sim.kernel import Kernel
from arcfsm.sim.scenario import load_scenario
from arcfsm.sim.world import World
from tests.unit.sim_world.reference_controller import ReferenceController


def api_operations(count=4000):
    """Creates, status patches, reads and deletes of pods, with a watcher, no kernel in between."""
    kernel = Kernel(1)
    host = ClusterHost(kernel, simulated_store(kernel, 1), kernel, lambda *_: None)
    namespaces = RESOURCES[Kind.POD]._replace(plural="namespaces")
    host.install(namespaces, "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    pods = RESOURCES[Kind.POD]
    seen = []
    host.watch(ClusterRequest("GET", resource_path(pods), {"watch": "true"}), "w", seen.append, lambda: None)
    began = time.perf_counter()
    for number in range(count // 4):
        name = f"p{number}"
        spec = {"containers": [{"name": "main", "image": "i:1"}]}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        path = resource_path(pods, "n", name)
        answers = [
            host.answer(ClusterRequest("POST", resource_path(pods, "n"), body=body), "u"),
            host.answer(
                ClusterRequest(
                    "PATCH", f"{path}/status", body={"status": {"phase": "Running"}}, content_type=MERGE_PATCH
                ),
                "u",
            ),
            host.answer(ClusterRequest("GET", path), "u"),
            host.answer(ClusterRequest("DELETE", path), "u"),
        ]
        if not all(answer.ok for answer in answers):
            raise SystemExit(f"an operation failed: {answers}")
    return count / (time.perf_counter() - began), len(seen)


def scenario_run(name, faults):
    world = World(load_scenario(name), 1, ReferenceController, faults=faults)
    began = time.perf_counter()
    result = world.run()
    took = time.perf_counter() - began
    return took, result


def main():
    rate, events = api_operations()
    print(f"API operations in process      {rate:10,.0f} per second ({events} watch events)")
    for name, faults in (
        ("quick", FaultLevel.NONE),
        ("twenty-runners", FaultLevel.NONE),
        ("twenty-runners", FaultLevel.HEAVY),
    ):
        took, result = scenario_run(name, faults)
        calls = result.figures["api_calls"]
        label = f"{name}, faults {faults.value}"
        rate = calls / took
        print(f"{label:<30} {took:10.3f} s  ({calls} API calls, {rate:,.0f} per second)")


if __name__ == "__main__":
    main()
