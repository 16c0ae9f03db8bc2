"""The rest of the process contract: P2, P5, P6 and X5 (rules.md T408-T411)."""

# names of tests carry the ids of rules.md
from __future__ import annotations

import json

import pytest

from arcfsm.sim.listener import Answer, ConfigError, Exit, ListenerConfig, ListenerMachine
from arcfsm.sim.listener.effects import (
    CreateSession,
    DeleteMessage,
    DeleteSession,
    GetMessage,
    GetRunner,
    PatchRunnerSet,
    PatchRunnerStatus,
    RefreshSession,
    Wait,
)
from arcfsm.sim.listener.machine import job_patch

DONE = Answer(200, {})
ITEM = {
    "messageType": "JobStarted",
    "runnerRequestId": 1001,
    "ownerName": "acme",
    "repositoryName": "repo",
    "jobId": "job-1",
    "workflowRunId": 5001,
    "jobWorkflowRef": "acme/repo/.github/workflows/ci.yaml@refs/heads/main",
    "jobDisplayName": "build",
    "runnerName": "r1",
    "queueTime": "2026-12-01T06:00:00Z",
    "runnerAssignTime": "0001-01-01T00:00:00Z",
    "eventName": "push",
}
JOB_FIELDS = {
    "jobRequestId": 1001,
    "jobId": "job-1",
    "workflowRunId": 5001,
    "jobRepositoryName": "acme/repo",
    "jobWorkflowRef": "acme/repo/.github/workflows/ci.yaml@refs/heads/main",
    "jobDisplayName": "build",
}


def message(*items, number=1, assigned=1, kind="RunnerScaleSetJobMessages"):
    body = {
        "messageId": number,
        "messageType": kind,
        "body": json.dumps(items),
        "statistics": {"totalAssignedJobs": assigned},
    }
    return Answer(200, body)


def polling(assigned=0):
    config = ListenerConfig("http://ghe.test/acme", "ns", "demo", 7, "demo", 0, 5, token="t")
    machine = ListenerMachine(config, owner="pod")
    assert machine.start() == CreateSession("pod")
    machine.step(Answer(200, {"sessionId": "s", "statistics": {"totalAssignedJobs": assigned}}))
    assert machine.step(DONE) == GetMessage(0, 5)
    return machine


def reading_runner():
    machine = polling()
    assert machine.step(message(ITEM)) == DeleteMessage(1)
    assert machine.step(Answer(204, {})) == GetRunner("r1")
    return machine


def runner(phase="", version="42", **metadata):
    return Answer(200, {"metadata": {"resourceVersion": version, **metadata}, "status": {"phase": phase}})


def test_T408_pending_runner_gets_running_and_a_lock():
    effect = reading_runner().step(runner("Pending"))
    assert effect == PatchRunnerStatus(
        "r1", {"metadata": {"resourceVersion": "42"}, "status": {**JOB_FIELDS, "phase": "Running"}}
    )


@pytest.mark.parametrize("phase", ["Succeeded", "Failed", "Outdated"])
def test_T409_ended_runner_gets_job_fields_only(phase):
    assert reading_runner().step(runner(phase)) == PatchRunnerStatus("r1", {"status": JOB_FIELDS})


def test_deleting_runner_gets_job_fields_only():
    effect = reading_runner().step(runner("Running", deletionTimestamp="2026-12-01T06:00:00Z"))
    assert effect == PatchRunnerStatus("r1", {"status": JOB_FIELDS})


def test_T410_missing_runner_is_ignored_and_makes_it_dirty():
    machine = reading_runner()
    assert machine.step(Answer(404, {})) == PatchRunnerSet(1, 1)


def test_T410_runner_that_vanishes_before_the_patch_is_ignored():
    machine = reading_runner()
    machine.step(runner())
    assert machine.step(Answer(404, {})) == PatchRunnerSet(1, 1)


def test_T411_conflict_reads_again_and_third_patch_is_fine():
    machine = reading_runner()
    for version in ("42", "43"):
        machine.step(runner("Pending", version))
        assert machine.step(Answer(409, {})) == Wait(10)
        assert machine.step(DONE) == GetRunner("r1")
    effect = machine.step(runner("Pending", "44"))
    assert isinstance(effect, PatchRunnerStatus)
    assert effect.body["metadata"] == {"resourceVersion": "44"}
    assert isinstance(machine.step(DONE), PatchRunnerSet)


def test_five_conflicts_end_the_process():
    machine = reading_runner()
    for _ in range(4):
        machine.step(runner())
        machine.step(Answer(409, {}))
        machine.step(DONE)
    machine.step(runner())
    assert machine.step(Answer(409, {})) == Exit(1, "patching the runner failed: 409")


def test_context_fields_leave_out_zero_times():
    status = job_patch(ITEM, {"metadata": {"resourceVersion": "1"}}, context=True)["status"]
    assert status["jobEventName"] == "push"
    assert status["jobQueuedAt"] == "2026-12-01T06:00:00Z"
    assert "jobRunnerAssignedAt" not in status


