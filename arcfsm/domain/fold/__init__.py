"""Folds: (state, event, time) to state, one table per aggregate, and the step of its machine."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from arcfsm.domain.events import DomainEvent
from arcfsm.domain.fold.effects import DONE, TAKEN, issue, settle
from arcfsm.domain.fold.listener import LISTENER_FOLD
from arcfsm.domain.fold.runner import RUNNER_FOLD
from arcfsm.domain.fold.runner_set import RUNNER_SET_FOLD
from arcfsm.domain.fold.scale_set import SCALE_SET_FOLD
from arcfsm.domain.instant import Instant
from arcfsm.domain.machines import LISTENER, RUNNER, RUNNER_SET, SCALE_SET, MachineSpec
from arcfsm.domain.states import Listener, Runner, RunnerSet, ScaleSet

__all__ = ["DONE", "TAKEN", "fold_listener", "fold_runner", "fold_runner_set", "fold_scale_set", "issue", "settle"]

S = TypeVar("S", ScaleSet, RunnerSet, Runner, Listener)


def _step(machine: MachineSpec[S], state: S, event: DomainEvent) -> S:
    after = machine.step(state.state, type(event).__name__, state)
    return state if after == state.state else replace(state, state=after)


def fold_scale_set(state: ScaleSet, event: DomainEvent, at: Instant) -> ScaleSet:
    """Return the scale set after an event of its stream."""
    return _step(SCALE_SET, SCALE_SET_FOLD[type(event)](state, event, at), event)


def fold_runner_set(state: RunnerSet, event: DomainEvent, at: Instant) -> RunnerSet:
    """Return the runner set after an event of its stream."""
    return _step(RUNNER_SET, RUNNER_SET_FOLD[type(event)](state, event, at), event)


def fold_runner(state: Runner, event: DomainEvent, at: Instant) -> Runner:
    """Return the runner after an event of its stream."""
    return _step(RUNNER, RUNNER_FOLD[type(event)](state, event, at), event)


def fold_listener(state: Listener, event: DomainEvent, at: Instant) -> Listener:
    """Return the listener after an event of its stream."""
    return _step(LISTENER, LISTENER_FOLD[type(event)](state, event, at), event)
