"""When everything is over the world is at rest: nothing left behind, nothing written any more, and few requests."""

from __future__ import annotations

from typing import Final

from arcfsm.domain import keys
from arcfsm.domain.instant import MINUTE, SECOND, Instant, Span, parse_instant
from arcfsm.domain.kinds import Kind
from arcfsm.sim.faults.cluster import Body, ClusterRequest, ClusterResponse
from arcfsm.sim.invariants.invariant import Invariant, by_controller

TAIL: Final[Span] = 60 * SECOND
"""How long before the end nothing may be written unless somebody else changed something."""
LINGER_MAX: Final[Span] = 20 * MINUTE
"""How long a deleted object may wait for our finalizers: longer than the service may call a runner busy (H25)."""
CALLS_PER_RUNNER: Final = 60
CALLS_FREE: Final = 400
"""Requests of the controller that a run may take beside those for its runners."""
_KINDS: Final = (Kind.SCALE_SET, Kind.RUNNER_SET, Kind.RUNNER, Kind.LISTENER, Kind.POD, Kind.SECRET)
_FINALIZERS: Final = frozenset(
    {keys.SCALE_SET_FINALIZER, keys.RUNNER_SET_FINALIZER, keys.RUNNER_FINALIZER, keys.REGISTRATION_FINALIZER,
     keys.LISTENER_FINALIZER}
)  # fmt: skip


class NothingIsLeftBehind(Invariant):
    """No orphan of ours stays, and our finalizers are always released in the end."""

    def at_end(self) -> None:
        """Look at everything that is still there."""
        scenario = self.world.scenario
        spaces = dict.fromkeys((scenario.namespace, scenario.controller_namespace))
        found = {kind: [one for space in spaces for one in self.world.cluster.objects(kind, space)] for kind in _KINDS}
        present = {one["metadata"]["uid"] for items in found.values() for one in items}
        for kind, items in found.items():
            for one in items:
                self._judge(kind, one, present)
        listeners = {one["metadata"]["name"] for one in found[Kind.LISTENER]}
        for kind in (Kind.ROLE, Kind.ROLE_BINDING):
            for one in self.world.cluster.objects(kind, scenario.namespace):
                listener = (one["metadata"].get("labels") or {}).get(keys.LISTENER_NAME, "")
                if listener and listener not in listeners:
                    self.violated(f"{kind} {one['metadata']['name']} of a listener that is gone is left behind")

    def _judge(self, kind: Kind, obj: Body, present: set[str]) -> None:
        metadata = obj["metadata"]
        for owner in metadata.get("ownerReferences") or ():
            if owner["apiVersion"] == keys.GROUP_VERSION and owner["uid"] not in present:
                self.violated(f"{kind} {metadata['name']} is an orphan: its {owner['kind']} is gone")
        deleted = metadata.get("deletionTimestamp")
        ours = _FINALIZERS & set(metadata.get("finalizers") or ())
        if deleted and ours and self.world.clock.now() - parse_instant(deleted) > LINGER_MAX:
            self.violated(f"{kind} {metadata['name']} was deleted at {deleted} and still waits for {sorted(ours)}")


class TheWorldComesToRest(Invariant):
    """After the last change by anybody else the controller writes nothing any more, and it never asks without end."""

    def begin(self) -> None:
        """Nothing happened yet."""
        self._ours: list[Instant] = []
        self._others_at: Instant = 0
        self._calls = 0
        self._runners = 0
        self._latest = ""

    def before(self, _request: ClusterRequest, _user: str) -> None:
        """Remember where the store was."""
        self._version = self.world.cluster.version

    def after(self, request: ClusterRequest, user: str, response: ClusterResponse) -> None:
        """Count writes, ours and those of others that changed something."""
        now = self.world.kernel.now()
        if by_controller(user):
            self._calls += 1
            self._runners += request.method == "POST" and request.path.endswith("/ephemeralrunners")
            if request.writes:
                self._ours.append(now)
                self._latest = f"{request.method} {request.path} {response.status}"
        elif request.writes and self.world.cluster.version != self._version:
            self._others_at = now

    def at_end(self) -> None:
        """Judge the tail of the run."""
        end = self.world.kernel.now()
        late = [at for at in self._ours if at > end - TAIL]
        if late and self._others_at < end - TAIL:
            self.violated(f"{len(late)} writes in the last minute though nobody else changed anything: {self._latest}")
        allowed = CALLS_FREE + CALLS_PER_RUNNER * max(1, self._runners)
        if self._calls > allowed:
            self.violated(f"{self._calls} requests for {self._runners} runners; {allowed} are plenty")
