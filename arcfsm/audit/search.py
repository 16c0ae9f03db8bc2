"""Questions that need the whole story: stalls and agreement are found by folding the journal once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from arcfsm.audit.agreement import Comparison, Matching
from arcfsm.audit.past import Past
from arcfsm.audit.stalls import Scan, Stall
from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.events import EVENT_TYPES
from arcfsm.domain.instant import Instant
from arcfsm.domain.kinds import StreamId
from arcfsm.domain.world import World


def find_stalls(
    world: World,
    events: Iterable[JournaledEvent],
    *,
    until: Instant | None,
    progress: Callable[[int], None] = lambda _seq: None,
    past: Past | None = None,
    only: StreamId | None = None,
) -> tuple[list[Stall], Instant]:
    """Return the stalls that `events` show when folded into `world`, and the moment up to which it was looked.

    Where `world` is not empty (it comes from a snapshot), `past` tells since when what holds in it holds. `only` looks
    at one aggregate.
    """
    scan = Scan(world, only)
    if past is not None and world.head:
        scan.begin(_recalled(world, past), world.streams() if only is None else (only,))
    for turn in turns(events):
        if until is not None and turn[0].at > until:
            break
        scan.take(turn)
        progress(turn[-1].seq)
    now = world.now if until is None else max(world.now, until)
    return scan.stalls(now), now


def _recalled(world: World, past: Past) -> Callable[[StreamId, str], tuple[int, Instant] | None]:
    before = world.head + 1

    def latest(stream: StreamId, kind: str) -> tuple[int, Instant] | None:
        types = (EVENT_TYPES[kind],)
        found = past.latest(stream, types, before)
        if found is None:
            found = next(past.of_family(world.scale_set_uid_of(stream), types, before), None)
        return None if found is None else (found.seq, found.at)

    return latest


def compare_advice(
    world: World, events: Iterable[JournaledEvent], *, progress: Callable[[int], None]
) -> list[Comparison]:
    """Return how advice and deeds compare over `events`, which are folded into `world`."""
    matching = Matching(world.documents.mapping)
    for journaled in events:
        parents = world.parents_of(journaled.stream)
        world.apply(journaled)
        matching.take(journaled, dict.fromkeys((*parents, *world.parents_of(journaled.stream))))
        progress(journaled.seq)
    return matching.finish()


def turns(events: Iterable[JournaledEvent]) -> Iterator[list[JournaledEvent]]:
    """Yield the turns of a journal."""
    for _, members in groupby(events, key=lambda journaled: journaled.turn):
        yield list(members)
