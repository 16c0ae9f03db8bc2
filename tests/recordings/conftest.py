"""Recordings of a real cluster, imported once per test session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from arcfsm.audit.agreement import Agreement, Comparison
from arcfsm.audit.search import compare_advice, find_stalls
from arcfsm.audit.stalls import Stall
from arcfsm.cli.import_command import import_files
from arcfsm.domain.documents import Documents
from arcfsm.domain.world import World
from arcfsm.journal import Journal

RECORDINGS = Path(__file__).parents[3] / "shared" / "recordings"


class Story:
    """One imported recording and what the journal answers about it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.journal = Journal.open(url, read_only=True)

    def events(self, *types: str):
        return list(self.journal.events(types=types))

    def phases(self, kind: str) -> list[str]:
        """The phases of all objects of a kind, in order of being seen."""
        found: list[str] = []
        for journaled in self.journal.events():
            phase = getattr(journaled.event, "phase", None)
            if journaled.stream.kind == kind and phase is not None and "Pod" not in type(journaled.event).__name__:
                found.append(phase)
        return found

    def stalls(self) -> list[Stall]:
        world = World(Documents(self.journal.document))
        return find_stalls(world, self.journal.events(), until=None, progress=lambda _seq: None)[0]

    def divergences(self) -> list[Comparison]:
        world = World(Documents(self.journal.document))
        found = compare_advice(world, self.journal.events(), progress=lambda _seq: None)
        return [one for one in found if one.agreement in (Agreement.NOT_DONE, Agreement.NOT_ADVISED)]


@pytest.fixture(scope="session")
def story(tmp_path_factory) -> Callable[[str], Story]:
    """Import a recording by name; skips where the recordings are not beside the project."""
    if not RECORDINGS.is_dir():
        pytest.skip("recordings of a real cluster live beside the project and are not here")
    folder, known = tmp_path_factory.mktemp("recordings"), {}

    def tell(name: str) -> Story:
        if name not in known:
            url = f"sqlite:///{folder / name}.db"
            import_files([str(RECORDINGS / name / "watch.jsonl")], url)
            known[name] = Story(url)
        return known[name]

    yield tell
    for one in known.values():
        one.journal.close()
