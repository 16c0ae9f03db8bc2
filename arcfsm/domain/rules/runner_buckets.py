"""The runners of a set, sorted into the buckets of rules.md 2.2, and what is known about their way out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from arcfsm.domain import phases
from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.intents import delete_key, registration_key, removal_key
from arcfsm.domain.kinds import AggregateKind, Kind, stream_of
from arcfsm.domain.knowledge import Departure
from arcfsm.domain.rules.rule import Look
from arcfsm.domain.states import Attempt, Effects, Runner, RunnerSet
from arcfsm.domain.world import World

_GONE = frozenset({Outcome.OK, Outcome.NOT_FOUND})
# Looking a member up on its enumeration costs more than all else that is done for one runner.
_RUNNER: Final = AggregateKind.RUNNER
_STAYS: Final = Departure.STAYS
_OWED: Final = Departure.OWED
_UNDER_WAY: Final = Departure.UNDER_WAY
_TAKEN: Final = Departure.TAKEN


@dataclass(frozen=True, slots=True)
class Buckets:
    """Each runner is in exactly one bucket; within one the oldest comes first."""

    deleting: tuple[Runner, ...]
    """Somebody deleted them, whatever their phase."""
    leaving: tuple[Runner, ...]
    """We are deleting them, or the service has released them for us: they count as deleting from then on (H11)."""
    owed: tuple[Runner, ...]
    """Those of them whose deletion is still to be asked for."""
    under_way: int
    """How many of them are being asked to be deleted just now."""
    pending: tuple[Runner, ...]
    running: tuple[Runner, ...]
    finished: tuple[Runner, ...]
    failed: tuple[Runner, ...]
    outdated: tuple[Runner, ...]
    """Refused, and of the applied revision."""
    stale_outdated: tuple[Runner, ...]
    """Refused, but built from a spec that is no longer wanted."""
    latest_patch_id: int
    """Highest patch id under which one of them was born for the listener that speaks now; 0 if none (H8)."""
    births: int
    """Runners that are being created right now."""

    @property
    def total(self) -> int:
        """Runners that hold a slot. Failed ones do, on purpose: they stop a create loop on a broken template."""
        return len(self.pending) + len(self.running) + len(self.failed)

    @property
    def scale_up_total(self) -> int:
        """S10: those that are about to leave or about to be born are not replaced."""
        return self.total + len(self.deleting) + len(self.leaving) + self.births

    @property
    def empty(self) -> bool:
        """Nothing is left and nothing is coming."""
        return self.scale_up_total == 0 and not (self.finished or self.outdated or self.stale_outdated)


def same_incarnation(one: str, other: str) -> bool:
    """Whether two wishes may come from the same listener process: only a known difference says no (H8)."""
    return not one or not other or one == other


def sort_runners(look: Look[RunnerSet]) -> Buckets:
    """Sort the runners of the set into buckets."""
    subject, world = look.subject, look.world
    deleting: list[Runner] = []
    leaving: list[Runner] = []
    owed: list[Runner] = []
    under_way = 0
    by_phase: dict[str, list[Runner]] = {}
    latest = 0
    for runner in world.runners_of(subject.uid):
        if runner.patch_id > latest and same_incarnation(runner.incarnation, subject.incarnation):
            latest = runner.patch_id
        if runner.deletion_requested_at is not None:
            deleting.append(runner)
        elif runner.parting and (way := departure(world, runner)) is not _STAYS:
            leaving.append(runner)
            if way is _OWED:
                owed.append(runner)
            under_way += way is _UNDER_WAY
        else:
            by_phase.setdefault(runner.phase, []).append(runner)
    running = by_phase.pop(phases.RUNNING, ())
    finished = by_phase.pop(phases.SUCCEEDED, ())
    failed = by_phase.pop(phases.FAILED, ())
    refused = by_phase.pop(phases.OUTDATED, ())
    pending = [runner for runners in by_phase.values() for runner in runners]
    if len(by_phase) > 1:
        pending.sort(key=lambda runner: (runner.created_at, runner.name, runner.uid))
    return Buckets(
        deleting=tuple(deleting),
        leaving=tuple(leaving),
        owed=tuple(owed),
        under_way=under_way,
        pending=tuple(pending),
        running=tuple(running),
        finished=tuple(finished),
        failed=tuple(failed),
        outdated=tuple(runner for runner in refused if runner.revision >= subject.applied_revision),
        stale_outdated=tuple(runner for runner in refused if runner.revision < subject.applied_revision),
        latest_patch_id=latest,
        births=world.births_in_flight(subject.uid),
    )


def departure(world: World, runner: Runner) -> Departure:
    """Return how far a runner is on its way out.

    Every answer about one runner of a set makes the set look at all of them, so what is known of the others is kept
    for as long as neither they nor their effects change.
    """
    effects = world.effects.get(stream_of(_RUNNER, runner.uid))
    known = world.departures.get(runner.uid)
    if known is not None and known[0] is runner and known[1] is effects:
        return known[2]
    way = _STAYS if effects is None else _departure(effects, runner)
    world.departures[runner.uid] = (runner, effects, way)
    return way


def _departure(effects: Effects, runner: Runner) -> Departure:
    if is_being_deleted(effects, runner):
        return _UNDER_WAY
    if is_deleted(effects, runner):
        return _TAKEN
    return _OWED if is_released(effects, runner) else _STAYS


def is_leaving(world: World, runner: Runner) -> bool:
    """Whether nothing can keep this runner any more: its deletion is under way, or the service let it go."""
    return departure(world, runner) is not _STAYS


def is_deleted(effects: Effects, runner: Runner) -> bool:
    """Whether the API server took our deletion."""
    deletion = effects.attempt(_delete_key(runner))
    return deletion is not None and deletion.outcome in _GONE


def is_being_deleted(effects: Effects, runner: Runner) -> bool:
    """Whether our deletion is on its way to the API server."""
    return bool(effects.in_flight) and effects.flying(_delete_key(runner)) is not None


def is_released(effects: Effects, runner: Runner) -> bool:
    """Whether the service gave up the registration: it has no job and will never get one (H29)."""
    if runner.done:
        return False
    removal = removal_attempt(effects, runner)
    return removal is not None and removal.outcome in _GONE


def removal_attempt(effects: Effects, runner: Runner) -> Attempt | None:
    """Return how the service answered when last asked to remove this runner."""
    runner_id = recorded_id(effects, runner)
    return effects.attempt(removal_key(runner_id)) if runner_id > 0 else None


def recorded_id(effects: Effects, runner: Runner) -> int:
    """Return the id on the service; 0 where neither the status nor the outcome of the registration tells it (H23)."""
    if runner.runner_id:
        return runner.runner_id
    registration = effects.attempt(registration_key(runner.namespace, runner.name))
    told = registration.answer.get("runner_id", 0) if registration is not None else 0
    return told if isinstance(told, int) else 0


def _delete_key(runner: Runner) -> str:
    return delete_key(Kind.RUNNER, runner.namespace, runner.name)
