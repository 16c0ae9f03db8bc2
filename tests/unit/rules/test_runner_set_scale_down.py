"""Scaling a runner set down: whom the service is asked about, and what its answers mean (T105–T113)."""

from __future__ import annotations

import pytest

from arcfsm.domain import keys
from arcfsm.domain.events.decision import Outcome, Verdict
from arcfsm.domain.events.runner import RunnerDeletionRequested, RunnerGone
from arcfsm.domain.events.runner_set import RunnerSetScaled
from arcfsm.domain.instant import MINUTE, SECOND
from arcfsm.domain.kinds import AggregateKind, StreamId
from tests.unit.rules.harness import Lab, Result
from tests.unit.rules.telling import tell

BUSY = Result(Outcome.BUSY)
NOT_FOUND = Result(Outcome.NOT_FOUND)
ERROR = Result(Outcome.FAILED, detail="500 Internal Server Error", status=500)
CONFLICT = Result(Outcome.CONFLICT, status=409)


@pytest.fixture
def lab():
    return Lab()


def released(name):
    finalizers = f'{{"metadata":{{"finalizers":["{keys.RUNNER_FINALIZER}"]}}}}'
    return [f"patch ER {name} {finalizers}", f"delete ER {name}"]


# S12, S13: scale down


def surplus(lab, patch=0, replicas=1, **first):
    ers = lab.runner_set(replicas, patch)
    lab.runner("a", of=ers, age=30 * MINUTE, **{"id": 1, "p": 2, **first})
    lab.runner("b", of=ers, id=2, p=2, age=20 * MINUTE)
    lab.runner("c", of=ers, id=3, p=2, age=10 * MINUTE)
    return ers


def test_T105_a_positive_patch_never_deletes(lab):
    ers = surplus(lab, patch=3)
    assert lab.drive(ers) == []
    decided = lab.last(ers)
    assert (decided.rule, decided.verdict) == ("S12", Verdict.HOLD)


def test_T106_patch_0_lets_the_oldest_idle_runners_go(lab):
    ers = surplus(lab)
    assert tell(lab, lab.drive(ers)) == [
        "call remove-runner runner_id=1",
        "call remove-runner runner_id=2",
        *released("a"),
        *released("b"),
    ]
    assert [one.name for one in lab.world.runners_of(ers.uid) if not one.deleting] == ["c"]


def test_T107_a_runner_with_a_job_is_passed_over(lab):
    ers = surplus(lab, job=True)
    assert tell(lab, lab.drive(ers)) == [
        "call remove-runner runner_id=2",
        "call remove-runner runner_id=3",
        *released("b"),
        *released("c"),
    ]


def test_T108_a_busy_answer_passes_to_the_next(lab):
    ers = surplus(lab)
    lab.script("remove-runner runner_id=1", BUSY)
    done = tell(lab, lab.drive(ers))
    assert done[:2] == ["call remove-runner runner_id=1", "call remove-runner runner_id=2"]
    assert "call remove-runner runner_id=3" in done
    assert [one.name for one in lab.world.runners_of(ers.uid) if not one.deleting] == ["a"]
    assert lab.last(ers).verdict is Verdict.SETTLED
    assert lab.wake_at(ers) is None, "enough went: nobody asks again"


def test_T108_a_busy_answer_counts_for_a_while_only(lab):
    ers = surplus(lab, replicas=0)
    lab.script("remove-runner runner_id=1", BUSY, Result())
    lab.drive(ers)
    assert lab.wake_at(ers) == lab.now + 30 * SECOND
    lab.later(29 * SECOND)
    assert lab.drive(ers) == []
    lab.later(SECOND)
    assert tell(lab, lab.drive(ers)) == ["call remove-runner runner_id=1", *released("a")]


def test_T109_a_runner_the_service_does_not_know_is_removed(lab):
    ers = surplus(lab)
    lab.script("remove-runner runner_id=1", NOT_FOUND)
    assert [line for line in tell(lab, lab.drive(ers)) if line.endswith(" a")] == ["delete ER a"]


def test_T110_an_error_tries_the_next_ones_and_surfaces(lab):
    ers = surplus(lab)
    lab.script("remove-runner runner_id=1", ERROR)
    done = tell(lab, lab.drive(ers))
    assert [line for line in done if line.startswith("call")] == [
        f"call remove-runner runner_id={runner}" for runner in (1, 2, 3)
    ]
    assert [one.name for one in lab.world.runners_of(ers.uid) if not one.deleting] == ["a"]
    findings = [finding for decided in lab.decisions for finding in decided.findings]
    assert ("RunnerRemovalFailed", "the service did not let runner a go: 500 Internal Server Error") in [
        (finding.code, finding.text) for finding in findings
    ]


