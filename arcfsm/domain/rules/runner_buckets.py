"""The runners of a set, sorted into the buckets of rules.md 2.2, and what is known about their way out."""

from __future__ import annotations

from dataclasses import dataclass

from arcfsm.domain import phases
from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.intents import delete_key, registration_key, removal_key
from arcfsm.domain.kinds import AggregateKind, Kind, StreamId
from arcfsm.domain.rules.rule import Look
from arcfsm.domain.states import Attempt, Effects, Runner, RunnerSet
from arcfsm.domain.world import World

_GONE = frozenset({Outcome.OK, Outcome.NOT_FOUND})


@dataclass(frozen=True, slots=True)
class Buckets:
    """Each runner is in exactly one bucket; within one the oldest comes first."""

    deleting: tuple[Runner, ...]
    """Somebody deleted them, whatever their phase."""
    leaving: tuple[Runner, ...]
    """We are deleting them, or the service has released them for us: they count as deleting from then on (H11)."""
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
    by_phase: dict[str, list[Runner]] = {}
    latest = 0
    for runner in world.runners_of(subject.uid):
        if runner.patch_id > latest and same_incarnation(runner.incarnation, subject.incarnation):
            latest = runner.patch_id
        if runner.deletion_requested_at is not None:
            deleting.append(runner)
        elif runner.parting and is_leaving(world, runner):
            leaving.append(runner)
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
        pending=tuple(pending),
        running=tuple(running),
        finished=tuple(finished),
        failed=tuple(failed),
        outdated=tuple(runner for runner in refused if runner.revision >= subject.applied_revision),
        stale_outdated=tuple(runner for runner in refused if runner.revision < subject.applied_revision),
        latest_patch_id=latest,
        births=world.births_in_flight(subject.uid),
    )


def is_leaving(world: World, runner: Runner) -> bool:
    """Whether nothing can keep this runner any more: its deletion is under way, or the service let it go."""
    effects = _effects(world, runner)
    if effects is None:
        return False
    return is_deleted(effects, runner) or is_being_deleted(effects, runner) or is_released(effects, runner)


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


def _effects(world: World, runner: Runner) -> Effects | None:
    return world.effects.get(StreamId(AggregateKind.RUNNER, runner.uid))


def _delete_key(runner: Runner) -> str:
    return delete_key(Kind.RUNNER, runner.namespace, runner.name)
