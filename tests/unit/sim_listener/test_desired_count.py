"""P3: what the listener asks for and the number of the asking (rules.md T400-T407)."""

# names of tests carry the ids of rules.md
from __future__ import annotations

import json

from arcfsm.sim.listener import Answer, DesiredCount, ListenerConfig, ListenerMachine
from arcfsm.sim.listener.effects import (
    AcquireJobs,
    CreateSession,
    DeleteMessage,
    Effect,
    GetMessage,
    GetRunner,
    PatchRunnerSet,
    PatchRunnerStatus,
)

DONE = Answer(200, {})
NOTHING = Answer(202, {})


def config(low=0, high=5):
    return ListenerConfig("http://ghe.test/acme", "ns", "demo", 7, "demo", low, high, token="t")


def session(assigned):
    return Answer(200, {"sessionId": "s", "statistics": {"totalAssignedJobs": assigned}})


def message(number, assigned, *items):
    body = json.dumps([{"messageType": kind, **fields} for kind, fields in items])
    statistics = {"totalAssignedJobs": assigned}
    return Answer(
        200,
        {"messageId": number, "messageType": "RunnerScaleSetJobMessages", "body": body, "statistics": statistics},
    )


STARTED = ("JobStarted", {"runnerName": "r1", "jobId": "j1", "runnerRequestId": 1001})
COMPLETED = ("JobCompleted", {"runnerName": "r1", "jobId": "j1", "result": "succeeded"})


class Process:
    """Feeds a machine and collects the patches of the runner set."""

    def __init__(self, low=0, high=5, assigned=0):
        self.machine = ListenerMachine(config(low, high), owner="pod")
        assert isinstance(self.machine.start(), CreateSession)
        self.patches: list[tuple[int | None, int]] = []
        self.effects: list[Effect] = []
        self._go_on(self.machine.step(session(assigned)))

    def poll(self, answer):
        self._go_on(self.machine.step(answer))
        return self.patches[-1]

    def _go_on(self, effect):
        while not isinstance(effect, GetMessage):
            self.effects.append(effect)
            if isinstance(effect, PatchRunnerSet):
                self.patches.append((effect.replicas, effect.patch_id))
            answer = Answer(404, {}) if isinstance(effect, GetRunner) else DONE
            effect = self.machine.step(answer)


def test_T400_first_patch_has_id_0():
    assert Process(assigned=3).patches == [(3, 0)]


def test_T401_message_with_a_started_job_counts_on():
    process = Process(assigned=3)
    assert process.poll(message(1, 3, STARTED)) == (3, 1)


def test_T402_empty_poll_away_from_the_floor_counts_on():
    process = Process(assigned=3)
    process.poll(message(1, 3, STARTED))
    assert process.poll(NOTHING) == (3, 2)


def test_T403_completion_to_zero_is_dirty_and_sends_null():
    process = Process(assigned=3)
    process.poll(message(1, 3, STARTED))
    process.poll(NOTHING)
    assert process.poll(message(2, 0, COMPLETED)) == (None, 3)


def test_T404_idle_at_the_floor_publishes_0_but_counts_on():
    process = Process(assigned=3)
    process.poll(message(1, 3, STARTED))
    process.poll(NOTHING)
    process.poll(message(2, 0, COMPLETED))
    assert [process.poll(NOTHING), process.poll(NOTHING)] == [(None, 0), (None, 0)]
    assert process.poll(message(3, 1, STARTED)) == (1, 6)


def test_T405_floor_above_zero_settles_at_0_and_needs_a_quiet_poll():
    process = Process(low=2)
    process.poll(NOTHING)
    process.poll(NOTHING)
    assert process.patches == [(2, 0), (2, 0), (2, 0)]
    assert process.poll(message(1, 0, STARTED, COMPLETED)) == (2, 3)
    assert process.poll(NOTHING) == (2, 0)


def test_T406_target_is_capped():
    assert Process(low=2, high=5, assigned=9).patches == [(5, 0)]


def test_T407_sequence_wraps_to_1():
    desired = DesiredCount(0, 5, sequence=2147483646, target=1)
    assert [desired.next(2).patch_id, desired.next(2).patch_id] == [2147483647, 1]


def test_patch_id_is_always_a_number_and_zero_replicas_are_null():
    assert PatchRunnerSet(None, 0).body == {"spec": {"replicas": None, "patchID": 0}}
    assert PatchRunnerSet(3, 7).body == {"spec": {"replicas": 3, "patchID": 7}}


def test_a_restarted_process_starts_at_id_0_again():
    first, second = Process(assigned=1), Process(assigned=4)
    first.poll(NOTHING)
    assert (first.patches, second.patches) == ([(1, 0), (1, 1)], [(4, 0)])


def test_T412_acknowledge_before_acquire_before_patches():
    process = Process(assigned=0)
    process.effects.clear()
    process.poll(message(4, 2, ("JobAvailable", {"runnerRequestId": 11}), STARTED))
    assert [type(effect) for effect in process.effects] == [DeleteMessage, AcquireJobs, GetRunner, PatchRunnerSet]
    assert process.effects[0] == DeleteMessage(4)
    assert process.effects[1] == AcquireJobs((11,))


def test_runner_patch_comes_before_the_desired_count():
    machine = ListenerMachine(config(), owner="pod")
    machine.start()
    machine.step(session(0))
    machine.step(DONE)
    machine.step(message(1, 1, STARTED))
    assert isinstance(machine.step(DONE), GetRunner)
    assert isinstance(machine.step(Answer(200, {"metadata": {"resourceVersion": "5"}})), PatchRunnerStatus)
    assert machine.step(DONE) == PatchRunnerSet(1, 1)
