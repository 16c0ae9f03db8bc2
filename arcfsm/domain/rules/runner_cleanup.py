"""How runners of a set are let go: S-clean, S-idle and S-remove.

Upstream does this inside one pass, asking the service runner by runner. Here a question is an intent and its answer is
part of the runner's state, so that a clean-up takes several looks and survives a restart between any two of them:

- not asked, or asked too long ago: the question is wanted;
- in flight: the gate knows, nothing is asked twice;
- released (ok, or not found): the runner is leaving. Whatever is wished by now, it will never get a job, so its
  deletion is finished in every case;
- busy: a valid answer. It keeps the runner, and how long it counts depends on who asks;
- failed: wanted again, the gate says when, and nothing that waits for this clean-up goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from arcfsm.domain import keys, phases
from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.instant import Instant
from arcfsm.domain.intents import CallService, Intent, ServiceCall, removal_key
from arcfsm.domain.kinds import AggregateKind
from arcfsm.domain.kinds import stream_of as _stream_of
from arcfsm.domain.rules.gate import retry_at
from arcfsm.domain.rules.rule import Answer, Look, rule
from arcfsm.domain.rules.runner_buckets import (
    recorded_id,
    removal_attempt,
    sort_runners,
)
from arcfsm.domain.rules.writes import delete, drop_finalizer, stream_of
from arcfsm.domain.states import Effects, Runner, RunnerSet

_RUNNER: Final = AggregateKind.RUNNER


@dataclass(slots=True)
class Cleaning:
    """What a clean-up wants and what it waits for."""

    intents: list[Intent] = field(default_factory=list)
    reaped: int = 0
    """Runners that are over and get deleted."""
    asked: int = 0
    """Idle runners that the service is asked to let go, or that were never registered and get deleted."""
    leaving: int = 0
    """Runners whose deletion is not yet taken by the API server."""
    going: int = 0
    """Runners that are being deleted."""
    busy: int = 0
    """Runners that keep their job."""
    unrecorded: int = 0
    """Runners too young to be without an id."""
    broken: int = 0
    """Runners that can't be asked about."""
    births: int = 0
    """Runners that are being created, to be cleaned up when they appear."""
    grace_ends: Instant | None = None
    """When the first of the unrecorded may be touched."""
    ask_again: Instant | None = None
    """When the first busy answer runs out."""

    @property
    def finished(self) -> bool:
        """Whether nothing is left to ask, to delete or to wait for: what remains has a job or is on its way out."""
        return not (self.intents or self.asked or self.leaving or self.unrecorded or self.broken or self.births)

    @property
    def wake_at(self) -> Instant | None:
        """When to look again although nothing happened."""
        return min((at for at in (self.grace_ends, self.ask_again) if at is not None), default=None)

    def __str__(self) -> str:
        parts = (
            (self.reaped, "is over and deleted", "are over and deleted"),
            (self.asked, "is idle and asked to go", "are idle and asked to go"),
            (self.leaving, "was let go and is deleted", "were let go and are deleted"),
            (self.unrecorded, "has no recorded id yet", "have no recorded id yet"),
            (self.broken, "has an impossible id", "have impossible ids"),
            (self.busy, "keeps its job", "keep their jobs"),
        )
        counted = [f"{count} {one if count == 1 else more}" for count, one, more in parts if count]
        # Those that come and go by themselves are not counted: a reason holds until something else is true.
        coming = ["some are being created"] if self.births else []
        going = ["some are being deleted"] if self.going else []
        return ", ".join((*counted, *coming, *going))

    def explain(self, purpose: str) -> str:
        """Say for what it is done, and what is done."""
        return f"{purpose}: {self}" if str(self) else purpose


@rule("S-clean", "finished and refused runners go at once, idle ones when the service lets them go, busy ones stay")
def clean(look: Look[RunnerSet], *, revision: int | None = None) -> Cleaning:
    """Let go of every runner that can be let go.

    For a new `revision` (S3) an answer counts if it was asked for after the revision came, and refused runners of that
    very revision are left as evidence for S-applied. Otherwise a busy answer counts for a while.
    """
    buckets = look.once(sort_runners)
    cleaning = Cleaning(births=buckets.births)
    cleaning.leaving = len(buckets.owed) + buckets.under_way
    cleaning.going = len(buckets.deleting) + len(buckets.leaving) - cleaning.leaving
    refused = [
        runner
        for runner in (*buckets.outdated, *buckets.stale_outdated)
        if revision is None or runner.revision < revision
    ]
    for runner in (*buckets.finished, *buckets.failed, *refused):
        cleaning.reaped += 1
        cleaning.intents.append(delete(runner))
    for runner in (*buckets.pending, *buckets.running):
        if _keeps_job(look, runner):
            cleaning.busy += 1
        elif (grace := grace_ends(look, runner)) is not None:
            cleaning.unrecorded += 1
            cleaning.grace_ends = _earlier(cleaning.grace_ends, grace)
        elif _answered_busy(look, runner, cleaning, for_revision=revision is not None):
            cleaning.busy += 1
        else:
            _remove(look, runner, cleaning)
    return cleaning


