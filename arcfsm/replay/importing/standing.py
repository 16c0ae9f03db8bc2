"""Where a journal stands before an import: what it knows, and which files it has read to their end."""

from __future__ import annotations

from arcfsm.domain.documents import Documents
from arcfsm.domain.events.controller import SourceExhausted
from arcfsm.domain.jsonvalue import Digest
from arcfsm.domain.world import World
from arcfsm.journal import Journal


def world_of(journal: Journal) -> World:
    """Return everything a journal knows, folded."""
    world = World(Documents(fetch=journal.document))
    for journaled in journal.events():
        world.apply(journaled)
    return world


def contents_known(journal: Journal) -> frozenset[Digest]:
    """Return the contents of the files that were imported to their end."""
    exhausted = journal.events(types=(SourceExhausted.__name__,))
    return frozenset(one.event.content for one in exhausted if isinstance(one.event, SourceExhausted))
