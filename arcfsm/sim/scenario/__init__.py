"""Scenarios: what users, jobs and other tools do in a run, as data.

- `Scenario` and its parts: the data. `load_scenario`, `scenario_names`: from YAML.
- `ScenarioActors`: the actors that carry it out in a world.
"""

from arcfsm.sim.scenario.actors import ScenarioActors
from arcfsm.sim.scenario.loading import ScenarioError, load_scenario, parse_scenario, scenario_names
from arcfsm.sim.scenario.model import Expectation, Scenario, parse_span

__all__ = [
    "Expectation",
    "Scenario",
    "ScenarioActors",
    "ScenarioError",
    "load_scenario",
    "parse_scenario",
    "parse_span",
    "scenario_names",
]
