"""Values that events carry and states keep: a pod as we need it, a job, a failure.

They are the relevant-change projections of rules.md 2.0: what is not in here is noise and leaves no trace.
"""

from __future__ import annotations

from dataclasses import dataclass

from arcfsm.domain import keys, phases
from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import Digest


@dataclass(frozen=True, slots=True)
class ContainerFacts:
    """The state of the container that decides: `runner` or `listener` (W7, W9)."""

    state: str
    """`waiting`, `running` or `terminated`."""
    reason: str = ""
    exit_code: int | None = None
    finished_at: Instant | None = None
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class PodFacts:
    """A pod as the rules see it (W7, W9)."""

    uid: str
    created_at: Instant
    phase: str = ""
    reason: str = ""
    message: str = ""
    ready: bool = False
    container: ContainerFacts | None = None
    """The deciding container's status; None while the kubelet has reported none."""
    init_exit_code: int | None = None
    """The first non-zero exit code of an init container, if any (R17.5)."""
    terminated: bool = False
    """Every reported container ended, and either the phase is final or all of them were reported (R15)."""
    deletion_requested_at: Instant | None = None
    metadata: Digest = ""
    """Document with `labels` and `annotations`; kept for listener pods (L11.4)."""
    spec: Digest = ""
    """Document with the pod spec; kept for listener pods (D12)."""
    node: str = ""
    grace_s: int = 0
    """How long its deletion gives it to end; 0 for one that nobody deleted (R15)."""

    @property
    def failed(self) -> bool:
        """It failed in a way that another pod may do better (R17): not by exit 0, and not by a refused version."""
        code = self.container.exit_code if self.container is not None else None
        if code is not None:
            return code not in (0, keys.OUTDATED_EXIT_CODE)
        return self.phase == phases.FAILED or bool(self.init_exit_code)


@dataclass(frozen=True, slots=True)
class Job:
    """The job a listener wrote into a runner's status (P5)."""

    job_id: str = ""
    request_id: int = 0
    repository: str = ""
    workflow_ref: str = ""
    workflow_run_id: int = 0
    display_name: str = ""


@dataclass(frozen=True, slots=True)
class PodFailure:
    """One entry of `status.failures`: a pod that failed, and when (R12)."""

    pod_uid: str
    at: Instant
