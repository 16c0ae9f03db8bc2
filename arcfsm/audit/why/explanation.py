"""The chain itself: from what was seen back to what is behind it, step by step, saying how sure each step is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from arcfsm.audit.past import Past
from arcfsm.audit.why import owner_causes as _owner_causes  # noqa: F401  # entered by being imported
from arcfsm.audit.why import runner_causes as _runner_causes  # noqa: F401  # entered by being imported
from arcfsm.audit.why.advice import word_on
from arcfsm.audit.why.cause import FINDERS, Because, Cause, Finder, Origin
from arcfsm.audit.why.wording import in_words
from arcfsm.domain.envelope import JournaledEvent, Source
from arcfsm.domain.events.controller import GapDetected, TimerFired
from arcfsm.domain.events.decision import Decided, IntentSettled
from arcfsm.domain.instant import Instant
from arcfsm.domain.kinds import AggregateKind, StreamId

STEPS_MAX: Final = 30
"""A chain that goes on for longer explains nothing any more."""


class Kind(StrEnum):
    """What a step of a chain is."""

    OBSERVED = "observed"
    """Seen from outside: another controller, the kubelet, the listener or a person did it."""
    DONE = "done"
    """Arcfsm did it: the answer to a call of its own says so."""
    DECIDED = "decided"
    """Arcfsm decided it."""
    ADVISED = "advised"
    """Arcfsm would have decided it; nobody carried it out."""
    OUTCOME = "outcome"
    """How an intent of arcfsm ended."""
    TIMER = "timer"
    GAP = "gap"
    """Nobody watched: the cause may be in there."""
    OUTSIDE = "outside"
    """What is behind it happens outside of what a journal sees."""
    UNKNOWN = "unknown"
    """The journal does not say."""
    MORE = "more"
    """The chain is longer than what is told at once."""


class Link(StrEnum):
    """How it is known that a step is behind the one before."""

    START = "start"
    RECORDED = "recorded"
    """The journal says so."""
    INFERRED = "inferred"
    """By the rules of the controllers, from the order of events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a chain."""

    kind: Kind
    text: str
    link: Link
    seq: int | None = None
    at: Instant | None = None
    stream: StreamId | None = None
    namespace: str = ""
    name: str = ""
    by: str = ""
    """Field manager or user, where known."""
    rule: str = ""
    notes: tuple[str, ...] = ()


class Teller:
    """Tells chains from one journal. What one chain told, the next only refers to."""

    def __init__(self, past: Past) -> None:
        self._past = past
        self._told: set[int] = set()

    def told(self, seq: int) -> bool:
        """Whether a step with this seq was told."""
        return seq in self._told

    def chain(self, head: JournaledEvent) -> tuple[Step, ...]:
        """Return what is behind an event, the event first."""
        steps: list[Step] = []
        current, words, then, link = head, "", None, Link.START
        while len(steps) < STEPS_MAX:
            if current.seq in self._told:
                steps.append(self._step(current, link, f"{words or in_words(self._past, current)}; told above"))
                break
            self._told.add(current.seq)
            because, following = self._because(current, then)
            notes = self._notes(current, because, following)
            steps.append(self._step(current, link, words or in_words(self._past, current), notes))
            if not isinstance(because, Cause):
                steps += self._end(current, because)
                break
            current, words, then, link = because.journaled, because.words, because.then, following
        else:
            steps.append(Step(kind=Kind.MORE, text=f"it goes on: ask again with --at {current.seq}", link=link))
        return tuple(steps)

    def _because(self, journaled: JournaledEvent, then: Finder | None) -> tuple[Because, Link]:
        recorded = self._recorded(journaled)
        if then is None and recorded is not None:
            return Cause(recorded), Link.RECORDED
        if isinstance(journaled.event, GapDetected):
            return Origin("the journal can't know what happened in a gap"), Link.RECORDED
        word = word_on(self._past, journaled)
        if word is not None and word.same and not word.decided.advisory:
            return Cause(word.journaled), Link.INFERRED
        finder = then or FINDERS.get(type(journaled.event))
        return (finder(self._past, journaled) if finder else None), Link.INFERRED

    def _recorded(self, journaled: JournaledEvent) -> JournaledEvent | None:
        event = journaled.event
        seq = event.decision if isinstance(event, IntentSettled) else journaled.cause
        return self._past.event(seq) if seq is not None and seq < journaled.seq else None

    def _notes(self, journaled: JournaledEvent, because: Because, link: Link) -> tuple[str, ...]:
        notes = [because.note] if isinstance(because, Cause) and because.note else []
        word = word_on(self._past, journaled)
        if word is not None and word.decided.advisory:
            how = "the same" if word.same else "otherwise"
            notes.append(f"arcfsm advised {how}: {word.decided.rule}: {word.decided.reason} (seq {word.journaled.seq})")
        if isinstance(because, Cause) and link is Link.INFERRED:
            gap = self._gap(journaled, because.journaled.at)
            if gap is not None:
                notes.append(f"a gap lies in between (seq {gap.seq}): the true cause may be in it")
        return tuple(notes)

    def _end(self, journaled: JournaledEvent, because: Because) -> list[Step]:
        if isinstance(because, Origin):
            return [Step(kind=Kind.OUTSIDE, text=because.text, link=Link.INFERRED)]
        before = next(self._past.several(journaled.stream, (), journaled.seq, 1), None)
        since = min(_created(journaled), before.at if before is not None else journaled.at)
        gap = self._gap(journaled, since)
        if gap is not None:
            text = f"the cause may lie in a gap: {in_words(self._past, gap)}"
            return [Step(kind=Kind.GAP, text=text, link=Link.INFERRED, seq=gap.seq, at=gap.at)]
        hint = ""
        if type(journaled.event).__name__.endswith("DeletionRequested"):
            hint = "; a watch does not tell who deletes, the API server's audit log does"
        return [Step(kind=Kind.UNKNOWN, text=f"the journal does not say why{hint}", link=Link.INFERRED)]

    def _gap(self, journaled: JournaledEvent, since: Instant) -> JournaledEvent | None:
        return self._past.gap(journaled.stream, since, journaled.at, known_by=journaled.seq)

    def _step(self, journaled: JournaledEvent, link: Link, text: str, notes: tuple[str, ...] = ()) -> Step:
        event, about = journaled.event, journaled.stream.kind is not AggregateKind.CONTROLLER
        namespace, name = self._past.name(journaled.stream) if about else ("", "")
        return Step(
            kind=_kind(journaled),
            text=text,
            link=link,
            seq=journaled.seq,
            at=journaled.at,
            stream=journaled.stream if about else None,
            namespace=namespace,
            name=name,
            by=journaled.actor,
            rule=event.rule if isinstance(event, Decided) else "",
            notes=notes,
        )


def _kind(journaled: JournaledEvent) -> Kind:
    event = journaled.event
    if isinstance(event, Decided):
        return Kind.ADVISED if event.advisory else Kind.DECIDED
    if isinstance(event, IntentSettled):
        return Kind.OUTCOME
    if isinstance(event, GapDetected):
        return Kind.GAP
    if isinstance(event, TimerFired):
        return Kind.TIMER
    return Kind.DONE if journaled.source is Source.RESPONSE else Kind.OBSERVED


def _created(journaled: JournaledEvent) -> Instant:
    made = getattr(journaled.event, "pod", journaled.event)
    found: Instant = getattr(made, "created_at", journaled.at)
    return found
