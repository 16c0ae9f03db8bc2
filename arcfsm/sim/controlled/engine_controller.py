"""The real engine as a controller under test: what survives a kill is the journal, everything else begins anew."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from arcfsm.cluster.concealment import Concealer
from arcfsm.cluster.sealing import SealedValues
from arcfsm.cluster.translator import ObjectTranslator
from arcfsm.domain.documents import Documents
from arcfsm.domain.jsonvalue import JsonObject
from arcfsm.domain.settings import ControllerSettings
from arcfsm.domain.turn import Turn
from arcfsm.domain.world import World
from arcfsm.engine.effects.work import Work
from arcfsm.engine.engine import Engine, Hooks, Ports
from arcfsm.engine.plan import EnginePlan, Mode
from arcfsm.journal import Journal
from arcfsm.sim.controlled.cluster_port import SimulatedCluster
from arcfsm.sim.controlled.runtime import SimulatedRuntime
from arcfsm.sim.controller import ControllerPorts, ControllerUnderTest
from arcfsm.sim.kernel import random_stream
from arcfsm.sim.service_port import actions_over

RULES_VERSION: Final = "simulated"


def _nothing(_turn: Turn) -> None:
    """Nobody listens."""


@dataclass
class EngineFactory:
    """Makes one engine after the other over one journal, for one run."""

    journal: Journal
    load: Callable[[Documents], World]
    """Folds the journal; a new life begins with it."""
    settings: ControllerSettings
    seed: int = 0
    mode: Mode = Mode.CONTROL
    turned: Callable[[Turn], None] = _nothing
    defects: list[str] = field(default_factory=list)
    """What went wrong inside effects: errors of this program."""

    def __call__(self) -> ControllerUnderTest:
        """Make the next one."""
        return EngineUnderTest(self)


class EngineUnderTest:
    """One life of the engine."""

    def __init__(self, factory: EngineFactory) -> None:
        self._factory = factory
        self.engine: Engine | None = None

    def start(self, ports: ControllerPorts) -> None:
        """Fold the journal and begin."""
        factory = self._factory
        world = factory.load(Documents(factory.journal.document, factory.journal.documents))
        sealed = SealedValues()
        runtime = SimulatedRuntime(ports, random_stream(factory.seed, "engine", str(ports.incarnation)))
        engine_ports = Ports(
            cluster=SimulatedCluster(ports.cluster),
            actions=actions_over(ports.service, ports.clock, runtime.sleep),
            vault=_NoVault(),
            runtime=runtime,
            translator=ObjectTranslator(sealed),
            concealment=Concealer(sealed),
        )
        plan = EnginePlan(settings=factory.settings, mode=factory.mode, rules_version=RULES_VERSION)
        hooks = Hooks(wake=ports.wake, turned=factory.turned, defect=self._defect)
        epoch = factory.journal.claim_epoch(f"simulated/{ports.incarnation}")
        self.engine = Engine(plan, factory.journal, world, epoch, engine_ports, hooks)
        self.engine.start()

    def step(self) -> bool:
        """Take a turn."""
        if self.engine is None:
            return False
        return self.engine.step()

    def kill(self) -> None:
        """Forget everything."""
        self.engine = None

    def _defect(self, work: Work, error: Exception) -> None:
        where = traceback.extract_tb(error.__traceback__)[-1]
        self._factory.defects.append(
            f"{work.intent.key}: {type(error).__name__} {error} at {where.name}:{where.lineno}"
        )


class _NoVault:
    """No scenario keeps credentials in a vault."""

    async def read(self, configuration: JsonObject, key: str) -> str:
        raise LookupError(f"no vault for {key} of {sorted(configuration)}")
