"""A runner whose job was over is not replaced under the wish it finished under, whoever deleted it (S9, S11)."""

from __future__ import annotations

import pytest

from arcfsm.domain.events import runner, runner_set
from tests.unit.rules.harness import Lab


def vanish(lab, stream, *, code):
    lab.fold(stream, runner.RunnerPodTerminated(pod=lab.pod("Succeeded", exit=code)))
    lab.fold(stream, runner.RunnerPodGone(pod_uid=lab.world.runners[stream.uid].pod.uid))
    lab.fold(stream, runner.RunnerGone())


@pytest.mark.parametrize(
    ("code", "patch", "rule", "created"),
    [(0, 5, "S11", 0), (1, 5, "S11", 1), (0, 0, "S11", 1)],
    ids=["finished", "failed", "patch id 0 is never suppressed"],
)
def test_another_controllers_deletion_of_a_finished_runner_counts(code, patch, rule, created):
    lab = Lab(advisory=True)
    ers = lab.runner_set(2, patch, m=0)
    lab.runner("stays", "Running", of=ers, id=1, p=4, job=True)
    vanish(lab, lab.runner("goes", of=ers, id=2, p=4), code=code)
    decided = lab.look(ers)
    assert decided.rule == rule
    assert sum(getattr(intent, "count", 0) for intent in decided.intents) == created


def test_a_new_wish_brings_a_replacement_and_so_does_a_new_revision():
    lab = Lab(advisory=True)
    ers = lab.runner_set(2, 5)
    lab.runner("stays", "Running", of=ers, id=1, p=4, job=True)
    vanish(lab, lab.runner("goes", of=ers, id=2, p=4), code=0)
    lab.fold(ers, runner_set.RunnerSetScaled(replicas=2, patch_id=6))
    assert lab.look(ers).intents[-1].count == 1
    lab.fold(ers, runner_set.RunnerSetScaled(replicas=2, patch_id=5))
    assert lab.look(ers).verdict == "hold"
    lab.fold(ers, runner_set.RevisionApplied(applied_revision=1))
    assert lab.look(ers).intents[-1].count == 1
