"""Candidates, a store of leases between them, and time in one hand. Everything can be late, lost or stopped."""

from __future__ import annotations

import random
from collections.abc import Callable

from arcfsm.domain.exchange import NO_ANSWER, Reply
from arcfsm.domain.instant import MILLISECOND, SECOND
from arcfsm.service.leadership import Leadership
from arcfsm.service.lease import Timing
from arcfsm.sim.api.patching import merge_patch
from arcfsm.sim.kernel import Kernel

NAMESPACE, NAME = "arc-systems", "arcfsm-1"


class Leases:
    """What the API server stores."""

    def __init__(self):
        self.stored: dict[str, dict] = {}
        self.version = 0
        self.requests: list[tuple[str, str]] = []

    def get(self, name):
        found = self.stored.get(name)
        return Reply(404) if found is None else Reply(200, found)

    def list(self):
        return Reply(200, {"items": list(self.stored.values())})

    def create(self, body):
        name = body["metadata"]["name"]
        return Reply(409) if name in self.stored else self._store(name, {**body, "metadata": {"name": name}}, 201)

    def patch(self, name, body):
        found = self.stored.get(name)
        if found is None:
            return Reply(404)
        wanted = body.get("metadata", {}).get("resourceVersion")
        if wanted is not None and wanted != found["metadata"]["resourceVersion"]:
            return Reply(409)
        return self._store(name, merge_patch(found, body), 200)

    def delete(self, name):
        self.stored.pop(name, None)

    def hold(self, name, holder, **spec):
        """Be another controller that writes its lease."""
        body = {"spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, **spec}}
        return self.patch(name, body) if name in self.stored else self.create({"metadata": {"name": name}, **body})

    def _store(self, name, body, status):
        self.version += 1
        metadata = {**body["metadata"], "resourceVersion": str(self.version)}
        self.stored[name] = {**body, "metadata": metadata}
        return Reply(status, self.stored[name])


class Process:
    """One candidate's process: its port and its runtime. It can be stopped (SIGSTOP), cut off and slowed down."""

    def __init__(self, kernel: Kernel, leases: Leases, name: str, seed: int = 0):
        self.kernel = kernel
        self.leases = leases
        self.name = name
        self.chance = random.Random(f"{seed}/{name}")
        self.stopped_until = 0
        self.latency = 5 * MILLISECOND
        self.lost = 0.0
        """The share of requests that are lost on the way there, and again on the way back."""
        self.refusal: Reply | None = None
        self.wall_offset = 0
        self.clock_offset = self.chance.randrange(10**12)
        self.requests: list[str] = []

    # --- Runtime ---------------------------------------------------------------------------------------------------

    def now(self):
        return self.kernel.now() + self.wall_offset

    def clock(self):
        """Its own steady clock: of another start than anybody else's, going on while it is stopped."""
        return self.kernel.now() + self.clock_offset

    async def sleep(self, span):
        await self.kernel.sleep(max(span, 0))
        await self._go_on()

    def call_after(self, span, action: Callable[[], None]):
        def act():
            if self.kernel.now() < self.stopped_until:
                self.kernel.at(self.stopped_until, act, self.name)
            else:
                action()

        return self.kernel.after(max(span, 0), act, self.name)

    def spawn(self, coroutine):
        self.kernel.spawn(coroutine, self.name)

    def jitter(self):
        return self.chance.random()

    # --- ClusterPort -----------------------------------------------------------------------------------------------

    async def get(self, resource, namespace, name):
        return await self._call("get", lambda: self.leases.get(name))

    async def list(self, resource, namespace="", **options):
        return await self._call("list", self.leases.list)

    async def create(self, resource, namespace, body):
        return await self._call("create", lambda: self.leases.create(body))

    async def patch(self, resource, namespace, name, body, *, subresource=""):
        return await self._call("patch", lambda: self.leases.patch(name, body))

    async def _call(self, verb, act):
        self.requests.append(verb)
        there, back = (int(self.latency * (0.5 + self.chance.random())) for _ in range(2))
        await self.kernel.sleep(there)
        if self.refusal is not None:
            reply = self.refusal
        elif self.chance.random() < self.lost:
            reply, back = Reply(NO_ANSWER, detail="no answer in time"), 3 * SECOND
        else:
            reply = act()
            if self.chance.random() < self.lost:
                reply, back = Reply(NO_ANSWER, detail="no answer in time"), 3 * SECOND
        await self.kernel.sleep(back)
        await self._go_on()
        return reply

    async def _go_on(self):
        while self.kernel.now() < self.stopped_until:
            await self.kernel.sleep(self.stopped_until - self.kernel.now())


class Electorate:
    """Some candidates for one lease."""

    def __init__(self, count: int, *, seed: int = 0, timing: Timing | None = None):
        self.kernel = Kernel(seed, start=10**15)
        self.leases = Leases()
        self.processes = [Process(self.kernel, self.leases, f"p{number}", seed) for number in range(count)]
        self.told: list[tuple[int, str, bool]] = []
        self.candidates = [self._candidate(process, timing or Timing()) for process in self.processes]

    def _candidate(self, process, timing):
        def changed(leads):
            self.told.append((self.kernel.now(), process.name, leads))

        return Leadership(
            process, process, namespace=NAMESPACE, name=NAME, identity=process.name, clock=process.clock,
            timing=timing, changed=changed,
        )  # fmt: skip

    def start(self, *numbers):
        for number in numbers or range(len(self.candidates)):
            self.processes[number].spawn(self.candidates[number].run())

    def leaders(self):
        return [number for number, candidate in enumerate(self.candidates) if candidate.holds()]

    def run(self, seconds, check: Callable[[], None] = lambda: None):
        """Go on, looking every tenth of a second that there is at most one leader."""
        end = self.kernel.now() + int(seconds * SECOND)
        while self.kernel.now() < end:
            self.kernel.run(min(self.kernel.now() + 100 * MILLISECOND, end))
            assert len(self.leaders()) <= 1, (self.leaders(), self.told)
            check()

    def until(self, check: Callable[[], bool], seconds=60):
        """Go on until something is so; return the seconds it took."""
        begin = self.kernel.now()
        while not check():
            assert self.kernel.now() - begin < seconds * SECOND, "it did not come to pass"
            self.run(0.1)
        return (self.kernel.now() - begin) / SECOND
