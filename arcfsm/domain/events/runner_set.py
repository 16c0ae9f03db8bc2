"""Facts about a runner set (EphemeralRunnerSet): W2, W4."""

from __future__ import annotations

from typing import ClassVar

from arcfsm.domain.events.domain_event import DomainEvent, register
from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import Digest


class RunnerSetFacts(DomainEvent):
    """Everything the rules know about a runner set, as first seen."""

    namespace: str
    name: str
    created_at: Instant
    owner_uid: str
    owner_name: str
    metadata: Digest
    runner_spec: Digest
    runner_metadata: Digest = ""
    """Document of `spec.ephemeralRunnerMetadata`; "" where the field is null."""
    replicas: int = 0
    patch_id: int = 0
    actionable_revision: int = 0
    finalizers: tuple[str, ...] = ()
    phase: str = ""
    applied_revision: int = 0
    finished_marker: int = 0
    """`status.finishedRunnerCleanupPatchID`."""
    incarnation: str = ""
    """Uid of the listener pod that was up when the wish was seen; "" where none was known (H8)."""
    deletion_requested_at: Instant | None = None

    document_fields: ClassVar[tuple[str, ...]] = ("metadata", "runner_spec", "runner_metadata")


@register
class RunnerSetCreated(RunnerSetFacts):
    """A runner set was created while we watched."""


@register
class RunnerSetObserved(RunnerSetFacts):
    """A runner set was there when we first looked, or again after a gap."""


@register
class RunnerSetScaled(DomainEvent):
    """The listener (or a controller that pins the set) wrote a wish: so many runners, under this patch id (P3)."""

    replicas: int
    patch_id: int
    incarnation: str = ""
    """Uid of the listener pod that was up when the wish was seen; "" where none was known (H8)."""


@register
class RunnerSpecPublished(DomainEvent):
    """The spec for new runners changed, or its revision number did (A14)."""

    runner_spec: Digest
    actionable_revision: int

    document_fields: ClassVar[tuple[str, ...]] = ("runner_spec",)


@register
class RunnerMetadataPublished(DomainEvent):
    """The metadata for new runners changed (A15)."""

    runner_metadata: Digest = ""

    document_fields: ClassVar[tuple[str, ...]] = ("runner_metadata",)


@register
class RunnerSetMetadataChanged(DomainEvent):
    """Labels or annotations of the set itself changed."""

    metadata: Digest

    document_fields: ClassVar[tuple[str, ...]] = ("metadata",)


@register
class RunnerSetFinalizersChanged(DomainEvent):
    """Finalizers were added or released."""

    finalizers: tuple[str, ...]


@register
class RunnerSetPhaseChanged(DomainEvent):
    """A controller wrote `status.phase`."""

    phase: str


@register
class RevisionApplied(DomainEvent):
    """A controller recorded that idle and pending runners of older revisions are cleaned up (S-applied)."""

    applied_revision: int


@register
class FinishedRunnersMarked(DomainEvent):
    """A controller recorded the patch id under which finished runners were reaped (S-marker)."""

    finished_marker: int
    incarnation: str = ""


@register
class RunnerSetDeletionRequested(DomainEvent):
    """Somebody deleted the runner set; it stays until its finalizers are released."""

    deletion_requested_at: Instant


@register
class RunnerSetGone(DomainEvent):
    """The runner set is no more."""
