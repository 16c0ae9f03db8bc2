"""The commands that answer from a journal: what they print, in which form, with which exit code."""

from __future__ import annotations

import csv
import io
import json

import pytest
import yaml

from arcfsm import __version__
from arcfsm.cli.root import command_names


def test_the_version_and_the_help(arcfsm):
    assert arcfsm("--version").out == f"arcfsm {__version__}\n"
    said = arcfsm("--help")
    assert said.code == 0
    assert "Exit codes" in said.out


@pytest.mark.parametrize("words", list(command_names()), ids=" ".join)
def test_every_command_has_help_that_reads_well(arcfsm, words):
    said = arcfsm(*words, "--help")
    assert said.code == 0
    assert said.out.startswith("Usage: arcfsm")
    assert len(said.out.splitlines()) >= 5


def test_nothing_asked_is_answered_with_what_can_be_asked(arcfsm):
    said = arcfsm("audit")
    assert said.code == 2
    assert "transitions" in said.out + said.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nope"], "nope"),
        (["audit", "transitions", "--since", "yesterday"], "not a time"),
        (["audit", "transitions", "--kind", "pod"], "no kind of object"),
        (["audit", "transitions", "--scale-set", "a/b"], "knows no scale-set a/b"),
        (["audit", "transitions", "--scale-set", "a"], "KIND/NAMESPACE/NAME"),
        (["state", "runner-set/ci-runners/ci-linu"], "did you mean ci-runners/ci-linux"),
        (["state", "--at", "99999"], "ends at seq"),
        (["state", "scale-set/ci-runners/ci-linux", "--at", "1"], "not known yet"),
        (["replay", "--what-if", "nonsense"], "not KEY=VALUE"),
        (["replay", "--what-if", "no_such=1"], "no setting"),
        (["replay", "--what-if", "stalled_after=soon"], "stalled_after"),
        (["import"], "name a file"),
        (["import", "--sample", "x"], "no sample"),
        (["import", "no-such-file"], "no-such-file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_can_not_be_understood_is_one_line_and_exit_code_two(incident, words, says):
    said = incident(*words)
    assert said.code == 2
    assert said.out == ""
    assert says in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [["audit", "transitions"], ["state"], ["replay"], ["journal", "verify"], ["journal", "stats"]],
    ids=" ".join,
)
def test_without_a_journal_the_exit_code_is_three(arcfsm, words):
    said = arcfsm(*words)
    assert said.code == 3
    assert "arcfsm journal init" in said.err
    assert said.err.count("\n") == 1


def test_transitions_as_table_json_and_csv(incident):
    table = incident("audit", "transitions", "--kind", "runner-set").out.splitlines()
    assert table[0].split() == ["SEQ", "AT", "OBJECT", "FROM", "TO", "EVENT"]
    assert [line.split()[-3:-1] for line in table[1:]] == [
        ["unseen", "new"],
        ["new", "running"],
        ["running", "outdated"],
    ]
    rows = json.loads(incident("audit", "transitions", "--kind", "runner-set", "-o", "json").out)
    assert [row["to"] for row in rows] == ["new", "running", "outdated"]
    assert rows[0]["at"].endswith("Z")
    read = list(csv.DictReader(io.StringIO(incident("audit", "transitions", "--kind", "runner-set", "-o", "csv").out)))
    assert [row["to"] for row in read] == ["new", "running", "outdated"]


def test_rows_are_filtered_by_time_and_scale_set(incident):
    whole = json.loads(incident("audit", "transitions", "-o", "json").out)
    late = json.loads(incident("audit", "transitions", "--since", "2026-12-01T05:46:43Z", "-o", "json").out)
    early = json.loads(incident("audit", "transitions", "--until", "2026-12-01T05:46:43Z", "-o", "json").out)
    assert 0 < len(late) < len(whole)
    assert len(late) + len(early) == len(whole)
    back = json.loads(incident("audit", "transitions", "--since", "-8s", "-o", "json").out)
    assert 0 < len(back) < len(whole)
    own = json.loads(incident("audit", "transitions", "--scale-set", "ci-runners/ci-linux", "-o", "json").out)
    assert len(own) == len(whole)


