"""The actors of a scenario: users who edit, a workflow that queues jobs, a GitOps tool that insists, other writers.

Each acts through a link of its own, as a user of its own, at the times the scenario says. They are clients like any
other: the API server may refuse them, and a refusal shows in the trace; it is not repaired.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from arcfsm.domain.instant import SECOND, Span
from arcfsm.domain.kinds import RESOURCES
from arcfsm.sim.faults.cluster import Body, ClusterLink
from arcfsm.sim.faults.plan import Incident
from arcfsm.sim.faults.reflector import Reflector
from arcfsm.sim.faults.service import ServiceHost
from arcfsm.sim.kernel import Kernel
from arcfsm.sim.scenario.model import (
    GITOPS_USER,
    CancelJobs,
    CreateObject,
    DeleteObject,
    GitOps,
    PatchObject,
    QueueJobs,
    Scenario,
    Trouble,
)
from arcfsm.sim.service.model import JobState

Note = Callable[[str, str, str], None]


class ScenarioActors:
    """Carries the steps of one scenario out."""

    def __init__(
        self,
        kernel: Kernel,
        scenario: Scenario,
        link_as: Callable[[str], ClusterLink],
        host: ServiceHost,
        schedule: Callable[[Incident], None],
        note: Note,
    ) -> None:
        """Take what makes links by user name, the service to queue jobs at, and what schedules an incident."""
        self._kernel = kernel
        self._scenario = scenario
        self._link_as = link_as
        self._host = host
        self._schedule = schedule
        self._note = note
        self._fights = 0

    def start(self) -> None:
        """Schedule every step."""
        for index, step in enumerate(self._scenario.steps):
            match step:
                case QueueJobs():
                    self._spawn(step.at, partial(self._queue, step), f"jobs/{index}")
                case CancelJobs():
                    self._spawn(step.at, partial(self._cancel, step), f"jobs/{index}")
                case PatchObject():
                    self._spawn(step.at, partial(self._patch, step), f"user/{index}")
                case DeleteObject():
                    self._spawn(step.at, partial(self._delete, step), f"user/{index}")
                case CreateObject():
                    self._spawn(step.at, partial(self._create, step), f"user/{index}")
                case GitOps():
                    self._spawn(step.at, partial(self._gitops, step), f"gitops/{index}")
                case Trouble():
                    incident = Incident(step.at, step.incident, step.span, step.steps)
                    self._schedule(incident)

    def _spawn(self, at: Span, act: Callable[[], Coroutine[Any, Any, None]], lane: str) -> None:
        def begin() -> None:
            self._kernel.spawn(act(), lane)

        self._kernel.after(at, begin, lane)

    async def _queue(self, step: QueueJobs) -> None:
        for number in range(step.count):
            while (scale_set_id := self._scale_set_id(step.scale_set)) is None:
                # A user's workflow waits in GitHub's own queue until a runner set of that name exists.
                await self._kernel.sleep(SECOND)
            job = self._host.service.jobs.queue(scale_set_id, name=f"build ({number})", duration=step.duration)
            self._host.arm()
            self._note("users", "queue-job", job.id)
            await self._kernel.sleep(step.every)

    def _scale_set_id(self, name: str) -> int | None:
        found = [each.id for each in self._host.service.scale_sets if each.name == name]
        return found[-1] if found else None

    async def _cancel(self, step: CancelJobs) -> None:
        open_jobs = [job for job in self._host.service.all_jobs if job.state is not JobState.COMPLETED]
        for job in open_jobs[: step.count]:
            self._host.service.jobs.cancel(job.id)
            self._host.arm()
            self._note("users", "cancel-job", job.id)

    async def _patch(self, step: PatchObject) -> None:
        link = self._link_as(step.user)
        namespace = step.namespace or self._scenario.namespace
        for _ in range(step.times):
            await link.patch(RESOURCES[step.kind], namespace, step.name, dict(step.patch), step.subresource)
            await self._kernel.sleep(step.every)

    async def _delete(self, step: DeleteObject) -> None:
        namespace = step.namespace or self._scenario.namespace
        await self._link_as(step.user).delete(RESOURCES[step.kind], namespace, step.name, grace=step.grace)

    async def _create(self, step: CreateObject) -> None:
        resource = RESOURCES[step.kind]
        body = {"apiVersion": resource.api_version, "kind": step.kind.value, **step.object}
        namespace = str((body.get("metadata") or {}).get("namespace") or self._scenario.namespace)
        await self._link_as(step.user).create(resource, namespace, body)

    async def _gitops(self, step: GitOps) -> None:
        link = self._link_as(GITOPS_USER)
        pending: set[tuple[str, str]] = set()

        def report(kind: str, item: Body) -> None:
            key = (item["metadata"]["namespace"], item["metadata"]["name"])
            if kind != "DELETED" and self._fights < step.times_max and key not in pending and _wanted(item, step):
                pending.add(key)
                self._kernel.spawn(insist(*key), f"gitops/{key[0]}/{key[1]}")

        async def insist(namespace: str, name: str) -> None:
            await self._kernel.sleep(step.reaction)
            pending.discard((namespace, name))
            current = reflector.objects.get((namespace, name))
            patch = _wanted(current, step) if current is not None else {}
            if patch:
                self._fights += 1
                await link.patch(RESOURCES[step.kind], namespace, name, {"metadata": patch})

        reflector = Reflector(self._kernel, link, RESOURCES[step.kind], report)
        await reflector.run()


def _wanted(item: Body, step: GitOps) -> Body:
    """Return the part of the metadata patch that is still needed; empty when the object is as the tool wants it."""
    patch: Body = {}
    for field, wanted in (("labels", step.labels), ("annotations", step.annotations)):
        live = item["metadata"].get(field) or {}
        wrong = {key: value for key, value in wanted.items() if live.get(key) != value}
        if wrong:
            patch[field] = wrong
    return patch
