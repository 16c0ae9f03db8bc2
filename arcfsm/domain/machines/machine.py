"""How a machine is declared, built as a `transitions` Machine, and compiled for speed.

The declaration is data: states, triggers (names of domain events), guards by name. The `transitions` Machine built
from it is the only definition; the compiled table is read out of that Machine and a test proves that both step alike
for every state, trigger and outcome of the guards. A trigger that a state does not know leaves it where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from transitions import Machine

S = TypeVar("S")
"""The aggregate's state; guards look at nothing else."""


class StateSpec(NamedTuple):
    """One state: the phases of the CRD under which an object can be in it, and what it means."""

    name: str
    phases: tuple[str, ...]
    meaning: str
    final: bool = False


class Move(NamedTuple):
    """One transition. The first whose guards all hold is taken, in the order of declaration."""

    trigger: str
    sources: tuple[str, ...]
    dest: str
    guards: tuple[str, ...] = ()


@dataclass(frozen=True)
class MachineSpec(Generic[S]):
    """A machine as data."""

    name: str
    title: str
    initial: str
    states: tuple[StateSpec, ...]
    moves: tuple[Move, ...]
    guards: Mapping[str, Callable[[S], bool]]
    _table: dict[tuple[str, str], tuple[tuple[tuple[Callable[[S], bool], ...], str], ...]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        self._table.update(compile_table(self))

    @property
    def triggers(self) -> tuple[str, ...]:
        """Names of the events that can move it, in the order of declaration."""
        return tuple(dict.fromkeys(move.trigger for move in self.moves))

    def step(self, state: str, trigger: str, facts: S) -> str:
        """Return the state after `trigger`, given the facts as they are with the event folded in."""
        for guards, dest in self._table.get((state, trigger), ()):
            for guard in guards:
                if not guard(facts):
                    break
            else:
                return dest
        return state


def build(spec: MachineSpec[S], model: object | None = None) -> Machine:
    """Build the `transitions` Machine. Guards are looked up by name on the model, as that library does."""
    return Machine(
        model=model,
        states=[state.name for state in spec.states],
        initial=spec.initial,
        transitions=[
            {"trigger": move.trigger, "source": list(move.sources), "dest": move.dest, "conditions": list(move.guards)}
            for move in spec.moves
        ],
        auto_transitions=False,
        ignore_invalid_triggers=True,
        name=spec.name,
    )


def compile_table(
    spec: MachineSpec[S],
) -> dict[tuple[str, str], tuple[tuple[tuple[Callable[[S], bool], ...], str], ...]]:
    """Read the lookup table out of the `transitions` Machine: (state, trigger) to guarded destinations, in order."""
    machine: Any = build(spec)
    table: dict[tuple[str, str], tuple[tuple[tuple[Callable[[S], bool], ...], str], ...]] = {}
    for trigger, event in machine.events.items():
        for source, found in event.transitions.items():
            table[(source, trigger)] = tuple(
                (tuple(spec.guards[condition.func] for condition in move.conditions), move.dest) for move in found
            )
    return table
