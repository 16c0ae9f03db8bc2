"""The engine's time and concurrency on the kernel of a simulated world."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine
from typing import Any

from arcfsm.domain.instant import Instant, Span
from arcfsm.sim.controller import ControllerPorts
from arcfsm.sim.kernel import Future, Timer


class SimulatedRuntime:
    """Time starts at the wall clock of the controller's machine and goes on evenly, whatever that clock does then."""

    def __init__(self, ports: ControllerPorts, randomness: random.Random) -> None:
        self._ports = ports
        self._randomness = randomness
        self._ahead = ports.clock.now() - ports.elapsed()

    def now(self) -> Instant:
        """Return the time."""
        return self._ahead + self._ports.elapsed()

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run something beside all else."""
        self._ports.spawn(coroutine)

    def call_after(self, span: Span, action: Callable[[], None]) -> Timer:
        """Do something a span from now."""
        return self._ports.call_after(span, action)

    def sleep(self, span: Span) -> Future[None]:
        """Return what is done a span from now."""
        return self._ports.sleep(span)

    def jitter(self) -> float:
        """Return a number from 0 to 1."""
        return self._randomness.random()
