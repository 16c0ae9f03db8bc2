"""The scan: fold the journal turn by turn, note when conditions begin and end, and what flaps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from arcfsm.audit.stalls.churn import Churn
from arcfsm.audit.stalls.condition import CONDITIONS, Condition, Finding, Stall, conditions_of
from arcfsm.audit.stalls.flapping import Flapping
from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events.decision import Decided
from arcfsm.domain.instant import Instant
from arcfsm.domain.kinds import AggregateKind, StreamId
from arcfsm.domain.turn import Touched
from arcfsm.domain.world import World


@dataclass(slots=True)
class _Open:
    finding: Finding
    since: Instant
    evidence: tuple[int, ...]


@dataclass(slots=True)
class Scan:
    """What is stalled in a world that events are folded into, and what was."""

    world: World
    only: StreamId | None = None
    """The aggregate to look at; None for all."""
    ended: list[Stall] = field(default_factory=list)
    _open: dict[tuple[str, StreamId], _Open] = field(default_factory=dict)
    _names: dict[StreamId, tuple[str, str]] = field(default_factory=dict)
    _latest: dict[tuple[str, str], int] = field(default_factory=dict)
    _flapping: Flapping = field(default_factory=Flapping)
    _churn: Churn = field(default_factory=Churn)

    def begin(self, latest: Callable[[StreamId, str], tuple[int, Instant] | None], streams: Iterable[StreamId]) -> None:
        """Look at a world that was not folded here: what holds by now began no later than its latest evidence.

        `latest` returns seq and time of the latest event of a type about an aggregate or its scale set.
        """
        for stream in streams:
            known = self.world.aggregate(stream)
            if known is None or not known.present:
                continue
            self._names[stream] = (known.namespace, known.name)
            for one in conditions_of(known):
                finding = one.check(self.world, known, self.world.now)
                if finding is not None:
                    seen = {kind: found for kind in one.evidence if (found := latest(stream, kind)) is not None}
                    self._latest |= {(str(stream), kind): seq for kind, (seq, _) in seen.items()}
                    began = [at for kind, (_, at) in seen.items() if kind in one.begins]
                    began = began or [at for _, at in seen.values()] or [self.world.now]
                    since = max(began) if finding.since is None else finding.since
                    self._open[one.name, stream] = _Open(finding, since, self._evidence(one, stream))

    def take(self, turn: Iterable[JournaledEvent]) -> None:
        """Fold one turn and look at what it touched."""
        touched = Touched()
        for journaled in turn:
            if isinstance(journaled.event, Decided):
                self.world.apply(journaled)
                continue
            touched.apply(self.world, journaled)
            self._note(journaled)
        for stream in touched.in_order() if self.only is None else touched.causes.keys() & {self.only}:
            self._look(stream)

    def stalls(self, now: Instant) -> list[Stall]:
        """Return what was or is stalled by `now`, in order of time."""
        lasting = [self._stall(name, stream, one, None) for (name, stream), one in self._open.items()]
        found = [*self.ended, *(stall for stall in lasting if self._worth(stall, now))]
        loops = (*self._flapping.stalls(self._names), *self._churn.stalls(now))
        return sorted((*found, *loops), key=lambda one: (one.since, one.name, one.stream))

    def _note(self, journaled: JournaledEvent) -> None:
        kind = type(journaled.event).__name__
        self._latest[str(journaled.stream), kind] = journaled.seq
        if journaled.correlation:
            self._latest[journaled.correlation, kind] = journaled.seq
        if journaled.stream.kind is AggregateKind.CONTROLLER:
            return
        self._flapping.note(journaled)
        self._churn.note(journaled)
        known = self.world.aggregate(journaled.stream)
        if known is not None and known.name:
            self._names[journaled.stream] = (known.namespace, known.name)

    def _look(self, stream: StreamId) -> None:
        known = self.world.aggregate(stream)
        present = known is not None and known.present
        for one in conditions_of(known) if present else CONDITIONS.values():
            finding = one.check(self.world, known, self.world.now) if present else None
            self._update(one, stream, finding)

    def _update(self, one: Condition, stream: StreamId, finding: Finding | None) -> None:
        key = (one.name, stream)
        before = self._open.get(key)
        if finding is None:
            if before is not None:
                del self._open[key]
                stall = self._stall(one.name, stream, before, self.world.now)
                if self._worth(stall, self.world.now, before.finding):
                    self.ended.append(stall)
        elif before is None:
            since = self.world.now if finding.since is None else finding.since
            self._open[key] = _Open(finding, since, self._evidence(one, stream))
        else:
            # The words may change while it lasts; when it began does not.
            self._open[key] = _Open(finding, before.since, self._evidence(one, stream))

    def _evidence(self, one: Condition, stream: StreamId) -> tuple[int, ...]:
        correlation = self.world.scale_set_uid_of(stream)
        seqs = (self._latest.get((str(stream), kind)) or self._latest.get((correlation, kind)) for kind in one.evidence)
        return tuple(sorted({seq for seq in seqs if seq}))

    def _stall(self, name: str, stream: StreamId, one: _Open, until: Instant | None) -> Stall:
        namespace, object_name = self._names.get(stream, ("", stream.uid))
        finding = one.finding
        return Stall(
            name=name,
            stream=stream,
            namespace=namespace,
            object_name=object_name,
            since=one.since,
            until=until,
            reason=finding.reason,
            resolves=finding.resolves,
            evidence=one.evidence,
        )

    def _worth(self, stall: Stall, now: Instant, finding: Finding | None = None) -> bool:
        known = finding or self._open[stall.name, stall.stream].finding
        patience = self.world.settings.stalled_after if known.patience is None else known.patience
        return (stall.until or now) - stall.since >= patience
