"""The dispatcher: which work is carried out now. Bounded workers per pool, fair among scale sets, in order per lane.

One thing that hangs holds one worker until its deadline, and no scale set gets more than its share of a pool while
others wait: a stuck namespace or a hanging service slows nobody else.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

from arcfsm.engine.effects.work import Pool, Work

WORKERS: Final = {Pool.CLUSTER: 48, Pool.SERVICE: 48}
"""How much is under way at once in each pool."""
SHARE: Final = 2 / 3
"""The part of a pool that one scale set may fill."""
Lane = tuple[str, ...]


@dataclass(slots=True)
class _Queue:
    """One pool."""

    most: int
    waiting: OrderedDict[str, deque[Lane]] = field(default_factory=OrderedDict)
    """Lanes that are ready, by scale set; the scale set that was served last stands last."""
    busy: dict[str, int] = field(default_factory=dict)
    """Workers by scale set."""

    @property
    def running(self) -> int:
        return sum(self.busy.values())


class Dispatcher:
    """Takes work in, carries it out when it is its turn."""

    def __init__(
        self,
        carry_out: Callable[[Work], Coroutine[Any, Any, None]],
        spawn: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._carry_out = carry_out
        self._spawn = spawn
        self._lanes: dict[tuple[Pool, Lane], deque[Work]] = {}
        self._queues = {pool: _Queue(most) for pool, most in WORKERS.items()}
        self._closed = False

    @property
    def pending(self) -> int:
        """How much work was taken in and is not done."""
        return sum(len(lane) for lane in self._lanes.values())

    def submit(self, work: Work) -> None:
        """Take work in."""
        key = (work.pool, work.lane)
        lane = self._lanes.get(key)
        if lane is not None:
            lane.append(work)
            return
        self._lanes[key] = deque((work,))
        self._queues[work.pool].waiting.setdefault(work.correlation, deque()).append(work.lane)
        self._start(work.pool)

    def close(self) -> None:
        """Start nothing more."""
        self._closed = True

    def _start(self, pool: Pool) -> None:
        queue = self._queues[pool]
        while not self._closed and queue.running < queue.most:
            chosen = next((one for one in queue.waiting if self._may_have_more(queue, one)), None)
            if chosen is None:
                return
            lanes = queue.waiting[chosen]
            lane = lanes.popleft()
            if lanes:
                queue.waiting.move_to_end(chosen)
            else:
                del queue.waiting[chosen]
            queue.busy[chosen] = queue.busy.get(chosen, 0) + 1
            self._spawn(self._run(pool, lane, chosen))

    def _may_have_more(self, queue: _Queue, correlation: str) -> bool:
        return queue.busy.get(correlation, 0) < max(1, int(queue.most * SHARE))

    async def _run(self, pool: Pool, lane: Lane, correlation: str) -> None:
        work = self._lanes[pool, lane]
        queue = self._queues[pool]
        while work and not self._closed:
            await self._carry_out(work[0])
            work.popleft()
        del self._lanes[pool, lane]
        queue.busy[correlation] -= 1
        if not queue.busy[correlation]:
            del queue.busy[correlation]
        self._start(pool)
