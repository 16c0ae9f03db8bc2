"""`arcfsm why` as people call it."""

from __future__ import annotations

import json

import pytest

from tests.unit.audit.control_story import control_story
from tests.unit.rules.harness import NAMESPACE


@pytest.fixture
def controlled(arcfsm, tmp_path):
    """A journal in which arcfsm acted."""
    control_story().write(f"sqlite:///{tmp_path / 'journal.db'}")
    return arcfsm


def test_the_chain_is_told_backwards_with_times_and_who_did_it(incident):
    said = incident("why", "scale-set/ci-runners/ci-linux")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0] == "scale-set ci-runners/ci-linux: pending since 2026-12-01T05:46:37.035490Z, was running"
    assert lines[2].startswith(
        "  2026-12-01T05:46:37.035490Z  phase became Pending  [observed, by arc-controller; seq "
    )
    assert "← Python edited it" in lines
    assert any(line.startswith("stalled since 2026-12-01T05:46:37.392330Z (no-listener)") for line in lines)
    assert any(line.startswith("what would resolve it: publishing the new runner spec") for line in lines)
    assert any(line.startswith("arcfsm's latest advice, ") for line in lines)


def test_as_json_every_step_says_what_it_is_and_how_it_is_known(incident):
    told = json.loads(incident("why", "AutoscalingRunnerSet/ci-runners/ci-linux", "-o", "json").out)
    assert told["state"] == "pending"
    assert [step["link"] for step in told["chain"]][:2] == ["start", "inferred"]
    assert told["chain"][-1]["kind"] == "outside"
    (stall,) = told["stalls"]
    assert stall["stall"] == "no-listener"
    led = [step for chain in stall["chains"] for step in chain]
    assert "its container exited with code 7" in [step["text"] for step in led]
    assert set(stall["evidence"]) <= {step["seq"] for step in (*led, *told["chain"])}
    assert told["decision"]["rule"] == "A14"
    assert told["decision"]["advice"] is True


def test_at_a_time_it_tells_what_was_known_by_then(incident):
    before = json.loads(
        incident("why", "scaleset/ci-runners/ci-linux", "--at", "2026-12-01T05:46:37Z", "-o", "json").out
    )
    assert before["state"] == "running"
    assert before["stalls"] == []
    assert all(step["seq"] <= before["seq"] for step in before["chain"] if step["seq"])


def test_in_control_mode_what_arcfsm_did_leads_to_what_it_decided(controlled):
    told = json.loads(controlled("why", "listener/arc-systems/demo-5f5c4d65-listener", "-o", "json").out)
    steps = [(step["kind"], step["rule"]) for step in told["chain"]]
    assert steps[:2] == [("done", None), ("decided", "A17")]
    assert {step["link"] for step in told["chain"][2:-1]} == {"recorded"}
    assert ("outcome", None) in steps
    assert told["decision"]["advice"] is False


def test_a_runner_that_arcfsm_deleted_leads_to_the_wish(controlled):
    runner = json.loads(controlled("audit", "transitions", "--kind", "runner", "-o", "json").out)[-1]["object"]
    told = json.loads(controlled("why", runner.replace(" ", "/", 1), "-o", "json").out)
    assert told["state"] == "gone"
    rules = [step["rule"] for step in told["chain"] if step["kind"] == "decided"]
    assert "S13" in rules
    assert "0 runners wished for under patch 0" in [step["text"] for step in told["chain"]]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["why", "runner-set/ci-runners/ci-linu"], "did you mean ci-runners/ci-linux"),
        (["why", "deployment/a/b"], "no kind of object"),
        (["why", "ci-linux"], "not KIND/NAMESPACE/NAME"),
        (["why", "pod/ci-runners/nope"], "no runner or listener with a pod"),
        (["why", "scale-set/ci-runners/ci-linux", "--at", "1"], "first seen at seq 3"),
        (["why", "scale-set/ci-runners/ci-linux", "--at", "soon"], "not a time"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_can_not_be_answered_is_one_line_and_exit_code_two(incident, words, says):
    said = incident(*words)
    assert said.code == 2
    assert says in said.err
    assert said.err.count("\n") == 1


def test_an_empty_journal_knows_nothing_and_says_so(arcfsm):
    assert arcfsm("journal", "init").code == 0
    said = arcfsm("why", f"scale-set/{NAMESPACE}/demo")
    assert said.code == 2
    assert "knows no scale-set" in said.err
    for words in (["audit", "transitions"], ["audit", "decisions", "--diverging"], ["audit", "stalls"], ["replay"]):
        assert arcfsm(*words).code == 0, words
    assert "nothing is there" in arcfsm("state").out


def test_where_no_snapshot_is_near_it_says_where_to_ask_for_stalls(incident, monkeypatch):
    monkeypatch.setattr("arcfsm.cli.why.FOLD_MAX", 10)
    said = incident("why", "scale-set/ci-runners/ci-linux")
    assert "no snapshot is near" in said.out
    assert incident("journal", "snapshot").code == 0
    said = incident("why", "scale-set/ci-runners/ci-linux")
    assert "(no-listener)" in said.out, "from the snapshot"


def test_stalls_since_a_time_are_the_same_from_a_snapshot(incident):
    words = ("audit", "stalls", "--since", "-1s", "-o", "json")
    whole = json.loads(incident(*words).out)
    assert incident("journal", "snapshot").code == 0
    assert json.loads(incident(*words).out) == whole
    (row,) = whole
    since = ("audit", "stalls", "--since", "2026-12-01T06:00:00Z", "-o", "json")
    assert json.loads(incident(*since).out) == [row], "it lasts still, and the snapshot lies before"
