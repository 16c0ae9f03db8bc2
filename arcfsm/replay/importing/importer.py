"""The import loop: lines become turns, turns become batches for the journal.

Time is the source's. Before a line is looked at, timers that fall due up to its time fire, each at its due time; every
line is a turn of its own, but a list is one, so that no rule judges half of it. The end of the import is a moment like
any other: timers up to `as_of` fire then. Nothing here depends on how many turns go into one batch, so neither does the
journal.

Reading a source again adds nothing: a file that was read to its end is known by its content, and what a file shares
with an earlier one is known by uid and version.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from arcfsm.domain.envelope import Source
from arcfsm.domain.events import DomainEvent
from arcfsm.domain.events.controller import (
    GapDetected,
    ObservationRefused,
    SettingsDeclared,
    SourceExhausted,
    SourceOpened,
)
from arcfsm.domain.events.listener import ListenerFacts
from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import Digest, JsonObject, text_at
from arcfsm.domain.kinds import CONTROLLER_STREAM, RESOURCES, TELLING_ORDER, Kind
from arcfsm.domain.observation import Change, Identity, Observation, RefusedError, Scope, Translator
from arcfsm.domain.settings import ControllerSettings
from arcfsm.domain.turn import Arrival, Turn, run_turn, timers_due
from arcfsm.domain.world import World
from arcfsm.journal import Batch
from arcfsm.replay.importing.adoption import Adoption
from arcfsm.replay.importing.blindness import NO_LIST, Blindness
from arcfsm.replay.importing.listings import Step, steps
from arcfsm.replay.importing.records import OBJECT_WORDS, Record, Says
from arcfsm.replay.importing.survey import HashingReader, Survey, read_records
from arcfsm.replay.importing.tally import Tally
from arcfsm.replay.importing.texts import SourceFile
from arcfsm.replay.importing.tracks import Line, track

BATCH_EVENTS: Final = 500
"""A batch goes to the journal when it holds so many events; a turn is never split."""

_CHANGES: Final = {
    Says.ADDED: Change.ADDED,
    Says.MODIFIED: Change.MODIFIED,
    Says.DELETED: Change.DELETED,
    Says.BARE: Change.MODIFIED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be imported, and how."""

    files: Sequence[tuple[SourceFile, Survey]]
    format: str
    adoption: Adoption
    """What the first look at the files says about the controller."""
    rules_version: str
    as_of: Instant | None = None
    batch_events: int = BATCH_EVENTS
    epoch: int = 1