def test_decisions_say_rule_and_reason(incident):
    rows = json.loads(incident("audit", "decisions", "-o", "json").out)
    published = [row for row in rows if row["rule"] == "A14"]
    assert published
    assert "publishing revision 1" in published[0]["reason"]
    assert all(row["advice"] for row in rows)


def test_effects_of_an_import_are_none_and_it_says_why(incident):
    said = incident("audit", "effects")
    assert said.code == 0
    assert "nobody acted on it" in said.out


def test_stalls_exit_with_one_and_none_with_zero(incident):
    said = incident("audit", "stalls")
    assert said.code == 1
    assert "no-listener" in said.out
    (row,) = json.loads(incident("audit", "stalls", "-o", "json").out)
    assert row["until"] is None
    assert row["evidence"] == sorted(row["evidence"])
    assert incident("audit", "stalls", "--until", "2026-12-01T05:46:40Z").code == 0


def test_diverging_advice_names_both_sides(incident):
    rows = json.loads(incident("audit", "decisions", "--diverging", "-o", "json").out)
    instead = {(row["rule"], row["instead"]) for row in rows}
    assert ("A14", "not done") in instead
    assert any(deed.startswith("the listener was deleted") for _, deed in instead)


def test_the_state_of_all_and_of_one(incident):
    said = incident("state")
    assert "outdated" in said.out
    one = json.loads(incident("state", "EphemeralRunnerSet/ci-runners/ci-linux", "-o", "json").out)
    assert one["state"] == "outdated"
    assert one["runner_spec"]["spec"]["containers"][0]["image"].endswith("2.335.1")
    before = yaml.safe_load(incident("state", "runner-set/ci-runners/ci-linux", "--at", "2026-12-01T05:46:40Z").out)
    assert before["state"] == "running"


def test_what_is_gone_is_shown_as_it_was(incident):
    runner = json.loads(incident("audit", "transitions", "--kind", "runner", "-o", "json").out)[0]["object"]
    shown = yaml.safe_load(incident("state", runner.replace(" ", "/", 1)).out)
    assert shown["gone_at_seq"] > 0
    assert shown["kind"] == "runner"


def test_replay_agrees_with_what_was_recorded(incident):
    said = incident("replay", "--verify")
    assert said.code == 0
    assert said.out.startswith("the same:")
    assert incident("replay", "--verify", "--from", "50", "--to", "90").code == 0


def test_what_if_names_the_decisions_that_would_differ(incident):
    said = incident("replay", "--what-if", "listener_image=another", "--verify")
    assert said.code == 1
    assert "replacing the listener" in said.out


def test_journal_commands_read_well(incident):
    assert incident("journal", "verify").out.startswith("sound: ")
    assert "EVENTS" in incident("journal", "stats").out
    assert len(incident("journal", "tail", "-n", "3").out.splitlines()) == 3
    line = json.loads(incident("journal", "tail", "-n", "1", "--json").out)
    assert line["type"] == "SourceExhausted"
    assert "kept the folded state" in incident("journal", "snapshot").out
    assert incident("state").code == 0, "from the snapshot"
    assert "ready" in incident("journal", "init").out
    assert "up to date" in incident("journal", "upgrade").out


def test_a_tampered_journal_exits_with_one_and_names_the_seq(incident, tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "journal.db") as connection:
        connection.execute("UPDATE events SET actor = 'somebody else' WHERE seq = 40")
    connection.close()
    said = incident("journal", "verify")
    assert said.code == 1
    assert "first bad seq: 40" in said.out


@pytest.mark.parametrize(
    "words", [["machines"], ["machines", "runner", "--format", "mermaid"], ["machines", "-f", "dot"]], ids=" ".join
)
def test_machines_are_printed(arcfsm, words):
    said = arcfsm(*words)
    assert said.code == 0
    assert "backing" in said.out


def test_importing_the_sample_twice_adds_nothing(incident):
    before = incident("journal", "stats").out
    assert "imported before" in incident("import", "--sample", "spec-update-with-busy-runner").out
    assert incident("journal", "stats").out == before
