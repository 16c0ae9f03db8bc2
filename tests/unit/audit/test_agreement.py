"""Advice beside deeds: agreed, done late, not done, not advised, or not to be seen."""

from __future__ import annotations

import pytest

from arcfsm.audit.agreement import Agreement, Matching
from arcfsm.domain import keys
from arcfsm.domain.envelope import JournaledEvent, Source
from arcfsm.domain.events import DomainEvent, listener, runner, runner_set, scale_set
from arcfsm.domain.events.decision import Decided, Verdict
from arcfsm.domain.events.dependent import DependentObserved
from arcfsm.domain.instant import SECOND
from arcfsm.domain.intents import CallService, CreateRunners, DeleteObject, PatchObject, RegisterRunner, ServiceCall
from arcfsm.domain.kinds import AggregateKind, Kind, StreamId

SET = StreamId(AggregateKind.RUNNER_SET, "set")
RUNNER = StreamId(AggregateKind.RUNNER, "runner-a")
SCALE_SET = StreamId(AggregateKind.SCALE_SET, "scale-set")
LISTENER = StreamId(AggregateKind.LISTENER, "listener")
PATCHES = {
    "revision": {"spec": {"ephemeralRunnerSpec": {}, "actionableRevision": 1}},
    "observed": {"status": {"observedGeneration": 3}},
    "phase": {"status": {"phase": "Running"}},
}


class Tale:
    """Events one after the other, at times in seconds."""

    def __init__(self) -> None:
        self.matching = Matching(lambda digest: PATCHES[digest])
        self.seq = 0

    def tell(self, at: float, stream: StreamId, event: DomainEvent, *parents: StreamId) -> int:
        self.seq += 1
        journaled = JournaledEvent(
            seq=self.seq,
            turn=self.seq,
            stream=stream,
            version=self.seq,
            event=event,
            recorded_at=int(at * SECOND),
            source=Source.IMPORT,
        )
        self.matching.take(journaled, parents)
        return self.seq

    def advise(self, at: float, stream: StreamId, *intents, rule: str = "S11", advisory: bool = True) -> int:
        verdict = Verdict.ACT if intents else Verdict.SETTLED
        decided = Decided(rule=rule, verdict=verdict, reason="as told", intents=intents, advisory=advisory)
        return self.tell(at, stream, decided)

    def agreements(self) -> list[Agreement]:
        return [one.agreement for one in self.matching.finish()]


def births(count: int) -> CreateRunners:
    return CreateRunners(target=SET, namespace="ns", set_name="demo", manifest="m", count=count, patch_id=1)


def patch(kind: Kind, target: StreamId, body: str) -> PatchObject:
    return PatchObject(target=target, kind=kind, namespace="ns", name="demo", uid=target.uid, patch=body)


def deletion(kind: Kind, target: StreamId) -> DeleteObject:
    return DeleteObject(target=target, kind=kind, namespace="ns", name="demo", uid=target.uid)


def born(name: str) -> tuple[StreamId, runner.RunnerCreated]:
    facts = runner.RunnerCreated(
        namespace="ns", name=name, created_at=0, owner_uid="set", owner_name="demo", metadata="m", spec="s", patch_id=1
    )
    return StreamId(AggregateKind.RUNNER, name), facts


def test_advice_is_agreed_when_all_of_it_is_seen():
    tale = Tale()
    tale.advise(0, SET, births(2))
    for name in ("a", "b"):
        stream, event = born(name)
        tale.tell(0.5, stream, event, SET)
    tale.advise(5, SET)
    assert tale.agreements() == [Agreement.AGREED]


def test_half_of_it_is_not_agreement():
    tale = Tale()
    tale.advise(0, SET, births(2))
    tale.tell(0.5, *born("a"), SET)
    tale.advise(5, SET)
    assert tale.agreements() == [Agreement.NOT_DONE]


def test_a_deed_counts_for_advice_that_was_replaced_a_moment_ago():
    tale = Tale()
    tale.advise(0, SET, births(1))
    tale.advise(3, SET)
    tale.tell(3.5, *born("a"), SET)
    assert tale.agreements() == [Agreement.AGREED]


def test_advice_that_stood_unheeded_is_not_done_and_one_that_stood_for_a_moment_is_not_seen():
    tale = Tale()
    tale.advise(0, SET, births(1))
    tale.advise(5, SET)
    tale.advise(6, SET, births(1))
    tale.advise(6.2, SET)
    tale.tell(60, LISTENER, listener.ListenerGone())
    assert tale.agreements() == [Agreement.NOT_DONE, Agreement.NOT_SEEN]