class Importer:
    """Imports files into a world and hands what is to be journaled to `write`."""

    def __init__(
        self,
        world: World,
        translator: Translator,
        *,
        write: Callable[[Batch], object],
        clock: Callable[[], Instant],
        advance: Callable[[int], None] = lambda _done: None,
    ) -> None:
        self._world = world
        self._translator = translator
        self._write = write
        self._clock = clock
        self._advance = advance
        self._blindness = Blindness()
        self._turns: list[Turn] = []
        self._pending = 0
        self._resume: dict[str, str] = {}
        self._last: Instant = world.now
        self.tally = Tally()

    def run(self, plan: Plan) -> Tally:
        """Import the files of a plan as one stream, ordered by time. Returns what was done."""
        begun = False
        for step in steps(self._merged(plan), _KnownObjects(self._world, self._translator)):
            if not begun:
                begun = True
                self._open(plan, step)
            self._timers(plan, max(self._world.now, step.lines[0].at))
            self._take(plan, step)
        self._close(plan)
        self._flush()
        return self.tally

    def _merged(self, plan: Plan) -> Iterator[Line]:
        tracks = [self._track(file) for file, _ in plan.files]
        return heapq.merge(*tracks, key=lambda line: line.at) if len(tracks) > 1 else tracks[0]

    def _track(self, file: SourceFile) -> Iterator[Line]:
        with file.open() as stream:
            reader = HashingReader(stream)
            yield from track(file.name, self._counted(reader), self._translator.newest_moment)

    def _counted(self, reader: HashingReader) -> Iterator[Record]:
        done = 0
        for record in read_records(reader):
            self.tally.lines += 1
            self._advance(reader.size - done)
            done = reader.size
            yield record

    # The beginning and the end

    def _open(self, plan: Plan, step: Step) -> None:
        at, events = step.lines[0].at, list[DomainEvent]()
        settings = plan.adoption.settings(self._world.settings)
        if not self._world.head or (self._world.settings, self._world.advisory) != (settings, True):
            events.append(_declared(plan, settings))
        for file, known in plan.files:
            events.append(SourceOpened(name=file.name, format=plan.format, content=known.content))
        if self._world.head and not step.listed and at > self._world.now:
            scope = ", ".join(sorted(file.name for file, _ in plan.files))
            events.append(GapDetected(scope=scope, reason=NO_LIST, since=self._world.now, until=at))
        self._turn(plan, [_told(event, max(at, self._world.now)) for event in events])

    def _close(self, plan: Plan) -> None:
        end = max(self._world.now, plan.as_of or 0)
        self._turn(plan, [_told(gap, self._world.now) for gap in self._blindness.still_open()])
        self._timers(plan, end)
        self._turn(plan, [_told(self._exhausted(file.name, known.content), end) for file, known in plan.files])

    def _exhausted(self, name: str, content: Digest) -> SourceExhausted:
        counts = self.tally.sources[name]
        return SourceExhausted(
            name=name,
            observations=counts.observations,
            ignored=counts.ignored,
            refused=counts.refused,
            content=content,
        )

    # Steps

    def _take(self, plan: Plan, step: Step) -> None:
        if step.listed:
            self._turn(plan, self._list(plan, step))
        else:
            self._turn(plan, self._single(plan, step.lines[0]))
        self._last = max(self._last, step.lines[-1].at)

    def _single(self, plan: Plan, line: Line) -> Iterator[Arrival]:
        record = line.record
        if record.says is Says.BROKEN:
            self._blindness.unreadable(line.source, self._last)
            yield self._refused(line, record.problem)
        elif record.says is Says.ERROR:
            self._blindness.ended(line.source, self._last, record.problem)
        else:
            yield from self._observe(plan, line, listed=False)

    def _list(self, plan: Plan, step: Step) -> Iterator[Arrival]:
        cause: int | None = None
        if step.relist:
            yield _told(self._gap(step), step.lines[0].at)
            cause = self._world.head
            if step.new_epoch:
                self._translator.restart_versions(self._world)
            uids = {text_at(line.record.object, "metadata", "uid") for line in step.lines}
            for missing in list(self._translator.missing(self._world, step.scopes, uids)):
                yield _late(missing, step.lines[0].at, cause)
        for line in sorted(step.lines, key=self._rank):
            yield from self._observe(plan, line, listed=True)

    def _gap(self, step: Step) -> GapDetected:
        sources = frozenset(line.source for line in step.lines)
        at = step.lines[0].at
        return self._blindness.listed(sources, step.scopes, min(self._last, at), at, new_epoch=step.new_epoch)

    def _observe(self, plan: Plan, line: Line, *, listed: bool) -> Iterator[Arrival]:
        """Translate one line against the world as it is now: a turn folds what came before it first."""
        record, source = line.record, line.source
        kind, arrivals = None, list[Arrival]()
        if record.says not in OBJECT_WORDS:
            kind = self._bookmark(record)
        else:
            self.tally.observed(source)
            seen = Observation(
                change=_CHANGES[record.says],
                object=record.object,
                source=Source.IMPORT,
                at=line.at,
                listed=listed and record.says in {Says.ADDED, Says.BARE},
            )
            try:
                translation = self._translator.translate(self._world, seen)
            except RefusedError as error:
                arrivals = [self._refused(line, str(error))]
            else:
                kind, arrivals = translation.kind, list(translation.arrivals)
                if translation.noise:
                    self.tally.ignore(source, translation.noise)
                if kind is not None:
                    self._seen(kind, translation.version)
        for gap in self._blindness.heard(source, kind, line.at):
            yield _told(gap, line.at)
        if kind is Kind.LISTENER:
            yield from self._upgraded(plan, line, arrivals)
        yield from arrivals

    def _upgraded(self, plan: Plan, line: Line, arrivals: Sequence[Arrival]) -> Iterator[Arrival]:
        """Yield other settings where a new listener shows that the recorded controller has other ones now."""
        if line.record.says is Says.DELETED or not any(isinstance(one.event, ListenerFacts) for one in arrivals):
            return
        settings = plan.adoption.upgraded(line.record.object, self._world.settings)
        if settings != self._world.settings:
            yield _told(_declared(plan, settings), line.at)

    def _refused(self, line: Line, reason: str) -> Arrival:
        self.tally.sources[line.source].refused += 1
        return _told(ObservationRefused(where=line.where, reason=reason), line.at)

    def _rank(self, line: Line) -> tuple[int, str, str, int]:
        try:
            identity = self._translator.identify(self._world, line.record.object)
        except RefusedError:
            identity = None
        if identity is None or line.record.says not in {Says.ADDED, Says.BARE}:
            return (len(TELLING_ORDER), "", "", line.record.line)
        return (TELLING_ORDER[identity.scope.kind], identity.scope.namespace, identity.name, line.record.line)

    def _bookmark(self, record: Record) -> Kind | None:
        """Note how far the watch of a kind is though nothing of it changed (B35)."""
        self.tally.bookmarks += 1
        kind = self._translator.kind_of(record.object)
        if kind is not None:
            self._seen(kind, text_at(record.object, "metadata", "resourceVersion"))
        return kind

    def _seen(self, kind: Kind, version: str) -> None:
        """Note how far the watch of a kind is."""
        resource = RESOURCES[kind].plural
        known = self._resume.get(resource, "")
        if version.isdigit() and not (known.isdigit() and int(known) > int(version)):
            self._resume[resource] = version

    # Turns

    def _timers(self, plan: Plan, until: Instant) -> None:
        while due := timers_due(self._world, until):
            self._turn(plan, due)

    def _turn(self, plan: Plan, arrivals: Iterable[Arrival]) -> None:
        turn = run_turn(self._world, arrivals, recorded_at=self._clock(), epoch=plan.epoch)
        if not turn.events:
            return
        self.tally.add(turn)
        self._turns.append(turn)
        self._pending += len(turn.events)
        if self._pending >= plan.batch_events:
            self._flush()

    def _flush(self) -> None:
        if self._turns:
            self._write(
                Batch(
                    events=[journaled for turn in self._turns for journaled in turn.events],
                    transitions=[transition for turn in self._turns for transition in turn.transitions],
                    resume_points=dict(self._resume),
                )
            )
            self._turns, self._pending = [], 0


class _KnownObjects:
    """What the grouping of lines may ask about the world."""

    def __init__(self, world: World, translator: Translator) -> None:
        self._world = world
        self._translator = translator

    def identify(self, obj: JsonObject) -> Identity | None:
        return self._translator.identify(self._world, obj)

    def all_of(self, scope: Scope) -> frozenset[str]:
        return self._translator.known_in(self._world, scope)

    @property
    def now(self) -> Instant:
        return self._world.now


def _declared(plan: Plan, settings: ControllerSettings) -> SettingsDeclared:
    return SettingsDeclared(settings=settings, advisory=True, rules_version=plan.rules_version)


def _told(event: DomainEvent, at: Instant) -> Arrival:
    return Arrival(stream=CONTROLLER_STREAM, event=event, source=Source.IMPORT, observed_at=at)


def _late(arrival: Arrival, at: Instant, cause: int | None) -> Arrival:
    fields: dict[str, Any] = {"stream": arrival.stream, "event": arrival.event, "correlation": arrival.correlation}
    return Arrival(**fields, source=Source.IMPORT, observed_at=at, cause=cause)
