"""The reference pages follow from code, and nothing that has an id goes undocumented or untested."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arcfsm import __version__
from arcfsm.cli.reference import PAGES
from arcfsm.domain.rules import RULES

ROOT = Path(__file__).parents[2]
RULES_TEXT = ROOT.parent / "shared" / "design" / "rules.md"

NUMBERED = [
    *(f"A{number}" for number in range(1, 21)),
    *(f"S{number}" for number in range(1, 15)),
    *(f"L{number}" for number in range(1, 16)),
    *(f"R{number}" for number in range(1, 18)),
    *(f"M{number}" for number in range(1, 13)),
]
NAMED = [
    *("S-clean", "S-idle", "S-remove", "S-applied", "S-marker", "S-status", "L-clean"),
    *("R-observe", "R-succeed", "R-fail", "R-outdated", "R-deletePodOrRunner"),
]


@pytest.mark.parametrize("name", PAGES)
def test_a_reference_page_is_what_the_code_says(name):
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == PAGES[name](), "run `make docs`"


@pytest.mark.parametrize("rule_id", [*NUMBERED, *NAMED])
def test_every_rule_has_exactly_one_home(rule_id):
    assert RULES[rule_id].summary


def test_every_rule_of_the_tables_up_to_T350_is_a_test_named_by_its_id():
    if not RULES_TEXT.exists():
        pytest.skip("the rule tables live beside the project and are not here")
    wanted = {
        found
        for found in re.findall(r"^\| (T[0-9]{3}) \|", RULES_TEXT.read_text("utf-8"), re.MULTILINE)
        if found <= "T350"
    }
    tests = "\n".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    names = re.findall(r"def (test_\w+)", tests)
    named = {found for name in names for found in re.findall(r"T[0-9]{3}", name)}
    assert sorted(wanted - named) == []


def test_the_changelog_starts_with_what_is_not_released_or_with_this_version():
    first = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert first is not None
    assert first.group(1) in ("Unreleased", __version__)


def test_every_page_of_the_documentation_is_reachable_from_its_index():
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert sorted(page for page in pages if f"({page})" not in index) == []
    decisions = {path.name for path in (ROOT / "docs" / "adr").glob("*.md")}
    assert sorted(page for page in decisions if f"(adr/{page})" not in index) == []


def test_links_between_pages_lead_somewhere():
    for page in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
