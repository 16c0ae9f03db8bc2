"""Facts about a runner (EphemeralRunner) and its pod: W5, W6, W7."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from arcfsm.domain.events.domain_event import DomainEvent, register
from arcfsm.domain.facts import Job, PodFacts, PodFailure
from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import Digest


class RunnerFacts(DomainEvent):
    """Everything the rules know about a runner, as first seen. Revision and patch id are its birth marks (H6)."""

    namespace: str
    name: str
    created_at: Instant
    owner_uid: str
    owner_name: str
    metadata: Digest
    spec: Digest
    patch_id: int = 0
    revision: int = 0
    incarnation: str = ""
    """Uid of the listener pod whose wish was in force when the runner was born; "" where none was known (H8)."""
    finalizers: tuple[str, ...] = ()
    phase: str = ""
    ready: bool = False
    reason: str = ""
    message: str = ""
    runner_id: int = 0
    runner_name: str = ""
    failures: tuple[PodFailure, ...] = ()
    job: Job = Job()
    deletion_requested_at: Instant | None = None

    document_fields: ClassVar[tuple[str, ...]] = ("metadata", "spec")


@register
class RunnerCreated(RunnerFacts):
    """A runner was created while we watched."""


@register
class RunnerObserved(RunnerFacts):
    """A runner was there when we first looked, or again after a gap."""


@register
class RunnerPhaseChanged(DomainEvent):
    """A controller or the listener wrote `status.phase`."""

    phase: str
    reason: str = ""
    message: str = ""


@register
class RunnerReadinessChanged(DomainEvent):
    """The published readiness of the runner's pod changed."""

    ready: bool
    reason: str = ""
    message: str = ""


@register
class RunnerRegistered(DomainEvent):
    """The agent's id on the service became known (R11)."""

    runner_id: int
    runner_name: str = ""


@register
class RunnerJobAssigned(DomainEvent):
    """The listener wrote the job this runner took (P5)."""

    job: Job


@register
class RunnerFailuresRecorded(DomainEvent):
    """`status.failures` changed: one entry per failed pod (R12)."""

    failures: tuple[PodFailure, ...]


@register
class RunnerSpecChanged(DomainEvent):
    """Somebody edited the spec of a living runner."""

    spec: Digest

    document_fields: ClassVar[tuple[str, ...]] = ("spec",)


@register
class RunnerMetadataChanged(DomainEvent):
    """Labels or annotations changed."""

    metadata: Digest

    document_fields: ClassVar[tuple[str, ...]] = ("metadata",)


@register
class RunnerFinalizersChanged(DomainEvent):
    """Finalizers were added or released."""

    finalizers: tuple[str, ...]


@register
class RunnerDeletionRequested(DomainEvent):
    """Somebody deleted the runner; it stays until its finalizers are released."""

    deletion_requested_at: Instant


@register
class RunnerGone(DomainEvent):
    """The runner is no more."""


class RunnerPodFacts(DomainEvent):
    """The runner's pod, as seen with this event."""

    pod: PodFacts

    def documents(self) -> Iterator[Digest]:
        """A runner's pod refers to no documents: only the listener's spec is compared (W7)."""
        return iter(())


@register
class RunnerPodCreated(RunnerPodFacts):
    """A pod for the runner was created while we watched."""


@register
class RunnerPodObserved(RunnerPodFacts):
    """A pod for the runner was there when we first looked, or again after a gap."""


@register
class RunnerPodStarted(RunnerPodFacts):
    """The runner container runs."""


@register
class RunnerPodTerminated(RunnerPodFacts):
    """The runner container ended, or the pod failed without it (R17)."""


@register
class RunnerPodChanged(RunnerPodFacts):
    """Another relevant change of the pod: waiting reasons, readiness, init containers."""


@register
class RunnerPodDeletionRequested(RunnerPodFacts):
    """Somebody deleted the pod; it ends within its grace period."""


@register
class RunnerPodGone(DomainEvent):
    """The pod is no more."""

    pod_uid: str
