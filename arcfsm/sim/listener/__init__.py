"""The simulated listener process (rules.md P1-P9): a pure state machine and a driver that carries out its effects.

- `ListenerConfig`: what the process reads at start. `ListenerMachine`: `start`, then `step(answer)` until `Exit`.
- `ListenerProcess`: the same as a program in a container of the simulated world.
"""

from arcfsm.sim.listener.config import ConfigError, ListenerConfig
from arcfsm.sim.listener.effects import Answer, Effect, Exit
from arcfsm.sim.listener.machine import DesiredCount, ListenerMachine
from arcfsm.sim.listener.process import ListenerProcess

__all__ = [
    "Answer",
    "ConfigError",
    "DesiredCount",
    "Effect",
    "Exit",
    "ListenerConfig",
    "ListenerMachine",
    "ListenerProcess",
]
