"""What a write is about: which object, on whose behalf, with which options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arcfsm.sim.api.kinds import ResourceType
from arcfsm.sim.api.rbac import Identity
from arcfsm.sim.api.store import object_key


@dataclass
class Target:
    """What a request writes to, and for whom."""

    resource: ResourceType
    namespace: str
    name: str
    subresource: str
    identity: Identity
    query: Mapping[str, str]
    warnings: list[str] = field(default_factory=list)

    @property
    def dry(self) -> bool:
        """Whether nothing is to be stored."""
        return "dryRun" in self.query

    @property
    def key(self) -> str:
        """The key of the object."""
        return object_key(self.namespace, self.name)
