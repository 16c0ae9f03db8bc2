"""The world: the folded state of everything, at one point of the journal.

It is the accumulator of the folds: `apply` takes one journaled event after the other and keeps what is known, with the
indexes by which rules find owners, children and names (rules.md 2.0). It holds no history, that is the journal's, and
forgets what is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappush
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

from msgspec.structs import replace

from arcfsm.domain import phases
from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events import EVENT_TYPES, DomainEvent, types_of
from arcfsm.domain.events.controller import SettingsDeclared, TimerFired
from arcfsm.domain.events.decision import Decided, IntentSettled, Outcome
from arcfsm.domain.events.dependent import DependentFacts, DependentGone
from arcfsm.domain.events.listener import ListenerPodFacts, ListenerPodGone
from arcfsm.domain.events.runner import RunnerPodFacts, RunnerPodGone
from arcfsm.domain.events.runner_set import RunnerSetFacts, RunnerSetScaled, RunnerSpecPublished
from arcfsm.domain.events.scale_set import ScaleSetFacts, ScaleSetMetadataChanged, ScaleSetSpecChanged
from arcfsm.domain.fold import fold_listener, fold_runner, fold_runner_set, fold_scale_set, issue, settle
from arcfsm.domain.fold.listener import REMEMBERED
from arcfsm.domain.instant import Instant
from arcfsm.domain.intents import ServiceCall, create_key
from arcfsm.domain.jsonvalue import Digest, text_at
from arcfsm.domain.keys import LISTENER_CONFIG_SUFFIX
from arcfsm.domain.kinds import KIND_OF, AggregateKind, Kind, StreamId
from arcfsm.domain.knowledge import Aggregate, Answer, Knowledge
from arcfsm.domain.ownership import Rank
from arcfsm.domain.pruning import PRUNED, kind_written, stand_ins, still_pruned
from arcfsm.domain.states import (
    Dependent,
    DependentKey,
    InFlight,
    Listener,
    Runner,
    RunnerSet,
    ScaleSet,
)

A = TypeVar("A", ScaleSet, RunnerSet, Runner, Listener)

CLOSED_MAX: Final = 10_000
"""Uids of gone aggregates that are remembered, so that a stale list can't bring them back (B42)."""


class Transition(NamedTuple):
    """A change of a machine's state, with the event that caused it."""

    seq: int
    at: Instant
    stream: StreamId
    namespace: str
    name: str
    before: str
    after: str
    trigger: str
    correlation: str


