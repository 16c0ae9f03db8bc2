"""What the journal answers about recordings of a real cluster: stalls, their causes, and where the advice differs."""

from __future__ import annotations

import pytest

from arcfsm.audit.agreement import Agreement
from arcfsm.domain.documents import Documents
from arcfsm.domain.world import World
from arcfsm.replay.rederivation import rederive

NAMES = (
    "controller-restart-mid-scale-up",
    "empty-env-hot-loop",
    "json-log-runner-version-refused",
    "json-log-scale-up-and-drain",
    "pod-lost-while-busy",
    "pod-start-failures",
    "runner-version-refused",
    "scale-set-deleted",
    "scale-set-edits",
    "scale-up-and-drain",
    "spec-update-with-busy-runner",
    "watch-gap",
)


def rules(story, kind: str) -> set[str]:
    return {one.event.rule for one in story.events("Decided") if one.stream.kind == kind}


def test_spec_update_falls_silent_and_the_stall_says_why(story):
    told = story("spec-update-with-busy-runner")
    (stall,) = told.stalls()
    assert stall.name == "no-listener"
    assert stall.until is None, "it lasts to the end"
    assert "set is Outdated for a spec that is no longer wanted" in stall.reason
    assert "minRunners is 2" in stall.reason
    shown = {
        type(told_of.event).__name__: told_of.event
        for told_of in told.journal.events()
        if told_of.seq in stall.evidence
    }
    assert set(shown) == {
        "ScaleSetSpecChanged",
        "ListenerDeletionRequested",
        "ListenerGone",
        "RunnerPodTerminated",
        "RunnerSetPhaseChanged",
    }
    assert shown["RunnerPodTerminated"].pod.container.exit_code == 7


def test_spec_update_advice_publishes_the_revision_and_does_not_park(story):
    told = story("spec-update-with-busy-runner")
    by = {(one.rule, one.agreement): one for one in told.divergences()}
    published = by["A14", Agreement.NOT_DONE]
    assert "image changed; publishing revision 1" in published.advice
    assert published.until is None, "nobody ever did it"
    assert by["A14", Agreement.NOT_ADVISED].deed.startswith("the listener was deleted")
    assert "A12" not in rules(told, "scale-set")


def test_hot_loop_is_named_as_not_converging_and_arcfsm_sees_no_drift(story):
    told = story("empty-env-hot-loop")
    loops = [stall for stall in told.stalls() if stall.name == "drift-not-converging"]
    assert len(loops) == 1
    assert "RunnerSetMetadataChanged" in loops[0].reason
    assert rules(told, "scale-set").isdisjoint({"A14", "A15"})


def test_the_twelfth_runner_waits_behind_a_closed_gate(story):
    told = story("controller-restart-mid-scale-up")
    (stall,) = told.stalls()
    assert stall.name == "gate-closed"
    assert "gate closed with a shortfall: 11 of 12 runners exist for patch 1" in stall.reason
    assert 60_000_000 <= stall.until - stall.since <= 70_000_000, "only the next patch id brought it"
    shortfall = [one.event for one in told.events("Decided") if "never came to be" in one.event.reason]
    assert [sum(getattr(intent, "count", 0) for intent in decided.intents) for decided in shortfall] == [1]


def test_a_runner_was_created_for_a_job_that_was_over(story):
    told = story("scale-up-and-drain")
    created = [one for one in told.divergences() if one.deed.startswith("a runner was created")]
    assert len(created) == 1
    assert created[0].agreement is Agreement.NOT_ADVISED
    finished = [one for one in told.events("RunnerPodTerminated") if one.seq < created[0].seq]
    assert [one.event.pod.container.exit_code for one in finished] == [0]


def test_the_pod_of_a_busy_runner_came_back_with_a_used_registration(story):
    told = story("pod-lost-while-busy")
    (stall,) = told.stalls()
    assert stall.name == "used-registration"
    assert stall.until is None
    assert "recreated with a used registration" in stall.reason


def test_after_the_fourth_failure_the_next_pod_came_too_early(story):
    told = story("pod-start-failures")
    early = [one for one in told.divergences() if one.rule == "R12"]
    assert [one.advice.split(";")[0] for one in early] == ["4 pods failed", "5 pods failed"]
    assert all(one.deed.startswith("a pod was created") for one in early)


def test_the_pod_of_a_runner_with_a_job_would_not_have_been_made_again(story):
    told = story("pod-lost-while-busy")
    (one,) = told.divergences()
    assert (one.rule, one.agreement) == ("R-deletePodOrRunner", Agreement.NOT_ADVISED)
    assert one.deed.startswith("a pod was created")


@pytest.mark.parametrize("name", ["json-log-scale-up-and-drain", "scale-set-deleted", "scale-set-edits", "watch-gap"])
def test_where_nothing_went_wrong_advice_and_deeds_agree(story, name):
    surplus = [one for one in story(name).divergences() if not one.deed.startswith("a runner was created")]
    assert surplus == []


@pytest.mark.parametrize("name", ["runner-version-refused", "json-log-runner-version-refused"])
def test_refused_versions_end_in_a_recreation_loop(story, name):
    told = story(name)
    loops = {stall.stream.kind: stall for stall in told.stalls() if stall.name == "recreation-loop"}
    assert set(loops) == {"runner-set", "listener"}
    assert "7 runner-sets" in loops["runner-set"].reason
    assert "Outdated" not in told.phases("scale-set"), "the recorded controller never says so"
    deeds = [one.deed for one in told.divergences() if one.rule == "A6"]
    assert any(deed.startswith("the runner set was deleted") for deed in deeds), "arcfsm parks instead"


@pytest.mark.parametrize(
    "name",
    [
        "json-log-scale-up-and-drain",
        "pod-start-failures",
        "scale-set-deleted",
        "scale-set-edits",
        "scale-up-and-drain",
        "watch-gap",
    ],
)
def test_nothing_stands_still_where_nothing_did(story, name):
    assert story(name).stalls() == []


def test_a_gap_is_shown_and_nothing_is_invented(story):
    told = story("watch-gap")
    gaps = [one.event for one in told.events("GapDetected")]
    assert gaps
    assert all(gap.since is not None for gap in gaps)
    created = {one.stream for one in told.events("RunnerCreated")}
    observed = {one.stream for one in told.events("RunnerObserved")}
    assert observed - created, "what appeared while nobody looked was observed, not created"


@pytest.mark.parametrize("name", NAMES)
def test_every_decision_is_derived_again_byte_for_byte(story, name):
    told = story(name)
    found = rederive(World(Documents(told.journal.document)), told.journal.events())
    assert found.differences == ()
    assert found.decisions > 5
