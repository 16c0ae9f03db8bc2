"""The world at a seq: the newest fitting snapshot, and the events after it."""

from __future__ import annotations

from typing import Final

from sqlalchemy import func, select

from arcfsm import __version__
from arcfsm.domain.documents import Documents
from arcfsm.domain.snapshot import FORMAT, SnapshotMismatchError, freeze, thaw
from arcfsm.domain.world import World
from arcfsm.journal import Journal
from arcfsm.journal.tables import SNAPSHOTS

SNAPSHOT_FORMAT: Final = f"{FORMAT}/{__version__}"
"""Format of the states and version of the fold: a snapshot of another is not used (B58)."""


def folded(journal: Journal, documents: Documents, *, to_seq: int | None = None) -> World:
    """Return the world after the event `to_seq`, or at the head."""
    world = World(documents)
    found = journal.latest_snapshot(SNAPSHOT_FORMAT, at_or_before=to_seq)
    if found is not None:
        try:
            world = thaw(found[1], documents)
        except SnapshotMismatchError:
            # A snapshot is a cache: the fold below does without it.
            world = World(documents)
    for journaled in journal.events(from_seq=world.head + 1, to_seq=to_seq):
        world.apply(journaled)
    return world


def folding_length(journal: Journal, to_seq: int) -> int:
    """Return how many events `folded` would have to read."""
    newest = select(func.max(SNAPSHOTS.c.seq)).where(SNAPSHOTS.c.format == SNAPSHOT_FORMAT, SNAPSHOTS.c.seq <= to_seq)
    return to_seq - (journal.rows(newest)[0][0] or 0)


def keep_snapshot(journal: Journal, world: World) -> None:
    """Keep a folded world for the next start."""
    journal.save_snapshot(world.head, SNAPSHOT_FORMAT, freeze(world))
