"""The life of jobs: queued, acquired, assigned, running, completed; and the agents that carry them out.

Guaranteed: a job runs on one agent at most; every change that a listener is told about becomes exactly one item of a
message; changes that are only a matter of time (assignment, lost agents, forgotten registrations) happen in `settle`,
at their own due times, in the order of those times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from arcfsm.domain.instant import MINUTE, Instant, Span
from arcfsm.sim.clock import Clock
from arcfsm.sim.service.errors import AgentNotFoundError, JobStillRunningError, NotFoundError
from arcfsm.sim.service.model import Agent, Job, JobResult, JobState, ScaleSet, ServiceSettings, WireObject

_NEVER: Final[Instant] = 1 << 62


@dataclass
class ServiceState:
    """The records that jobs, agents and sessions share."""

    scale_sets: dict[int, ScaleSet]
    agents: dict[int, Agent]
    jobs: dict[str, Job]


class JobBoard:
    """All jobs of the service, and who works on them."""

    def __init__(
        self, state: ServiceState, settings: ServiceSettings, clock: Clock, changed: Callable[[int], None]
    ) -> None:
        self._state = state
        self._settings = settings
        self._clock = clock
        self._changed = changed
        self._numbers = 0

    # --- the users' side ----------------------------------------------------------------------------------------------

    def queue(
        self,
        scale_set_id: int,
        *,
        name: str = "build",
        duration: Span = MINUTE,
        repository: str = "example-repo",
        owner: str = "example-org",
        labels: Sequence[str] = (),
        event_name: str = "push",
    ) -> Job:
        """Queue a job for a scale set; the listener will be offered it when its capacity allows."""
        scale_set = self._scale_set(scale_set_id)
        self._numbers += 1
        number = self._numbers
        job = Job(
            id=f"00000000-0000-4000-8000-{number:012d}",
            request_id=1000 + number,
            scale_set_id=scale_set_id,
            name=name,
            repository=repository,
            owner=owner,
            workflow_ref=f"{owner}/{repository}/.github/workflows/ci.yaml@refs/heads/main",
            workflow_run_id=5000 + number,
            event_name=event_name,
            labels=tuple(labels) or (scale_set.name,),
            duration=duration,
            queued_at=self._clock.now(),
        )
        self._state.jobs[job.id] = job
        self.settle()
        return job

    def cancel(self, job_id: str) -> None:
        """Cancel a job. One that runs ends at once on the service; its runner learns it when it next asks."""
        job = self._state.jobs[job_id]
        if job.state is not JobState.COMPLETED:
            self._complete(job, JobResult.CANCELED)
            self.settle()

    # --- the listener's side ------------------------------------------------------------------------------------------

    def acquire(self, scale_set_id: int, request_ids: Sequence[int]) -> list[int]:
        """Acquire offered jobs; returns the ids that were there to acquire."""
        wanted = set(request_ids)
        acquired = []
        for job in self._jobs_of(scale_set_id, JobState.QUEUED):
            if job.request_id in wanted:
                job.state = JobState.ACQUIRED
                job.acquired_at = self._clock.now()
                acquired.append(job.request_id)
        return acquired

    def statistics(self, scale_set_id: int) -> WireObject:
        """Count jobs and runners of a scale set. Running jobs count as assigned too (P3)."""
        count = dict.fromkeys(JobState, 0)
        for job in self._state.jobs.values():
            if job.scale_set_id == scale_set_id:
                count[job.state] += 1
        agents = [a for a in self._state.agents.values() if a.scale_set_id == scale_set_id and a.removed_at is None]
        busy = sum(1 for agent in agents if agent.job_id is not None)
        return {
            "totalAvailableJobs": count[JobState.QUEUED],
            "totalAcquiredJobs": count[JobState.ACQUIRED],
            "totalAssignedJobs": count[JobState.ASSIGNED] + count[JobState.RUNNING],
            "totalRunningJobs": count[JobState.RUNNING],
            "totalRegisteredRunners": len(agents),
            "totalBusyRunners": busy,
            "totalIdleRunners": sum(1 for agent in agents if agent.idle),
        }

    # --- the runner's side --------------------------------------------------------------------------------------------

    def connect(self, agent_id: int, secret: str) -> Agent:
        """A runner comes online. Raises AgentNotFoundError when its registration is gone or was never its own."""
        agent = self._state.agents.get(agent_id)
        if agent is None or agent.secret != secret or agent.removed_at is not None:
            raise AgentNotFoundError(f"Agent {agent_id} not found.")
        agent.online, agent.used_again = True, agent.spent
        agent.seen_at = self._clock.now()
        self.settle()
        return agent

    def disconnect(self, agent_id: int) -> None:
        """A runner's connection is gone: its pod died or was deleted. A job it had goes on until its lease ends."""
        agent = self._state.agents.get(agent_id)
        if agent is not None:
            agent.online = False
            agent.seen_at = self._clock.now()

    def current_job(self, agent_id: int) -> Job | None:
        """Return what a runner has to do, which also renews the job's lease."""
        agent = self._state.agents.get(agent_id)
        if agent is None or agent.job_id is None:
            return None
        job = self._state.jobs[agent.job_id]
        job.renewed_at = agent.seen_at = self._clock.now()
        return job

    def finish(self, agent_id: int, result: JobResult) -> None:
        """A runner reports its job done and, being ephemeral, takes itself off the register."""
        agent = self._state.agents.get(agent_id)
        if agent is None:
            return
        if agent.job_id is not None:
            self._complete(self._state.jobs[agent.job_id], result)
        self._deregister(agent)
        self.settle()

    def remove_agent(self, agent_id: int) -> None:
        """Remove a registration on somebody's request (RemoveRunner)."""
        agent = self._state.agents.get(agent_id)
        if agent is None:
            raise AgentNotFoundError(f"Agent {agent_id} not found.")
        if agent.job_id is not None:
            raise JobStillRunningError(f"Agent {agent_id} is running a job and cannot be removed.")
        self._deregister(agent)

    # --- time ---------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Let everything happen that is due by now."""
        now = self._clock.now()
        for agent in list(self._state.agents.values()):
            if self._forget_at(agent) <= now:
                del self._state.agents[agent.id]
        for job in self._state.jobs.values():
            if job.state is JobState.RUNNING and self._lease_end(job) <= now:
                self._complete(job, JobResult.ABANDONED)
            elif job.state is JobState.QUEUED and self._offer_end(job) <= now:
                job.offered_at = None
            elif job.state is JobState.ACQUIRED and self._assign_at(job) <= now:
                job.state = JobState.ASSIGNED
                job.assigned_at = now
                self._tell(job, job.item("JobAssigned"))
        for scale_set in self._state.scale_sets.values():
            self._offer(scale_set)
            self._start(scale_set)

    def next_due(self) -> Instant | None:
        """Return when `settle` will next have something to do that time alone brings about."""
        due = [at for agent in self._state.agents.values() if (at := self._forget_at(agent)) < _NEVER]
        for job in self._state.jobs.values():
            if job.state is JobState.RUNNING:
                due.append(self._lease_end(job))
            elif job.state is JobState.QUEUED and job.offered_at is not None:
                due.append(self._offer_end(job))
            elif job.state is JobState.ACQUIRED:
                due.append(self._assign_at(job))
        return min(due, default=None)

    def _offer(self, scale_set: ScaleSet) -> None:
        capacity = scale_set.capacity
        taken = 0
        for job in self._state.jobs.values():
            if job.scale_set_id != scale_set.id or job.state is JobState.COMPLETED:
                continue
            if job.state is not JobState.QUEUED or job.offered_at is not None:
                taken += 1
            elif capacity is None or taken < capacity:
                taken += 1
                job.offered_at = self._clock.now()
                url = f"{self._settings.base_url}/_apis/runtime/runnerscalesets/{scale_set.id}/acquirejobs"
                self._tell(job, job.item("JobAvailable", acquireJobUrl=url))

    def _start(self, scale_set: ScaleSet) -> None:
        waiting = self._jobs_of(scale_set.id, JobState.ASSIGNED)
        if not waiting:
            return
        idle = [
            agent
            for agent in self._state.agents.values()
            if agent.scale_set_id == scale_set.id and agent.idle and agent.removed_at is None
        ]
        for job, agent in zip(waiting, idle, strict=False):
            now = self._clock.now()
            job.state = JobState.RUNNING
            job.started_at = job.renewed_at = now
            job.agent_id, job.agent_name = agent.id, agent.name
            agent.job_id = job.id
            agent.spent = True
            self._tell(job, job.item("JobStarted", runnerId=agent.id, runnerName=agent.name))

    def _complete(self, job: Job, result: JobResult) -> None:
        job.state = JobState.COMPLETED
        job.result = result
        job.finished_at = self._clock.now()
        agent = self._state.agents.get(job.agent_id) if job.agent_id is not None else None
        if agent is not None and agent.job_id == job.id:
            agent.job_id = None
            if result is JobResult.ABANDONED or not agent.online:
                self._deregister(agent)
        if job.offered_at is not None:
            runner = {"runnerId": job.agent_id or 0, "runnerName": job.agent_name}
            self._tell(job, job.item("JobCompleted", result=result.value, **runner))

    def _deregister(self, agent: Agent) -> None:
        agent.online = False
        if agent.removed_at is None:
            agent.removed_at = self._clock.now()
        if self._settings.deregistration_lag == 0:
            self._state.agents.pop(agent.id, None)

    def _tell(self, job: Job, item: WireObject) -> None:
        scale_set = self._state.scale_sets.get(job.scale_set_id)
        if scale_set is not None:
            scale_set.pending.append(item)
            self._changed(scale_set.id)

    def _jobs_of(self, scale_set_id: int, state: JobState) -> list[Job]:
        return [job for job in self._state.jobs.values() if job.scale_set_id == scale_set_id and job.state is state]

    def _scale_set(self, scale_set_id: int) -> ScaleSet:
        try:
            return self._state.scale_sets[scale_set_id]
        except KeyError:
            raise NotFoundError(f"Runner scale set {scale_set_id} not found.") from None

    def _forget_at(self, agent: Agent) -> Instant:
        if agent.removed_at is not None:
            return agent.removed_at + self._settings.deregistration_lag
        if agent.online or agent.job_id is not None:
            return _NEVER
        return max(agent.registered_at, agent.seen_at) + self._settings.agent_expiry

    def _lease_end(self, job: Job) -> Instant:
        return (job.renewed_at or 0) + self._settings.job_lease

    def _offer_end(self, job: Job) -> Instant:
        return _NEVER if job.offered_at is None else job.offered_at + self._settings.offer_lease

    def _assign_at(self, job: Job) -> Instant:
        return (job.acquired_at or 0) + self._settings.assign_delay
