"""One boundary between a client process and a server: where messages are slow, refused, lost or doubled.

A call travels there, takes effect at one instant, and its answer travels back; each of the three can go wrong by
itself, so a client meets every case a network has: nothing happened and no answer; it happened and no answer; it
happened and an error came back; it happened twice. What can never happen is a half effect, since the servers are
atomic.

The draws of a boundary come in a fixed number per call from a stream of its own, so runs stay comparable when a
client changes what it sends but not how often.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from arcfsm.domain.instant import MILLISECOND, SECOND, Instant, Span
from arcfsm.sim.faults.plan import BoundaryName, FaultPlan
from arcfsm.sim.kernel import Kernel, random_stream

R = TypeVar("R")
T = TypeVar("T")

CALL_TIMEOUT: Final[Span] = 10 * SECOND
"""How long a client waits for an answer that never comes."""
READ_ERRORS: Final = (429, 500, 503, 504)
WRITE_ERRORS: Final = (409, 429, 500, 503, 504)
WATCH_ERRORS: Final = (410, 429, 500, 503)


@dataclass
class Availability:
    """Whether a server is up, and the connections that break when it goes down."""

    down: int = 0
    """How many reasons it has to be down; it is up at zero."""
    generation: int = 0
    """Grows when all connections break."""

    @property
    def up(self) -> bool:
        """Whether it answers."""
        return self.down == 0


@dataclass(frozen=True)
class Verdict:
    """What happens to one call."""

    there: Span
    back: Span
    reaches: bool = True
    twice: bool = False
    error: int = 0
    """An error status to answer with instead; after the effect when `reaches` is true."""
    answered: bool = True


class Boundary(Generic[R]):
    """Calls of one client process to one server."""

    def __init__(
        self,
        kernel: Kernel,
        plan: FaultPlan,
        name: BoundaryName,
        client: str,
        server: Availability,
        refuse: Callable[[int], R],
    ) -> None:
        self.name = name
        self.client = client
        self._kernel = kernel
        self._server = server
        self._refuse = refuse
        self._rates = plan.rates_of(name)
        self._quiet_after: Instant = kernel.start + plan.quiet_after
        self._stream = random_stream(plan.seed, "boundary", name.value, client)

    async def call(self, act: Callable[[], R], *, writes: bool, errors: tuple[int, ...] = ()) -> R | None:
        """Carry a call there and back. None means that no answer came: it may or may not have taken effect.

        `errors` are the statuses an injected refusal may have, where they differ from those of reads and writes.
        """
        verdict = self.judge(writes=writes, errors=errors)
        await self._kernel.sleep(verdict.there)
        if not self._server.up:
            await self._kernel.sleep(verdict.back)
            return None
        answer: R | None = None
        if verdict.reaches:
            answer = act()
            if verdict.twice:
                answer = act()
        if not verdict.answered:
            await self._kernel.sleep(CALL_TIMEOUT if verdict.reaches else verdict.back)
            return None
        generation = self._server.generation
        await self._kernel.sleep(verdict.back)
        if self._server.generation != generation:
            return None
        return self._refuse(verdict.error) if verdict.error else answer

    def deliver(self, item: T, earliest: Instant, put: Callable[[T], None], lane: str) -> tuple[Instant, bool]:
        """Deliver a watch event, never before `earliest` (when its predecessor arrived).

        Returns when it arrives and whether the watch breaks after it.
        """
        rates = self._rates
        slow, how_slow, repeated, dropped = (self._stream.random() for _ in range(4))
        quiet = self._quiet
        at = self._kernel.now() + rates.latency // 2
        if not quiet and slow < rates.slow:
            at += int(how_slow * rates.slow_max)
        at = max(at, earliest)
        self._kernel.at(at, lambda: put(item), lane)
        if not quiet and repeated < rates.watch_repeated:
            self._kernel.at(at, lambda: put(item), lane)
        return at, not quiet and dropped < rates.watch_dropped

    def judge(self, *, writes: bool, errors: tuple[int, ...] = ()) -> Verdict:
        """Draw what happens to the next call."""
        rates = self._rates
        slow, how_slow, where, fate, pick, twice, jitter = (self._stream.random() for _ in range(7))
        there = back = rates.latency // 2 + int(jitter * MILLISECOND)
        if self._quiet:
            return Verdict(there, back)
        if slow < rates.slow:
            late = int(how_slow * rates.slow_max)
            there, back = (there + late, back) if where < 0.5 else (there, back + late)
        errors = errors or (WRITE_ERRORS if writes else READ_ERRORS)
        error = errors[int(pick * len(errors))]
        for share, verdict in (
            (rates.refused, Verdict(there, back, reaches=False, error=error)),
            (rates.refused_after, Verdict(there, back, error=504 if error in {409, 410, 429} else error)),
            (rates.lost, Verdict(there, back, reaches=False, answered=False)),
            (rates.lost_after, Verdict(there, back, answered=False)),
        ):
            if fate < share:
                return verdict
            fate -= share
        return Verdict(there, back, twice=writes and twice < rates.duplicated)

    @property
    def _quiet(self) -> bool:
        return self._kernel.now() >= self._quiet_after
