"""The journal of a run: unbroken, deciding the same again, and without a secret."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlalchemy import select

from arcfsm.domain.documents import Documents
from arcfsm.domain.world import World as FoldedWorld
from arcfsm.journal import Journal
from arcfsm.journal.tables import DOCUMENTS, EVENTS
from arcfsm.journal.verification import verify
from arcfsm.replay.rederivation import rederive
from arcfsm.sim.scenario.bootstrap import TOKEN
from arcfsm.sim.service import ActionsService

JWT: Final = "eyJ"
"""How every token of the service begins."""


def judge_journal(journal: Journal, service: ActionsService) -> list[str]:
    """Return what is wrong with a journal: its chain, its decisions, or a secret in it."""
    found: list[str] = []
    verification = verify(journal)
    if not verification.sound:
        found.append(f"journal verify: {verification.problem}")
    documents = Documents(journal.document, journal.documents)
    replayed = rederive(FoldedWorld(documents), journal.events())
    for difference in replayed.differences[:3]:
        recorded = difference.recorded.reason if difference.recorded else "nothing"
        derived = difference.derived.reason if difference.derived else "nothing"
        found.append(f"replay decides otherwise at {difference.seq}: {recorded!r} then, {derived!r} now")
    return [*found, *_secrets(journal, service)]


def _secrets(journal: Journal, service: ActionsService) -> Iterator[str]:
    texts = [row[0] for query in (select(EVENTS.c.payload), select(DOCUMENTS.c.content)) for row in journal.rows(query)]
    whole = "\n".join(texts)
    for secret in (TOKEN, JWT, *(agent.secret for agent in service.agents)):
        if secret in whole:
            yield f"a secret is in the journal: {secret[:3]}…"
