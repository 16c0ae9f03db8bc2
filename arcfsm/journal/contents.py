"""Documents on their way into the journal: once each, and only if they are what their digest says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Final

from sqlalchemy import Connection

from arcfsm.domain.jsonvalue import Digest, Json, canonical
from arcfsm.journal.bulk import insert_rows, known_documents
from arcfsm.journal.errors import JournalDamagedError
from arcfsm.journal.tables import DOCUMENTS

REMEMBERED_MAX: Final = 50_000
"""Digests of stored documents that a writer remembers, to ask the database less."""
ASKED_AT_ONCE_MAX: Final = 500


class Shelf:
    """What a writer knows to be stored already. Forgetting costs a query, never a document."""

    def __init__(self) -> None:
        self._stored: set[Digest] = set()

    def add(self, connection: Connection, wanted: Iterable[Digest], document: Callable[[Digest], Json]) -> list[Digest]:
        """Store those of the wanted documents that are not, and return them. Raises JournalDamagedError.

        Say `keep` once the transaction is through.
        """
        new = list(dict.fromkeys(one for one in wanted if one not in self._stored))
        for start in range(0, len(new), ASKED_AT_ONCE_MAX):
            some = new[start : start + ASKED_AT_ONCE_MAX]
            known = known_documents(connection, some)
            fresh = [one for one in some if one not in known]
            insert_rows(connection, DOCUMENTS, [(one, _checked(one, document(one))) for one in fresh])
        return new

    def keep(self, stored: Iterable[Digest]) -> None:
        """Remember what was stored."""
        if len(self._stored) > REMEMBERED_MAX:
            self._stored.clear()
        self._stored.update(stored)


def _checked(name: Digest, value: Json) -> str:
    content = canonical(value)
    if sha256(content).hexdigest() != name:
        raise JournalDamagedError(f"document {name[:12]}… is not what its digest says; nothing was stored")
    return content.decode()
