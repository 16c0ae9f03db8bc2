"""What an engine is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from arcfsm.domain.settings import ControllerSettings
from arcfsm.engine.feeds import WatchScope


class Mode(StrEnum):
    """How far arcfsm goes (architecture.md §1)."""

    RECORD = "record"
    """Write down what happens; decide nothing."""
    SHADOW = "shadow"
    """Decide as well, act never, and say where another controller did something else."""
    CONTROL = "control"
    """Act: the only writer."""


@dataclass(frozen=True, slots=True)
class EnginePlan:
    """Mode, scope and the settings under which to decide."""

    settings: ControllerSettings
    mode: Mode
    rules_version: str
    namespaces: tuple[str, ...] = ()
    """Those of scale sets; () for all."""

    @property
    def scope(self) -> WatchScope:
        """Where to look."""
        acting = self.mode is Mode.CONTROL
        return WatchScope(self.settings.controller_namespace, self.namespaces, acting)
