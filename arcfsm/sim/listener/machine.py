"""The listener process as a pure state machine (rules.md P2-P6).

`step` takes what happened and returns what to do next, one effect at a time: the process is sequential, so an
effect's answer is the next thing that happens. Nothing is retried inside but what P5 and X5 say; any other error ends
the process with code 1. The order within a message is P4's: statistics, acknowledge, acquire, started jobs, completed
jobs, desired count.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from arcfsm.domain import phases
from arcfsm.sim.listener.config import ListenerConfig
from arcfsm.sim.listener.effects import (
    AcquireJobs,
    Answer,
    CreateSession,
    DeleteMessage,
    DeleteSession,
    Effect,
    Exit,
    GetMessage,
    GetRunner,
    PatchRunnerSet,
    PatchRunnerStatus,
    RefreshSession,
    Wait,
)
from arcfsm.sim.listener.metrics import ListenerMetrics

SEQUENCE_MAX: Final = 2147483647
MESSAGE_TYPE: Final = "RunnerScaleSetJobMessages"
CONFLICT_ATTEMPTS_MAX: Final = 5
CONFLICT_WAIT_MS: Final = 10
_JOB_FIELDS: Final = {
    "jobRequestId": "runnerRequestId",
    "jobId": "jobId",
    "workflowRunId": "workflowRunId",
    "jobWorkflowRef": "jobWorkflowRef",
    "jobDisplayName": "jobDisplayName",
}
_CONTEXT_FIELDS: Final = {
    "jobEventName": "eventName",
    "jobQueuedAt": "queueTime",
    "jobScaleSetAssignedAt": "scaleSetAssignTime",
    "jobRunnerAssignedAt": "runnerAssignTime",
}
_ZERO_TIME: Final = "0001-01-01T00:00:00Z"


class Stage(StrEnum):
    """What the process is waiting for."""

    NEW = "new"
    CREATING_SESSION = "creating session"
    POLLING = "polling"
    REFRESHING = "refreshing session"
    ACKNOWLEDGING = "acknowledging"
    ACQUIRING = "acquiring"
    READING_RUNNER = "reading runner"
    PATCHING_RUNNER = "patching runner"
    BACKING_OFF = "backing off"
    PATCHING_SET = "patching runner set"
    CLOSING = "closing"
    ENDED = "ended"


@dataclass
class DesiredCount:
    """P3: what to ask for, and the number of the asking."""

    min_runners: int
    max_runners: int
    sequence: int = -1
    target: int = -1
    dirty: bool = False

    def next(self, assigned: int) -> PatchRunnerSet:
        """Return the patch for a count of assigned jobs. The sequence moves even when id 0 is published."""
        was_dirty, self.dirty = self.dirty, False
        if self.sequence == SEQUENCE_MAX:
            self.sequence = 0
        self.sequence += 1
        old, self.target = self.target, min(self.min_runners + assigned, self.max_runners)
        settled = not was_dirty and self.target == old and self.target == self.min_runners
        return PatchRunnerSet(replicas=self.target or None, patch_id=0 if settled else self.sequence)


@dataclass
class ListenerMachine:
    """One run of the process, from start to exit."""

    config: ListenerConfig
    owner: str
    job_context: bool = False
    """Write the extra job context fields as well (P5, V)."""
    stage: Stage = Stage.NEW
    exit_code: int | None = None
    exit_reason: str = ""
    last_message_id: int = 0
    statistics: Mapping[str, Any] | None = None
    metrics: ListenerMetrics = field(default_factory=ListenerMetrics)
    _terminating: bool = False
    _refreshed: bool = False
    _current: Effect | None = None
    _resume: tuple[Stage, Effect | None] = (Stage.NEW, None)
    _available: list[int] = field(default_factory=list)
    _started: deque[Mapping[str, Any]] = field(default_factory=deque)
    _completed: deque[Mapping[str, Any]] = field(default_factory=deque)
    _attempts: int = 0

    def __post_init__(self) -> None:
        self.desired = DesiredCount(self.config.min_runners, self.config.max_runners)
        self.metrics.limits(self.config.min_runners, self.config.max_runners)

    def start(self) -> Effect:
        """Begin: open a session (P2)."""
        return self._next(Stage.CREATING_SESSION, CreateSession(self.owner))

    def terminate(self) -> None:
        """SIGTERM: finish the message in hand, then close the session (P2)."""
        self._terminating = True

    @property
    def interruptible(self) -> bool:
        """Whether a SIGTERM cancels what is going on, which is true of the long poll alone."""
        return self.stage is Stage.POLLING

    def interrupted(self) -> Effect:
        """The long poll was cancelled."""
        return self._close()

    def step(self, answer: Answer) -> Effect:
        """Take the answer to the last effect and return the next one."""
        if answer.status == 401 and isinstance(self._current, GetMessage | DeleteMessage | AcquireJobs):
            return self._refresh()
        match self.stage:
            case Stage.CREATING_SESSION:
                return self._session_created(answer)
            case Stage.REFRESHING:
                return self._refresh_done(answer)
            case Stage.POLLING:
                return self._polled(answer)
            case Stage.ACKNOWLEDGING:
                return self._acquire() if answer.ok else self._fail("deleting the message", answer)
            case Stage.ACQUIRING:
                return self._next_started() if answer.ok else self._fail("acquiring jobs", answer)
            case Stage.READING_RUNNER:
                return self._runner_read(answer)
            case Stage.PATCHING_RUNNER:
                return self._runner_patched(answer)
            case Stage.BACKING_OFF:
                return self._read_runner()
            case Stage.PATCHING_SET:
                return self._poll() if answer.ok else self._fail("patching the runner set", answer)
            case Stage.CLOSING:
                return self._exit(0, "terminated") if answer.ok else self._fail("deleting the session", answer)
            case _:
                raise ValueError(f"a process that is {self.stage.value} has no answer to wait for")

    # --- session -----------------------------------------------------------------------------------------------------

    def _session_created(self, answer: Answer) -> Effect:
        if not answer.ok:
            return self._fail("creating the session", answer)
        self.statistics = answer.object.get("statistics")
        if not answer.object.get("sessionId") or self.statistics is None:
            return self._exit(1, "the session has no id or no statistics")
        return self._ask_for_runners()

    def _refresh(self) -> Effect:
        """X5: a queue token was refused; refresh the session once, then repeat the call once."""
        if self._refreshed:
            return self._exit(1, "the queue token was refused right after a refresh")
        self._refreshed = True
        self._resume = (self.stage, self._current)
        self.stage = Stage.REFRESHING
        self._current = None
        return RefreshSession()

    def _refresh_done(self, answer: Answer) -> Effect:
        if not answer.ok:
            return self._fail("refreshing the session", answer)
        stage, effect = self._resume
        if effect is None:
            raise ValueError("there is no call to repeat after the refresh")
        self.stage, self._current = stage, effect
        return effect

    def _close(self) -> Effect:
        return self._next(Stage.CLOSING, DeleteSession())

    # --- messages ----------------------------------------------------------------------------------------------------

    def _poll(self) -> Effect:
        if self._terminating:
            return self._close()
        return self._next(Stage.POLLING, GetMessage(self.last_message_id, self.config.max_runners))

    def _polled(self, answer: Answer) -> Effect:
        if answer.status == 202:
            return self._ask_for_runners()
        if not answer.ok:
            return self._fail("getting a message", answer)
        message = answer.object
        if message.get("messageType") != MESSAGE_TYPE:
            return self._exit(1, f"unknown message type {message.get('messageType')!r}")
        self.statistics = message.get("statistics") or self.statistics
        self.last_message_id = int(message["messageId"])
        items = json.loads(message.get("body") or "[]")
        kinds: dict[str, list[Mapping[str, Any]]] = {"JobAvailable": [], "JobStarted": [], "JobCompleted": []}
        for item in items:
            kinds.get(item.get("messageType", ""), []).append(item)
        self._available = [int(item["runnerRequestId"]) for item in kinds["JobAvailable"]]
        self._started, self._completed = deque(kinds["JobStarted"]), deque(kinds["JobCompleted"])
        return self._next(Stage.ACKNOWLEDGING, DeleteMessage(self.last_message_id))

    def _acquire(self) -> Effect:
        if not self._available:
            return self._next_started()
        wanted, self._available = tuple(self._available), []
        return self._next(Stage.ACQUIRING, AcquireJobs(wanted))

    def _ask_for_runners(self) -> Effect:
        assigned = int((self.statistics or {}).get("totalAssignedJobs") or 0)
        patch = self.desired.next(assigned)
        self.metrics.statistics(self.statistics or {}, self.desired.target)
        return self._next(Stage.PATCHING_SET, patch)

    # --- started jobs (P5) -------------------------------------------------------------------------------------------

    def _next_started(self) -> Effect:
        if self._started:
            self.desired.dirty = True
            self.metrics.started(self._started[0])
            self._attempts = 0
            return self._read_runner()
        while self._completed:
            self.desired.dirty = True
            self.metrics.completed(self._completed.popleft())
        return self._ask_for_runners()

    def _read_runner(self) -> Effect:
        return self._next(Stage.READING_RUNNER, GetRunner(self._started[0].get("runnerName") or ""))

    def _runner_read(self, answer: Answer) -> Effect:
        if answer.status == 404:
            return self._started_done()
        if not answer.ok:
            return self._fail("reading the runner", answer)
        patch = job_patch(self._started[0], answer.object, context=self.job_context)
        return self._next(Stage.PATCHING_RUNNER, PatchRunnerStatus(self._started[0].get("runnerName") or "", patch))

    def _runner_patched(self, answer: Answer) -> Effect:
        if answer.ok or answer.status == 404:
            return self._started_done()
        if answer.status == 409:
            self._attempts += 1
            if self._attempts < CONFLICT_ATTEMPTS_MAX:
                return self._next(Stage.BACKING_OFF, Wait(CONFLICT_WAIT_MS))
        return self._fail("patching the runner", answer)

    def _started_done(self) -> Effect:
        self._started.popleft()
        return self._next_started()

    # --- ends --------------------------------------------------------------------------------------------------------

    def _next(self, stage: Stage, effect: Effect) -> Effect:
        self.stage = stage
        self._current = effect
        self._refreshed = False
        return effect

    def _fail(self, doing: str, answer: Answer) -> Effect:
        return self._exit(1, f"{doing} failed: {answer.status or 'no answer'} {answer.message}".rstrip())

    def _exit(self, code: int, reason: str) -> Effect:
        self.stage = Stage.ENDED
        self.exit_code, self.exit_reason = code, reason
        return Exit(code, reason)


def job_patch(item: Mapping[str, Any], runner: Mapping[str, Any], *, context: bool = False) -> dict[str, Any]:
    """Build P5's merge patch of a runner's status: job fields always, phase and lock only while the runner is alive."""
    status: dict[str, Any] = {}
    repository = f"{item.get('ownerName') or ''}/{item.get('repositoryName') or ''}"
    if repository != "/":
        status["jobRepositoryName"] = repository
    names = {**_JOB_FIELDS, **_CONTEXT_FIELDS} if context else _JOB_FIELDS
    for name, source in names.items():
        value = item.get(source)
        if value and value != _ZERO_TIME:
            status[name] = value
    metadata = runner.get("metadata") or {}
    phase = (runner.get("status") or {}).get("phase") or phases.NONE
    if metadata.get("deletionTimestamp") is None and phase not in phases.RUNNER_DONE_PHASES:
        status["phase"] = phases.RUNNING
        return {"metadata": {"resourceVersion": metadata.get("resourceVersion")}, "status": status}
    return {"status": status}
