"""The engine: the sequencer with its feeds, timers and workers (architecture.md §4).

A step takes what arrived, folds it, asks the rules, appends everything in one transaction, and only then hands the
intents to the workers. Nothing is decided before everything that is ours was read once: half of a cluster looks like a
cluster in which the other half is missing.

It is crash-only. A journal that can't be written ends it, and so does a defect outside an effect: whoever runs it makes
a new one from the journal, which finds its own intents without outcome and looks what became of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from arcfsm.domain.envelope import JournaledEvent, Source
from arcfsm.domain.events.controller import SettingsDeclared
from arcfsm.domain.events.decision import IntentSettled, Outcome
from arcfsm.domain.instant import SECOND, Instant, Span
from arcfsm.domain.intents import PatchObject
from arcfsm.domain.jsonvalue import JsonObject
from arcfsm.domain.kinds import AggregateKind
from arcfsm.domain.observation import Change, Observation, RefusedError, Translator
from arcfsm.domain.turn import Arrival, Turn, run_turn, timers_due
from arcfsm.domain.world import World
from arcfsm.engine.arrivals import Arrivals, telling_order, told
from arcfsm.engine.effects.carrier import Carrier
from arcfsm.engine.effects.dispatcher import Dispatcher
from arcfsm.engine.effects.surroundings import Concealment, Surroundings, Vault
from arcfsm.engine.effects.work import Work, work_of
from arcfsm.engine.feeds import Homes, goes_on, homes_known, homes_listed
from arcfsm.engine.inbox import RESTORED, Inbox, Item, Listing, Trouble
from arcfsm.engine.plan import EnginePlan, Mode
from arcfsm.engine.ports import ActionsPort, Alarm, ClusterPort, Runtime
from arcfsm.engine.reflector import Feed, Reflector
from arcfsm.journal import Batch, Journal

BATCH: Final = 500
"""Items of one turn at most."""
DOCUMENTS_KEPT: Final = 20_000
"""Documents at hand; older ones are fetched from the journal again."""
SNAPSHOT_EVERY: Final = 50_000
"""Events between two snapshots."""
_SCALE_SET: Final = AggregateKind.SCALE_SET
NOTE_PROGRESS_EVERY: Final[Span] = 10 * SECOND
"""How often resume points are kept while nothing happens."""


@dataclass(frozen=True, slots=True)
class Ports:
    """What an engine is connected to."""

    cluster: ClusterPort
    actions: ActionsPort
    vault: Vault
    runtime: Runtime
    translator: Translator
    concealment: Concealment


@dataclass(frozen=True, slots=True)
class Hooks:
    """What whoever runs an engine wants to be told; none of it decides anything."""

    wake: Callable[[], None]
    """Ask for a step soon."""
    may_act: Callable[[], bool] = lambda: True
    """Whether this process leads now."""
    turned: Callable[[Turn], None] = lambda _turn: None
    """A turn is in the journal."""
    defect: Callable[[Work, Exception], None] = lambda _work, _error: None
    keep_snapshot: Callable[[World], None] = lambda _world: None


class Engine:
    """One life of the controller, from a folded journal on."""

    def __init__(
        self, plan: EnginePlan, journal: Journal, world: World, epoch: int, ports: Ports, hooks: Hooks
    ) -> None:
        self._plan = plan
        self._journal = journal
        self._world = world
        self._epoch = epoch
        self._ports = ports
        self._hooks = hooks
        self._skew: Span = max(0, world.now - ports.runtime.now())
        """How far the journal is ahead of this clock: its time never goes back."""
        self._inbox = Inbox(hooks.wake)
        self._arrivals = Arrivals(world, ports.translator, journal.resume_points())
        near = Surroundings(world, ports.cluster, ports.actions, ports.vault, ports.runtime, ports.concealment)
        carrier = Carrier(
            near,
            may_act=hooks.may_act,
            adds_nothing=self._adds_nothing,
            settle=self._inbox.put,
            now=self.now,
            on_defect=hooks.defect,
        )
        self._dispatcher = Dispatcher(carrier.carry_out, ports.runtime.spawn)
        self._reflectors: dict[Feed, Reflector] = {}
        self._held: list[Item] = []
        self._alarm: Alarm | None = None
        self._alarm_at: Instant | None = None
        self._noted_at: Instant = 0
        self._snapshot_at = world.head
        self.ready = False
        """Everything that is ours was read, and rules are asked."""
        self.turned_at: Instant = self.now()
        """When the latest step ended."""

    @property
    def world(self) -> World:
        """What is known."""
        return self._world

    @property
    def pending(self) -> int:
        """Work that is under way or waits for a worker."""
        return self._dispatcher.pending

    @property
    def troubles(self) -> dict[str, str]:
        """Feeds that can't be read now, and why."""
        return dict(self._arrivals.troubles)

    def now(self) -> Instant:
        """Return the time of this engine: that of its clock, but never before what the journal holds."""
        return self._ports.runtime.now() + self._skew

    def start(self) -> None:
        """Begin to follow what is ours."""
        self._follow(self._plan.scope.essential())
        self._hooks.wake()

    def stop(self) -> None:
        """Follow nothing and start nothing more; what is under way may end."""
        for reflector in self._reflectors.values():
            reflector.stop()
        self._dispatcher.close()
        if self._alarm is not None:
            self._alarm.cancel()

    def step(self) -> bool:
        """Take one turn. Return whether more is waiting. Raises JournalError; the engine is of no use after that."""
        now = self.now()
        items: Iterable[Item] = self._inbox.take(BATCH)
        if self.ready:
            self._turn(self._all(items, now), now)
        else:
            told_now = [item for item in items if isinstance(item, Trouble)]
            self._held += [item for item in items if not isinstance(item, Trouble)]
            self._turn((arrival for item in told_now for arrival in self._arrivals.of(item)), now)
            if self._everything_was_read():
                self._begin(now)
        self._set_alarm()
        self.turned_at = now
        return len(self._inbox) > 0

    # The beginning

    def _everything_was_read(self) -> bool:
        listings = [item for item in self._held if isinstance(item, Listing)]
        known = {item.feed for item in listings} | self._going_on()
        if any(feed.essential and feed.name not in known for feed in self._reflectors):
            return False
        self._follow_around(homes_known(self._world) | homes_listed(listings))
        known |= set(self._arrivals.troubles)
        return all(feed.name in known for feed in self._reflectors)

    def _going_on(self) -> set[str]:
        """Return the feeds that are read on from where they were: what they told is known."""
        points = self._arrivals.resume_points
        return {feed.name for feed in self._reflectors if goes_on(feed) and points.get(feed.name)}

    def _begin(self, now: Instant) -> None:
        """Fold everything that was read in one turn, then what became of intents of an earlier life."""
        held, self._held = self._held, []
        listings = sorted((item for item in held if isinstance(item, Listing)), key=telling_order)
        others = [item for item in held if not isinstance(item, Listing)]
        self.ready = True
        self._turn(self._first([*listings, *others], now), now)

    def _first(self, items: list[Item], now: Instant) -> Iterator[Arrival]:
        plan, world = self._plan, self._world
        declared = SettingsDeclared(
            settings=plan.settings,
            advisory=plan.mode is not Mode.CONTROL,
            deciding=plan.mode is not Mode.RECORD,
            rules_version=plan.rules_version,
        )
        yield told(declared, now, Source.OPERATOR)
        for item in items:
            yield from self._arrivals.of(item)
        for stream, flight in world.in_flight():
            for _ in range(flight.items):
                abandoned = IntentSettled(
                    decision=flight.decision,
                    index=flight.index,
                    key=flight.key,
                    outcome=Outcome.ABANDONED,
                    detail="the controller ended before the outcome was known",
                )
                yield Arrival(
                    stream=stream, event=abandoned, source=Source.OPERATOR, observed_at=now, cause=flight.decision
                )
        yield from self._timers(now)

    # Turns

    def _all(self, items: Iterable[Item], now: Instant) -> Iterator[Arrival]:
        for item in items:
            yield from self._arrivals.of(item)
        yield from self._timers(now)

    def _timers(self, now: Instant) -> Iterator[Arrival]:
        while due := timers_due(self._world, now):
            yield from due

    def _turn(self, arrivals: Iterable[Arrival], now: Instant) -> None:
        turn = run_turn(self._world, arrivals, recorded_at=now, epoch=self._epoch)
        if not turn.events and now - self._noted_at < NOTE_PROGRESS_EVERY:
            return
        self._noted_at = now
        points = self._arrivals.resume_points if self.ready else {}
        documents = self._world.documents
        self._journal.append(
            Batch(events=turn.events, transitions=turn.transitions, resume_points=points), documents.get
        )
        self._dispatch(turn.events)
        documents.stored(
            (name for journaled in turn.events for name in journaled.event.documents()), keep_max=DOCUMENTS_KEPT
        )
        if self._arrivals.restored:
            self._arrivals.restored = False
            for reflector in self._reflectors.values():
                reflector.read_again(RESTORED)
        if self.ready and any(journaled.stream.kind is _SCALE_SET for journaled in turn.events):
            self._follow_around(homes_known(self._world))
        if self._world.head - self._snapshot_at >= SNAPSHOT_EVERY:
            self._snapshot_at = self._world.head
            self._hooks.keep_snapshot(self._world)
        self._hooks.turned(turn)

    def _dispatch(self, events: Iterable[JournaledEvent]) -> None:
        for journaled in events:
            for work in work_of(journaled, journaled.correlation):
                self._dispatcher.submit(self._locked(work))

    def _locked(self, work: Work) -> Work:
        """Lock a write to the newest version: what the rules saw is that, or what they look at did not change since."""
        intent = work.intent
        if not work.lock or not isinstance(intent, PatchObject):
            return work
        newest = self._ports.translator.latest_version(intent.uid)
        return Work(intent, work.decision, work.index, work.item, work.correlation, newest or work.lock)

    def _adds_nothing(self, obj: JsonObject) -> bool:
        seen = Observation(change=Change.MODIFIED, object=obj, source=Source.RESPONSE, at=self.now())
        try:
            return not self._ports.translator.translate(self._world, seen).arrivals
        except RefusedError:
            return False

    # Feeds and timers

    def _follow(self, wanted: Iterable[Feed]) -> None:
        """Begin to follow what is not followed yet."""
        for feed in sorted(set(wanted) - set(self._reflectors), key=lambda one: one.name):
            version = self._arrivals.resume_points.get(feed.name, "") if goes_on(feed) else ""
            reflector = Reflector(feed, self._ports.cluster, self._ports.runtime, self._inbox, version=version)
            self._reflectors[feed] = reflector
            self._ports.runtime.spawn(reflector.run())

    def _follow_around(self, homes: Homes) -> None:
        """Follow the dependents of these namespaces, and no others any more."""
        wanted = set(self._plan.scope.around(homes))
        for feed in [one for one in self._reflectors if not one.essential and one not in wanted]:
            self._reflectors.pop(feed).stop()
        self._follow(wanted)

    def _set_alarm(self) -> None:
        at = self._world.next_wake() if self.ready else None
        if at == self._alarm_at and self._alarm is not None:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = at
        self._alarm = None
        if at is not None:
            self._alarm = self._ports.runtime.call_after(max(0, at - self.now()), self._ring)

    def _ring(self) -> None:
        self._alarm = self._alarm_at = None
        self._hooks.wake()
