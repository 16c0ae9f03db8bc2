"""How a controller is plugged into the simulated world, and how the world runs and kills it.

A controller is anything with `start`, `step` and `kill`. One step is one indivisible turn of it; between any two
steps the world may kill it, and then starts a new one from the factory after a while. What survives a kill is what
the factory keeps (a journal on disk, in a test a dictionary); requests that were already on their way still arrive at
the servers.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from arcfsm.domain.instant import MILLISECOND, SECOND, Instant, Span
from arcfsm.sim.clock import Clock
from arcfsm.sim.faults.cluster import ClusterLink
from arcfsm.sim.faults.service import ServiceLink
from arcfsm.sim.kernel import Future, Kernel, Task, Timer

STEP_TAKES: Final[Span] = MILLISECOND
_KILL_PATIENCE: Final[Span] = 5 * SECOND
Note = Callable[[str, str], None]


@dataclass
class ControllerPorts:
    """Everything a controller under test may touch. One set per incarnation; a dead one's are dead too."""

    cluster: ClusterLink
    service: ServiceLink
    clock: Clock
    """The controller's wall clock, which may jump."""
    incarnation: int
    _kernel: Kernel
    _wake: Callable[[], None]
    _note: Note
    _tasks: list[Task[Any]] = field(default_factory=list)
    _timers: list[Timer] = field(default_factory=list)
    _dead: bool = False

    def wake(self) -> None:
        """Ask for a step soon. Asking again before it came changes nothing."""
        if not self._dead:
            self._wake()

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run something beside the steps (an effect, a watch); it dies with the controller."""
        if self._dead:
            coroutine.close()
            return
        self._tasks = [task for task in self._tasks if not task.done]
        self._tasks.append(self._kernel.spawn(coroutine, f"controller/{self.incarnation}/{len(self._tasks)}"))

    def call_after(self, span: Span, action: Callable[[], None]) -> Timer:
        """Do something a span from now, unless the controller is dead by then or the timer is cancelled."""
        timer = self._kernel.after(span, action, f"controller/{self.incarnation}")
        self._timers = [each for each in self._timers if each.action is not None]
        self._timers.append(timer)
        return timer

    def elapsed(self) -> Instant:
        """Return a time that only goes forward, at the same pace for everybody; it is no wall clock."""
        return self._kernel.now()

    def sleep(self, span: Span) -> Future[None]:
        """Return a future that is done a span from now."""
        return self._kernel.sleep(span)

    def note(self, action: str, detail: str) -> None:
        """Put a line into the trace."""
        self._note(action, detail)

    def cut(self) -> None:
        """Everything of this incarnation ends. Called by the world alone."""
        self._dead = True
        for task in self._tasks:
            task.kill()
        for timer in self._timers:
            timer.cancel()
        self.cluster.break_watches()


class ControllerUnderTest(Protocol):
    """The controller as the world drives it."""

    def start(self, ports: ControllerPorts) -> None:
        """Begin: open watches, read what was kept, ask for the first step by `ports.wake`."""

    def step(self) -> bool:
        """Do one indivisible turn; return whether there is more to do right away."""

    def kill(self) -> None:
        """The process is gone. Nothing may be saved here; a real kill -9 does not ask."""


ControllerFactory = Callable[[], ControllerUnderTest]


class ControllerHost:
    """Runs one controller after the other."""

    def __init__(
        self,
        kernel: Kernel,
        factory: ControllerFactory,
        ports: Callable[[int, Callable[[], None]], ControllerPorts],
        note: Note,
    ) -> None:
        self.steps = 0
        self.incarnation = 0
        self._kernel = kernel
        self._factory = factory
        self._make_ports = ports
        self._note = note
        self._ports: ControllerPorts | None = None
        self._controller: ControllerUnderTest | None = None
        self._scheduled = False
        self._doomed: tuple[int, Span] | None = None

    @property
    def alive(self) -> bool:
        """Whether a controller runs now."""
        return self._controller is not None

    def start(self) -> None:
        """Start the next incarnation."""
        self.incarnation += 1
        self._note("start", f"incarnation {self.incarnation}")
        self._scheduled = False
        self._ports = self._make_ports(self.incarnation, self._wake)
        self._controller = self._factory()
        self._controller.start(self._ports)

    def kill(self, after_steps: int, down_for: Span) -> None:
        """Kill it after so many more steps, at the latest when it has been idle for a while.

        Start again after `down_for`.
        """
        if self._controller is None or self._doomed is not None:
            return
        self._doomed = (self.steps + after_steps, down_for)
        if after_steps == 0:
            self._die()
            return
        doomed = self.incarnation
        self._kernel.after(_KILL_PATIENCE, lambda: self._die() if self.incarnation == doomed else None, "controller")

    def replace(self, down_for: Span = 0) -> None:
        """Kill it now and start the next one, as a rollout does."""
        self.kill(0, down_for)

    def _wake(self) -> None:
        if not self._scheduled and self._controller is not None:
            self._scheduled = True
            incarnation = self.incarnation
            self._kernel.after(STEP_TAKES, lambda: self._turn(incarnation), "controller")

    def _turn(self, incarnation: int) -> None:
        if self._controller is None or incarnation != self.incarnation:
            return
        self._scheduled = False
        self.steps += 1
        more = self._controller.step()
        if self._doomed is not None and self.steps >= self._doomed[0]:
            self._die()
        elif more:
            self._wake()

    def _die(self) -> None:
        if self._controller is None or self._ports is None or self._doomed is None:
            return
        down_for = self._doomed[1]
        self._doomed = None
        self._note("killed", f"after step {self.steps}")
        self._ports.cut()
        self._controller.kill()
        self._controller = self._ports = None
        self._kernel.after(down_for, self.start, "controller")

    def end(self) -> None:
        """The run is over."""
        if self._controller is not None and self._ports is not None:
            self._ports.cut()
            self._controller.kill()
            self._controller = self._ports = None
