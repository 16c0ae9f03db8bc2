"""`arcfsm sim test`: run scenarios in the simulated world, by seed.

What it can show depends on whether a controller is built in. While there is none, nobody acts on scale sets, so
expectations of scenarios are not judged; what remains is what the world promises by itself: a run of one seed is the
same every time, and nothing in the world breaks. The command says so instead of printing a success it did not see.
"""

# ruff: noqa: PT028  # a command that is called test is not a test
from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Final

import typer

from arcfsm.sim.faults.plan import FaultLevel
from arcfsm.sim.scenario import Scenario, ScenarioError, load_scenario, scenario_names

if TYPE_CHECKING:
    from arcfsm.sim.controller import ControllerFactory
    from arcfsm.sim.world import RunResult

NO_CONTROLLER: Final = (
    "no controller is built in yet: the world runs by itself; checked are determinism and that nothing breaks, "
    "not what the scenarios expect of a controller"
)
controller_factory: Callable[[], ControllerFactory] | None = None
"""Makes the factory of the controller under test for one run; None while there is none."""


def test_command(
    scenario: Annotated[
        list[str] | None,
        typer.Option("--scenario", help="A scenario that comes along, or a YAML file; all that come along by default."),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many seeds to run.")] = 10,
    base: Annotated[int, typer.Option("--base", help="The first of those seeds.")] = 0,
    seed: Annotated[int | None, typer.Option("--seed", help="Run this seed only.", show_default=False)] = None,
    faults: Annotated[
        FaultLevel | None,
        typer.Option("--faults", help="Overrides how bad the scenario's world is.", show_default=False),
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Print everything that happened; needs --seed.")] = False,
) -> None:
    """Run fault-injected simulations by seed. A failure prints its seed, which replays it exactly.

    Until a controller is built in, the world runs without one: scale sets stay untouched, expectations of scenarios are
    not judged, and a run only fails when it is not deterministic or the world itself breaks.
    """
    if trace and seed is None:
        raise typer.BadParameter("a trace is of one run: give --seed too", param_hint="--trace")
    scenarios = _load(scenario)
    if controller_factory is None:
        typer.echo(f"arcfsm: {NO_CONTROLLER}", err=True)
    chosen = [seed] if seed is not None else list(range(base, base + seeds))
    failed = 0
    for each in scenarios:
        began = time.perf_counter()
        results = [_run(each, number, faults, trace=trace) for number in chosen]
        bad = [result for result in results if not result.passed]
        failed += len(bad)
        took = time.perf_counter() - began
        calls = sum(result.figures["api_calls"] for result in results)
        typer.echo(f"{each.name}: {len(results)} runs, {len(bad)} failed, {calls} API calls, {took:.1f} s")
        for result in bad:
            typer.echo(f"  {result.headline()}")
            for problem in result.problems:
                typer.echo(f"    {problem}")
    if failed:
        raise typer.Exit(1)


def _load(wanted: list[str] | None) -> list[Scenario]:
    try:
        return [load_scenario(name) for name in wanted or scenario_names()]
    except ScenarioError as error:
        raise typer.BadParameter(str(error), param_hint="--scenario") from error


def _run(scenario: Scenario, seed: int, faults: FaultLevel | None, *, trace: bool) -> RunResult:
    from arcfsm.sim.world import run_scenario

    def once() -> RunResult:
        factory = controller_factory() if controller_factory is not None else None
        return run_scenario(scenario, seed, factory, faults=faults)

    result = once()
    if trace:
        typer.echo(result.trace.render())
        typer.echo(result.headline())
        return result
    if controller_factory is None:
        result = result.compared_with(once())
    return result
