"""What `why` says about all types of events in recordings: nothing is left open that the recording shows."""

from __future__ import annotations

import pytest

from arcfsm.audit.past import Past
from arcfsm.audit.why import Kind, Link, Step
from arcfsm.audit.why.explanation import Teller
from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events.dependent import DependentFacts, DependentGone
from arcfsm.domain.kinds import AggregateKind

from .test_answers import NAMES

LEFT_OPEN = (
    "DependentChanged",
    "DependentGone",
    "DependentObserved",
    "RunnerPodDeletionRequested",
    "ScaleSetDeletionRequested",
)
"""What a watch can't tell the cause of: who deletes a scale set or a pod, and why dependent objects change."""


def chain(told, journaled: JournaledEvent) -> tuple[Step, ...]:
    return Teller(Past(told.journal)).chain(journaled)


def texts(steps: tuple[Step, ...]) -> list[str]:
    return [step.text for step in steps]


def advised(told, journaled: JournaledEvent, words: str) -> bool:
    return any(note.startswith(f"arcfsm advised {words}") for note in chain(told, journaled)[0].notes)


@pytest.mark.parametrize("name", [one for one in NAMES if not one.startswith("json-log-")])
def test_every_type_of_event_leads_back_to_something_that_a_watch_can_not_tell(story, name):
    told = story(name)
    left_open = {one.seq for one in told.events(*LEFT_OPEN)}
    latest = {type(one.event): one for one in told.journal.events() if one.stream.kind is not AggregateKind.CONTROLLER}
    assert len(latest) > 10
    for kind, journaled in latest.items():
        if issubclass(kind, DependentFacts | DependentGone):
            continue
        steps = chain(told, journaled)
        assert [step.link is Link.START for step in steps] == [True] + [False] * (len(steps) - 1)
        assert steps[-1].kind in (Kind.OUTSIDE, Kind.GAP, Kind.MORE, Kind.UNKNOWN)
        assert steps[-1].kind is not Kind.UNKNOWN or steps[-2].seq in left_open, texts(steps)


def test_both_idle_runners_went_for_the_one_that_was_refused(story):
    told = story("spec-update-with-busy-runner")
    refused = next(one for one in told.events("RunnerPodTerminated") if one.event.pod.container.exit_code == 7)
    busy = {one.stream for one in told.events("RunnerJobAssigned")}
    idle = [one for one in told.events("RunnerDeletionRequested") if one.stream not in busy]
    assert len(idle) == 2
    for deleted in idle:
        assert refused.seq in [step.seq for step in chain(told, deleted)]
        assert advised(told, deleted, "the same: S4")


def test_the_listener_went_because_the_scale_set_was_edited_and_arcfsm_would_have_published(story):
    told = story("spec-update-with-busy-runner")
    (deleted,) = told.events("ListenerDeletionRequested")
    steps = chain(told, deleted)
    assert "its spec was changed at /template/spec/containers/0/image" in texts(steps)
    assert advised(told, deleted, "otherwise: A14: /ephemeralRunnerSpec/spec/containers/0/image changed; publishing")


@pytest.mark.parametrize("name", ["runner-version-refused"])
def test_every_refused_runner_went_for_its_own_exit_code(story, name):
    told = story(name)
    refused = {one.stream: one for one in told.events("RunnerPodTerminated") if one.event.pod.container.exit_code == 7}
    deleted = [one for one in told.events("RunnerDeletionRequested") if one.stream in refused]
    assert len(deleted) == 7
    for one in deleted:
        assert refused[one.stream].seq in [step.seq for step in chain(told, one)]


def test_each_pod_and_runner_is_advised_once(story):
    lost, failing, drained = (story(one) for one in ("pod-lost-while-busy", "pod-start-failures", "scale-up-and-drain"))
    busy = lost.events("RunnerJobAssigned")[0].stream
    pods = [one for one in lost.events("RunnerPodCreated") if one.stream == busy]
    assert [advised(lost, one, "the same: R16") for one in pods] == [True, False]
    pods = failing.events("RunnerPodCreated")
    assert [advised(failing, one, "the same: R16") for one in pods] == [True] * 4 + [False] * 2
    runners = drained.events("RunnerCreated")
    assert [advised(drained, one, "the same: S11") for one in runners] == [True] * 5 + [False]


def test_asking_first_is_not_told_as_other_advice(story):
    told = story("scale-set-edits")
    assert not any(advised(told, one, "otherwise") for one in told.events("ListenerCreated"))
