"""The node agent and the scheduler: who gives pods their lives, and who binds them.

Both follow pods by list and watch like any client. The node keeps one worker per pod uid; when a pod's object is
gone, so is whatever ran for it. One node stands for all: what differs between nodes (capacity, loss) is scripted per
pod.
"""

from __future__ import annotations

from typing import Any, Final

from arcfsm.domain import phases
from arcfsm.domain.instant import MILLISECOND, SECOND, Span
from arcfsm.domain.kinds import RESOURCES, Kind
from arcfsm.sim.clock import timestamp
from arcfsm.sim.faults.cluster import Body, ClusterLink, ClusterRequest, resource_path
from arcfsm.sim.faults.reflector import Reflector
from arcfsm.sim.kernel import Kernel, Task
from arcfsm.sim.kubelet.life import LifeBook
from arcfsm.sim.kubelet.program import ProgramBook
from arcfsm.sim.kubelet.worker import PodWorker

NODE_NAME: Final = "node-1"
_PODS: Final = RESOURCES[Kind.POD]
_RETRY: Final[Span] = SECOND


class Node:
    """The kubelet of the simulated node."""

    def __init__(self, kernel: Kernel, link: ClusterLink, controller: ClusterLink, lives: LifeBook) -> None:
        """Take the kubelet's own link, and that of the node controller, which acts when a node is lost."""
        self.workers: dict[str, PodWorker] = {}
        """Living pods by uid."""
        self._kernel = kernel
        self._link = link
        self._controller = controller
        self._lives = lives
        self._programs: ProgramBook = {}
        self._addresses = 0
        self._reflector = Reflector(kernel, link, _PODS, self._report)
        self._task: Task[None] | None = None

    def start(self, programs: ProgramBook) -> None:
        """Begin to follow pods; `programs` run in containers of their names."""
        self._programs = programs
        self._task = self._kernel.spawn(self._reflector.run(), "node")

    def restart(self) -> None:
        """Come back after the API server lost its memory: list again, and report again what is the case."""
        if self._task is not None:
            self._task.kill()
        self._reflector.forget_version()
        self._task = self._kernel.spawn(self._reflector.run(), "node")
        for worker in self.workers.values():
            worker.resync()

    def _report(self, kind: str, pod: Body) -> None:
        uid = pod["metadata"]["uid"]
        worker = self.workers.get(uid)
        if kind == "DELETED":
            if worker is not None:
                del self.workers[uid]
                worker.vanish()
            return
        if worker is None:
            if pod["spec"].get("nodeName") != NODE_NAME or _done(pod):
                return
            self._addresses += 1
            worker = PodWorker(
                self._kernel,
                self._link,
                pod,
                self._lives.choose(pod),
                self._programs,
                f"10.1.{self._addresses // 250}.{self._addresses % 250 + 1}",
                self._lose,
            )
            self.workers[uid] = worker
            worker.start()
        worker.observe(pod)

    def _lose(self, worker: PodWorker) -> None:
        """The node under a pod is lost: nobody reports for it any more, and the control plane clears up in its time."""
        worker.vanish()
        self._kernel.spawn(self._clear_up(worker), worker.lane)

    async def _clear_up(self, worker: PodWorker) -> None:
        now = timestamp(self._kernel.now())
        known = (worker.pod.get("status") or {}).get("conditions") or []
        conditions = [each for each in known if each["type"] != "Ready"]
        conditions.append(
            {
                "type": "Ready",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": now,
                "reason": "NodeNotReady",
                "message": "Node is not ready",
            }
        )
        life = worker.life
        await self._insist(worker, {"conditions": conditions})
        await self._kernel.sleep(life.node_lost_eviction)
        await self._controller.delete(_PODS, worker.namespace, worker.name, uid=worker.uid)
        await self._kernel.sleep(life.node_lost_removal)
        disruption = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": timestamp(self._kernel.now()),
            "reason": "DeletionByPodGC",
            "message": "PodGC: node no longer exists",
        }
        await self._insist(worker, {"phase": phases.FAILED, "conditions": [*conditions, disruption]})
        while True:
            answer = await self._controller.delete(_PODS, worker.namespace, worker.name, uid=worker.uid, grace=0)
            if answer is not None and (answer.ok or answer.status in {404, 409}):
                return
            await self._kernel.sleep(_RETRY)

    async def _insist(self, worker: PodWorker, status: Body) -> None:
        body = {"metadata": {"uid": worker.uid}, "status": status}
        while True:
            answer = await self._controller.patch(_PODS, worker.namespace, worker.name, body, "status")
            if answer is not None and (answer.ok or answer.status in {404, 422}):
                return
            await self._kernel.sleep(_RETRY)