class World(Knowledge):
    """What is known, and how the next event changes it."""

    # Applying

    def apply(self, journaled: JournaledEvent) -> Transition | None:
        """Fold one event in. Return the transition of its aggregate's machine, if it moved."""
        event, stream = journaled.event, journaled.stream
        self.head = journaled.seq
        self.now = max(self.now, journaled.at)
        self.versions[stream] = journaled.version
        apart = self._APART.get(type(event))
        if apart is not None:
            apart(self, journaled, event)
            return None
        fold = self._FOLDS.get(stream.kind)
        return None if fold is None else fold(self, journaled)

    def _declared(self, _journaled: JournaledEvent, event: SettingsDeclared) -> None:
        self.settings, self.advisory, self.deciding = event.settings, event.advisory, event.deciding
        self.memo.forget()

    def _scale_set(self, journaled: JournaledEvent) -> Transition | None:
        uid, event = journaled.stream.uid, journaled.event
        before = self.scale_sets.get(uid) or ScaleSet(uid=uid)
        after = _versioned(fold_scale_set(before, event, journaled.at), journaled)
        if type(event) in _SCALE_SET_EDITS:
            after = replace(after, changed_seq=journaled.seq)
        if isinstance(event, ScaleSetSpecChanged) and self._naming(before.spec) != self._naming(after.spec):
            after = replace(after, named_at=journaled.at)
        self.scale_sets[uid] = after
        self._name(journaled.stream, after)
        if after.present != before.present:
            self._orphan(after)
        if not after.present and before.present:
            self._close(journaled.stream)
            del self.scale_sets[uid]
        return _transition(journaled, before, after)

    def _runner_set(self, journaled: JournaledEvent) -> Transition | None:
        uid, event = journaled.stream.uid, journaled.event
        before = self.runner_sets.get(uid) or RunnerSet(uid=uid)
        after = _versioned(fold_runner_set(before, event, journaled.at), journaled)
        if isinstance(event, RunnerSetScaled):
            after = replace(after, due=max(0, event.replicas - self._occupied(uid)))
        elif isinstance(event, RunnerSetFacts):
            refused = (runner.revision for runner in self.runners_of(uid) if runner.phase == phases.OUTDATED)
            known = max(refused, default=after.refused_revision)
            after = replace(after, revised_seq=journaled.seq, refused_revision=max(known, after.refused_revision))
        elif isinstance(event, RunnerSpecPublished):
            after = replace(after, revised_seq=journaled.seq)
        self.runner_sets[uid] = after
        self._runner_sets_of.assign(uid, after.owner_uid, _rank(after))
        self._name(journaled.stream, after)
        if not after.present and before.present:
            self._close(journaled.stream)
            self._runner_sets_of.release(uid)
            del self.runner_sets[uid]
        return _transition(journaled, before, after)

    def _runner(self, journaled: JournaledEvent) -> Transition | None:
        uid, event = journaled.stream.uid, journaled.event
        before = self.runners.get(uid) or Runner(uid=uid)
        after = _versioned(fold_runner(before, event, journaled.at), journaled)
        self.runners[uid] = after
        self._runners_of.assign(uid, after.owner_uid, _rank(after))
        self._name(journaled.stream, after)
        if after.present and not before.present:
            self._born(after)
        if after.phase == phases.OUTDATED != before.phase:
            self._refused(after)
        if before.present and not after.present and after.finished:
            self._reaped(after)
        if before.present and not after.present and after.phase == phases.FAILED:
            self._made_room(after)
        # The pod may outlive the runner by its grace period: the runner is forgotten with the later of the two.
        if not after.present and after.state == "gone" and after.pod is None:
            self._close(journaled.stream)
            self._runners_of.release(uid)
            self.departures.pop(uid, None)
            del self.runners[uid]
        return _transition(journaled, before, after)

    def _listener(self, journaled: JournaledEvent) -> Transition | None:
        uid, event = journaled.stream.uid, journaled.event
        before = self.listeners.get(uid) or Listener(uid=uid)
        after = _versioned(fold_listener(before, event, journaled.at), journaled)
        if isinstance(event, ListenerPodFacts) and (before.pod is None or before.pod.uid != event.pod.uid):
            config = self.dependent(Kind.SECRET, after.namespace, after.name + LISTENER_CONFIG_SUFFIX)
            creation = self.effects_of(journaled.stream).flying(create_key(Kind.POD, after.namespace, after.name))
            after = replace(
                after,
                config_version_at_pod=config.resource_version if config else "",
                pod_wanted=creation.content if creation is not None else "",
            )
        self.listeners[uid] = after
        self._listeners_of.assign(uid, (after.scale_set_namespace, after.scale_set_name), _rank(after))
        self._name(journaled.stream, after)
        if before.present and not after.present:
            self._bereft(journaled, after)
        if after.present and not before.present:
            self._made(journaled, after)
        if not after.present and after.state == "gone" and after.pod is None:
            self._close(journaled.stream)
            self._listeners_of.release(uid)
            del self.listeners[uid]
        return _transition(journaled, before, after)

    def _reaped(self, runner: Runner) -> None:
        """Remember under which wish a runner whose job was over vanished: it is not replaced under it (S11)."""
        owner = self.runner_sets.get(runner.owner_uid)
        if owner is not None:
            reaped = replace(owner, reaped_patch_id=owner.patch_id, reaped_incarnation=owner.incarnation)
            self.runner_sets[owner.uid] = reaped

    def _naming(self, spec: Digest) -> tuple[str, str]:
        found = self.documents.mapping(spec)
        return text_at(found, "runnerGroup"), text_at(found, "githubConfigUrl")

    def _orphan(self, scale_set: ScaleSet) -> None:
        """Tell its listeners that a scale set vanished, or that there is one of that name (L3)."""
        for listener in self.listeners_of(scale_set.namespace, scale_set.name):
            self.listeners[listener.uid] = replace(listener, orphaned=not scale_set.present)

    def _bereft(self, journaled: JournaledEvent, listener: Listener) -> None:
        owner = self.scale_set_named(listener.scale_set_namespace, listener.scale_set_name)
        if owner is not None:
            self.scale_sets[owner.uid] = replace(owner, bereft_seq=journaled.seq)

    def _made(self, journaled: JournaledEvent, listener: Listener) -> None:
        """Remember from what we made a listener, what it came out as and how often we did (A18 breaker)."""
        owner = self.scale_set_named(listener.scale_set_namespace, listener.scale_set_name)
        if owner is None:
            return
        making = create_key(Kind.LISTENER, listener.namespace, listener.name)
        creation = self.effects_of(StreamId(AggregateKind.SCALE_SET, owner.uid)).flying(making)
        if creation is None:
            return
        before = owner.listeners_made if owner.listener_wanted == creation.content else ()
        self.scale_sets[owner.uid] = replace(
            owner,
            listener_wanted=creation.content,
            listener_made_as=(listener.spec, listener.metadata),
            listeners_made=(*before, journaled.at)[-REMEMBERED:],
        )

    def _name(self, stream: StreamId, after: Aggregate) -> None:
        key = (stream.kind, after.namespace, after.name)
        if after.present:
            self._names[key] = stream.uid
            self.closed.pop(stream, None)
        elif self._names.get(key) == stream.uid:
            del self._names[key]

    def _close(self, stream: StreamId) -> None:
        self.effects.pop(stream, None)
        self.answers.pop(stream, None)
        self.closed[stream] = None
        if len(self.closed) > CLOSED_MAX:
            oldest = next(iter(self.closed))
            del self.closed[oldest]
            self.versions.pop(oldest, None)

    def _occupied(self, runner_set_uid: str) -> int:
        """Count the runners that hold a slot or are about to leave one: the scale-up total of S10."""
        return sum(1 for runner in self.runners_of(runner_set_uid) if runner.occupies)

    def _born(self, runner: Runner) -> None:
        """A runner that nobody knew when the wish came fills one of the slots it left open, whoever asked for it."""
        owner = self.runner_sets.get(runner.owner_uid)
        if owner is not None and owner.due and runner.occupies:
            self.runner_sets[owner.uid] = replace(owner, due=owner.due - 1)

    def _made_room(self, runner: Runner) -> None:
        """The wish in force counted a failed runner as one of those it wants: it was none, and is wanted anew (H35)."""
        owner = self.runner_sets.get(runner.owner_uid)
        if owner is not None and not self.advisory:
            self.runner_sets[owner.uid] = replace(owner, due=min(owner.due + 1, owner.replicas))

    def _refused(self, runner: Runner) -> None:
        owner = self.runner_sets.get(runner.owner_uid)
        if owner is not None and runner.revision > owner.refused_revision:
            self.runner_sets[owner.uid] = replace(owner, refused_revision=runner.revision)

    def _settled(self, journaled: JournaledEvent, event: IntentSettled) -> None:
        stream = journaled.stream
        if stream in self.closed:
            return
        effects = self.effects_of(stream)
        flight = next(
            (one for one in effects.in_flight if (one.decision, one.index) == (event.decision, event.index)), None
        )
        if flight is not None and event.outcome is Outcome.OK:
            if self.pruned or PRUNED in event.answer:
                self._prune(stream, flight, event, journaled.at)
            if flight.content:
                self._published(stream, flight.content)
        self.effects[stream] = settle(effects, event, journaled.at)
        self._part(stream, event.key)

    def _prune(self, stream: StreamId, flight: InFlight, event: IntentSettled, at: Instant) -> None:
        """Note what the installed CRD did not keep of a write, and keep it here where we depend on it (H34)."""
        kind = kind_written(event.key)
        if kind is None:
            return
        body = self.documents.mapping(flight.written or flight.content)
        known = still_pruned(self.pruned.get(kind, frozenset()), body, event.answer.get(PRUNED))
        self.pruned[kind] = known
        if not known:
            del self.pruned[kind]
        if KIND_OF.get(stream.kind) is not kind:
            return
        for made in stand_ins(self.aggregate(stream), body, known):
            if stream.kind is AggregateKind.SCALE_SET:
                self.scale_sets[stream.uid] = fold_scale_set(self.scale_sets[stream.uid], made, at)
            else:
                self.runner_sets[stream.uid] = fold_runner_set(self.runner_sets[stream.uid], made, at)

    def _part(self, stream: StreamId, key: str) -> None:
        """Mark a runner that somebody wants to be gone, so that the others need not be asked (S-remove)."""
        runner = self.runners.get(stream.uid) if stream.kind is AggregateKind.RUNNER else None
        if runner is not None and not runner.parting and key.startswith(_PARTING):
            self.runners[runner.uid] = replace(runner, parting=True)

    def _published(self, stream: StreamId, content: Digest) -> None:
        """Remember what we published and what became of it on the way through the API (H17)."""
        runner_set = self.runner_sets.get(stream.uid) if stream.kind is AggregateKind.RUNNER_SET else None
        if runner_set is not None:
            became = (runner_set.runner_spec, runner_set.runner_metadata)
            self.runner_sets[stream.uid] = replace(runner_set, published=content, published_as=became)

    def _depend(self, _journaled: JournaledEvent, event: DependentFacts) -> None:
        key = DependentKey(event.kind, event.namespace, event.name)
        self.dependents[key] = Dependent(**event.__dict__)
        if event.kind is Kind.SECRET and event.name.endswith(LISTENER_CONFIG_SUFFIX):
            # A pod may be seen before the Secret it was started with: then the first version we see counts (Z1).
            listener = self.listener_named(event.namespace, event.name.removesuffix(LISTENER_CONFIG_SUFFIX))
            if listener is not None and listener.pod is not None and not listener.config_version_at_pod:
                self.listeners[listener.uid] = replace(listener, config_version_at_pod=event.resource_version)

    def _decided(self, journaled: JournaledEvent, event: Decided) -> None:
        self.answers[journaled.stream] = Answer(journaled.seq, event.answer, event.wake_at)
        if event.wake_at is not None:
            heappush(self._alarms, (event.wake_at, journaled.stream))
        if event.advisory:
            return
        for index, intent in enumerate(event.intents):
            target = StreamId(*intent.target)
            self.effects[target] = issue(self.effects_of(target), intent, journaled.seq, index, journaled.at)
            self._part(target, intent.key)

    def settle_in(
        self,
        scale_sets: Iterable[ScaleSet],
        runner_sets: Iterable[RunnerSet],
        runners: Iterable[Runner],
        listeners: Iterable[Listener],
    ) -> None:
        """Take in the aggregates of a snapshot and index them."""
        self._alarms = [(one.wake_at, stream) for stream, one in self.answers.items() if one.wake_at is not None]
        heapify(self._alarms)
        for scale_set in scale_sets:
            self.scale_sets[scale_set.uid] = scale_set
            self._name(StreamId(AggregateKind.SCALE_SET, scale_set.uid), scale_set)
        for runner_set in runner_sets:
            self.runner_sets[runner_set.uid] = runner_set
            self._runner_sets_of.assign(runner_set.uid, runner_set.owner_uid, _rank(runner_set))
            self._name(StreamId(AggregateKind.RUNNER_SET, runner_set.uid), runner_set)
        for runner in runners:
            self.runners[runner.uid] = runner
            self._runners_of.assign(runner.uid, runner.owner_uid, _rank(runner))
            self._name(StreamId(AggregateKind.RUNNER, runner.uid), runner)
        for listener in listeners:
            self.listeners[listener.uid] = listener
            owner = (listener.scale_set_namespace, listener.scale_set_name)
            self._listeners_of.assign(listener.uid, owner, _rank(listener))
            self._name(StreamId(AggregateKind.LISTENER, listener.uid), listener)

    def _undepend(self, _journaled: JournaledEvent, event: DependentGone) -> None:
        self.dependents.pop(DependentKey(event.kind, event.namespace, event.name), None)

    def _woke(self, _journaled: JournaledEvent, event: TimerFired) -> None:
        """A moment that was waited for is over; one that is still to come stays."""
        answer = self.answers.get(event.target)
        if answer is not None and answer.wake_at is not None and answer.wake_at <= event.due_at:
            self.answers[event.target] = answer._replace(wake_at=None)

    # Looked up by type and kind: every event passes here.

    _APART: ClassVar[dict[type[DomainEvent], Callable[[World, JournaledEvent, Any], None]]] = {
        cls: change
        for base, change in (
            (Decided, _decided),
            (IntentSettled, _settled),
            (TimerFired, _woke),
            (DependentFacts, _depend),
            (DependentGone, _undepend),
            (SettingsDeclared, _declared),
        )
        for cls in EVENT_TYPES.values()
        if issubclass(cls, base)
    }
    """What is no event of an aggregate's own fold, whatever its stream."""
    _FOLDS: ClassVar[dict[AggregateKind, Callable[[World, JournaledEvent], Transition | None]]] = {
        AggregateKind.RUNNER: _runner,
        AggregateKind.RUNNER_SET: _runner_set,
        AggregateKind.LISTENER: _listener,
        AggregateKind.SCALE_SET: _scale_set,
    }


