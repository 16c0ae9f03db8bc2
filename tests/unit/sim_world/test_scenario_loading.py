"""Scenarios as data: what is accepted, and what is refused with a reason."""

from __future__ import annotations

import pytest

from arcfsm.domain.instant import MILLISECOND, MINUTE, SECOND
from arcfsm.sim.scenario import ScenarioError, load_scenario, parse_scenario, parse_span, scenario_names


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("90s", 90 * SECOND),
        ("1m30s", 90 * SECOND),
        ("200ms", 200 * MILLISECOND),
        ("-2m", -2 * MINUTE),
        ("0.5s", SECOND // 2),
    ],
)
def test_spans(text, span):
    assert parse_span(text) == span


@pytest.mark.parametrize("text", ["", "5", "5x", "s", "1m x"])
def test_other_spans_are_refused(text):
    with pytest.raises(ValueError, match="not a length of time"):
        parse_span(text)


@pytest.mark.parametrize("name", scenario_names())
def test_every_scenario_that_comes_along_loads_and_explains_itself(name):
    scenario = load_scenario(name)
    assert scenario.name == name
    assert scenario.description


def test_a_scenario_from_a_file(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\nsteps:\n- {at: 5s, do: queue-jobs}\n")
    assert load_scenario(str(file)).steps[0].at == 5 * SECOND


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name: [", "not YAML"),
        ("name: x\nstepz: []\n", "stepz: Extra inputs"),
        ("name: x\nsteps:\n- {do: dance}\n", "steps.0: Input tag 'dance'"),
        ("name: x\nsteps:\n- {do: queue-jobs, at: soon}\n", "steps.0.queue-jobs.at: .*not a length of time"),
        ("[]", "the document"),
    ],
)
def test_a_wrong_scenario_is_refused_with_place_and_reason(text, reason):
    with pytest.raises(ScenarioError, match=f"mine.yaml: {reason}"):
        parse_scenario(text, "mine.yaml")


def test_an_unknown_scenario_names_those_that_exist():
    with pytest.raises(ScenarioError, match="quick"):
        load_scenario("nowhere")
