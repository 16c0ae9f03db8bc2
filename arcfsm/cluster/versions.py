"""Which version of every object we saw last, so that late and doubled words are told from news.

resourceVersions are opaque, but within one epoch of a cluster they grow as decimal numbers with every write, and the
watch of the API server relies on that too. Where they are not numbers only equality counts. After the cluster's store
was restored from a backup they start lower (B40): then what was known before says nothing any more.
"""

from __future__ import annotations

from typing import Final

from arcfsm.cluster.wire import Head
from arcfsm.domain.facts import PodFacts
from arcfsm.domain.kinds import AggregateKind, Kind, StreamId
from arcfsm.domain.states import DependentKey
from arcfsm.domain.world import World

# Looking a member up on its enumeration costs ten times a name (Python 3.11), and every line asks for these.
_POD: Final = Kind.POD
_RUNNER: Final = AggregateKind.RUNNER

REMEMBERED_MAX: Final = 200_000
"""Uids whose latest version is remembered; the oldest half is forgotten beyond."""


def older(version: str, than: str) -> bool:
    """Return whether a version is older than another; False where that can't be told."""
    if not (version.isdecimal() and than.isdecimal() and version.isascii() and than.isascii()):
        return False
    return (len(version), version) < (len(than), than)


class Versions:
    """The latest versions, of this session and, within the same epoch, of the world."""

    def __init__(self) -> None:
        self._latest: dict[str, str] = {}
        self._trust_world = True

    def restart(self) -> None:
        """Forget everything: a new epoch began."""
        self._latest.clear()
        self._trust_world = False

    def note(self, uid: str, version: str) -> None:
        """Remember the latest version of an object."""
        if len(self._latest) >= REMEMBERED_MAX:
            self._latest = dict(list(self._latest.items())[REMEMBERED_MAX // 2 :])
        self._latest[uid] = version

    def latest(self, uid: str) -> str:
        """Return the latest version of an object that this session saw; "" for none."""
        return self._latest.get(uid, "")

    def of(self, world: World, head: Head, stream: StreamId | None) -> str:
        """Return the latest known version of an object; "" where it is not known."""
        seen = self._latest.get(head.uid)
        if seen is not None:
            return seen
        if not self._trust_world:
            return ""
        if head.kind is _POD:
            pod = pod_of(world, stream) if stream is not None else None
            return _pod_version(world, stream) if pod is not None and pod.uid == head.uid else ""
        if stream is not None and (aggregate := world.aggregate(stream)) is not None:
            return aggregate.resource_version
        dependent = world.dependents.get(DependentKey(head.kind, head.namespace, head.name))
        return dependent.resource_version if dependent is not None and dependent.uid == head.uid else ""

    def before(self, world: World, head: Head, stream: StreamId | None) -> str:
        """Return the version that a word about an object must not be older than; "" where there is none.

        Pods of one owner follow one another, so for a pod it is that of the latest word about any of them.
        """
        if head.kind is _POD and self._trust_world and head.uid not in self._latest:
            return _pod_version(world, stream)
        return self.of(world, head, stream)


def pod_of(world: World, stream: StreamId) -> PodFacts | None:
    """Return the pod of a runner or listener as far as it is known."""
    if stream.kind is _RUNNER:
        runner = world.runners.get(stream.uid)
        return runner.pod if runner is not None else None
    listener = world.listeners.get(stream.uid)
    return listener.pod if listener is not None else None


def _pod_version(world: World, stream: StreamId | None) -> str:
    """Return the version of the latest word about any pod of an owner: pods of one owner follow one another."""
    if stream is None:
        return ""
    if stream.kind is _RUNNER:
        runner = world.runners.get(stream.uid)
        return runner.pod_version if runner else ""
    listener = world.listeners.get(stream.uid)
    return listener.pod_version if listener else ""
