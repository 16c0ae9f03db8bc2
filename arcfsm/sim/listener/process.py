"""The listener as a running process.

Configuration, machine, clients, signals. It runs in a container of a simulated pod.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final

from arcfsm.domain.instant import MILLISECOND, SECOND, Span
from arcfsm.domain.kinds import RESOURCES, Kind
from arcfsm.sim.clock import Clock
from arcfsm.sim.faults.cluster import ClusterLink, ClusterResponse
from arcfsm.sim.faults.service import ServiceLink
from arcfsm.sim.kernel import Kernel
from arcfsm.sim.kubelet.program import ContainerRun
from arcfsm.sim.listener.config import CONFIG_KEY, ConfigError, ListenerConfig
from arcfsm.sim.listener.effects import (
    Answer,
    Effect,
    Exit,
    GetMessage,
    GetRunner,
    PatchRunnerSet,
    PatchRunnerStatus,
    Wait,
)
from arcfsm.sim.listener.machine import ListenerMachine
from arcfsm.sim.listener.service_client import ServiceClient

CONFIG_VOLUME: Final = "listener-config"
_THROTTLED_RETRIES_MAX: Final = 10
Note = Callable[[str, str], None]


class ListenerProcess:
    """One start of the listener."""

    def __init__(
        self,
        kernel: Kernel,
        run: ContainerRun,
        cluster: ClusterLink,
        service: ServiceLink,
        mounts: ClusterLink,
        clock: Clock,
        note: Note,
    ) -> None:
        """Take the process's own links, and the kubelet's, by which its configuration Secret is mounted."""
        self.machine: ListenerMachine | None = None
        self._kernel = kernel
        self._run = run
        self._cluster = cluster
        self._service = service
        self._mounts = mounts
        self._clock = clock
        self._note = note

    async def run(self) -> int:
        """Run to the end; the exit code is 0 after SIGTERM and 1 otherwise."""
        try:
            config = ListenerConfig.parse(await self._read_config())
        except ConfigError as error:
            self._note("exit", f"1 {error}")
            return 1
        machine = self.machine = ListenerMachine(config, owner=self._run.pod_name)
        client = ServiceClient(config, self._service.send, self._sleep, self._clock)
        bucket = TokenBucket(self._clock, config.qps, config.burst)
        effect = machine.start()
        while not isinstance(effect, Exit):
            effect = await self._turn(machine, effect, client, bucket)
        self._note("exit", f"{effect.code} {effect.reason}")
        return effect.code

    def killed(self) -> None:
        """The session stays behind until its lease is over."""
        self._note("killed", "")

    async def _turn(
        self, machine: ListenerMachine, effect: Effect, client: ServiceClient, bucket: TokenBucket
    ) -> Effect:
        if self._run.term.done:
            machine.terminate()
        if not machine.interruptible:
            return machine.step(await self._perform(effect, client, bucket))
        if self._run.term.done:
            return machine.interrupted()
        poll = self._kernel.spawn(self._perform(effect, client, bucket), f"listener/{self._run.pod_name}")
        if await self._kernel.first(poll, self._run.term) == 0:
            return machine.step(poll.result())
        poll.kill()
        machine.terminate()
        return machine.interrupted()

    async def _perform(self, effect: Effect, client: ServiceClient, bucket: TokenBucket) -> Answer:
        config = self.machine.config if self.machine is not None else None
        if config is None:
            raise ValueError("there is no effect without a configuration")
        namespace = config.runner_set_namespace
        match effect:
            case Wait(milliseconds):
                await self._kernel.sleep(milliseconds * MILLISECOND)
                return Answer(200, {})
            case PatchRunnerSet():
                self._note("patch", f"replicas={effect.replicas or 0} patchID={effect.patch_id}")
                resource, name, body, part = RESOURCES[Kind.RUNNER_SET], config.runner_set_name, effect.body, ""
            case PatchRunnerStatus(name, body):
                self._note("started", name)
                resource, part = RESOURCES[Kind.RUNNER], "status"
            case GetRunner(name):
                await self._sleep(bucket.take())
                return _answer(await self._cluster.get(RESOURCES[Kind.RUNNER], namespace, name))
            case _:
                answer = await client.perform(effect)
                if not isinstance(effect, GetMessage) or answer.status != 202:
                    self._note(type(effect).__name__, str(answer.status))
                return answer
        return await self._patch(bucket, lambda: self._cluster.patch(resource, namespace, name, body, part))

    async def _patch(self, bucket: TokenBucket, send: Callable[[], Any]) -> Answer:
        for _ in range(_THROTTLED_RETRIES_MAX):
            await self._sleep(bucket.take())
            response: ClusterResponse | None = await send()
            if response is None or response.status != 429:
                return _answer(response)
            await self._kernel.sleep(SECOND)
        return Answer(429, {}, "the API server kept asking to slow down")

    async def _read_config(self) -> bytes:
        name = next(
            (
                volume["secret"]["secretName"]
                for volume in self._run.pod["spec"].get("volumes") or ()
                if volume["name"] == CONFIG_VOLUME
            ),
            "",
        )
        secret = await self._mounts.get(RESOURCES[Kind.SECRET], self._run.namespace, name)
        if secret is None or not secret.ok:
            raise ConfigError(f"the volume {CONFIG_VOLUME} could not be mounted")
        return base64.b64decode((secret.body.get("data") or {}).get(CONFIG_KEY, ""))

    async def _sleep(self, span: Span) -> None:
        if span > 0:
            await self._kernel.sleep(span)


class TokenBucket:
    """P9: so many requests per second, and so many at once."""

    def __init__(self, clock: Clock, qps: float, burst: int) -> None:
        self._clock = clock
        self._each = int(SECOND / qps)
        self._burst = burst
        self._free_at = clock.now() - self._each * burst

    def take(self) -> Span:
        """Take a token and return how long to wait before using it."""
        now = self._clock.now()
        self._free_at = max(self._free_at, now - self._each * self._burst) + self._each
        return max(0, self._free_at - now)


def _answer(response: ClusterResponse | None) -> Answer:
    if response is None:
        return Answer(0, {})
    body = response.body if isinstance(response.body, dict) else {}
    return Answer(response.status, body, "" if response.ok else response.message)
