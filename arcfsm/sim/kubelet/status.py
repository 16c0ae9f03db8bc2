"""The shape of a pod's status as a kubelet reports it: container states, conditions, phase.

Pure functions over what the node knows. The phase follows the kubelet's own rules (init containers first, restart
policy decides what an ended container means); reasons and messages are the kubelet's words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from arcfsm.domain import phases
from arcfsm.domain.instant import Instant
from arcfsm.sim.clock import timestamp

HOST_IP: Final = "10.0.0.9"
KILLED_EXIT_CODE: Final = 137
Status = dict[str, Any]


@dataclass
class ContainerRecord:
    """What the node knows of one container."""

    name: str
    image: str
    sidecar: bool = False
    """An init container that keeps running (its own restart policy is Always)."""
    waiting: str | None = "ContainerCreating"
    waiting_message: str = ""
    started_at: Instant | None = None
    finished_at: Instant | None = None
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    ready: bool = False
    restarts: int = 0
    last: Status = field(default_factory=dict)
    serial: int = 0

    def wait(self, reason: str, message: str = "") -> None:
        """It is not running and will be."""
        self.last = self.last if self.exit_code is None else self.state()
        self.waiting, self.waiting_message = reason, message
        self.exit_code, self.ready = None, False

    def run(self, now: Instant) -> None:
        """It was started."""
        self.last = self.last if self.exit_code is None else self.state()
        self.waiting, self.started_at, self.finished_at, self.exit_code = None, now, None, None
        self.serial += 1

    def end(self, now: Instant, exit_code: int, reason: str = "", message: str = "") -> None:
        """It ended."""
        self.waiting, self.ready, self.finished_at, self.exit_code = None, False, now, exit_code
        self.reason = reason or ("Completed" if exit_code == 0 else "Error")
        self.message = message

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self.waiting is None and self.exit_code is None

    @property
    def ended(self) -> bool:
        """Whether it ended, even if it waits to be started again."""
        return self.exit_code is not None or (self.waiting is not None and bool(self.last))

    def state(self) -> Status:
        """Write the state as the API has it."""
        if self.waiting is not None:
            waiting = {"reason": self.waiting}
            if self.waiting_message:
                waiting["message"] = self.waiting_message
            return {"waiting": waiting}
        if self.exit_code is None:
            return {"running": {"startedAt": timestamp(self.started_at or 0)}}
        terminated: Status = {"exitCode": self.exit_code, "reason": self.reason}
        if self.message:
            terminated["message"] = self.message
        begin = self.started_at if self.started_at is not None else self.finished_at
        terminated["startedAt"], terminated["finishedAt"] = timestamp(begin or 0), timestamp(self.finished_at or 0)
        terminated["containerID"] = f"containerd://{self.name}-{self.serial}"
        return {"terminated": terminated}

    def to_status(self) -> Status:
        """Write the container status as the API has it."""
        status: Status = {
            "name": self.name,
            "state": self.state(),
            "lastState": self.last,
            "ready": self.ready,
            "restartCount": self.restarts,
            "image": self.image,
            "imageID": self.image if self.serial else "",
            "started": self.running,
        }
        if self.serial:
            status["containerID"] = f"containerd://{self.name}-{self.serial}"
        return status


def pod_phase(restart_policy: str, inits: Sequence[ContainerRecord], containers: Sequence[ContainerRecord]) -> str:
    """Return the phase that follows from the containers."""
    for init in inits:
        if init.sidecar:
            continue
        if init.exit_code != 0:
            failed = init.exit_code is not None and restart_policy == "Never"
            return phases.FAILED if failed else phases.PENDING
    if any(record.waiting is not None and not record.last for record in containers):
        return phases.PENDING
    if any(record.running for record in containers) or restart_policy == "Always":
        return phases.RUNNING
    codes = [record.exit_code for record in containers]
    if all(code == 0 for code in codes):
        return phases.SUCCEEDED
    return phases.FAILED if restart_policy == "Never" else phases.RUNNING


class ConditionRecord:
    """The conditions of one pod; a transition time moves only when a status does."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[str, Instant]] = {}

    def write(self, kind: str, *, true: bool, now: Instant, reason: str = "", message: str = "") -> Status:
        """Write one condition."""
        value = "True" if true else "False"
        known = self._since.get(kind)
        if known is None or known[0] != value:
            self._since[kind] = (value, now)
        since = timestamp(self._since[kind][1])
        condition: Status = {"type": kind, "status": value, "lastProbeTime": None, "lastTransitionTime": since}
        if not true and reason:
            condition["reason"] = reason
            if message:
                condition["message"] = message
        return condition


def pod_status(
    pod: Mapping[str, Any],
    inits: Sequence[ContainerRecord],
    containers: Sequence[ContainerRecord],
    conditions: ConditionRecord,
    *,
    now: Instant,
    started_at: Instant,
    pod_ip: str,
) -> Status:
    """Write the status a kubelet reports for a pod in this state."""
    phase = pod_phase(pod["spec"].get("restartPolicy", "Always"), inits, containers)
    pending = [record.name for record in inits if not record.sidecar and record.exit_code != 0]
    unready = [record.name for record in containers if not record.ready]
    why, text = "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"
    if phase == phases.SUCCEEDED:
        why, text = "PodCompleted", ""
    elif phase == phases.FAILED:
        why, text = "PodFailed", ""
    status: Status = {
        "phase": phase,
        "conditions": [
            conditions.write("PodScheduled", true=True, now=now),
            conditions.write(
                "Initialized",
                true=not pending,
                now=now,
                reason="ContainersNotInitialized",
                message=f"containers with incomplete status: [{' '.join(pending)}]",
            ),
            conditions.write("ContainersReady", true=not unready, now=now, reason=why, message=text),
            conditions.write("Ready", true=not unready, now=now, reason=why, message=text),
        ],
        "hostIP": HOST_IP,
        "podIP": pod_ip,
        "podIPs": [{"ip": pod_ip}],
        "startTime": timestamp(started_at),
        "containerStatuses": [record.to_status() for record in containers],
    }
    if inits:
        status["initContainerStatuses"] = [record.to_status() for record in inits]
    return status


def failed_status(reason: str, message: str, *, started_at: Instant, containers: bool) -> Status:
    """Write the status of a pod that failed as a whole.

    Rejected, evicted, lost. A null drops what was reported before.
    """
    status: Status = {
        "phase": phases.FAILED,
        "reason": reason,
        "message": message,
        "startTime": timestamp(started_at),
    }
    if not containers:
        status["containerStatuses"] = None
        status["initContainerStatuses"] = None
    return status
