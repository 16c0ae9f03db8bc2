"""The folded state of an object outside the API group."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import Digest
from arcfsm.domain.kinds import Kind


class DependentKey(NamedTuple):
    """Dependents are known by name: that is how rules and owners refer to them."""

    kind: Kind
    namespace: str
    name: str


class Dependent(msgspec.Struct, frozen=True, kw_only=True):
    """A service account, role, binding, config map or secret. Of a Secret nothing but metadata is known."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    resource_version: str
    metadata: Digest
    content: Digest = ""
    finalizers: tuple[str, ...] = ()
    modified_at: Instant | None = None
    deletion_requested_at: Instant | None = None

    @property
    def deleting(self) -> bool:
        """Whether somebody deleted it."""
        return self.deletion_requested_at is not None
