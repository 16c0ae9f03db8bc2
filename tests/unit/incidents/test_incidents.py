"""Public incidents, told again: what a controller must and must not do in them (A1–A75).

Every case is run twice: with calls that answer at once, and with calls that take two seconds, during which the
controller does not know what became of them.
"""

from __future__ import annotations

import pytest

from arcfsm.domain.instant import SECOND
from tests.unit.incidents.case import CASES, Case, read_cases
from tests.unit.incidents.more import MORE
from tests.unit.incidents.phrases import UnknownPhrase, holds
from tests.unit.incidents.story import Story

ALL = read_cases()
missing = pytest.mark.skipif(not ALL, reason="the incident cases live beside the project and are not here")


@missing
@pytest.mark.parametrize("latency", [0, 2 * SECOND], ids=["at-once", "slow"])
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_incident(case, latency):
    check(case, latency)


@pytest.mark.parametrize("latency", [0, 2 * SECOND], ids=["at-once", "slow"])
@pytest.mark.parametrize("case", MORE, ids=lambda case: case.id)
def test_further_incident(case, latency):
    check(case, latency)


def check(case: Case, latency: int) -> None:
    story = Story(case, latency=latency).run()
    broken = [f"expected: {phrase}" for phrase in case.expect if not holds(story, phrase)]
    broken += [f"forbidden: {phrase}" for phrase in case.forbid if holds(story, phrase)]
    told = "\n".join(f"{(did.at) % (24 * 3600 * SECOND) / SECOND:9.1f} {did.call} {did.outcome}" for did in story.did)
    assert not broken, f"{broken}\n{told}"
    assert not story.moot, "the case speaks of objects that are gone by then: what it says was not tried"


@missing
def test_every_case_shows_something():
    assert {case.id for case in ALL if not (case.expect or case.forbid)} == set()
    assert CASES.exists()


@missing
def test_a_phrase_that_nobody_knows_fails_loudly():
    story = Story(ALL[0]).run()
    with pytest.raises(UnknownPhrase):
        holds(story, "the listener sings")
