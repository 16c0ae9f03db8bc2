"""The runner: the program in a runner's container, an agent of the Actions service.

It starts with its JIT configuration, waits for its one job, works as long as the job takes, reports, and exits: 0
after its job, 1 when its registration is gone. A runner that is killed says nothing; the service finds out when the
job's lease ends.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Final

from arcfsm.domain.instant import SECOND, Span
from arcfsm.domain.kinds import RESOURCES, Kind
from arcfsm.sim.faults.cluster import ClusterLink
from arcfsm.sim.faults.service import ServiceHost
from arcfsm.sim.kernel import Kernel
from arcfsm.sim.kubelet.program import ContainerRun
from arcfsm.sim.service.errors import ServiceError
from arcfsm.sim.service.model import Agent, JobResult

JIT_CONFIG_ENV: Final = "ACTIONS_RUNNER_INPUT_JITCONFIG"
_RENEW: Final[Span] = 60 * SECOND
_RETRY: Final[Span] = 5 * SECOND
_TERMINATED: Final = 143
Note = Callable[[str, str], None]


class RunnerProcess:
    """One start of a runner."""

    def __init__(self, kernel: Kernel, run: ContainerRun, host: ServiceHost, mounts: ClusterLink, note: Note) -> None:
        """Take the kubelet's link, by which the JIT Secret becomes an environment variable."""
        self._kernel = kernel
        self._run = run
        self._host = host
        self._mounts = mounts
        self._note = note
        self._exit_code = run.life.exit_code
        self._agent: Agent | None = None

    async def run(self) -> int:
        """Run to the end and return the exit code."""
        jit_config = await self._read_jit_config()
        while self._host.service.outage is not None or not self._host.availability.up:
            if await self._kernel.first(self._run.term, self._kernel.sleep(_RETRY)) == 0:
                return _TERMINATED
        try:
            agent = self._agent = self._host.service.connect_agent(jit_config)
        except ServiceError as error:
            self._note("refused", str(error))
            return 1
        self._note("online", agent.name)
        return await (self._linger(agent) if agent.used_again else self._work(agent))

    def killed(self) -> None:
        """The connection breaks."""
        if self._agent is not None:
            self._host.service.jobs.disconnect(self._agent.id)
            self._host.arm()

    async def _linger(self, agent: Agent) -> int:
        """Started again with a registration that was used already: no job ever comes, and nobody tells it to go."""
        self._note("lingers", agent.name)
        while agent.removed_at is None:
            if await self._kernel.first(self._run.term, self._host.news(), self._kernel.sleep(_RENEW)) == 0:
                self._host.service.jobs.disconnect(agent.id)
                self._host.arm()
                return _TERMINATED
        return 1

    async def _work(self, agent: Agent) -> int:
        jobs = self._host.service.jobs
        while (job := jobs.current_job(agent.id)) is None:
            if agent.removed_at is not None or agent.spent:
                return 0 if agent.spent else 1
            if await self._kernel.first(self._run.term, self._host.news(), self._kernel.sleep(_RENEW)) == 0:
                jobs.disconnect(agent.id)
                self._host.arm()
                return _TERMINATED
        self._note("job", job.id)
        done_at = self._kernel.now() + job.duration
        while (left := done_at - self._kernel.now()) > 0:
            waited = await self._kernel.first(self._run.term, self._host.news(), self._kernel.sleep(min(left, _RENEW)))
            if waited == 0:
                return self._finish(agent, JobResult.FAILED, _TERMINATED)
            if jobs.current_job(agent.id) is None:
                return self._finish(agent, JobResult.CANCELED, 0)
        result = JobResult.SUCCEEDED if self._exit_code == 0 else JobResult.FAILED
        return self._finish(agent, result, self._exit_code)

    def _finish(self, agent: Agent, result: JobResult, code: int) -> int:
        self._host.service.jobs.finish(agent.id, result)
        self._host.arm()
        return code

    async def _read_jit_config(self) -> str:
        source = (self._run.env(JIT_CONFIG_ENV).get("valueFrom") or {}).get("secretKeyRef") or {}
        secret = await self._mounts.get(RESOURCES[Kind.SECRET], self._run.namespace, str(source.get("name", "")))
        if secret is None or not secret.ok:
            return ""
        data = secret.body.get("data") or {}
        return base64.b64decode(data.get(str(source.get("key", "")), "")).decode()