@rule("S-idle", "as many idle runners go as are too many: pending before running, older before younger")
def let_idle_go(look: Look[RunnerSet], count: int) -> Cleaning:
    """Let `count` idle runners go. A runner the service would not or could not answer for is passed over."""
    buckets = look.once(sort_runners)
    cleaning = Cleaning()
    fresh: list[Runner] = []
    failing: list[Runner] = []
    for runner in (*buckets.pending, *buckets.running):
        if runner.has_job:
            cleaning.busy += 1
        elif (grace := grace_ends(look, runner)) is not None:
            cleaning.unrecorded += 1
            cleaning.grace_ends = _earlier(cleaning.grace_ends, grace)
        elif _in_flight(look, runner):
            # Asked already: it is one of the count, whatever its place in the order.
            count -= 1
            _remove(look, runner, cleaning)
        elif _answered_busy(look, runner, cleaning, for_revision=False):
            cleaning.busy += 1
        else:
            (failing if _failing(look, runner) else fresh).append(runner)
    chosen = (*fresh, *failing)[: max(0, count)]
    for runner in failing:
        if runner not in chosen:
            _report_failure(look, runner)
    for runner in chosen:
        _remove(look, runner, cleaning)
    if len(chosen) >= count:
        # Enough were found: nobody needs to look again at those that were passed over.
        cleaning.grace_ends = cleaning.ask_again = None
    return cleaning


@rule("S-remove", "a registered runner is deleted only after the service let it go; then its deletion is finished")
def finish_removals(look: Look[RunnerSet]) -> Answer | None:
    """Delete what the service has released, in every case: a released runner gets no job and would hold a slot."""
    buckets = look.once(sort_runners)
    look.awaiting = look.awaiting or buckets.under_way > 0
    for runner in buckets.owed:
        if runner.has_registration_finalizer:
            look.carry(drop_finalizer(look, runner, keys.REGISTRATION_FINALIZER))
        look.carry(delete(runner))
    return None


def _remove(look: Look[RunnerSet], runner: Runner, cleaning: Cleaning) -> None:
    """Ask the service to let the runner go. One without an id is deleted: its own finalizer resolves and asks (R3)."""
    runner_id = recorded_id(_effects(look, runner), runner)
    if runner_id < 0:
        cleaning.broken += 1
        look.find("RunnerIdImpossible", f"runner {runner.name} carries the id {runner_id}; no service knows it")
        return
    cleaning.asked += 1
    if _in_flight(look, runner):
        look.awaiting = True
        return
    if runner_id == 0:
        cleaning.intents.append(delete(runner))
        return
    _report_failure(look, runner)
    cleaning.intents.append(
        CallService(
            target=stream_of(runner),
            call=ServiceCall.REMOVE_RUNNER,
            namespace=runner.namespace,
            arguments={"runner_id": runner_id},
        )
    )


def _report_failure(look: Look[RunnerSet], runner: Runner) -> None:
    attempt = removal_attempt(_effects(look, runner), runner)
    if attempt is not None and attempt.failures:
        cause = attempt.detail or attempt.outcome.value
        look.find("RunnerRemovalFailed", f"the service did not let runner {runner.name} go: {cause}")


def _keeps_job(look: Look[RunnerSet], runner: Runner) -> bool:
    """Whether the runner has a job. Running one without a recorded id keeps nothing; its finalizer guards the pod."""
    if not runner.has_job:
        return False
    return runner.phase != phases.RUNNING or recorded_id(_effects(look, runner), runner) > 0


def grace_ends(look: Look[RunnerSet], runner: Runner) -> Instant | None:
    """Return until when a runner without a recorded id is left alone; None if it may be touched."""
    ends = runner.created_at + look.settings.unrecorded_grace
    if ends <= look.now or recorded_id(_effects(look, runner), runner):
        return None
    return ends


def _answered_busy(look: Look[RunnerSet], runner: Runner, cleaning: Cleaning, *, for_revision: bool) -> bool:
    attempt = removal_attempt(_effects(look, runner), runner)
    if attempt is None or attempt.outcome is not Outcome.BUSY:
        return False
    if for_revision:
        return attempt.decision > look.subject.revised_seq
    again = attempt.at + look.settings.busy_retry
    if again <= look.now:
        return False
    cleaning.ask_again = _earlier(cleaning.ask_again, again)
    return True


def _in_flight(look: Look[RunnerSet], runner: Runner) -> bool:
    effects = _effects(look, runner)
    return bool(effects.in_flight) and effects.flying(removal_key(recorded_id(effects, runner))) is not None


def _failing(look: Look[RunnerSet], runner: Runner) -> bool:
    """Whether its removal failed a moment ago: others are asked first."""
    attempt = removal_attempt(_effects(look, runner), runner)
    again = retry_at(attempt) if attempt is not None else None
    return again is not None and again > look.now


def _effects(look: Look[RunnerSet], runner: Runner) -> Effects:
    return look.world.effects_of(_stream_of(_RUNNER, runner.uid))


def _earlier(one: Instant | None, other: Instant) -> Instant:
    return other if one is None else min(one, other)
