"""Incidents: what happens at a time, carried out on the parts of the world.

Each is a short script over handles; the world hands them in, so this module knows what an outage is but not how a
world is wired. An incident that finds nothing to happen to (no listener to kill, no pod to evict) says so in the
trace and does nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final, Protocol

from arcfsm.domain.instant import SECOND, Span, format_span
from arcfsm.domain.keys import LISTENER_CONTAINER, RUNNER_CONTAINER
from arcfsm.domain.kinds import RESOURCES, Kind
from arcfsm.sim.clock import VirtualClock
from arcfsm.sim.faults.cluster import ClusterLink
from arcfsm.sim.faults.plan import Incident, IncidentKind
from arcfsm.sim.faults.service import ServiceHost
from arcfsm.sim.kernel import Kernel
from arcfsm.sim.kubelet.node import Node
from arcfsm.sim.kubelet.worker import PodWorker

RESTORE_TAKES: Final[Span] = 2 * SECOND
Note = Callable[[str, str], None]


class RestorableCluster(Protocol):
    """The API server as incidents treat it."""

    def go_down(self) -> None:
        """Stop answering; all connections break."""

    def come_up(self) -> None:
        """Answer again."""

    def compact(self) -> None:
        """Forget all history."""

    def break_watches(self) -> None:
        """Break all connections."""

    def remember(self) -> None:
        """Take a backup."""

    def restore(self) -> None:
        """Go back to the last backup."""


class KillableController(Protocol):
    """The controller as incidents treat it."""

    def kill(self, after_steps: int, down_for: Span) -> None:
        """Kill it after so many steps and start it again after a while."""


class Incidents:
    """Lets things happen."""

    def __init__(
        self,
        kernel: Kernel,
        cluster: RestorableCluster,
        host: ServiceHost,
        node: Node,
        restart_nodes: Callable[[], None],
        controller: KillableController | None,
        controller_clock: VirtualClock,
        users: ClusterLink,
        stream: random.Random,
        note: Note,
    ) -> None:
        self._kernel = kernel
        self._cluster = cluster
        self._host = host
        self._node = node
        self._restart_nodes = restart_nodes
        self._controller = controller
        self._controller_clock = controller_clock
        self._users = users
        self._stream = stream
        self._note = note

    def schedule(self, incident: Incident) -> None:
        """Let an incident happen at its time. A restore takes its backup as long before as it goes back."""
        at = self._kernel.start + incident.at
        if incident.kind is IncidentKind.API_RESTORE:
            self._kernel.at(at - incident.span, self._cluster.remember, "incident")
        self._kernel.at(at, lambda: self.strike(incident), "incident")

    def strike(self, incident: Incident) -> None:
        """Let an incident happen now."""
        self._note(incident.kind.value, format_span(incident.span))
        match incident.kind:
            case IncidentKind.API_OUTAGE:
                self._cluster.go_down()
                self._later(incident.span, self._cluster.come_up)
            case IncidentKind.API_RESTORE:
                self._cluster.go_down()
                self._cluster.restore()
                self._later(RESTORE_TAKES, self._come_back)
            case IncidentKind.API_COMPACTION:
                self._cluster.compact()
                self._cluster.break_watches()
            case IncidentKind.WATCHES_DROPPED:
                self._cluster.break_watches()
            case IncidentKind.SERVICE_OUTAGE:
                self._host.service.outage = 503
                self._later(incident.span, self._end_outage)
            case IncidentKind.SERVICE_THROTTLE:
                self._host.service.throttled_until = self._kernel.now() + incident.span
            case IncidentKind.CONTROLLER_KILL:
                if self._controller is not None:
                    self._controller.kill(incident.steps, incident.span)
            case IncidentKind.CLOCK_JUMP:
                self._controller_clock.jump(incident.span)
            case IncidentKind.LISTENER_KILL:
                self._with_pod(LISTENER_CONTAINER, lambda worker: worker.crash(LISTENER_CONTAINER))
            case IncidentKind.POD_EVICTED:
                self._with_pod(RUNNER_CONTAINER, lambda worker: worker.evict())
            case IncidentKind.POD_DELETED:
                self._with_pod(RUNNER_CONTAINER, self._delete)

    def _later(self, span: Span, action: Callable[[], None]) -> None:
        self._kernel.after(span, action, "incident")

    def _come_back(self) -> None:
        self._cluster.come_up()
        self._restart_nodes()

    def _end_outage(self) -> None:
        self._host.service.outage = None
        self._note("service-outage", "over")

    def _with_pod(self, container: str, act: Callable[[PodWorker], None]) -> None:
        found = [worker for worker in self._node.workers.values() if worker.runs(container)]
        draw = self._stream.random()
        if not found:
            self._note("nothing to strike", container)
            return
        worker = found[int(draw * len(found))]
        self._note("strikes", worker.name)
        act(worker)

    def _delete(self, worker: PodWorker) -> None:
        async def delete() -> None:
            await self._users.delete(RESOURCES[Kind.POD], worker.namespace, worker.name, grace=0)

        self._kernel.spawn(delete(), "incident")
