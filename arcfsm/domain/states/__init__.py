"""Folded states: what is known of each aggregate at one point of the journal. Frozen; a fold makes a new one."""

from arcfsm.domain.states.dependent import Dependent, DependentKey
from arcfsm.domain.states.effects import NO_EFFECTS, Attempt, Effects, InFlight
from arcfsm.domain.states.listener import Listener
from arcfsm.domain.states.runner import Runner
from arcfsm.domain.states.runner_set import RunnerSet
from arcfsm.domain.states.scale_set import ScaleSet

__all__ = [
    "NO_EFFECTS",
    "Attempt",
    "Dependent",
    "DependentKey",
    "Effects",
    "InFlight",
    "Listener",
    "Runner",
    "RunnerSet",
    "ScaleSet",
]
