"""The controller's gauges, counted from the fold: no ghost counts after a restart (M12)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from arcfsm.domain import keys, phases
from arcfsm.domain.jsonvalue import strings_at
from arcfsm.domain.rulebook import rule
from arcfsm.domain.states import Runner, RunnerSet
from arcfsm.domain.world import World

PENDING_RUNNERS: Final = "gha_controller_pending_ephemeral_runners"
RUNNING_RUNNERS: Final = "gha_controller_running_ephemeral_runners"
FAILED_RUNNERS: Final = "gha_controller_failed_ephemeral_runners"
RUNNING_LISTENERS: Final = "gha_controller_running_listeners"
LABELS: Final = ("name", "namespace", "repository", "organization", "enterprise")
_OF_PHASE: Final = {
    phases.NONE: PENDING_RUNNERS,
    phases.PENDING: PENDING_RUNNERS,
    phases.RUNNING: RUNNING_RUNNERS,
    phases.FAILED: FAILED_RUNNERS,
}


class Gauge(NamedTuple):
    """One sample: labels stand in the order of `LABELS`."""

    name: str
    labels: tuple[str, ...]
    value: int


@rule("M12", "pending, running and failed runners per set, and running listeners, counted from the folded state")
def gauges(world: World) -> Iterator[Gauge]:
    """Yield every gauge of every runner set and listener that is there, sorted by uid within each kind."""
    for uid in sorted(world.runner_sets):
        runner_set = world.runner_sets[uid]
        if runner_set.present:
            yield from _runners(world, runner_set)
    for uid in sorted(world.listeners):
        listener = world.listeners[uid]
        if listener.present:
            labels = _labels(world, listener.metadata, listener.name, listener.namespace)
            yield Gauge(RUNNING_LISTENERS, labels, int(listener.state == "up"))


def _runners(world: World, runner_set: RunnerSet) -> Iterator[Gauge]:
    """Count the runners of a set that hold a slot; those on their way out do not."""
    counts = dict.fromkeys((PENDING_RUNNERS, RUNNING_RUNNERS, FAILED_RUNNERS), 0)
    for runner in world.runners_of(runner_set.uid):
        name = _gauge_of(runner)
        if name:
            counts[name] += 1
    known = strings_at(world.documents.mapping(runner_set.metadata), "labels")
    name = known.get(keys.SCALE_SET_NAME, runner_set.name)
    namespace = known.get(keys.SCALE_SET_NAMESPACE, runner_set.namespace)
    labels = _labels(world, runner_set.metadata, name, namespace)
    for gauge, count in counts.items():
        yield Gauge(gauge, labels, count)


def _gauge_of(runner: Runner) -> str:
    return "" if runner.deleting else _OF_PHASE.get(runner.phase, "")


def _labels(world: World, metadata: str, name: str, namespace: str) -> tuple[str, ...]:
    known = strings_at(world.documents.mapping(metadata), "labels")
    return (name, namespace, *(known.get(key, "") for key in (keys.REPOSITORY, keys.ORGANIZATION, keys.ENTERPRISE)))
