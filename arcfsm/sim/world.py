"""The world: API server, kubelet, Actions service, listeners, users and a controller, wired together and run.

A run is a pure function of (scenario, seed, program version): `run_scenario` builds a world, lets it live through the
scenario under the fault plan of the seed, and returns the trace. Nothing in it reads a clock, a file or an
environment of the host.

The controller is whatever the factory makes (see `controller.py`). Without one the world runs all the same, and shows
what is then true: scale sets nobody acts on. Expectations of a scenario are only judged when a controller was there
to meet them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from arcfsm.domain.instant import Instant, Span
from arcfsm.domain.keys import LISTENER_CONTAINER, RUNNER_CONTAINER
from arcfsm.domain.kinds import RESOURCES, Kind
from arcfsm.sim.clock import VirtualClock
from arcfsm.sim.controller import ControllerFactory, ControllerHost, ControllerPorts
from arcfsm.sim.faults.boundary import Boundary
from arcfsm.sim.faults.cluster import ClusterLink, ClusterResponse, refusal
from arcfsm.sim.faults.host import ClusterHost
from arcfsm.sim.faults.incidents import Incidents
from arcfsm.sim.faults.plan import BoundaryName, FaultLevel, FaultPlan
from arcfsm.sim.faults.service import ServiceHost, ServiceLink, service_refusal
from arcfsm.sim.faults.store import simulated_store
from arcfsm.sim.kernel import Kernel, SimulationError, random_stream
from arcfsm.sim.kubelet import ContainerRun, LifeBook, Node, Scheduler
from arcfsm.sim.listener.process import ListenerProcess
from arcfsm.sim.scenario.actors import ScenarioActors
from arcfsm.sim.scenario.bootstrap import bootstrap_objects
from arcfsm.sim.scenario.expectation import unmet
from arcfsm.sim.scenario.model import GITOPS_USER, Scenario
from arcfsm.sim.service import ActionsService, ServiceFace, ServiceResponse
from arcfsm.sim.service.runner import RunnerProcess
from arcfsm.sim.trace import Trace, first_difference

CONTROLLER_USER: Final = "system:serviceaccount:arc-systems:arcfsm-controller"
NODE_USER: Final = "system:node:node-1"
SCHEDULER_USER: Final = "system:kube-scheduler"
NODE_CONTROLLER_USER: Final = "system:serviceaccount:kube-system:node-controller"
TURNS_MAX: Final = 3_000_000


@dataclass(frozen=True)
class RunResult:
    """What a run showed."""

    scenario: Scenario
    seed: int
    plan: FaultPlan
    trace: Trace
    problems: tuple[str, ...]
    """Expectations that were not met, and a breakdown of the simulation; empty is good."""
    figures: dict[str, int] = field(default_factory=dict)
    """Counts: API calls, watch events, service calls, controller steps, kernel turns."""

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def compared_with(self, other: RunResult) -> RunResult:
        """Return this result, with a problem more where another run of the same seed went differently."""
        difference = first_difference(self.trace.lines, other.trace.lines)
        if difference is None:
            return self
        number, mine, theirs = difference
        problem = f"not deterministic: line {number} of the trace was {mine!r}, then {theirs!r}"
        return replace(self, problems=(*self.problems, problem))

    def headline(self) -> str:
        """Say in one line how it went and how to see it again."""
        verdict = "ok" if self.passed else "FAILED"
        again = f"--scenario {self.scenario.name} --seed {self.seed} --trace"
        return f"{verdict}: {self.scenario.name}, {self.plan.describe()} [{again}]"


class World:
    """One simulated world, from its first instant to its last."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        controller: ControllerFactory | None = None,
        *,
        faults: FaultLevel | None = None,
        settle: Span = 0,
    ) -> None:
        """`settle` is how much longer the world goes on after the scenario, to come to rest after faults."""
        self._settle = settle
        self.scenario = scenario
        self.seed = seed
        self.kernel = Kernel(seed)
        self.trace = Trace()
        self.plan = FaultPlan.draw(seed, scenario.faults if faults is None else faults, scenario.duration)
        self.clock = VirtualClock(self.kernel)
        """The clock of the cluster and the service."""
        self.controller_clock = VirtualClock(self.kernel)
        self.cluster = ClusterHost(self.kernel, simulated_store(self.clock, seed), self.clock, self._note)
        service = ActionsService(self.clock, seed, scenario.service.to_settings())
        self.service = ServiceHost(self.kernel, service, ServiceFace(service, self.clock), self._note)
        self._links: dict[str, ClusterLink] = {}
        self._clients = 0
        node_link = self._link(BoundaryName.KUBELET_CLUSTER, NODE_USER)
        lives = LifeBook([life.to_rule() for life in scenario.lives])
        self.node = Node(self.kernel, node_link, self._link(BoundaryName.KUBELET_CLUSTER, NODE_CONTROLLER_USER), lives)
        self.scheduler = Scheduler(
            self.kernel, self._link(BoundaryName.KUBELET_CLUSTER, SCHEDULER_USER), pods_max=scenario.pods_max
        )
        self.controller = (
            ControllerHost(
                self.kernel, controller, self._ports, lambda action, detail: self._note("controller", action, detail)
            )
            if controller is not None
            else None
        )
        self.incidents = Incidents(
            self.kernel,
            self.cluster,
            self.service,
            self.node,
            self._restart_nodes,
            self.controller,
            self.controller_clock,
            self.link_as("platform-admin"),
            random_stream(seed, "incidents"),
            lambda action, detail: self._note("incident", action, detail),
        )
        self._actors = ScenarioActors(
            self.kernel, scenario, self.link_as, self.service, self.incidents.schedule, self._note
        )

    def run(self) -> RunResult:
        """Live through the scenario."""
        problems: list[str] = []
        try:
            self.start()
            self.kernel.run(self.kernel.start + self.scenario.duration + self._settle, TURNS_MAX)
        except SimulationError as error:
            problems.append(str(error))
        if self.controller is not None:
            expect = self.scenario.expect
            if self.plan.level is not FaultLevel.NONE:
                # A job may fail where its pod is evicted; it may not be forgotten.
                expect = expect.model_copy(update={"jobs_succeeded": None})
            problems += unmet(expect, self.scenario, self.cluster.objects, self.service.service)
        self.end()
        return RunResult(self.scenario, self.seed, self.plan, self.trace, tuple(problems), self.figures())

    def start(self) -> None:
        """Install what is there from the beginning and let every actor begin."""
        for resource, namespace, body in bootstrap_objects(self.scenario):
            self.cluster.install(resource, namespace, body)
        self.node.start({LISTENER_CONTAINER: self._listener, RUNNER_CONTAINER: self._runner})
        self.scheduler.start()
        for incident in self.plan.incidents:
            self.incidents.schedule(incident)
        if self.controller is not None:
            self.controller.start()
        self.kernel.spawn(self._install(), "gitops/install")
        self._actors.start()

    def end(self) -> None:
        """Kill everything."""
        if self.controller is not None:
            self.controller.end()
        self.kernel.close()

    def figures(self) -> dict[str, int]:
        """Count what happened."""
        return {
            "api_calls": self.cluster.calls,
            "watch_events": self.cluster.events,
            "service_calls": self.service.calls,
            "controller_steps": self.controller.steps if self.controller is not None else 0,
            "turns": self.kernel.turns,
        }

    async def _install(self) -> None:
        link = self.link_as(GITOPS_USER)
        for data in self.scenario.scale_sets:
            resource = RESOURCES[Kind.SCALE_SET]
            body = {
                "apiVersion": resource.api_version,
                "kind": Kind.SCALE_SET.value,
                **self.scenario.scale_set_object(data),
            }
            await link.create(resource, self.scenario.namespace, body)

    def _restart_nodes(self) -> None:
        self.node.restart()
        self.scheduler.restart()

    # --- links and programs ------------------------------------------------------------------------------------------

    def _link(self, name: BoundaryName, user: str, client: str = "") -> ClusterLink:
        boundary: Boundary[ClusterResponse] = Boundary(
            self.kernel, self.plan, name, client or user, self.cluster.availability, refusal
        )
        link = ClusterLink(self.kernel, self.cluster, boundary, self.cluster.availability, user)
        self.cluster.attach(link)
        return link

    def link_as(self, user: str) -> ClusterLink:
        """Return the link by which a user of that name acts; one per user."""
        if user not in self._links:
            self._links[user] = self._link(BoundaryName.USER_CLUSTER, user)
        return self._links[user]

    def _service_link(self, name: BoundaryName, client: str) -> ServiceLink:
        boundary: Boundary[ServiceResponse] = Boundary(
            self.kernel, self.plan, name, client, self.service.availability, service_refusal
        )
        return ServiceLink(self.kernel, self.service, boundary, client)

    def _ports(self, incarnation: int, wake: Callable[[], None]) -> ControllerPorts:
        client = f"controller/{incarnation}"
        return ControllerPorts(
            cluster=self._link(BoundaryName.CONTROLLER_CLUSTER, CONTROLLER_USER, client),
            service=self._service_link(BoundaryName.CONTROLLER_SERVICE, client),
            clock=self.controller_clock,
            incarnation=incarnation,
            _kernel=self.kernel,
            _wake=wake,
            _note=lambda action, detail: self._note("controller", action, detail),
        )

    def _listener(self, run: ContainerRun) -> ListenerProcess:
        self._clients += 1
        client = f"listener/{self._clients}"
        user = f"system:serviceaccount:{run.namespace}:{run.pod_name}"
        return ListenerProcess(
            self.kernel,
            run,
            self._link(BoundaryName.LISTENER_CLUSTER, user, client),
            self._service_link(BoundaryName.LISTENER_SERVICE, client),
            self._link(BoundaryName.KUBELET_CLUSTER, NODE_USER, f"mount/{self._clients}"),
            self.clock,
            lambda action, detail: self._note(client, action, detail),
        )

    def _runner(self, run: ContainerRun) -> RunnerProcess:
        self._clients += 1
        mounts = self._link(BoundaryName.KUBELET_CLUSTER, NODE_USER, f"mount/{self._clients}")
        actor = f"runner/{run.pod_name}"
        return RunnerProcess(
            self.kernel, run, self.service, mounts, lambda action, detail: self._note(actor, action, detail)
        )

    def _note(self, actor: str, action: str, detail: str = "") -> None:
        self.trace.add(self._elapsed(), actor, action, detail)

    def _elapsed(self) -> Instant:
        return self.kernel.now() - self.kernel.start


def run_scenario(
    scenario: Scenario,
    seed: int,
    controller: ControllerFactory | None = None,
    *,
    faults: FaultLevel | None = None,
) -> RunResult:
    """Run a scenario under a seed. `faults` overrides the scenario's own level."""
    return World(scenario, seed, controller, faults=faults).run()
