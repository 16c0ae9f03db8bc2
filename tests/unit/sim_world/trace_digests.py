"""Prints digests of runs as JSON. Run by the determinism test under other hash seeds and other Python versions."""

from __future__ import annotations

import json
import sys

from arcfsm.sim.faults import FaultLevel
from arcfsm.sim.scenario import load_scenario
from arcfsm.sim.world import run_scenario
from tests.unit.sim_world.reference_controller import ReferenceController

RUNS = [("quick", 0, FaultLevel.NONE), ("quick", 1, FaultLevel.HEAVY), ("label-fight", 2, FaultLevel.LIGHT)]


def digests():
    """Digests of a few runs, by name."""
    return {
        f"{name}/{seed}/{faults}": run_scenario(
            load_scenario(name), seed, ReferenceController, faults=faults
        ).trace.digest()
        for name, seed, faults in RUNS
    }


if __name__ == "__main__":
    json.dump(digests(), sys.stdout)
