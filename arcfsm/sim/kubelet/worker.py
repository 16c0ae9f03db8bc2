"""The life of one pod on its node, from admission to the last delete.

The worker does what a kubelet's pod worker does, in its order: report before acting on what is reported, stop
containers before removing the pod, remove it with grace 0 and its own uid. Three things can end a life early
(deletion, eviction, loss of the node); they interrupt whatever the pod was doing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from arcfsm.domain.instant import MILLISECOND, MINUTE, SECOND, Span
from arcfsm.domain.keys import REASON_EVICTED
from arcfsm.domain.kinds import RESOURCES, Kind
from arcfsm.domain.phases import POD_DONE_PHASES
from arcfsm.sim.faults.cluster import ClusterLink, ClusterResponse
from arcfsm.sim.kernel import Channel, Future, Kernel, Task
from arcfsm.sim.kubelet.life import PodLife
from arcfsm.sim.kubelet.program import ContainerRun, Program, ProgramBook
from arcfsm.sim.kubelet.status import (
    KILLED_EXIT_CODE,
    ConditionRecord,
    ContainerRecord,
    Status,
    failed_status,
    pod_phase,
    pod_status,
)

_PODS: Final = RESOURCES[Kind.POD]
_RETRY: Final[Span] = SECOND
_PULL_TAKES: Final[Span] = 200 * MILLISECOND
_BACK_OFF_FIRST: Final[Span] = 10 * SECOND
_BACK_OFF_MAX: Final[Span] = 5 * MINUTE
_PATCH_FINAL: Final = frozenset({404, 422})
"""A wrong uid in a patch is 422."""
_REMOVE_FINAL: Final = frozenset({404, 409})
"""A wrong uid in a delete's preconditions is 409."""
_REJECTIONS: Final = {
    "OutOfpods": "Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 110, capacity: 110",
    "OutOfcpu": "Pod was rejected: Node didn't have enough resource: cpu, requested: 500, used: 3900, capacity: 4000",
}
_EVICTION: Final = "The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 512Mi. "