def test_what_came_long_after_the_advice_is_done_late():
    tale = Tale()
    tale.advise(0, SET, births(1))
    tale.tell(48, *born("a"), SET)
    (found,) = tale.matching.finish()
    assert found.agreement is Agreement.DONE_LATE
    assert found.deed == "done 48s later"


@pytest.mark.parametrize(
    ("stream", "event", "deed"),
    [
        (*born("a"), "a runner was created"),
        (RUNNER, runner.RunnerDeletionRequested(deletion_requested_at=1), "the runner was deleted"),
        (SET, runner_set.RunnerSetDeletionRequested(deletion_requested_at=1), "the runner set was deleted"),
        (LISTENER, listener.ListenerDeletionRequested(deletion_requested_at=1), "the listener was deleted"),
        (SET, runner_set.RunnerSpecPublished(runner_spec="s", actionable_revision=1), "a runner spec was published"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_deed_without_advice_has_the_latest_advice_beside_it(stream, event, deed):
    tale = Tale()
    tale.advise(0, SCALE_SET, rule="A20")
    seq = tale.tell(2, stream, event, SCALE_SET)
    (found,) = tale.matching.finish()
    assert (found.seq, found.agreement, found.deed, found.rule) == (seq, Agreement.NOT_ADVISED, deed, "A20")


def test_what_nobody_but_the_cluster_does_needs_no_advice():
    tale = Tale()
    tale.tell(0, RUNNER, runner.RunnerGone())
    tale.tell(1, SCALE_SET, scale_set.ScaleSetPhaseChanged(phase="Running"))
    assert tale.matching.finish() == []


def test_a_registration_is_seen_by_its_secret():
    tale = Tale()
    wanted = RegisterRunner(target=RUNNER, namespace="ns", name="demo", scale_set_id=7, manifest="m")
    tale.advise(0, RUNNER, wanted, rule="R10")
    secret = DependentObserved(
        kind=Kind.SECRET, namespace="ns", name="demo", uid="u", resource_version="1", metadata="m"
    )
    tale.tell(0.4, RUNNER, secret)
    tale.advise(9, RUNNER)
    assert tale.agreements() == [Agreement.AGREED]


def test_a_published_revision_is_seen_and_a_deleted_runner_is_gone():
    tale = Tale()
    tale.advise(0, SCALE_SET, patch(Kind.RUNNER_SET, SET, "revision"), rule="A14")
    tale.tell(0.1, SET, runner_set.RunnerSpecPublished(runner_spec="s", actionable_revision=1), SCALE_SET)
    tale.advise(1, SET, deletion(Kind.RUNNER, RUNNER), rule="S9")
    tale.tell(1.1, RUNNER, runner.RunnerDeletionRequested(deletion_requested_at=1), SET)
    tale.tell(1.2, RUNNER, runner.RunnerFinalizersChanged(finalizers=(keys.RUNNER_FINALIZER,)), SET)
    assert tale.agreements() == [Agreement.AGREED, Agreement.AGREED]


def test_fields_that_the_recorded_cluster_never_shows_are_no_disagreement():
    tale = Tale()
    tale.advise(0, SCALE_SET, patch(Kind.SCALE_SET, SCALE_SET, "observed"), rule="A20")
    tale.tell(60, SET, runner_set.RunnerSetScaled(replicas=1, patch_id=1))
    assert tale.agreements() == [Agreement.NOT_SEEN]


def test_but_they_are_where_it_shows_them():
    tale = Tale()
    tale.tell(0, SCALE_SET, scale_set.ScaleSetGenerationObserved(observed_generation=2))
    tale.advise(1, SCALE_SET, patch(Kind.SCALE_SET, SCALE_SET, "observed"), rule="A20")
    tale.tell(60, SET, runner_set.RunnerSetScaled(replicas=1, patch_id=1))
    assert tale.agreements() == [Agreement.NOT_DONE]


def test_questions_to_the_service_leave_no_sign():
    tale = Tale()
    question = CallService(target=SCALE_SET, call=ServiceCall.GET_SCALE_SET, namespace="ns", arguments={"id": 7})
    tale.advise(0, SCALE_SET, question, rule="A17")
    tale.tell(60, SET, runner_set.RunnerSetScaled(replicas=1, patch_id=1))
    assert tale.agreements() == []


def test_decisions_that_are_carried_out_are_not_compared():
    tale = Tale()
    tale.advise(0, SET, births(1), advisory=False)
    tale.tell(60, LISTENER, listener.ListenerGone())
    assert tale.agreements() == []
