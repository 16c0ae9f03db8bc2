"""A trial: one run of a scenario with the real engine, under every invariant."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from arcfsm.domain.instant import MINUTE, Span
from arcfsm.domain.settings import ControllerSettings
from arcfsm.domain.turn import Turn
from arcfsm.journal import Journal
from arcfsm.replay.fold import folded
from arcfsm.sim.controlled.engine_controller import EngineFactory
from arcfsm.sim.faults.plan import FaultLevel
from arcfsm.sim.invariants.invariant import Invariant
from arcfsm.sim.invariants.jobs import JobsAreNotCutOff
from arcfsm.sim.invariants.journal import judge_journal
from arcfsm.sim.invariants.rest import NothingIsLeftBehind, TheWorldComesToRest
from arcfsm.sim.invariants.revisions import RevisionsOnlyGrow, VerdictsAreOfTheSpecThatRan
from arcfsm.sim.invariants.written_ahead import EffectsAreWrittenAhead
from arcfsm.sim.scenario import Scenario
from arcfsm.sim.world import RunResult, World

INVARIANTS: Final[tuple[type[Invariant], ...]] = (
    JobsAreNotCutOff,
    NothingIsLeftBehind,
    TheWorldComesToRest,
    RevisionsOnlyGrow,
    VerdictsAreOfTheSpecThatRan,
    EffectsAreWrittenAhead,
)
SETTLE: Final[Span] = 40 * MINUTE
"""How much longer a run with faults goes on: waits after failures are at most five minutes, registrations that the
service calls busy are given up after fifteen."""
LISTENER_IMAGE: Final = "listener:1"
_MEMORY: Final = Path("/dev/shm")  # noqa: S108  # a file system in memory, where there is one


def run_trial(scenario: Scenario, seed: int, *, faults: FaultLevel | None = None, url: str = "") -> RunResult:
    """Run a scenario under a seed with the real engine. A journal is made for it, at `url` or for the run alone."""
    with _journal(url) as journal:
        settings = ControllerSettings(controller_namespace=scenario.controller_namespace, listener_image=LISTENER_IMAGE)
        invariants: list[Invariant] = []

        def turned(turn: Turn) -> None:
            for one in invariants:
                one.turned(turn)

        factory = EngineFactory(journal, lambda documents: folded(journal, documents), settings, seed, turned=turned)
        level = scenario.faults if faults is None else faults
        settle = 0 if level is FaultLevel.NONE else SETTLE
        world = World(scenario, seed, factory, faults=level, settle=settle)
        invariants += [kind(world) for kind in INVARIANTS]
        world.cluster.audience += invariants
        result = world.run()
        problems = list(result.problems)
        for one in invariants:
            one.at_end()
            problems += [f"{type(one).__name__}: {violation}" for violation in one.violations]
        problems += [f"defect: {defect}" for defect in factory.defects]
        problems += judge_journal(journal, world.service.service)
        return replace(result, problems=tuple(problems))


@contextmanager
def _journal(url: str) -> Iterator[Journal]:
    if url:
        with Journal.open(url, create=True) as opened:
            yield opened
        return
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        file = Path(folder) / "trial.db"
        shutil.copyfile(_empty_journal(), file)
        with Journal.open(f"sqlite:///{file}") as opened:
            yield opened


@lru_cache(maxsize=1)
def _empty_journal() -> Path:
    """Return a journal with nothing in it: making one anew for every run would cost more than the run."""
    folder = tempfile.TemporaryDirectory()
    _KEPT.append(folder)
    file = Path(folder.name) / "empty.db"
    with Journal.open(f"sqlite:///{file}", create=True):
        return file


_KEPT: Final[list[tempfile.TemporaryDirectory[str]]] = []
"""Folders that last as long as the process."""
