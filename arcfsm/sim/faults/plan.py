"""The fault plan: everything that will go wrong in a run, drawn from its seed before anything runs.

Two kinds of trouble. *Rates* say how often a single exchange on a boundary is delayed, refused, lost or doubled; each
boundary draws from a stream of its own, so the n-th request there meets the same fate whatever happens elsewhere.
*Incidents* have a time: outages, restores, compactions, kills, clock jumps.

After `quiet_after` nothing goes wrong any more. A test can then demand that the world comes to rest in the right
state, which is the only promise that holds under arbitrary faults before.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from arcfsm.domain.instant import HOUR, MILLISECOND, MINUTE, SECOND, Span, format_span
from arcfsm.sim.kernel import random_stream


class FaultLevel(StrEnum):
    """How bad a world is."""

    NONE = "none"
    LIGHT = "light"
    HEAVY = "heavy"


class BoundaryName(StrEnum):
    """The places where two processes talk."""

    CONTROLLER_CLUSTER = "controller-cluster"
    CONTROLLER_SERVICE = "controller-service"
    LISTENER_CLUSTER = "listener-cluster"
    LISTENER_SERVICE = "listener-service"
    KUBELET_CLUSTER = "kubelet-cluster"
    USER_CLUSTER = "user-cluster"


class IncidentKind(StrEnum):
    """What can happen at a time."""

    API_OUTAGE = "api-outage"
    """The API server goes away and comes back; connections break."""
    API_RESTORE = "api-restore"
    """The API server comes back from a backup: its state, and its resourceVersion, are those of an earlier time."""
    API_COMPACTION = "api-compaction"
    """History is compacted and watches are dropped: whoever resumes gets 410."""
    WATCHES_DROPPED = "watches-dropped"
    SERVICE_OUTAGE = "service-outage"
    SERVICE_THROTTLE = "service-throttle"
    CONTROLLER_KILL = "controller-kill"
    """The controller is killed between two of its steps and started again later."""
    LISTENER_KILL = "listener-kill"
    """The listener process dies without cleaning up; its session stays behind."""
    CLOCK_JUMP = "clock-jump"
    """The controller's clock jumps."""
    POD_EVICTED = "pod-evicted"
    POD_DELETED = "pod-deleted"
    """Somebody deletes a runner's pod."""


@dataclass(frozen=True)
class Incident:
    """One thing that happens at a time."""

    at: Span
    """Since the start of the run."""
    kind: IncidentKind
    span: Span = 0
    """How long it lasts; of a restore how far back it goes; of a jump how far (may be negative)."""
    steps: int = 0
    """Of a kill: how many more steps the controller makes first."""

    def __str__(self) -> str:
        return f"{format_span(self.at)} {self.kind.value} {format_span(self.span)}"


@dataclass(frozen=True)
class FaultRates:
    """Probabilities per exchange on one boundary, and how slow it is."""

    latency: Span = 2 * MILLISECOND
    """Usual time one way."""
    slow: float = 0.0
    slow_max: Span = 2 * SECOND
    refused: float = 0.0
    """An error answer before anything took effect."""
    refused_after: float = 0.0
    """An error answer although the write took effect."""
    lost: float = 0.0
    """The connection breaks before the request arrives."""
    lost_after: float = 0.0
    """The request took effect, the answer never comes."""
    duplicated: float = 0.0
    """The request arrives twice."""
    watch_dropped: float = 0.0
    """Per event: the watch ends right after it."""
    watch_repeated: float = 0.0
    """Per event: it is delivered twice in a row."""