def test_missing_statistics_end_the_process():
    config = ListenerConfig("http://ghe.test/acme", "ns", "demo", 7, "demo", 0, 5, token="t")
    machine = ListenerMachine(config, owner="pod")
    machine.start()
    assert machine.step(Answer(200, {"sessionId": "s"})) == Exit(1, "the session has no id or no statistics")


def test_session_conflict_ends_the_process():
    config = ListenerConfig("http://ghe.test/acme", "ns", "demo", 7, "demo", 0, 5, token="t")
    machine = ListenerMachine(config, owner="pod")
    machine.start()
    assert isinstance(machine.step(Answer(409, {}, "held")), Exit)
    assert machine.exit_code == 1


def test_sigterm_cancels_the_poll_and_closes_the_session():
    machine = polling()
    assert machine.interruptible
    machine.terminate()
    assert machine.interrupted() == DeleteSession()
    assert machine.step(Answer(204, {})) == Exit(0, "terminated")


def test_sigterm_lets_a_message_in_hand_finish():
    machine = reading_runner()
    machine.terminate()
    assert not machine.interruptible
    assert isinstance(machine.step(runner()), PatchRunnerStatus)
    assert isinstance(machine.step(DONE), PatchRunnerSet)
    assert machine.step(DONE) == DeleteSession()


def test_refused_queue_token_is_refreshed_once():
    machine = polling()
    assert machine.step(Answer(401, {})) == RefreshSession()
    assert machine.step(DONE) == GetMessage(0, 5)
    assert isinstance(machine.step(Answer(401, {})), Exit)


def test_failed_refresh_ends_the_process():
    machine = polling()
    machine.step(Answer(401, {}))
    assert machine.step(Answer(404, {})) == Exit(1, "refreshing the session failed: 404")


def test_a_later_refusal_may_refresh_again():
    machine = polling()
    machine.step(Answer(401, {}))
    machine.step(DONE)
    machine.step(Answer(202, {}))
    machine.step(DONE)
    assert machine.step(Answer(401, {})) == RefreshSession()


def test_poll_goes_on_after_the_last_message_seen():
    machine = reading_runner()
    machine.step(Answer(404, {}))
    assert machine.step(DONE) == GetMessage(1, 5)


def test_unknown_message_type_ends_the_process():
    assert isinstance(polling().step(message(kind="Other")), Exit)


def test_assigned_jobs_are_ignored():
    machine = polling()
    machine.step(message({"messageType": "JobAssigned", "runnerRequestId": 3}, assigned=0))
    assert machine.step(DONE) == PatchRunnerSet(None, 0)


@pytest.mark.parametrize("status", [404, 409, 500, 0])
def test_any_error_of_the_desired_count_ends_the_process(status):
    machine = polling()
    machine.step(Answer(202, {}))
    assert isinstance(machine.step(Answer(status, {})), Exit)


BASE = {
    "configure_url": "http://ghe.test/acme",
    "ephemeral_runner_set_namespace": "ns",
    "ephemeral_runner_set_name": "demo",
    "runner_scale_set_id": 7,
    "min_runners": 0,
    "max_runners": 3,
    "github_token": "t",
}


@pytest.mark.parametrize(
    "change",
    [
        {"configure_url": ""},
        {"ephemeral_runner_set_name": ""},
        {"ephemeral_runner_set_namespace": ""},
        {"runner_scale_set_id": 0},
        {"min_runners": 5},
        {"github_token": ""},
        {"github_token": "", "github_app_id": "1"},
        {"vault_type": "azure_key_vault"},
    ],
)
def test_P1_refuses(change):
    with pytest.raises(ConfigError):
        ListenerConfig.from_object({**BASE, **change})


def test_P1_accepts_an_app_and_a_vault():
    app = {"github_app_id": "1", "github_app_installation_id": 2, "github_app_private_key": "k", "github_token": ""}
    ListenerConfig.from_object({**BASE, **app})
    ListenerConfig.from_object({**BASE, "github_token": "", "vault_type": "azure_key_vault", "vault_lookup_key": "k"})


def test_P1_refuses_what_is_not_json():
    with pytest.raises(ConfigError, match="not JSON"):
        ListenerConfig.parse(b"{")


def test_P9_limits_below_one_fall_back_with_a_warning():
    config = ListenerConfig.from_object({**BASE, "scaler": {"qps": 0, "burst": 7}})
    assert (config.qps, config.burst) == (50.0, 7)
    assert config.warnings == ("scaler.qps 0 is below 1; using 50",)


def test_P8_metrics_follow_the_messages():
    machine = reading_runner()
    text = machine.metrics.render({"name": "demo", "namespace": "ns"})
    assert machine.metrics.total("gha_started_jobs_total") == 1
    assert 'gha_max_runners{name="demo",namespace="ns"} 5' in text
    machine.step(Answer(404, {}))
    assert 'gha_assigned_jobs{name="demo",namespace="ns"} 1' in machine.metrics.render(
        {"name": "demo", "namespace": "ns"}
    )