class PodWorker:
    """Carries one pod through its life."""

    def __init__(
        self,
        kernel: Kernel,
        link: ClusterLink,
        pod: Mapping[str, Any],
        life: PodLife,
        programs: ProgramBook,
        pod_ip: str,
        lost: Callable[[PodWorker], None],
    ) -> None:
        self.pod = pod
        self.uid: str = pod["metadata"]["uid"]
        self.namespace: str = pod["metadata"]["namespace"]
        self.name: str = pod["metadata"]["name"]
        self.lane = f"node/{self.namespace}/{self.name}"
        self._kernel = kernel
        self._link = link
        self.life = life
        self._programs = programs
        self._pod_ip = pod_ip
        self._lost = lost
        self._begun = kernel.now()
        self._policy: str = pod["spec"].get("restartPolicy", "Always")
        self._inits = [_record(spec, init=True) for spec in pod["spec"].get("initContainers") or ()]
        self._containers = [_record(spec, init=False) for spec in pod["spec"]["containers"]]
        self._conditions = ConditionRecord()
        self._exits: Channel[tuple[ContainerRecord, int]] = Channel()
        self._running: dict[str, tuple[ContainerRun, Program | None, Task[None]]] = {}
        self._deletion: Future[None] = Future()
        self._hurry: Future[None] = Future()
        self._eviction: Future[None] = Future()
        self._grace: int | None = None
        self._failed: Status | None = None
        self._tasks: list[Task[Any]] = []

    # --- what happens to it from outside -----------------------------------------------------------------------------

    def start(self) -> None:
        """Begin the life."""
        self._tasks.append(self._kernel.spawn(self._run(), self.lane))
        if self.life.evicted_after is not None:
            self._kernel.after(self.life.evicted_after, self.evict, self.lane)
        if self.life.node_lost_after is not None:
            self._kernel.after(self.life.node_lost_after, lambda: self._lost(self), self.lane)

    def observe(self, pod: Mapping[str, Any]) -> None:
        """The API server's copy changed."""
        self.pod = pod
        metadata = pod["metadata"]
        if metadata.get("deletionTimestamp") is None:
            return
        grace = int(metadata.get("deletionGracePeriodSeconds") or 0)
        if self._grace is not None and grace < self._grace:
            self._hurry.resolve(None)
        self._grace = grace
        self._deletion.resolve(None)

    def evict(self) -> None:
        """The node is short of something."""
        self._eviction.resolve(None)

    def runs(self, container: str) -> bool:
        """Whether a container of that name runs now."""
        return container in self._running

    def crash(self, container: str) -> None:
        """A container's process is killed; nobody asked it."""
        held = self._running.pop(container, None)
        if held is None:
            return
        _kill(held)
        for record in (*self._containers, *self._inits):
            if record.name == container:
                self._end(record, KILLED_EXIT_CODE, "Error")

    def vanish(self) -> None:
        """Stop at once and say nothing: the pod was removed from the API, or the node is gone."""
        for task in self._tasks:
            task.kill()
        self._kill_all()

    def resync(self) -> None:
        """Report again what is the case: the API server's memory may be older than ours."""
        if self._deletion.done or (not self._containers[0].serial and self._failed is None):
            return
        self._tasks.append(self._kernel.spawn(self._report(), self.lane))

    # --- the life ----------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        if self.life.rejected:
            reason = self.life.rejected
            message = _REJECTIONS.get(reason, f"Pod was rejected: {reason}")
            self._failed = failed_status(reason, message, started_at=self._begun, containers=True)
            await self._report()
            await self._deletion
        else:
            living = self._kernel.spawn(self._live(), self.lane)
            self._tasks.append(living)
            if await self._kernel.first(self._deletion, self._eviction, living) != 0:
                if self._eviction.done:
                    living.kill()
                    self._kill_all()
                    self._failed = failed_status(REASON_EVICTED, _EVICTION, started_at=self._begun, containers=False)
                    await self._report()
                await self._deletion
            living.kill()
        await self._stop()
        await self._insist(self._remove, final=_REMOVE_FINAL)

    async def _live(self) -> None:
        first, *others = self._inits or self._containers
        for record in (*others, *(self._containers if self._inits else ())):
            record.wait("PodInitializing" if self._inits else "ContainerCreating")
        first.wait("PodInitializing" if self._inits else "ContainerCreating")
        await self._report()
        await self._kernel.sleep(self.life.start_delay)
        await self._pull(self._containers[0])
        if not await self._initialise():
            return
        for record in self._containers:
            self._start_container(record)
        if self.life.ready_delay:
            await self._report()
            await self._kernel.sleep(self.life.ready_delay)
        for record in self._containers:
            record.ready = record.running
        await self._report()
        await self._supervise()

    async def _pull(self, record: ContainerRecord) -> None:
        failures = self.life.pull_failures
        attempt = 0
        while failures < 0 or attempt < failures:
            record.wait("ErrImagePull", f'failed to pull and unpack image "{record.image}": not found')
            await self._report()
            await self._kernel.sleep(_PULL_TAKES)
            record.wait("ImagePullBackOff", f'Back-off pulling image "{record.image}"')
            await self._report()
            await self._kernel.sleep(_back_off(attempt))
            attempt += 1

    async def _initialise(self) -> bool:
        for index, record in enumerate(self._inits):
            if record.sidecar:
                self._start_container(record)
                record.ready = True
                await self._report()
                continue
            code = self.life.init_exit_code if index == 0 else 0
            while True:
                record.run(self._kernel.now())
                await self._report()
                await self._kernel.sleep(self.life.init_run_for)
                record.end(self._kernel.now(), code)
                record.ready = code == 0
                await self._report()
                if code == 0:
                    break
                if self._policy == "Never":
                    return False
                record.wait("CrashLoopBackOff", f"back-off restarting failed container={record.name}")
                await self._report()
                await self._kernel.sleep(_back_off(record.restarts))
                record.restarts += 1
        return True

    async def _supervise(self) -> None:
        while True:
            exited = await self._exits.get()
            if exited is None:
                return
            record, code = exited
            if record.sidecar or self._policy == "Always" or (self._policy == "OnFailure" and code != 0):
                await self._report()
                self._tasks.append(self._kernel.spawn(self._restart(record), self.lane))
                continue
            if all(each.exit_code is not None for each in self._containers):
                await self._stop_containers([each for each in self._inits if each.running], SECOND)
                await self._report()
                return
            await self._report()

    async def _restart(self, record: ContainerRecord) -> None:
        if record.restarts:
            record.wait("CrashLoopBackOff", f"back-off restarting failed container={record.name}")
            await self._report()
            await self._kernel.sleep(_back_off(record.restarts - 1))
        else:
            await self._kernel.sleep(SECOND)
        record.restarts += 1
        self._start_container(record)
        record.ready = True
        await self._report()

    # --- containers --------------------------------------------------------------------------------------------------

    def _start_container(self, record: ContainerRecord) -> None:
        record.run(self._kernel.now())
        spec = next(
            each
            for each in (*self.pod["spec"]["containers"], *(self.pod["spec"].get("initContainers") or ()))
            if each["name"] == record.name
        )
        run = ContainerRun(self.pod, spec, record.restarts, self.life.container(record.name))
        scripted = self.life.containers.get(record.name)
        make = self._programs.get(record.name)
        program = make(run) if make is not None and (scripted is None or scripted.run_for is None) else None
        task = self._kernel.spawn(self._run_container(record, run, program), f"{self.lane}/{record.name}")
        self._running[record.name] = (run, program, task)

    async def _run_container(self, record: ContainerRecord, run: ContainerRun, program: Program | None) -> None:
        life = self.life.container(record.name)
        if program is not None and not life.ignores_term:
            code = await program.run()
            self._end(record, code)
            return
        waits: list[Future[Any]] = [self._kernel.sleep(life.run_for)] if life.run_for is not None else []
        if not life.ignores_term:
            waits.append(run.term)
        if not waits:
            waits.append(Future())
        winner = await self._kernel.first(*waits)
        if life.run_for is not None and winner == 0:
            code = KILLED_EXIT_CODE if life.oom_killed else life.exit_code
            self._end(record, code, "OOMKilled" if life.oom_killed else "", life.message)
        else:
            await self._kernel.sleep(life.stop_takes)
            self._end(record, 143)

    def _end(self, record: ContainerRecord, code: int, reason: str = "", message: str = "") -> None:
        record.end(self._kernel.now(), code, reason, message)
        self._running.pop(record.name, None)
        self._exits.put((record, code))

    async def _stop(self) -> None:
        grace = (self._grace or 0) * SECOND
        living = [record for record in (*self._containers, *self._inits) if record.running]
        if not living:
            return
        await self._stop_containers(living, grace)
        await self._report()

    async def _stop_containers(self, records: Sequence[ContainerRecord], grace: Span) -> None:
        if not records:
            return
        ends: list[Future[None]] = []
        for record in records:
            held = self._running.get(record.name)
            if held is not None:
                held[0].term.resolve(None)
                ends.append(held[2])
        deadline = self._kernel.sleep(grace)
        for end in ends:
            if await self._kernel.first(end, deadline, self._hurry) != 0:
                break
        now = self._kernel.now()
        for record in records:
            held = self._running.pop(record.name, None)
            if held is not None:
                _kill(held)
                record.end(now, KILLED_EXIT_CODE)

    def _kill_all(self) -> None:
        now = self._kernel.now()
        for name, held in list(self._running.items()):
            _kill(held)
            for record in (*self._containers, *self._inits):
                if record.name == name and record.running:
                    record.end(now, KILLED_EXIT_CODE)
        self._running.clear()

    # --- reports -----------------------------------------------------------------------------------------------------

    @property
    def finished(self) -> bool:
        """Whether the pod came to its end."""
        return self._failed is not None or (pod_phase(self._policy, self._inits, self._containers) in POD_DONE_PHASES)

    async def _report(self) -> None:
        await self._insist(self._patch, final=_PATCH_FINAL)

    async def _remove(self) -> ClusterResponse | None:
        return await self._link.delete(_PODS, self.namespace, self.name, uid=self.uid, grace=0)

    async def _patch(self) -> ClusterResponse | None:
        status = self._failed or pod_status(
            self.pod,
            self._inits,
            self._containers,
            self._conditions,
            now=self._kernel.now(),
            started_at=self._begun,
            pod_ip=self._pod_ip,
        )
        body = {"metadata": {"uid": self.uid}, "status": status}
        return await self._link.patch(_PODS, self.namespace, self.name, body, "status")

    async def _insist(self, send: Callable[[], Awaitable[ClusterResponse | None]], final: frozenset[int]) -> None:
        """Repeat until the server took it, or its answer says that this pod is no longer there to be told about."""
        while True:
            answer = await send()
            if answer is not None and (answer.ok or answer.status in final):
                return
            await self._kernel.sleep(_RETRY)


def _record(spec: Mapping[str, Any], *, init: bool) -> ContainerRecord:
    sidecar = init and spec.get("restartPolicy") == "Always"
    return ContainerRecord(str(spec["name"]), str(spec.get("image", "")), sidecar)


def _kill(held: tuple[ContainerRun, Program | None, Task[None]]) -> None:
    _, program, task = held
    if not task.done:
        task.kill()
        if program is not None:
            program.killed()


def _back_off(attempt: int) -> Span:
    return min(_BACK_OFF_FIRST << min(attempt, 10), _BACK_OFF_MAX)
