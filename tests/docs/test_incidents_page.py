"""Every public incident is accounted for: by a test that is there, or by a reason why there is none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.incidents.case import CASES, read_cases
from tests.unit.incidents.more import MORE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "incidents.md").read_text("utf-8")
ROWS = re.findall(r"^\| (A\d+) \| (.+) \| (.+) \|$", PAGE, re.MULTILINE)
NAMES = {
    name
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"def (test_\w+)", path.read_text("utf-8"))
}


def test_every_incident_is_listed_exactly_once():
    assert [number for number, _, _ in ROWS] == [f"A{number}" for number in range(1, 76)]


@pytest.mark.parametrize(("number", "tried"), [(number, tried) for number, _, tried in ROWS])
def test_what_is_said_to_try_it_is_there(number, tried):
    named = re.findall(r"`(test_\w+)(?:\[([^\]]+)\])?`", tried)
    assert bool(named) != tried.startswith("no test: "), "a test or a reason, not both"
    for name, case in named:
        assert name in NAMES
        if name == "test_further_incident":
            covered = {one.id: one.covers for one in MORE}
            assert number in covered[case]
        elif case and CASES.exists():
            assert case in {one.id for one in read_cases()}


def test_every_case_is_named_where_it_belongs():
    told = {number: tried for number, _, tried in ROWS}
    for one in MORE:
        for number in one.covers:
            assert f"[{one.id}]" in told[number]
    covers = {number for one in read_cases() for number in one.covers}
    assert all("test_" in told[number] for number in covers)
