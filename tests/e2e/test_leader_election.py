"""Leader election over real HTTPS: what we write is a Lease that the API server takes, and a hand-over is quick."""

from __future__ import annotations

import asyncio
import time

import pytest

from arcfsm.cluster.connection import AccessSource, ClusterAccess, HttpCluster
from arcfsm.domain.instant import SECOND
from arcfsm.service.leadership import Leadership
from arcfsm.service.lease import LEASES, Timing
from tests.e2e.served import Running

TIMING = Timing(
    duration=2 * SECOND, give_up=int(1.2 * SECOND), renew_every=int(0.4 * SECOND), poll_every=int(0.2 * SECOND)
)


class LoopRuntime:
    """Time of the event loop."""

    def now(self):
        return time.time_ns() // 1_000

    def call_after(self, span, action):
        return asyncio.get_running_loop().call_later(span / SECOND, action)

    async def sleep(self, span):
        await asyncio.sleep(span / SECOND)

    def jitter(self):
        return 0.5


@pytest.fixture
def running(tmp_path):
    made = Running(tmp_path)
    yield made
    made.stop()


async def eventually(check, seconds=10):
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, "it did not come to pass"
        await asyncio.sleep(0.02)


def test_two_candidates(running):
    async def scenario():
        ports = [
            HttpCluster(ClusterAccess(AccessSource(str(running.kubeconfig)), connections=1), deadline_s=1.0)
            for _ in range(2)
        ]
        told = []
        candidates = [
            Leadership(
                port, LoopRuntime(), namespace="default", name="arcfsm-1", identity=f"c{number}", timing=TIMING,
                changed=lambda leads, number=number: told.append((number, leads)),
            )
            for number, port in enumerate(ports)
        ]  # fmt: skip
        runs = [asyncio.ensure_future(candidates[0].run())]
        await eventually(candidates[0].holds)
        runs.append(asyncio.ensure_future(candidates[1].run()))
        await asyncio.sleep(2.5)
        assert [candidate.holds() for candidate in candidates] == [True, False]
        started = time.monotonic()
        await candidates[0].release()
        await eventually(candidates[1].holds)
        assert time.monotonic() - started < 1.5
        lease = (await ports[0].get(LEASES, "default", "arcfsm-1")).body["spec"]
        assert (lease["holderIdentity"], lease["leaseDurationSeconds"]) == ("c1", 2)
        assert lease["leaseTransitions"] == candidates[1].term >= 1
        assert candidates[1].trouble == ""
        await candidates[1].release()
        lease = (await ports[0].get(LEASES, "default", "arcfsm-1")).body["spec"]
        assert lease.get("holderIdentity", "") == ""
        assert told == [(0, True), (0, False), (1, True), (1, False)]
        await asyncio.wait_for(asyncio.gather(*runs), 3)
        for port in ports:
            port.close()

    asyncio.run(scenario())
