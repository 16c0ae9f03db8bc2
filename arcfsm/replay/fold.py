"""The world at a seq: the newest fitting snapshot, and the events after it."""

from __future__ import annotations

from typing import Final

from arcfsm import __version__
from arcfsm.domain.documents import Documents
from arcfsm.domain.snapshot import FORMAT, SnapshotMismatchError, freeze, thaw
from arcfsm.domain.world import World
from arcfsm.journal import Journal

SNAPSHOT_FORMAT: Final = f"{FORMAT}/{__version__}"
"""Format of the states and version of the fold: a snapshot of another is not used (B58)."""


def snapshotted(journal: Journal, documents: Documents, *, at_or_before: int | None = None) -> World:
    """Return the world of the newest snapshot that fits, or an empty one: the fold then begins at the beginning."""
    found = journal.latest_snapshot(SNAPSHOT_FORMAT, at_or_before=at_or_before)
    if found is not None:
        try:
            return thaw(found[1], documents)
        except SnapshotMismatchError:
            # A snapshot is a cache: the fold does without it.
            return World(documents)
    return World(documents)


def folded(journal: Journal, documents: Documents, *, to_seq: int | None = None) -> World:
    """Return the world after the event `to_seq`, or at the head."""
    world = snapshotted(journal, documents, at_or_before=to_seq)
    for journaled in journal.events(from_seq=world.head + 1, to_seq=to_seq):
        world.apply(journaled)
    return world


def keep_snapshot(journal: Journal, world: World) -> None:
    """Keep a folded world for the next start."""
    journal.save_snapshot(world.head, SNAPSHOT_FORMAT, freeze(world))
