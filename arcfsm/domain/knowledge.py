"""What is known: the folded states, and the questions that rules ask of them.

Everything returned in plural is sorted, so that no decision depends on the order in which things became known.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from heapq import heappop, heappush
from typing import Final, NamedTuple, TypeAlias

from arcfsm.domain.documents import Documents
from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events import types_of
from arcfsm.domain.events.controller import SettingsDeclared, TimerFired
from arcfsm.domain.events.decision import Decided, IntentSettled
from arcfsm.domain.events.runner import (
    RunnerFailuresRecorded,
    RunnerFinalizersChanged,
    RunnerMetadataChanged,
    RunnerPodFacts,
    RunnerPodGone,
    RunnerReadinessChanged,
)
from arcfsm.domain.instant import Instant
from arcfsm.domain.intents import ServiceCall
from arcfsm.domain.kinds import AggregateKind, Kind, StreamId, stream_of
from arcfsm.domain.memo import Memo
from arcfsm.domain.ownership import Ownership
from arcfsm.domain.settings import ControllerSettings
from arcfsm.domain.states import (
    NO_EFFECTS,
    Dependent,
    DependentKey,
    Effects,
    InFlight,
    Listener,
    Runner,
    RunnerSet,
    ScaleSet,
)

Aggregate: TypeAlias = ScaleSet | RunnerSet | Runner | Listener


# Looking a member up on its enumeration costs ten times a name (Python 3.11), and every event asks for these.
_SCALE_SET: Final = AggregateKind.SCALE_SET
_RUNNER_SET: Final = AggregateKind.RUNNER_SET
_RUNNER: Final = AggregateKind.RUNNER
_LISTENER: Final = AggregateKind.LISTENER
_CONTROLLER: Final = AggregateKind.CONTROLLER
_OF_RUNNERS_ALONE: Final = types_of(
    RunnerPodFacts,
    RunnerPodGone,
    RunnerFailuresRecorded,
    RunnerFinalizersChanged,
    RunnerMetadataChanged,
    RunnerReadinessChanged,
)
"""What a runner's set reads nothing of (W5)."""
_READ_BY_SETS: Final = (str(ServiceCall.REMOVE_RUNNER), f"delete {Kind.RUNNER}", "register runner")
"""Beginnings of the keys of those intents of a runner that its set reads the outcomes of."""
_OF_THE_CONTROLLER: Final = types_of(TimerFired, SettingsDeclared, Decided)


class Departure(Enum):
    """How far a runner is on its way out."""

    STAYS = "stays"
    OWED = "owed"
    """The service let it go; its deletion is to be asked for."""
    UNDER_WAY = "under way"
    """Its deletion is on its way to the API server."""
    TAKEN = "taken"
    """The API server took its deletion."""


class Answer(NamedTuple):
    """The latest decision about an aggregate."""

    seq: int
    digest: str
    wake_at: Instant | None