QUIET: Final = FaultRates()
_LIGHT: Final = FaultRates(
    slow=0.05, refused=0.01, refused_after=0.005, lost=0.005, lost_after=0.005, duplicated=0.002,
    watch_dropped=0.005, watch_repeated=0.005,
)  # fmt: skip
_HEAVY: Final = FaultRates(
    slow=0.2, slow_max=8 * SECOND, refused=0.06, refused_after=0.03, lost=0.03, lost_after=0.03, duplicated=0.02,
    watch_dropped=0.03, watch_repeated=0.03,
)  # fmt: skip
_RATES: Final[Mapping[FaultLevel, FaultRates]] = {
    FaultLevel.NONE: QUIET,
    FaultLevel.LIGHT: _LIGHT,
    FaultLevel.HEAVY: _HEAVY,
}
_FAULTY: Final = (
    BoundaryName.CONTROLLER_CLUSTER,
    BoundaryName.CONTROLLER_SERVICE,
    BoundaryName.LISTENER_CLUSTER,
    BoundaryName.LISTENER_SERVICE,
)
_INCIDENTS_MAX: Final[Mapping[FaultLevel, int]] = {FaultLevel.NONE: 0, FaultLevel.LIGHT: 3, FaultLevel.HEAVY: 8}
_SPANS: Final[Mapping[IncidentKind, tuple[Span, Span]]] = {
    IncidentKind.API_OUTAGE: (SECOND, 40 * SECOND),
    IncidentKind.API_RESTORE: (SECOND, 60 * SECOND),
    IncidentKind.SERVICE_OUTAGE: (SECOND, 90 * SECOND),
    IncidentKind.SERVICE_THROTTLE: (SECOND, 60 * SECOND),
    IncidentKind.CONTROLLER_KILL: (100 * MILLISECOND, 30 * SECOND),
    IncidentKind.CLOCK_JUMP: (-2 * MINUTE, HOUR),
}
_RARE: Final = frozenset({IncidentKind.API_RESTORE, IncidentKind.CLOCK_JUMP})


@dataclass(frozen=True)
class FaultPlan:
    """What goes wrong in one run."""

    seed: int
    level: FaultLevel = FaultLevel.NONE
    rates: Mapping[BoundaryName, FaultRates] = field(default_factory=dict)
    incidents: tuple[Incident, ...] = ()
    quiet_after: Span = 0

    @classmethod
    def draw(cls, seed: int, level: FaultLevel, horizon: Span) -> FaultPlan:
        """Draw the plan of a run. Trouble ends after three fifths of the horizon."""
        if level is FaultLevel.NONE:
            return cls(seed)
        stream = random_stream(seed, "fault-plan", level.value)
        quiet_after = horizon * 3 // 5
        rates = dict.fromkeys(_FAULTY, _RATES[level])
        count = int(stream.random() * (_INCIDENTS_MAX[level] + 1))
        incidents = sorted(
            (_draw_incident(stream, quiet_after, level) for _ in range(count)),
            key=lambda incident: (incident.at, incident.kind.value),
        )
        return cls(seed, level, rates, tuple(incidents), quiet_after)

    def rates_of(self, boundary: BoundaryName) -> FaultRates:
        """Return the rates on one boundary."""
        return self.rates.get(boundary, QUIET)

    def describe(self) -> str:
        """Say in one line what the plan holds."""
        listed = ", ".join(str(incident) for incident in self.incidents) or "no incidents"
        return f"seed {self.seed}, faults {self.level.value}: {listed}"


def _draw_incident(stream: random.Random, quiet_after: Span, level: FaultLevel) -> Incident:
    kinds = [kind for kind in IncidentKind if level is FaultLevel.HEAVY or kind not in _RARE]
    kind = kinds[int(stream.random() * len(kinds))]
    low, high = _SPANS.get(kind, (0, 0))
    at = int(stream.random() * quiet_after)
    span = low + int(stream.random() * (high - low))
    if kind in {IncidentKind.API_OUTAGE, IncidentKind.SERVICE_OUTAGE, IncidentKind.SERVICE_THROTTLE}:
        span = min(span, quiet_after - at)
    return Incident(at, kind, span, steps=int(stream.random() * 5))
