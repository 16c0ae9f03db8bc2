"""The four machines, declared as data."""

from typing import Any, Final

from arcfsm.domain.kinds import AggregateKind
from arcfsm.domain.machines.listener import LISTENER
from arcfsm.domain.machines.machine import MachineSpec, Move, StateSpec, build
from arcfsm.domain.machines.runner import RUNNER
from arcfsm.domain.machines.runner_set import RUNNER_SET
from arcfsm.domain.machines.scale_set import SCALE_SET

MACHINES: Final[dict[AggregateKind, MachineSpec[Any]]] = {
    AggregateKind.SCALE_SET: SCALE_SET,
    AggregateKind.RUNNER_SET: RUNNER_SET,
    AggregateKind.RUNNER: RUNNER,
    AggregateKind.LISTENER: LISTENER,
}

__all__ = ["LISTENER", "MACHINES", "RUNNER", "RUNNER_SET", "SCALE_SET", "MachineSpec", "Move", "StateSpec", "build"]
