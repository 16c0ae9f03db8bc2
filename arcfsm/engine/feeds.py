"""Which feeds an engine follows: what is ours everywhere it may look, what is around it only where scale sets live.

Watching Secrets or roles of a whole cluster would cost rights and memory for objects of other people. So dependents
are followed in the namespaces of scale sets and in the controller's own, Secrets and config maps by their metadata
alone, and only by a controller that acts: for advice nobody needs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from arcfsm.domain import keys
from arcfsm.domain.jsonvalue import JsonObject, object_at, text_at
from arcfsm.domain.kinds import Kind
from arcfsm.domain.world import World
from arcfsm.engine.inbox import Listing
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

    def around(self, homes: Homes) -> Iterator[Feed]:
        """Yield the feeds of dependents in these namespaces and in the controller's own."""
        metadata_only = {Kind.SERVICE_ACCOUNT: True, Kind.ROLE: False, Kind.ROLE_BINDING: False}
        for namespace in sorted(homes.all | {self.controller_namespace}):
            if self.acting:
                yield Feed(Kind.SECRET, namespace, metadata_only=True, essential=False)
            for kind, short in metadata_only.items():
                if namespace in homes.all or kind is Kind.SERVICE_ACCOUNT:
                    yield Feed(kind, namespace, metadata_only=short, essential=False)
        if self.acting:
            for namespace in sorted(homes.trusting):
                yield Feed(Kind.CONFIG_MAP, namespace, metadata_only=True, essential=False)


@dataclass(frozen=True, slots=True)
class Homes:
    """The namespaces in which scale sets and what belongs to them live."""

    all: frozenset[str] = frozenset()
    trusting: frozenset[str] = frozenset()
    """Those in which a scale set names a CA bundle."""

    def __or__(self, other: Homes) -> Homes:
        return Homes(self.all | other.all, self.trusting | other.trusting)


def homes_known(world: World) -> Homes:
    """Return the homes of everything that is known."""
    found = {one.namespace for one in world.scale_sets.values() if one.present}
    found |= {one.namespace for one in world.runner_sets.values() if one.present}
    found |= {one.scale_set_namespace for one in world.listeners.values() if one.present}
    trusting = {
        one.namespace for one in world.scale_sets.values() if one.present and _trusts(world.documents.mapping(one.spec))
    }
    return Homes(frozenset(found - {""}), frozenset(trusting - {""}))


def homes_listed(listings: Iterable[Listing]) -> Homes:
    """Return the homes of everything that was listed and is not known yet."""
    found: set[str] = set()
    trusting: set[str] = set()
    for listing in listings:
        for item in listing.items:
            namespace = text_at(item, "metadata", "namespace")
            if listing.kind is Kind.LISTENER:
                found.add(text_at(item, "spec", "autoscalingRunnerSetNamespace"))
            elif listing.kind in (Kind.SCALE_SET, Kind.RUNNER_SET):
                found.add(namespace)
            if listing.kind is Kind.SCALE_SET and _trusts(object_at(item, "spec")):
                trusting.add(namespace)
    return Homes(frozenset(found - {""}), frozenset(trusting - {""}))


def goes_on(feed: Feed) -> bool:
    """Return whether a feed is read on from its resume point after a restart.

    Dependents are listed anew: nothing is kept of those that no scale set named yet.
    """
    return feed.kind not in _LISTED_ANEW


def _trusts(spec: JsonObject) -> bool:
    return text_at(spec, "githubServerTLS", "certificateFrom", "configMapKeyRef", "name") != ""