_OF_PODS: Final = types_of(RunnerPodFacts, RunnerPodGone, ListenerPodFacts, ListenerPodGone)
_SCALE_SET_EDITS: Final = types_of(ScaleSetFacts, ScaleSetSpecChanged, ScaleSetMetadataChanged)
_PARTING: Final = (str(ServiceCall.REMOVE_RUNNER), f"delete {Kind.RUNNER}")


def _rank(one: RunnerSet | Runner | Listener) -> Rank:
    return (one.created_at, one.name)


def _versioned(state: A, journaled: JournaledEvent) -> A:
    # Pods live in the stream of their owner but have versions of their own.
    version = journaled.resource_version
    if type(journaled.event) in _OF_PODS:
        if isinstance(state, Runner | Listener):
            return state if version in ("", state.pod_version) else replace(state, pod_version=version)
        return state
    return state if version in ("", state.resource_version) else replace(state, resource_version=version)


def _transition(journaled: JournaledEvent, before: A, after: A) -> Transition | None:
    if before.state == after.state:
        return None
    return Transition(
        seq=journaled.seq,
        at=journaled.at,
        stream=journaled.stream,
        namespace=after.namespace,
        name=after.name,
        before=before.state,
        after=after.state,
        trigger=type(journaled.event).__name__,
        correlation=journaled.correlation,
    )