class Knowledge:
    """The folded states of everything, indexed by owner and name. Only the world changes it."""

    def __init__(self, documents: Documents | None = None) -> None:
        self.documents = documents or Documents()
        self.memo = Memo()
        self.settings = ControllerSettings()
        self.advisory = True
        self.deciding = True
        """Whether rules are asked at all: a mere recorder asks none."""
        self.head = 0
        """Seq of the last event applied."""
        self.now: Instant = 0
        """The latest time an event brought; it never goes back."""
        self.scale_sets: dict[str, ScaleSet] = {}
        self.runner_sets: dict[str, RunnerSet] = {}
        self.runners: dict[str, Runner] = {}
        self.listeners: dict[str, Listener] = {}
        self._aggregates: dict[AggregateKind, Mapping[str, Aggregate]] = {
            AggregateKind.RUNNER: self.runners,
            AggregateKind.RUNNER_SET: self.runner_sets,
            AggregateKind.LISTENER: self.listeners,
            AggregateKind.SCALE_SET: self.scale_sets,
        }
        self.dependents: dict[DependentKey, Dependent] = {}
        self.effects: dict[StreamId, Effects] = {}
        self.answers: dict[StreamId, Answer] = {}
        self.versions: dict[StreamId, int] = {}
        self.closed: dict[StreamId, None] = {}
        self.pruned: dict[Kind, frozenset[str]] = {}
        """Fields that we wrote and the installed CRDs do not keep (H34)."""
        self._alarms: list[tuple[Instant, StreamId]] = []
        """A heap of the times that decisions wait for; what an answer overtook is dropped when it surfaces."""
        self.departures: dict[str, tuple[Runner, Effects | None, Departure]] = {}
        """What follows from a runner and its effects, kept with both: nothing that would not be found out again."""
        self._names: dict[tuple[AggregateKind, str, str], str] = {}
        self._runner_sets_of: Ownership[str] = Ownership()
        self._runners_of: Ownership[str] = Ownership()
        self._listeners_of: Ownership[tuple[str, str]] = Ownership()

    # What is known

    def aggregate(self, stream: StreamId) -> Aggregate | None:
        """Return the state of an aggregate; None where nothing is known of it, or no more."""
        found = self._aggregates.get(stream.kind)
        return None if found is None else found.get(stream.uid)

    def named(self, kind: AggregateKind, namespace: str, name: str) -> StreamId | None:
        """Return the stream of the present object of that name."""
        uid = self._names.get((kind, namespace, name))
        return None if uid is None else StreamId(kind, uid)

    def scale_set_named(self, namespace: str, name: str) -> ScaleSet | None:
        """Return the present scale set of that name."""
        return self.scale_sets.get(self._names.get((AggregateKind.SCALE_SET, namespace, name), ""))

    def runner_set_named(self, namespace: str, name: str) -> RunnerSet | None:
        """Return the present runner set of that name: a scale set's has its namespace and name."""
        return self.runner_sets.get(self._names.get((AggregateKind.RUNNER_SET, namespace, name), ""))

    def runner_sets_of(self, scale_set: ScaleSet) -> tuple[RunnerSet, ...]:
        """Return its present runner sets, the one that counts first.

        That is the one of its name. Controllers of before 2026-07 made names up: of those that it controls the newest
        counts, and one that is being deleted only where there is no other.
        """
        found = [self.runner_sets[uid] for uid in reversed(self._runner_sets_of.of(scale_set.uid))]
        named = self.runner_set_named(scale_set.namespace, scale_set.name)
        if named is not None and named not in found:
            found.append(named)
        own = [one for one in found if one.present and one.namespace == scale_set.namespace]
        return tuple(sorted(own, key=lambda one: (one.name != scale_set.name, one.deleting)))

    def runner_named(self, namespace: str, name: str) -> Runner | None:
        """Return the present runner of that name."""
        return self.runners.get(self._names.get((AggregateKind.RUNNER, namespace, name), ""))

    def listener_named(self, namespace: str, name: str) -> Listener | None:
        """Return the present listener of that name."""
        return self.listeners.get(self._names.get((AggregateKind.LISTENER, namespace, name), ""))

    def runners_of(self, runner_set_uid: str) -> tuple[Runner, ...]:
        """Return the present runners that a set controls, oldest first, then by name."""
        known = self.runners
        return tuple([one for uid in self._runners_of.of(runner_set_uid) if (one := known[uid]).present])

    def listeners_of(self, namespace: str, scale_set_name: str) -> tuple[Listener, ...]:
        """Return the present listeners that name this scale set, whatever they are called (A16), oldest first."""
        found = (self.listeners[uid] for uid in self._listeners_of.of((namespace, scale_set_name)))
        return tuple(listener for listener in found if listener.present)

    def dependent(self, kind: Kind, namespace: str, name: str) -> Dependent | None:
        """Return a dependent object by name."""
        return self.dependents.get(DependentKey(kind, namespace, name))

    def effects_of(self, stream: StreamId) -> Effects:
        """Return what is in flight for an aggregate and how its latest intents ended."""
        return self.effects.get(stream, NO_EFFECTS)

    def incarnation_of(self, namespace: str, scale_set_name: str) -> str:
        """Return the uid of the listener pod that speaks for a scale set now; "" where there is none (H8)."""
        uids = [pod.uid for one in self.listeners_of(namespace, scale_set_name) if (pod := one.pod) is not None]
        return uids[-1] if uids else ""

    def births_in_flight(self, runner_set_uid: str) -> int:
        """Return how many runners of a set are being created right now."""
        flights = self.effects_of(StreamId(AggregateKind.RUNNER_SET, runner_set_uid)).in_flight
        return sum(flight.items for flight in flights if flight.action == "create-runners")

    def scale_set_uid_of(self, stream: StreamId) -> str:
        """Return the uid of the scale set that an aggregate belongs to; "" where it is not known."""
        kind, uid = stream
        if kind is _RUNNER:
            runner = self.runners.get(uid)
            kind, uid = _RUNNER_SET, runner.owner_uid if runner else ""
        if kind is _RUNNER_SET:
            runner_set = self.runner_sets.get(uid)
            return runner_set.owner_uid if runner_set else ""
        if kind is _SCALE_SET:
            return uid
        listener = self.listeners.get(stream.uid)
        if listener is None:
            return ""
        return self._names.get((AggregateKind.SCALE_SET, listener.scale_set_namespace, listener.scale_set_name), "")

    # What an event touches

    def touched_by(self, journaled: JournaledEvent, parents: tuple[StreamId, ...] = ()) -> tuple[StreamId, ...]:
        """Return the aggregates whose rules must look again after this event, itself first (W1–W11).

        `parents` are those from before the event: what is gone by now can't tell them any more.
        """
        event, stream = journaled.event, journaled.stream
        if type(event) in _OF_RUNNERS_ALONE:
            return (stream,)
        if type(event) in _OF_THE_CONTROLLER:
            if isinstance(event, TimerFired):
                return (event.target,)
            return self.streams() if isinstance(event, SettingsDeclared) else ()
        if stream.kind is _CONTROLLER:
            return ()
        if stream.kind is _RUNNER and isinstance(event, IntentSettled) and not event.key.startswith(_READ_BY_SETS):
            return (stream,)
        now = self.parents_of(stream)
        return (stream, *now) if now == parents else tuple(dict.fromkeys((stream, *parents, *now)))

    def parents_of(self, stream: StreamId) -> tuple[StreamId, ...]:
        """Return the aggregates whose rules read this one; for a scale set, its listeners (L3, L10)."""
        if stream.kind is _RUNNER:
            runner = self.runners.get(stream.uid)
            return (stream_of(_RUNNER_SET, runner.owner_uid),) if runner and runner.owner_uid else ()
        if stream.kind is _RUNNER_SET:
            runner_set = self.runner_sets.get(stream.uid)
            return (stream_of(_SCALE_SET, runner_set.owner_uid),) if runner_set else ()
        if stream.kind is _LISTENER:
            listener = self.listeners.get(stream.uid)
            if listener is None:
                return ()
            owner = self.named(AggregateKind.SCALE_SET, listener.scale_set_namespace, listener.scale_set_name)
            return () if owner is None else (owner,)
        scale_set = self.scale_sets.get(stream.uid)
        if scale_set is None:
            return ()
        listeners = self.listeners_of(scale_set.namespace, scale_set.name)
        return tuple(StreamId(AggregateKind.LISTENER, listener.uid) for listener in listeners)

    def streams(self) -> tuple[StreamId, ...]:
        """Return every known aggregate: scale sets, runner sets, runners, listeners, each by uid."""
        return (
            *(StreamId(AggregateKind.SCALE_SET, uid) for uid in sorted(self.scale_sets)),
            *(StreamId(AggregateKind.RUNNER_SET, uid) for uid in sorted(self.runner_sets)),
            *(StreamId(AggregateKind.RUNNER, uid) for uid in sorted(self.runners)),
            *(StreamId(AggregateKind.LISTENER, uid) for uid in sorted(self.listeners)),
        )

    def in_flight(self) -> tuple[tuple[StreamId, InFlight], ...]:
        """Return every intent without an outcome, in the order of the decisions that want them."""
        flights = [(stream, flight) for stream, effects in self.effects.items() for flight in effects.in_flight]
        return tuple(sorted(flights, key=lambda item: (item[1].decision, item[1].index)))

    def next_wake(self) -> Instant | None:
        """Return the earliest time that a decision waits for; None where none does."""
        while self._alarms:
            at, stream = self._alarms[0]
            answer = self.answers.get(stream)
            if answer is not None and answer.wake_at == at:
                return at
            heappop(self._alarms)
        return None

    def due_wakes(self, until: Instant) -> tuple[tuple[Instant, StreamId], ...]:
        """Return the aggregates whose decisions asked to be woken by `until`, earliest first."""
        due: list[tuple[Instant, StreamId]] = []
        while self._alarms and self._alarms[0][0] <= until:
            at, stream = heappop(self._alarms)
            answer = self.answers.get(stream)
            if answer is not None and answer.wake_at == at and (not due or due[-1] != (at, stream)):
                due.append((at, stream))
        for alarm in due:
            heappush(self._alarms, alarm)
        return tuple(due)
