"""What the simulated Actions service knows: scale sets, groups, agents, jobs, sessions, messages.

Plain mutable records; every rule about them is in the modules that change them. Wire names are written where a record
is turned into JSON (`to_wire`), once per record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from arcfsm.domain.instant import HOUR, MILLISECOND, MINUTE, SECOND, Instant, Span, format_instant
from arcfsm.domain.keys import DEFAULT_RUNNER_GROUP_ID

ZERO_UUID: Final = "00000000-0000-0000-0000-000000000000"
MESSAGE_TYPE: Final = "RunnerScaleSetJobMessages"
SYSTEM_LABEL: Final = "System"
WireObject = dict[str, Any]


@dataclass(frozen=True)
class ServiceSettings:
    """How this service behaves. Spans are microseconds."""

    base_url: str = "http://github.example.test"
    tenant: str = "tenant-1"
    """Part of the path of the service base, as on GitHub Enterprise Server."""
    pats: frozenset[str] = frozenset({"simulated-pat"})
    """Personal access tokens that are accepted."""
    app_keys: Mapping[str, str] = field(default_factory=dict)
    """Public keys (PEM) by app id or client id; an app that is not listed is refused."""
    registration_lifetime: Span = HOUR
    admin_lifetime: Span = HOUR
    queue_lifetime: Span = 10 * MINUTE
    session_lease: Span = 5 * MINUTE
    """A session nobody polls expires after this; until then it refuses a successor (H39)."""
    long_poll: Span = 50 * SECOND
    offer_lease: Span = 2 * MINUTE
    """A job that was offered and not acquired is offered again after this: acknowledging is not acquiring (H29)."""
    assign_delay: Span = 200 * MILLISECOND
    deregistration_lag: Span = 0
    """How long a removed agent is still seen and still holds its name."""
    job_lease: Span = 10 * MINUTE
    """A running job whose agent is silent this long is given up as failed."""
    agent_expiry: Span = 24 * HOUR
    """An agent that has been offline this long is forgotten."""


class JobState(StrEnum):
    """Where a job is. Acquired jobs are ours but wait for assignment."""

    QUEUED = "queued"
    ACQUIRED = "acquired"
    ASSIGNED = "assigned"
    RUNNING = "running"
    COMPLETED = "completed"


class JobResult(StrEnum):
    """How a job ended, in the service's words."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"
    ABANDONED = "abandoned"


@dataclass
class RunnerGroup:
    """A runner group; number one is the default."""

    id: int
    name: str
    is_default: bool = False

    def to_wire(self, size: int) -> WireObject:
        """Write it as the service does."""
        return {"id": self.id, "name": self.name, "size": size, "isDefaultGroup": self.is_default}


@dataclass
class ScaleSet:
    """A runner scale set as registered, and its message queue."""

    id: int
    name: str
    group_id: int = DEFAULT_RUNNER_GROUP_ID
    labels: list[WireObject] = field(default_factory=list)
    runner_setting: WireObject = field(default_factory=dict)
    created_at: Instant = 0
    capacity: int | None = None
    """What the last poll declared in X-ScaleSetMaxCapacity."""
    pending: list[WireObject] = field(default_factory=list)
    """Items that are in no message yet."""
    messages: list[Message] = field(default_factory=list)
    """Messages that were not acknowledged yet."""
    message_id: int = 0


@dataclass
class Message:
    """One message of the queue: a batch of items and the statistics of the moment it was made."""

    id: int
    body: str
    statistics: WireObject

    def to_wire(self) -> WireObject:
        """Write it as the queue does: the items are a JSON array inside a string."""
        return {"messageId": self.id, "messageType": MESSAGE_TYPE, "body": self.body, "statistics": self.statistics}


@dataclass
class Session:
    """A message session: one owner may read the queue of one scale set."""

    id: str
    scale_set_id: int
    owner: str
    token: str
    polled_at: Instant


@dataclass
class Agent:
    """A registered runner."""

    id: int
    name: str
    scale_set_id: int
    secret: str
    registered_at: Instant
    online: bool = False
    seen_at: Instant = 0
    """When it last connected, renewed or left."""
    job_id: str | None = None
    spent: bool = False
    """It had its job: an ephemeral runner never takes a second one."""
    used_again: bool = False
    """It connected once more after it had had its job."""
    removed_at: Instant | None = None

    @property
    def idle(self) -> bool:
        """Whether it waits for its job."""
        return self.online and not self.spent

    def to_wire(self) -> WireObject:
        """Write it as the service does."""
        return {"id": self.id, "name": self.name, "runnerScaleSetId": self.scale_set_id}


@dataclass
class Job:
    """One workflow job that was routed to a scale set."""

    id: str
    request_id: int
    scale_set_id: int
    name: str
    repository: str
    owner: str
    workflow_ref: str
    workflow_run_id: int
    event_name: str
    labels: Sequence[str]
    duration: Span
    """How long it takes a runner; the runner program reads it."""
    queued_at: Instant
    state: JobState = JobState.QUEUED
    offered_at: Instant | None = None
    acquired_at: Instant | None = None
    assigned_at: Instant | None = None
    started_at: Instant | None = None
    renewed_at: Instant | None = None
    finished_at: Instant | None = None
    agent_id: int | None = None
    agent_name: str = ""
    result: JobResult | None = None

    def item(self, message_type: str, **more: Any) -> WireObject:
        """Write one item of a message about this job."""
        return {
            "messageType": message_type,
            "runnerRequestId": self.request_id,
            "repositoryName": self.repository,
            "ownerName": self.owner,
            "jobId": self.id,
            "jobWorkflowRef": self.workflow_ref,
            "jobDisplayName": self.name,
            "workflowRunId": self.workflow_run_id,
            "eventName": self.event_name,
            "requestLabels": list(self.labels),
            "queueTime": wire_time(self.queued_at),
            "scaleSetAssignTime": wire_time(self.assigned_at),
            "runnerAssignTime": wire_time(self.started_at),
            "finishTime": wire_time(self.finished_at),
            **more,
        }


def wire_time(instant: Instant | None) -> str:
    """Write a time; the zero time of the wire where there is none."""
    return "0001-01-01T00:00:00Z" if instant is None else format_instant(instant)
