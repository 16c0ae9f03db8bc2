"""What runs inside a container: nothing but its script, or a program of the simulated world (a listener, a runner)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from arcfsm.sim.kernel import Future
from arcfsm.sim.kubelet.life import ORDINARY, ContainerLife


@dataclass
class ContainerRun:
    """One start of one container, as its program sees it."""

    pod: Mapping[str, Any]
    container: Mapping[str, Any]
    restarts: int
    life: ContainerLife = ORDINARY
    """Its script; a program reads from it what its world cannot tell it, such as with which code it ends."""
    term: Future[None] = field(default_factory=Future)
    """Done when SIGTERM arrives."""

    @property
    def namespace(self) -> str:
        """The pod's namespace."""
        return str(self.pod["metadata"]["namespace"])

    @property
    def pod_name(self) -> str:
        """The pod's name, which is also its host name."""
        return str(self.pod["metadata"]["name"])

    def env(self, name: str) -> Mapping[str, Any]:
        """Return an env entry; the last of that name wins, as in a container. Empty when there is none."""
        found = [entry for entry in self.container.get("env") or () if entry.get("name") == name]
        return found[-1] if found else {}


class Program(Protocol):
    """A program: runs until it exits, is asked to stop by `run.term`, or is killed."""

    async def run(self) -> int:
        """Run and return the exit code."""

    def killed(self) -> None:
        """The process is gone without having been able to say goodbye."""


ProgramBook = Mapping[str, Callable[[ContainerRun], Program]]
"""Programs by container name."""
