"""Nobody's job is cut off by us (R4, H23, H29)."""

from __future__ import annotations

from arcfsm.domain.kinds import Kind
from arcfsm.sim.faults.cluster import ClusterRequest
from arcfsm.sim.invariants.invariant import Invariant, by_controller, target_of
from arcfsm.sim.service import JobState

_WITH_JOBS = (Kind.RUNNER, Kind.POD)


class JobsAreNotCutOff(Invariant):
    """A runner with an open job is not deleted, nor its pod, before the service agreed or the job ended."""

    def before(self, request: ClusterRequest, user: str) -> None:
        """Judge a deletion by what is true at this moment."""
        target = target_of(request) if request.method == "DELETE" and by_controller(user) else None
        if target is None or target.kind not in _WITH_JOBS:
            return
        service = self.world.service.service
        running = {job.id for job in service.all_jobs if job.state is JobState.RUNNING}
        for agent in service.agents:
            working = agent.removed_at is None and agent.online and agent.job_id in running
            if working and agent.name == target.name:
                self.violated(f"{target.kind} {target.name} is deleted while it works at job {agent.job_id}")
