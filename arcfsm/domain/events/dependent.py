"""Facts about objects outside the API group that the rules look at: accounts, roles, bindings, secrets (W10, W11).

Of a Secret nothing but its metadata is ever known here.
"""

from __future__ import annotations

from typing import ClassVar

from arcfsm.domain.events.domain_event import DomainEvent, register
from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import Digest
from arcfsm.domain.kinds import Kind


class DependentFacts(DomainEvent):
    """One dependent object, whole."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    resource_version: str
    metadata: Digest
    content: Digest = ""
    """Document of what is compared: the rules of a Role, roleRef and subjects of a binding; "" for all others."""
    finalizers: tuple[str, ...] = ()
    modified_at: Instant | None = None
    """The last write that managedFields know of (Z1)."""
    deletion_requested_at: Instant | None = None

    document_fields: ClassVar[tuple[str, ...]] = ("metadata", "content")


@register
class DependentObserved(DependentFacts):
    """A dependent object appeared or was there when we first looked."""


@register
class DependentChanged(DependentFacts):
    """A dependent object changed in something the rules look at."""


@register
class DependentGone(DomainEvent):
    """A dependent object is no more."""

    kind: Kind
    namespace: str
    name: str
    uid: str
