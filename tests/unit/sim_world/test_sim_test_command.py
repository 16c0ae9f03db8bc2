"""`arcfsm sim test`: exit codes, what it prints, and that it does not claim what it did not see."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from arcfsm.cli import sim_test
from tests.unit.sim_world.reference_controller import ReferenceController


@pytest.fixture
def run():
    app = typer.Typer()
    app.command("test")(sim_test.test_command)
    app.command("other")(lambda: None)
    return lambda *words: CliRunner().invoke(app, ["test", *words])


@pytest.fixture
def failing(tmp_path):
    file = tmp_path / "failing.yaml"
    file.write_text("name: failing\nduration: 30s\nexpect: {jobs_completed: 1}\n")
    return str(file)


def test_without_a_controller_it_says_so(run, failing):
    done = run("--scenario", failing, "--seeds", "2")
    assert done.exit_code == 0
    assert "no controller is built in" in done.stderr
    assert "failing: 2 runs, 0 failed" in done.stdout


def test_a_failure_prints_its_seed_and_exits_1(run, failing, monkeypatch):
    monkeypatch.setattr(sim_test, "controller_factory", lambda: ReferenceController)
    done = run("--scenario", failing, "--seeds", "2", "--base", "5")
    assert done.exit_code == 1
    assert "--seed 5 --trace" in done.stdout
    assert "--seed 6 --trace" in done.stdout
    assert "jobs completed: expected 1, found 0" in done.stdout
    assert done.stderr == ""


def test_a_trace_is_printed(run, failing):
    done = run("--scenario", failing, "--seed", "3", "--trace")
    assert done.exit_code == 0
    assert "/autoscalingrunnersets 201" in done.stdout
    assert "ok: failing, seed 3" in done.stdout


def test_a_trace_needs_a_seed(run):
    assert run("--trace").exit_code == 2


def test_an_unknown_scenario_is_wrong_usage(run):
    assert run("--scenario", "nowhere").exit_code == 2


def test_a_run_that_differs_from_its_repetition_fails(run, failing, monkeypatch):
    seeds = iter(range(10))
    monkeypatch.setattr("arcfsm.sim.faults.host.fingerprint", lambda _value: str(next(seeds)))
    done = run("--scenario", failing, "--seed", "1")
    assert done.exit_code == 1
    assert "not deterministic: line" in done.stdout
