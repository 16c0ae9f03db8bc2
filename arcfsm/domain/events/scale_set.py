"""Facts about a scale set (AutoscalingRunnerSet): W1."""

from __future__ import annotations

from typing import ClassVar

from arcfsm.domain.events.domain_event import DomainEvent, register
from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import Digest


class ScaleSetFacts(DomainEvent):
    """Everything the rules know about a scale set, as first seen."""

    namespace: str
    name: str
    created_at: Instant
    generation: int
    spec: Digest
    metadata: Digest
    scale_set_id: int = 0
    """Annotation `runner-scale-set-id`; 0 where it is missing or not a positive integer (A8)."""
    finalizers: tuple[str, ...] = ()
    phase: str = ""
    observed_generation: int = 0
    deletion_requested_at: Instant | None = None

    document_fields: ClassVar[tuple[str, ...]] = ("spec", "metadata")


@register
class ScaleSetCreated(ScaleSetFacts):
    """A scale set was created while we watched."""


@register
class ScaleSetObserved(ScaleSetFacts):
    """A scale set was there when we first looked, or again after a gap."""


@register
class ScaleSetSpecChanged(DomainEvent):
    """Somebody edited the spec; the generation moved with it."""

    spec: Digest
    generation: int

    document_fields: ClassVar[tuple[str, ...]] = ("spec",)


@register
class ScaleSetMetadataChanged(DomainEvent):
    """Labels or annotations changed; the generation did not move (Z14)."""

    metadata: Digest
    scale_set_id: int = 0

    document_fields: ClassVar[tuple[str, ...]] = ("metadata",)


@register
class ScaleSetFinalizersChanged(DomainEvent):
    """Finalizers were added or released."""

    finalizers: tuple[str, ...]


@register
class ScaleSetPhaseChanged(DomainEvent):
    """A controller wrote `status.phase`."""

    phase: str


@register
class ScaleSetGenerationObserved(DomainEvent):
    """A controller recorded the generation it has fully reconciled (A20)."""

    observed_generation: int


@register
class ScaleSetDeletionRequested(DomainEvent):
    """Somebody deleted the scale set; it stays until its finalizers are released."""

    deletion_requested_at: Instant


@register
class ScaleSetGone(DomainEvent):
    """The scale set is no more."""
