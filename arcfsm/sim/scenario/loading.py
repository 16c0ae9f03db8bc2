"""Scenarios by name or by file: YAML in, a checked `Scenario` out."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import yaml
from pydantic import ValidationError

from arcfsm.sim.scenario.model import Scenario


class ScenarioError(ValueError):
    """The scenario cannot be read; says which file, where in it, and why."""


def scenario_names() -> tuple[str, ...]:
    """Return the names of the scenarios that come with the program."""
    library = resources.files("arcfsm.sim.scenario") / "library"
    return tuple(
        sorted(entry.name.removesuffix(".yaml") for entry in library.iterdir() if entry.name.endswith(".yaml"))
    )


def load_scenario(name_or_file: str) -> Scenario:
    """Load a scenario that comes with the program, or one from a file.

    Raises ScenarioError when there is none or it is wrong.
    """
    if name_or_file in scenario_names():
        entry = resources.files("arcfsm.sim.scenario") / "library" / f"{name_or_file}.yaml"
        return parse_scenario(entry.read_text(encoding="utf-8"), name_or_file)
    path = Path(name_or_file)
    if not path.is_file():
        known = ", ".join(scenario_names())
        raise ScenarioError(f"{name_or_file}: no such file, and not one of the scenarios that come along: {known}")
    return parse_scenario(path.read_text(encoding="utf-8"), name_or_file)


def parse_scenario(text: str, source: str) -> Scenario:
    """Read a scenario from YAML. Raises ScenarioError with the source, the place and the reason."""
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ScenarioError(f"{source}: not YAML: {error}") from error
    try:
        return Scenario.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the document"
        raise ScenarioError(f"{source}: {place}: {first['msg']}") from error
