"""Deciding again: recorded observations go through the rules once more, and every answer is compared with the recorded.

Recorded decisions are folded, not derived ones, so each comparison stands alone and a difference does not spread. Turns
are those of the journal, so batch size, backend and hash seed can't matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events import types_of
from arcfsm.domain.events.controller import SettingsDeclared
from arcfsm.domain.events.decision import Decided
from arcfsm.domain.events.runner import RunnerFacts
from arcfsm.domain.instant import Instant
from arcfsm.domain.kinds import AggregateKind, StreamId
from arcfsm.domain.rules import decide
from arcfsm.domain.settings import ControllerSettings
from arcfsm.domain.turn import Touched
from arcfsm.domain.world import World

_RUNNER: Final = AggregateKind.RUNNER
_BORN: Final = types_of(RunnerFacts)


class Difference(NamedTuple):
    """One answer that is not the recorded one."""

    seq: int
    """Of the recorded decision, or of the turn's last observation where none is recorded."""
    at: Instant
    stream: StreamId
    recorded: Decided | None
    derived: Decided | None


class Replayed(NamedTuple):
    """How far a replay got, and what it found."""

    events: int
    decisions: int
    """Decisions that were compared."""
    differences: tuple[Difference, ...]


def rederive(
    world: World,
    events: Iterable[JournaledEvent],
    *,
    what_if: Mapping[str, Any] | None = None,
    progress: Callable[[int], None] = lambda _seq: None,
) -> Replayed:
    """Replay events, which begin where `world` ends, and compare every decision.

    `what_if` replaces settings by name. Where the last turn is cut off, only the decisions that are there are compared.
    """
    count = decisions = 0
    found: list[Difference] = []
    told: dict[StreamId, str] = {}
    turns = groupby(events, key=lambda journaled: journaled.turn)
    turn = _next(turns)
    while turn:
        following = _next(turns)
        count += len(turn)
        decisions += sum([type(journaled.event) is Decided for journaled in turn])
        for difference in _compare(world, turn, what_if or {}, whole=bool(following)):
            # Where only this program would have spoken, it would have said it once.
            answer = difference.derived.answer if difference.derived is not None else ""
            if difference.recorded is not None or told.get(difference.stream) != answer:
                found.append(difference)
            told[difference.stream] = answer
        progress(turn[-1].seq)
        turn = following
    return Replayed(count, decisions, tuple(found))


def _next(turns: Iterator[tuple[int, Iterator[JournaledEvent]]]) -> Sequence[JournaledEvent]:
    _, members = next(turns, (0, iter(())))
    return tuple(members)


def _compare(
    world: World, turn: Sequence[JournaledEvent], what_if: Mapping[str, Any], *, whole: bool
) -> Iterator[Difference]:
    recorded: dict[StreamId, JournaledEvent] = {}
    touched = Touched()
    for journaled in turn:
        kind = type(journaled.event)
        if kind is Decided:
            recorded[journaled.stream] = journaled
            continue
        if kind in _BORN or journaled.stream.kind is not _RUNNER:
            # Rules read what these refer to; what a runner that is there carries is compared by digest.
            world.documents.expect(journaled.event.documents())
        touched.apply(world, journaled)
        if what_if and kind is SettingsDeclared:
            world.settings = altered(world.settings, what_if)
    now, last = world.now, world.head
    for stream in touched.in_order():
        before = recorded.pop(stream, None)
        derived = decide(world, stream, now)
        if before is not None:
            known = before.event
            # Equal events have equal bytes; comparing them needs neither's.
            if derived != known:
                yield Difference(before.seq, before.at, stream, _decided(known), derived)
            world.apply(before)
        elif derived is not None and (whole or recorded):
            yield Difference(last, now, stream, None, derived)
    for stream, left in recorded.items():
        # The rules of this program would not even have looked.
        yield Difference(left.seq, left.at, stream, _decided(left.event), None)
        world.apply(left)


def _decided(event: object) -> Decided | None:
    return event if isinstance(event, Decided) else None


def altered(settings: ControllerSettings, what_if: Mapping[str, Any]) -> ControllerSettings:
    """Return the settings with some replaced. Raises pydantic.ValidationError for values that don't fit."""
    return ControllerSettings.model_validate({**settings.model_dump(), **what_if})
