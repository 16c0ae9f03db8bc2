"""What an invariant is: somebody who sees every request, every turn and the end, and says what must not have been."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from arcfsm.domain.instant import format_instant
from arcfsm.domain.kinds import RESOURCES, Kind
from arcfsm.domain.turn import Turn
from arcfsm.sim.faults.cluster import ClusterRequest, ClusterResponse
from arcfsm.sim.world import CONTROLLER_USER, World

VIOLATIONS_MAX: Final = 5
"""Told per invariant and run: the first ones say it."""
_KINDS: Final = {resource.plural: kind for kind, resource in RESOURCES.items()}


@dataclass(frozen=True, slots=True)
class Target:
    """What a request is about."""

    kind: Kind
    namespace: str
    name: str
    subresource: str


def target_of(request: ClusterRequest) -> Target | None:
    """Return what a request is about; None for kinds that are nobody's concern here."""
    parts = request.path.strip("/").split("/")
    rest = parts[3:] if parts[0] == "apis" else parts[2:]
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    kind = _KINDS.get(rest[0]) if rest else None
    if kind is None:
        return None
    name = rest[1] if len(rest) > 1 else ""
    if not name and isinstance(request.body, dict):
        name = str(request.body.get("metadata", {}).get("name", ""))
    return Target(kind, namespace, name, rest[2] if len(rest) > 2 else "")


class Invariant:
    """Something that must hold. Subclasses look at what they need."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.violations: list[str] = []
        self.begin()

    def begin(self) -> None:
        """Make what is to be remembered."""

    def before(self, request: ClusterRequest, user: str) -> None:
        """A request is about to be carried out."""

    def after(self, request: ClusterRequest, user: str, response: ClusterResponse) -> None:
        """A request was carried out or refused."""

    def turned(self, turn: Turn) -> None:
        """The controller took a turn; it is in the journal."""

    def at_end(self) -> None:
        """The run is over."""

    def violated(self, what: str) -> None:
        """Note that it does not hold."""
        if len(self.violations) < VIOLATIONS_MAX:
            self.violations.append(f"{format_instant(self.world.kernel.now())} {what}")


def by_controller(user: str) -> bool:
    """Return whether the controller under test asked for it."""
    return user == CONTROLLER_USER
