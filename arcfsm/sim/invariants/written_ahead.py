"""No effect on the cluster without its intent in the journal (architecture.md §4.1)."""

from __future__ import annotations

from arcfsm.domain.events.decision import Decided
from arcfsm.domain.intents import (
    CreateObject,
    CreateRunners,
    DeleteLabelled,
    DeleteObject,
    Intent,
    PatchObject,
    RegisterRunner,
    WriteSecret,
)
from arcfsm.domain.kinds import Kind
from arcfsm.domain.names import runner_name
from arcfsm.domain.turn import Turn
from arcfsm.sim.faults.cluster import ClusterRequest
from arcfsm.sim.invariants.invariant import Invariant, by_controller, target_of

_Act = tuple[str, Kind, str, str]


class EffectsAreWrittenAhead(Invariant):
    """Every write of the controller was an intent in the journal before it was sent."""

    def begin(self) -> None:
        """Nothing happened yet."""
        self._wanted: set[_Act] = set()
        self._swept: set[tuple[Kind, str]] = set()

    def turned(self, turn: Turn) -> None:
        """Note what the journal holds now."""
        for journaled in turn.events:
            if isinstance(journaled.event, Decided):
                for intent in journaled.event.intents:
                    self._note(intent, journaled.seq)

    def before(self, request: ClusterRequest, user: str) -> None:
        """Look whether a write was wanted."""
        target = target_of(request) if request.writes and by_controller(user) else None
        if target is None:
            return
        act = (request.method, target.kind, target.namespace, target.name)
        if act not in self._wanted and not (request.method == "DELETE" and act[1:3] in self._swept):
            self.violated(f"{request.method} {target.kind} {target.namespace}/{target.name} has no intent")

    def _note(self, intent: Intent, decision: int) -> None:
        match intent:
            case CreateObject():
                self._wanted.add(("POST", intent.kind, intent.namespace, intent.name))
            case CreateRunners():
                for index in range(intent.count):
                    name = runner_name(intent.set_name, decision, index, intent.salt)
                    self._wanted.add(("POST", Kind.RUNNER, intent.namespace, name))
            case PatchObject():
                self._wanted.add(("PATCH", intent.kind, intent.namespace, intent.name))
            case DeleteObject():
                self._wanted.add(("DELETE", intent.kind, intent.namespace, intent.name))
            case DeleteLabelled():
                self._swept.add((intent.kind, intent.namespace))
            case WriteSecret() | RegisterRunner():
                for method in ("POST", "PATCH"):
                    self._wanted.add((method, Kind.SECRET, intent.namespace, intent.name))
