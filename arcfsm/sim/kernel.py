"""The discrete-event kernel: one queue of things to do, one notion of now, one seed.

Everything in a simulated world runs as a callback or as a coroutine on this queue, one at a time, in one thread. The
order is total and depends on the seed alone: first by virtual time; things due at the same instant by a rank drawn
from the seed per *lane*; within a lane by the order in which they were asked for. A lane is one sequential actor (a
process, one watch connection): the kernel explores how actors interleave, but never reorders what one of them does.

Time jumps from event to event, so an idle hour costs nothing. There is no cancellation of a running coroutine but
`kill`, which is what kill -9 is to a process: it stops between two awaits and nobody is told.
"""

from __future__ import annotations

import heapq
import random
import zlib
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Final, Generic, TypeVar

from arcfsm.domain.instant import Instant, Span, format_instant
from arcfsm.sim.clock import SIMULATION_START

T = TypeVar("T")
_UNSET: Final = object()
_MASK: Final = (1 << 64) - 1
_MIX_1: Final = 0x9E3779B97F4A7C15
_MIX_2: Final = 0xBF58476D1CE4E5B9


def random_stream(seed: int, *names: str) -> random.Random:
    """Return a source of randomness of its own for the named purpose.

    Streams of one seed do not disturb each other: one more draw in one leaves all others as they were. Seeding by
    text goes through SHA-512, so it depends on neither the hash seed nor the Python version.
    """
    return random.Random("/".join((str(seed), *names)))  # noqa: S311  # determinism is the point; nothing here is secret


class SimulationError(Exception):
    """The simulated world itself broke: a coroutine raised and nobody waited for it, or a bound was passed."""


class Future(Generic[T]):
    """A value that somebody will have later. Set once; further settings are ignored, as late answers are."""

    __slots__ = ("_callbacks", "_error", "_value")

    def __init__(self) -> None:
        self._value: Any = _UNSET
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[], None]] = []

    @property
    def done(self) -> bool:
        """Whether there is a value or an error."""
        return self._value is not _UNSET or self._error is not None

    @property
    def watched(self) -> bool:
        """Whether somebody waits for it."""
        return bool(self._callbacks)

    def resolve(self, value: T) -> None:
        """Give it its value."""
        if not self.done:
            self._value = value
            self._notify()

    def fail(self, error: BaseException) -> None:
        """Give it an error, which is raised where it is awaited."""
        if not self.done:
            self._error = error
            self._notify()

    def result(self) -> T:
        """Return the value or raise the error. Raises SimulationError when there is neither yet."""
        if self._error is not None:
            raise self._error
        if self._value is _UNSET:
            raise SimulationError("the result was asked for before it was there")
        value: T = self._value
        return value

    def when_done(self, callback: Callable[[], None]) -> None:
        """Call back once it is done; at once if it already is."""
        if self.done:
            callback()
        else:
            self._callbacks.append(callback)

    def _notify(self) -> None:
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def __await__(self) -> Generator[Future[Any], None, T]:
        if not self.done:
            yield self
        return self.result()


class Task(Future[T]):
    """A running coroutine, and the future of what it returns."""

    __slots__ = ("_coroutine", "_kernel", "killed", "lane")

    def __init__(self, kernel: Kernel, coroutine: Coroutine[Any, Any, T], lane: str) -> None:
        super().__init__()
        self._kernel = kernel
        self._coroutine = coroutine
        self.lane = lane
        self.killed = False

    def kill(self) -> None:
        """Stop it for good, between two awaits. What it awaited goes on without it; who awaits it waits for ever."""
        if not self.done and not self.killed:
            self.killed = True
            self._kernel.forget(self)
            self._coroutine.close()

    def step(self) -> None:
        """Run to the next await. Called by the kernel alone."""
        if self.killed:
            return
        try:
            awaited = self._coroutine.send(None)
        except StopIteration as end:
            self._kernel.forget(self)
            self.resolve(end.value)
        except Exception as error:  # noqa: BLE001  # whatever a process raises is its result
            self._kernel.forget(self)
            if self.watched:
                self.fail(error)
            else:
                self._kernel.crash(self.lane, error)
        else:
            awaited.when_done(lambda: self._kernel.after(0, self.step, self.lane))


class Channel(Generic[T]):
    """An ordered queue between actors, read by one of them. Closing it lets the reader drain it first."""

    __slots__ = ("_closed", "_items", "_waiting")

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._waiting: Future[None] | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: T) -> None:
        """Append an item. On a closed channel it is lost, like bytes on a closed connection."""
        if not self._closed:
            self._items.append(item)
            self._wake()

    def close(self) -> None:
        """End the stream after what is already in it."""
        self._closed = True
        self._wake()

    async def get(self) -> T | None:
        """Return the next item, or None when the channel is closed and empty."""
        while not self._items:
            if self._closed:
                return None
            self._waiting = Future()
            await self._waiting
        return self._items.popleft()

    def _wake(self) -> None:
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            waiting.resolve(None)


