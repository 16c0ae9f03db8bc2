"""Which feeds an engine follows: what is ours everywhere it may look, what is around it only where scale sets live.

Watching Secrets or roles of a whole cluster would cost rights and memory for objects of other people. So dependents
are followed in the namespaces of scale sets and in the controller's own, Secrets and config maps by their metadata
alone, and only by a controller that acts: for advice nobody needs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from arcfsm.domain import keys
from arcfsm.domain.jsonvalue import text_at
from arcfsm.domain.kinds import Kind
from arcfsm.domain.world import World
from arcfsm.engine.reflector import Feed

RUNNER_PODS: Final = f"{keys.EPHEMERAL_RUNNER}=True"
_LISTED_ANEW: Final = frozenset({Kind.SECRET, Kind.CONFIG_MAP, Kind.SERVICE_ACCOUNT, Kind.ROLE, Kind.ROLE_BINDING})


@dataclass(frozen=True, slots=True)
class WatchScope:
    """Where an engine looks."""

    controller_namespace: str
    namespaces: tuple[str, ...] = ()
    """Those of scale sets; () for all."""
    acting: bool = False
    """Whether it acts and therefore needs to know what credentials and CA bundles are there."""

    def essential(self) -> Iterator[Feed]:
        """Yield what must be known before anything is decided."""
        for namespace in self.namespaces or ("",):
            yield Feed(Kind.SCALE_SET, namespace)
            yield Feed(Kind.RUNNER_SET, namespace)
            yield Feed(Kind.RUNNER, namespace)
            yield Feed(Kind.POD, namespace, labels=RUNNER_PODS)
        yield Feed(Kind.LISTENER, self.controller_namespace)
        yield Feed(Kind.POD, self.controller_namespace)

    def around(self, world: World) -> Iterator[Feed]:
        """Yield the feeds of dependents, as far as the scale sets, runners and listeners known now need them."""
        homes = {one.namespace for one in world.scale_sets.values() if one.present}
        homes |= {one.namespace for one in world.runner_sets.values() if one.present}
        homes |= {one.scale_set_namespace for one in world.listeners.values() if one.present}
        homes.discard("")
        served = self.controller_namespace
        metadata_only = {Kind.SERVICE_ACCOUNT: True, Kind.ROLE: False, Kind.ROLE_BINDING: False}
        for namespace in sorted(homes | {served}):
            if self.acting:
                yield Feed(Kind.SECRET, namespace, metadata_only=True, essential=False)
            for kind, short in metadata_only.items():
                if namespace in homes or kind is Kind.SERVICE_ACCOUNT:
                    yield Feed(kind, namespace, metadata_only=short, essential=False)
        if self.acting:
            for namespace in sorted(_trusting(world)):
                yield Feed(Kind.CONFIG_MAP, namespace, metadata_only=True, essential=False)


def goes_on(feed: Feed) -> bool:
    """Return whether a feed is read on from its resume point after a restart.

    Dependents are listed anew: nothing is kept of those that no scale set named yet.
    """
    return feed.kind not in _LISTED_ANEW


def _trusting(world: World) -> set[str]:
    """Return the namespaces in which a scale set names a CA bundle."""
    return {
        one.namespace
        for one in world.scale_sets.values()
        if one.present
        and text_at(world.documents.mapping(one.spec), "githubServerTLS", "certificateFrom", "configMapKeyRef", "name")
    }
