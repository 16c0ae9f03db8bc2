"""Leader election: a Lease, renewed while we lead and watched while we don't.

`holds` is what writers ask before every batch. It needs no loop to be right: it compares our last successful renewal
with the clock, so a process that was stopped, starved or cut off stops leading by itself before anybody takes over.
What was checked and then delayed past that can't be excluded by any lease; the journal's epoch and the preconditions of
writes stand behind it.

Give it a port of its own with a deadline of a few seconds and one connection: a renewal must wait neither behind other
requests nor for an answer that comes after leadership is over.
"""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from arcfsm.domain.exchange import NO_ANSWER, Reply
from arcfsm.domain.instant import MILLISECOND, SECOND, Span
from arcfsm.domain.jsonvalue import text_at
from arcfsm.engine.ports import Alarm, ClusterPort, Runtime
from arcfsm.service.lease import (
    LEASES,
    Candidate,
    Step,
    Timing,
    attempting,
    body_of,
    changes_at,
    holds,
    next_step,
    read_lease,
    release_of,
    seen,
    written,
)

Clock: TypeAlias = Callable[[], Span]
"""Microseconds from any start, always forward, also while the process or the machine sleeps."""

RELEASE_TRIES: Final = 3
_RELEASE_WAIT: Final[Span] = 3 * SECOND
_LOOK_AGAIN: Final[Span] = 20 * MILLISECOND


def steady_clock() -> Span:
    """Return the machine's own time since it started; time asleep counts where the system can tell."""
    which = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime_ns(which) // 1_000


def own_identity(environment: Mapping[str, str]) -> str:
    """Return an identity that no other process ever has: pod name or host name, and chance."""
    return f"{environment.get('POD_NAME') or socket.gethostname()}_{secrets.token_hex(4)}"


class Leadership:
    """One candidate for one lease."""

    def __init__(
        self,
        cluster: ClusterPort,
        runtime: Runtime,
        *,
        namespace: str,
        name: str,
        identity: str,
        clock: Clock = steady_clock,
        timing: Timing = Timing(),  # noqa: B008  # frozen
        changed: Callable[[bool], None] = lambda _: None,
    ) -> None:
        """`changed` is told whenever leadership begins or ends. After an end it may begin again."""
        self._cluster = cluster
        self._runtime = runtime
        self._namespace = namespace
        self._name = name
        self._clock = clock
        self._timing = timing
        self._changed = changed
        self._candidate = Candidate(identity, timing)
        self._known = False
        """Whether what we know of the lease is what our last request showed, so that it can be written to."""
        self._told = False
        self._released = False
        self._busy = False
        self._alarm: Alarm | None = None
        self.trouble = ""
        """Why the lease could not be read or written the last time, in one line; "" where it could."""

    @property
    def holder(self) -> str:
        """Who held the lease when it was last seen, "" for nobody."""
        return self._candidate.view.holder if self._candidate.view is not None else ""

    @property
    def term(self) -> int:
        """How often the holder had changed when it was last seen: grows with every leader while the lease exists."""
        return self._candidate.view.transitions if self._candidate.view is not None else 0

    def holds(self) -> bool:
        """Whether we lead at this moment. To be asked before every batch of writes."""
        return not self._released and holds(self._candidate, self._clock())

    async def run(self) -> None:
        """Stand for election until `release`."""
        while True:
            self._busy = True
            try:
                pause = await self._turn()
            finally:
                self._busy = False
            self._note()
            if self._ended():
                return
            await self._runtime.sleep(pause)
            # A process that was stopped has lost its lease without a request of its own.
            self._note()
            if self._ended():
                return

    async def release(self) -> None:
        """Stop leading at once and give the lease up, so that another need not wait for it to run out.

        To be called once nothing of ours is under way any more. Takes a few seconds at most.
        """
        self._released = True
        self._note()
        waited: Span = 0
        while self._busy and waited < _RELEASE_WAIT:
            await self._runtime.sleep(_LOOK_AGAIN)
            waited += _LOOK_AGAIN
        for _ in range(RELEASE_TRIES):
            # Where nothing can be learned it stays ours until it runs out, which is safe and merely slower.
            if not self._known and not await self._look():
                continue
            view = self._candidate.view
            if view is None or not self._candidate.owns:
                return
            self._known = False
            reply = await self._cluster.patch(
                LEASES, self._namespace, self._name, release_of(view, self._runtime.now())
            )
            if reply.ok:
                self._candidate = seen(self._candidate, read_lease(reply.body), self._clock())
                self._known = True
                return

    async def _turn(self) -> Span:
        """Do one thing, and return how long to rest."""
        # Only a leader may write without looking: what it wrote last is what is there, or the write fails.
        if not (self._known and self._candidate.owns) and not await self._look():
            return self._timing.poll_every
        began = self._clock()
        step = next_step(self._candidate, began)
        if step is Step.WAIT or self._released:
            return self._standby()
        self._candidate = attempting(self._candidate, step, began)
        body = body_of(self._candidate, step, self._runtime.now())
        self._known = False
        if step is Step.CREATE:
            reply = await self._cluster.create(
                LEASES, self._namespace, {**_HEAD, "metadata": {"name": self._name}, **body}
            )
        else:
            reply = await self._cluster.patch(LEASES, self._namespace, self._name, body)
        if reply.ok:
            self._known = True
            self.trouble = ""
            self._candidate = written(self._candidate, read_lease(reply.body), began, self._clock())
            spent = self._clock() - began
            return max(self._timing.renew_every - spent, _LOOK_AGAIN)
        if reply.status in {404, 409}:
            # Somebody was faster, or touched it, or removed it: a leader must know which at once.
            return _LOOK_AGAIN if step is Step.RENEW else self._standby()
        self.trouble = _told(reply, step)
        return max(self._timing.poll_every, min(reply.retry_after_s * SECOND, self._timing.renew_every))

    async def _look(self) -> bool:
        reply = await self._cluster.get(LEASES, self._namespace, self._name)
        if not reply.ok and reply.status != 404:
            self.trouble = _told(reply, "read")
            return False
        self._candidate = seen(self._candidate, read_lease(reply.body) if reply.ok else None, self._clock())
        self._known = True
        self.trouble = ""
        self._note()
        return True

    def _ended(self) -> bool:
        return self._released

    def _standby(self) -> Span:
        # Spread, so that candidates that started together don't stay together.
        return int(self._timing.poll_every * (0.75 + 0.25 * self._runtime.jitter()))

    def _note(self) -> None:
        """Tell of a change of leadership, and have the next one that comes by itself noticed."""
        now = self._clock()
        leads = not self._released and holds(self._candidate, now)
        if leads is not self._told:
            self._told = leads
            self._changed(leads)
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        at = None if self._released else changes_at(self._candidate, now)
        if at is not None:
            self._alarm = self._runtime.call_after(at - now, self._note)


_HEAD: Final = {"apiVersion": LEASES.api_version, "kind": "Lease"}


def _told(reply: Reply, what: str) -> str:
    why = reply.detail if reply.status == NO_ANSWER else f"{reply.status} {text_at(reply.body, 'message')}".strip()
    return f"lease: {what}: {why}"