def test_T110_nobody_else_to_take_means_waiting_for_the_one_that_fails(lab):
    ers = surplus(lab, replicas=0)
    lab.script("remove-runner runner_id=1", ERROR, Result())
    lab.drive(ers)
    assert lab.last(ers).verdict is Verdict.WAIT
    assert "500 Internal Server Error" in lab.last(ers).reason
    lab.later(SECOND)
    assert tell(lab, lab.drive(ers)) == ["call remove-runner runner_id=1", *released("a")]


def test_S13_questions_in_flight_count_whatever_is_passed_over_meanwhile(lab):
    ers = surplus(lab)
    assert len(lab.look(ers).intents) == 2
    lab.later(10 * MINUTE)
    assert lab.look(ers) is None, "two of three are asked; the third is wanted"


def test_S13_a_released_runner_is_deleted_though_the_wish_grew_again(lab):
    ers = surplus(lab)
    wish = RunnerSetScaled(replicas=3, patch_id=4)
    lab.script("remove-runner runner_id=2", Result(before=lambda: lab.fold(ers, wish)))
    done = tell(lab, lab.drive(ers))
    assert [*released("a"), *released("b")] == [line for line in done if line.startswith(("patch", "delete"))]
    assert lab.last(ers).reason == "1 runner of 3 wanted, and enough still come or go"
    for name in "ab":
        lab.fold(StreamId(AggregateKind.RUNNER, lab.world.runner_named("arc-runners", name).uid), RunnerGone())
    assert tell(lab, lab.drive(ers)) == ["create 2 ER for patch 4"]


def test_T111_a_young_runner_without_an_id_is_left_alone(lab):
    ers = lab.runner_set(0, 0)
    lab.runner("a", of=ers, age=10 * SECOND)
    assert lab.drive(ers) == []
    assert lab.wake_at(ers) == lab.now + 50 * SECOND
    assert lab.last(ers).verdict is Verdict.WAIT


def test_T112_an_old_runner_without_an_id_is_deleted_with_its_registration_finalizer(lab):
    ers = lab.runner_set(0, 0)
    lab.runner("a", of=ers, age=61 * SECOND)
    assert tell(lab, lab.drive(ers)) == ["delete ER a"]


def test_T113_pending_goes_before_running(lab):
    ers = lab.runner_set(1, 0)
    lab.runner("a", "Running", of=ers, id=1, age=30 * MINUTE)
    lab.runner("b", of=ers, id=2, age=MINUTE)
    assert tell(lab, lab.drive(ers)) == ["call remove-runner runner_id=2", *released("b")]


def test_H23_the_outcome_of_the_registration_tells_the_id_before_the_status_does(lab):
    from arcfsm.domain.events.decision import IntentSettled
    from arcfsm.domain.intents import registration_key

    ers = lab.runner_set(0, 0)
    er = lab.runner("a", of=ers, age=10 * SECOND)
    registered = IntentSettled(
        decision=1,
        index=0,
        key=registration_key("arc-runners", "a"),
        outcome=Outcome.OK,
        answer={"runner_id": 41},
    )
    lab.fold(er, registered)
    assert tell(lab, lab.drive(ers)) == ["call remove-runner runner_id=41", *released("a")]


def test_S_remove_an_impossible_id_stalls_visibly(lab):
    ers = lab.runner_set(0, 0)
    lab.runner("a", of=ers, id=-1)
    assert lab.drive(ers) == []
    decided = lab.last(ers)
    assert decided.verdict is Verdict.STALLED
    assert decided.findings[0].code == "RunnerIdImpossible"


def test_advice_is_stable_and_says_what_is_wanted_first(lab):
    lab = Lab(advisory=True)
    ers = surplus(lab, replicas=0)
    lab.runner("done", "Succeeded", of=ers, id=4, p=2)
    assert tell(lab, lab.look(ers).intents) == ["delete ER done"]
    assert lab.look(ers) is None
    gone = lab.world.runner_named("arc-runners", "done")
    lab.observe(StreamId(AggregateKind.RUNNER, gone.uid), RunnerDeletionRequested(deletion_requested_at=lab.now))
    assert tell(lab, lab.last(ers).intents) == [f"call remove-runner runner_id={runner}" for runner in (1, 2, 3)]