class Scheduler:
    """Binds pods to the node while it has room."""

    def __init__(
        self, kernel: Kernel, link: ClusterLink, *, delay: Span = 10 * MILLISECOND, pods_max: int = 110
    ) -> None:
        self._kernel = kernel
        self._link = link
        self._delay = delay
        self._pods_max = pods_max
        self._reflector = Reflector(kernel, link, _PODS, self._report)
        self._task: Task[None] | None = None
        self._bound: set[str] = set()
        self._waiting: dict[str, Body] = {}

    def start(self) -> None:
        """Begin to follow pods."""
        self._task = self._kernel.spawn(self._reflector.run(), "scheduler")

    def restart(self) -> None:
        """Forget everything and list again."""
        if self._task is not None:
            self._task.kill()
        self._bound.clear()
        self._waiting.clear()
        self._reflector = Reflector(self._kernel, self._link, _PODS, self._report)
        self.start()

    def _report(self, kind: str, pod: Body) -> None:
        uid = pod["metadata"]["uid"]
        if kind == "DELETED" or _done(pod):
            self._waiting.pop(uid, None)
            if uid in self._bound:
                self._bound.discard(uid)
                self._place_waiting()
        elif pod["spec"].get("nodeName"):
            self._waiting.pop(uid, None)
            self._bound.add(uid)
        elif uid not in self._bound and uid not in self._waiting and not pod["metadata"].get("deletionTimestamp"):
            self._place(pod)

    def _place(self, pod: Body) -> None:
        uid = pod["metadata"]["uid"]
        if len(self._bound) < self._pods_max:
            self._bound.add(uid)
            self._kernel.spawn(self._bind(pod), "scheduler")
        else:
            self._waiting[uid] = pod
            self._kernel.spawn(self._refuse(pod), "scheduler")

    def _place_waiting(self) -> None:
        for uid, pod in list(self._waiting.items()):
            if len(self._bound) >= self._pods_max:
                return
            del self._waiting[uid]
            self._place(pod)

    async def _bind(self, pod: Body) -> None:
        metadata = pod["metadata"]
        await self._kernel.sleep(self._delay)
        path = resource_path(_PODS, metadata["namespace"], metadata["name"], "binding")
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": NODE_NAME},
        }
        while True:
            answer = await self._link.send(ClusterRequest("POST", path, body=body))
            if answer is not None and answer.status < 500 and answer.status != 429:
                if not answer.ok and answer.status != 409:
                    self._bound.discard(metadata["uid"])
                return
            await self._kernel.sleep(_RETRY)

    async def _refuse(self, pod: Body) -> None:
        metadata = pod["metadata"]
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": timestamp(self._kernel.now()),
            "reason": "Unschedulable",
            "message": "0/1 nodes are available: 1 Too many pods.",
        }
        body = {"metadata": {"uid": metadata["uid"]}, "status": {"conditions": [condition]}}
        await self._link.patch(_PODS, metadata["namespace"], metadata["name"], body, "status")


def _done(pod: Body) -> bool:
    status: dict[str, Any] = pod.get("status") or {}
    return status.get("phase") in phases.POD_DONE_PHASES
