"""What a stall is, and the list of conditions that are looked for.

A condition is a pure function over the folded world and one aggregate. It says that something is wanted which nothing
will bring about. How long it has held and which events show it is found by the scan, which sees every turn of the
journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from arcfsm.domain.instant import Instant, Span
from arcfsm.domain.kinds import StreamId
from arcfsm.domain.states import Listener, Runner, RunnerSet, ScaleSet
from arcfsm.domain.world import World


@dataclass(frozen=True, slots=True)
class Finding:
    """A condition that holds now."""

    reason: str
    """What is wanted and why nothing brings it, in plain words. Stable while the condition holds."""
    resolves: str
    """What would change it."""
    since: Instant | None = None
    """Since when, where the state says so; else since the scan first saw it."""
    patience: Span | None = None
    """How long it must hold to be called a stall; None for the setting `stalled_after`."""


@dataclass(frozen=True, slots=True)
class Stall:
    """A silent rest state: work exists, nothing can serve it, and nothing is scheduled to change that."""

    name: str
    stream: StreamId
    namespace: str
    object_name: str
    since: Instant
    until: Instant | None
    """None while it lasts."""
    reason: str
    resolves: str
    evidence: tuple[int, ...]
    """Seqs of the events that show it, oldest first."""


A = TypeVar("A", ScaleSet, RunnerSet, Runner, Listener)
Check = Callable[[World, A, Instant], Finding | None]


@dataclass(frozen=True, slots=True)
class Condition:
    """A named check, and the events that are its evidence."""

    name: str
    meaning: str
    kind: type
    check: Callable[..., Finding | None]
    evidence: tuple[str, ...]
    begins: tuple[str, ...]
    """Those of the evidence with which it may begin; needed where the scan starts from a snapshot."""


CONDITIONS: Final[dict[str, Condition]] = {}
"""Every condition by name, in the order of declaration. Made into docs/stalls.md."""

F = TypeVar("F", bound=Callable[..., Finding | None])


def condition(name: str, meaning: str, kind: type, *evidence: str, begins: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Enter a check into the list.

    `evidence` names event types; the latest of each is shown. `begins` names those of them with which the condition
    may begin, where not all do.
    """

    def enter(check: F) -> F:
        if name in CONDITIONS:
            raise ValueError(f"two conditions are called {name}")
        CONDITIONS[name] = Condition(name, meaning, kind, check, evidence, begins or evidence)
        return check

    return enter


def conditions_of(aggregate: object) -> Iterator[Condition]:
    """Yield the conditions that are about this kind of aggregate."""
    return (one for one in CONDITIONS.values() if isinstance(aggregate, one.kind))