class Timer:
    """Something that will be done at an instant unless it is cancelled."""

    __slots__ = ("action", "at")

    def __init__(self, at: Instant, action: Callable[[], None]) -> None:
        self.at = at
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        """Do not do it after all."""
        self.action = None


class Kernel:
    """The event queue of one run."""

    def __init__(self, seed: int, start: Instant = SIMULATION_START) -> None:
        self.seed = seed
        self.start = start
        self.turns = 0
        self._now = start
        self._sequence = 0
        self._queue: list[tuple[Instant, int, int, Timer]] = []
        self._crash: SimulationError | None = None
        self._salt = random_stream(seed, "kernel").getrandbits(64)
        self._lanes: dict[str, int] = {}
        self._tasks: dict[int, Task[Any]] = {}

    def now(self) -> Instant:
        """Return the virtual time."""
        return self._now

    def at(self, when: Instant, action: Callable[[], None], lane: str = "") -> Timer:
        """Do something at an instant; an instant in the past means now."""
        when = max(when, self._now)
        timer = Timer(when, action)
        self._sequence += 1
        heapq.heappush(self._queue, (when, self._rank(lane, when), self._sequence, timer))
        return timer

    def after(self, span: Span, action: Callable[[], None], lane: str = "") -> Timer:
        """Do something a span from now."""
        return self.at(self._now + span, action, lane)

    def spawn(self, coroutine: Coroutine[Any, Any, T], lane: str) -> Task[T]:
        """Run a coroutine as an actor.

        Its steps keep their order; how they mix with other lanes is the seed's choice.
        """
        task = Task(self, coroutine, lane)
        self._tasks[id(task)] = task
        self.after(0, task.step, lane)
        return task

    def sleep(self, span: Span) -> Future[None]:
        """Return a future that is done a span from now."""
        future: Future[None] = Future()
        self.after(span, lambda: future.resolve(None))
        return future

    async def first(self, *futures: Future[Any]) -> int:
        """Wait until one of the futures is done and return its position. The lowest wins when several are."""
        any_done: Future[None] = Future()
        for future in futures:
            future.when_done(lambda: any_done.resolve(None))
        await any_done
        return next(index for index, future in enumerate(futures) if future.done)

    def forget(self, task: Task[Any]) -> None:
        """Drop a task that ended. Called by tasks alone."""
        self._tasks.pop(id(task), None)

    def close(self) -> None:
        """End the world: kill what still runs, drop what was still to be done."""
        for task in list(self._tasks.values()):
            task.kill()
        self._queue.clear()

    def crash(self, lane: str, error: BaseException) -> None:
        """Remember that an actor broke; the run ends with it."""
        if self._crash is None:
            self._crash = SimulationError(
                f"{lane} broke at {format_instant(self._now)}: {type(error).__name__}: {error}"
            )
            self._crash.__cause__ = error

    def run(self, until: Instant, turns_max: int = 10_000_000) -> None:
        """Do everything that is due up to and including an instant; the time is that instant afterwards.

        Raises SimulationError when an actor broke, or after `turns_max` turns: a world that never comes to rest at
        one instant is a defect, and must not hang a test.
        """
        limit = self.turns + turns_max
        while self._queue and self._queue[0][0] <= until:
            when, _, _, timer = heapq.heappop(self._queue)
            action, timer.action = timer.action, None
            if action is None:
                continue
            self._now = when
            self.turns += 1
            action()
            if self._crash is not None:
                raise self._crash
            if self.turns >= limit:
                raise SimulationError(f"no rest after {turns_max} turns at {format_instant(self._now)}")
        self._now = max(self._now, until)

    def _rank(self, lane: str, when: Instant) -> int:
        """Draw the rank of a lane at an instant.

        Mixed by multiplication: a mere checksum is linear and shows few orders.
        """
        base = self._lanes.get(lane)
        if base is None:
            base = self._lanes[lane] = zlib.crc32(lane.encode()) * _MIX_1 ^ self._salt
        mixed = ((base ^ when) * _MIX_1) & _MASK
        mixed = ((mixed ^ (mixed >> 29)) * _MIX_2) & _MASK
        return mixed ^ (mixed >> 32)

    @property
    def idle(self) -> bool:
        """Whether nothing at all is left to do."""
        return all(timer.action is None for *_, timer in self._queue)
