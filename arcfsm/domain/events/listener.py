"""Facts about a listener (AutoscalingListener) and its pod: W3, W8, W9."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from arcfsm.domain.events.domain_event import DomainEvent, register
from arcfsm.domain.facts import PodFacts
from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import Digest


class ListenerFacts(DomainEvent):
    """Everything the rules know about a listener, as first seen."""

    namespace: str
    name: str
    created_at: Instant
    scale_set_namespace: str
    scale_set_name: str
    spec: Digest
    """Document of the spec without `phase`, which has a field of its own."""
    metadata: Digest
    phase: str = ""
    """`spec.phase`: "" or Running = on, Stopped = off."""
    finalizers: tuple[str, ...] = ()
    deletion_requested_at: Instant | None = None

    document_fields: ClassVar[tuple[str, ...]] = ("spec", "metadata")


@register
class ListenerCreated(ListenerFacts):
    """A listener was created while we watched."""


@register
class ListenerObserved(ListenerFacts):
    """A listener was there when we first looked, or again after a gap."""


@register
class ListenerSpecChanged(DomainEvent):
    """Somebody edited the spec (other than its phase)."""

    spec: Digest

    document_fields: ClassVar[tuple[str, ...]] = ("spec",)


@register
class ListenerSwitched(DomainEvent):
    """`spec.phase` changed: the listener was switched on or off (A6, A19)."""

    phase: str


@register
class ListenerMetadataChanged(DomainEvent):
    """Labels or annotations changed."""

    metadata: Digest

    document_fields: ClassVar[tuple[str, ...]] = ("metadata",)


@register
class ListenerFinalizersChanged(DomainEvent):
    """Finalizers were added or released."""

    finalizers: tuple[str, ...]


@register
class ListenerDeletionRequested(DomainEvent):
    """Somebody deleted the listener; it stays until its finalizers are released."""

    deletion_requested_at: Instant


@register
class ListenerGone(DomainEvent):
    """The listener is no more."""


class ListenerPodFacts(DomainEvent):
    """The listener's pod, as seen with this event."""

    pod: PodFacts

    def documents(self) -> Iterator[Digest]:
        """Yield the documents of the pod's spec and metadata."""
        yield from (found for found in (self.pod.spec, self.pod.metadata) if found)


@register
class ListenerPodCreated(ListenerPodFacts):
    """A pod for the listener was created while we watched."""


@register
class ListenerPodObserved(ListenerPodFacts):
    """A pod for the listener was there when we first looked, or again after a gap."""


@register
class ListenerPodStarted(ListenerPodFacts):
    """The listener container runs."""


@register
class ListenerPodTerminated(ListenerPodFacts):
    """The listener container ended, or the pod was evicted (L11.2)."""


@register
class ListenerPodChanged(ListenerPodFacts):
    """Another relevant change of the pod: its metadata, its spec, waiting reasons."""


@register
class ListenerPodDeletionRequested(ListenerPodFacts):
    """Somebody deleted the pod; it ends within its grace period."""


@register
class ListenerPodGone(DomainEvent):
    """The pod is no more."""

    pod_uid: str
