"""Which files a journal has read to their end."""

from __future__ import annotations

from arcfsm.domain.events.controller import SourceExhausted
from arcfsm.domain.jsonvalue import Digest
from arcfsm.domain.kinds import CONTROLLER_STREAM
from arcfsm.journal import Journal


def contents_known(journal: Journal) -> frozenset[Digest]:
    """Return the contents of the files that were imported to their end."""
    exhausted = journal.events(stream=CONTROLLER_STREAM, types=(SourceExhausted.__name__,))
    return frozenset(one.event.content for one in exhausted if isinstance(one.event, SourceExhausted))
