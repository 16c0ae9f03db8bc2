"""From what arrived to arrivals: every item of the inbox becomes domain events against the world as it is then.

An item is translated when its turn comes, after all before it were folded, so that what it adds is the difference to
what is known by then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from arcfsm.domain.envelope import Source
from arcfsm.domain.events.controller import GapDetected, ObservationRefused
from arcfsm.domain.events.decision import IntentSettled
from arcfsm.domain.events.domain_event import DomainEvent
from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import text_at
from arcfsm.domain.kinds import CONTROLLER_STREAM, TELLING_ORDER, AggregateKind, Kind, StreamId
from arcfsm.domain.observation import Change, Observation, RefusedError, Scope, Translator
from arcfsm.domain.turn import Arrival
from arcfsm.domain.world import World
from arcfsm.engine.feeds import RUNNER_PODS
from arcfsm.engine.inbox import COUNTS_ANEW, Item, Listing, Progress, Seen, Settlement, Trouble

AWAY: Final = "nobody looked while the controller was away"


class Arrivals:
    """Turns items into arrivals, and remembers how far every feed was read."""

    def __init__(self, world: World, translator: Translator, resume_points: dict[str, str]) -> None:
        self._world = world
        self._translator = translator
        self._heard: dict[str, Instant] = {}
        self.resume_points = dict(resume_points)
        """By feed: the newest resourceVersion that is folded."""
        self.feeds_read: set[str] = set()
        """Feeds that were listed, or said why they can't be, since this process started."""
        self.troubles: dict[str, str] = {}
        """Feeds that can't be read now, and why."""
        self.restored = False
        """The API server counts anew, as one feed found out: all others have to be read again, too."""
        self._to_read_again: set[str] = set()

    def of(self, item: Item) -> Iterator[Arrival]:
        """Yield the arrivals of one item."""
        match item:
            case Seen():
                yield from self._seen(item)
            case Listing():
                yield from self._listing(item)
            case Settlement():
                yield from self._settled(item)
            case Progress():
                self._reached(item.feed, item.version)
            case Trouble():
                yield from self._trouble(item)

    def _seen(self, item: Seen) -> Iterator[Arrival]:
        yield from self._observe(item.change, item, listed=False)
        if item.feed:
            self._reached(item.feed, text_at(item.object, "metadata", "resourceVersion"))
            self._heard[item.feed] = item.at

    @property
    def newest_version(self) -> int:
        """The newest resourceVersion that any feed told of; 0 where they are no numbers."""
        return max((int(version) for version in self.resume_points.values() if version.isdigit()), default=0)

    def _observe(self, change: Change, item: Seen, *, listed: bool) -> Iterator[Arrival]:
        seen = Observation(change=change, object=item.object, source=item.source, at=item.at, listed=listed)
        try:
            yield from self._translator.translate(self._world, seen).arrivals
        except RefusedError as error:
            name = text_at(item.object, "metadata", "name") or "an object without a name"
            where = f"{text_at(item.object, 'kind')} {text_at(item.object, 'metadata', 'namespace')}/{name}"
            yield told(ObservationRefused(where=where, reason=str(error)), item.at, item.source)

    def _listing(self, item: Listing) -> Iterator[Arrival]:
        known = self.resume_points.get(item.feed, "")
        restored = known.isdigit() and item.version.isdigit() and int(item.version) < int(known)
        expected = item.feed in self._to_read_again
        self._to_read_again.discard(item.feed)
        if (restored or item.reason == COUNTS_ANEW) and not expected:
            self._translator.restart_versions(self._world)
            self._to_read_again = set(self.resume_points) - {item.feed}
            self.restored = True
        reason = COUNTS_ANEW if restored and not item.reason else item.reason
        scopes = self._scopes(item)
        listed = {text_at(obj, "metadata", "uid") for obj in item.items}
        if item.kind is Kind.POD and item.feed.endswith(RUNNER_PODS):
            # The selector shows pods of runners alone: nothing is said about those of listeners.
            listed |= {one.pod.uid for one in self._world.listeners.values() if one.pod is not None}
        missing = list(self._translator.missing(self._world, scopes, listed))
        cause: int | None = None
        if reason or missing:
            since = self._heard.get(item.feed, self._world.now)
            yield told(
                GapDetected(scope=str(item.kind), reason=reason or AWAY, since=since, until=item.at),
                item.at,
                Source.LIST,
            )
            cause = self._world.head
        for gone in missing:
            yield Arrival(
                stream=gone.stream,
                event=gone.event,
                source=Source.LIST,
                observed_at=item.at,
                cause=cause,
                correlation=gone.correlation,
            )
        for obj in sorted(item.items, key=lambda one: text_at(one, "metadata", "name")):
            yield from self._observe(Change.ADDED, Seen(Change.ADDED, obj, Source.LIST, item.at), listed=True)
        self.resume_points[item.feed] = item.version
        self._heard[item.feed] = item.at
        self.feeds_read.add(item.feed)
        self.troubles.pop(item.feed, None)

    def _scopes(self, item: Listing) -> set[Scope]:
        """Return what a list covers: one namespace, or all in which something of the kind is known."""
        if item.namespace:
            return {Scope(item.kind, item.namespace)}
        world = self._world
        known = {one.namespace for group in (world.scale_sets, world.runner_sets) for one in group.values()}
        known |= {one.namespace for one in world.runners.values()} | {one.namespace for one in world.listeners.values()}
        return {Scope(item.kind, namespace) for namespace in known}

    def _settled(self, item: Settlement) -> Iterator[Arrival]:
        """Yield what the answer showed, then the outcome: rules never see one without the other."""
        for change, obj in item.objects:
            yield from self._observe(change, Seen(change, obj, Source.RESPONSE, item.at), listed=False)
        stream = StreamId(AggregateKind(item.intent.target.kind), item.intent.target.uid)
        event = IntentSettled(
            decision=item.decision,
            index=item.index,
            item=item.item,
            key=item.intent.key,
            outcome=item.outcome,
            status=item.status,
            detail=item.detail,
            answer=item.answer,
        )
        yield Arrival(stream=stream, event=event, source=Source.RESPONSE, observed_at=item.at, cause=item.decision)

    def _trouble(self, item: Trouble) -> Iterator[Arrival]:
        self.feeds_read.add(item.feed)
        if not item.reason:
            self.troubles.pop(item.feed, None)
            return
        self.troubles[item.feed] = item.reason
        yield told(ObservationRefused(where=item.feed, reason=item.reason), item.at, Source.WATCH)

    def _reached(self, feed: str, version: str) -> None:
        if version:
            self.resume_points[feed] = version


def told(event: DomainEvent, at: Instant, source: Source) -> Arrival:
    """Return a fact about the controller and its sources as an arrival."""
    return Arrival(stream=CONTROLLER_STREAM, event=event, source=source, observed_at=at)


def telling_order(item: Listing) -> tuple[int, str]:
    """Return the order in which lists are folded: owners before what they own."""
    return TELLING_ORDER[item.kind], item.feed
