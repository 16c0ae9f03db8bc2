"""Who may lead, as pure state: what a candidate knows of the lease, whether it holds it, and what to do next.

Two clocks are never compared. Each candidate judges by its own: a holder stops holding `give_up` after its last
successful renewal *began*; another takes over only after it has itself seen the lease unchanged for `duration`, which
is longer. The times written into the lease are for people. Whatever is written carries the resourceVersion that was
read, so of two candidates one fails.

A lease that is not there may have been deleted under a holder that does not know yet, so whoever creates one waits for
as long as such a holder could go on before it counts itself as leader.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from arcfsm.domain.instant import SECOND, Instant, Span
from arcfsm.domain.jsonvalue import JsonObject, integer_at, object_at, text_at
from arcfsm.domain.kinds import Resource

LEASES: Final = Resource("coordination.k8s.io", "v1", "leases")


@dataclass(frozen=True, slots=True)
class Timing:
    """How long things take, in microseconds. Raises ValueError where they don't protect from two leaders."""

    duration: Span = 15 * SECOND
    """How long a lease must stand unchanged before it counts as abandoned."""
    give_up: Span = 10 * SECOND
    """How long after its last renewal a leader stops leading."""
    renew_every: Span = 5 * SECOND
    poll_every: Span = 2 * SECOND
    """How often a standby looks, and a leader tries again after a failure."""

    def __post_init__(self) -> None:
        if not 0 < self.poll_every <= self.renew_every < self.give_up < self.duration:
            raise ValueError("a lease needs poll_every <= renew_every < give_up < duration")


@dataclass(frozen=True, slots=True)
class LeaseView:
    """A lease as it was read."""

    version: str
    """Its resourceVersion: changes with every write, of metadata as well."""
    holder: str
    """"" where it was released."""
    duration: Span
    transitions: int
    """How often the holder changed."""
    record: JsonObject
    """All that holders write: as long as this stays, nobody renewed."""


class Step(StrEnum):
    """What a candidate does next."""

    CREATE = "create"
    TAKE = "take"
    RENEW = "renew"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Candidate:
    """What one candidate knows. Times are of its own clock, which only ever goes forward."""

    identity: str
    timing: Timing
    view: LeaseView | None = None
    """None where there is no lease, or nobody looked yet."""
    seen_at: Span = 0
    """When the present record was first seen."""
    renewed_at: Span | None = None
    """When the last successful renewal of ours began; None while the lease is not ours."""
    not_before: Span = 0
    """Before this, holding the lease does not make a leader."""

    @property
    def owns(self) -> bool:
        """Whether the lease is ours as far as we know, led or not."""
        return self.view is not None and self.view.holder == self.identity


def read_lease(body: JsonObject) -> LeaseView:
    """Read a Lease; fields that are missing have their zero value."""
    spec = object_at(body, "spec")
    return LeaseView(
        version=text_at(body, "metadata", "resourceVersion"),
        holder=text_at(spec, "holderIdentity"),
        duration=max(integer_at(spec, "leaseDurationSeconds"), 0) * SECOND,
        transitions=max(integer_at(spec, "leaseTransitions"), 0),
        record=spec,
    )


def seen(candidate: Candidate, view: LeaseView | None, now: Span) -> Candidate:
    """Take in what was read at `now`. A lease that is another's, or gone, is ours no more at once."""
    before = candidate.view
    unchanged = view is not None and before is not None and view.record == before.record
    ours = view is not None and view.holder == candidate.identity
    return replace(
        candidate,
        view=view,
        seen_at=candidate.seen_at if unchanged else now,
        renewed_at=candidate.renewed_at if ours else None,
    )


def next_step(candidate: Candidate, now: Span) -> Step:
    """Say what to do next."""
    view = candidate.view
    if view is None:
        return Step.CREATE
    if view.holder == candidate.identity:
        return Step.RENEW
    if not view.holder:
        return Step.TAKE
    # A holder that promised to stay away longer than we would is taken at its word.
    abandoned = now - candidate.seen_at >= max(view.duration, candidate.timing.duration)
    return Step.TAKE if abandoned else Step.WAIT


def attempting(candidate: Candidate, step: Step, now: Span) -> Candidate:
    """Note what is about to be written: its answer may get lost."""
    if step is Step.CREATE:
        return replace(candidate, not_before=now + candidate.timing.give_up)
    return replace(candidate, not_before=0) if step is Step.TAKE else candidate


def written(candidate: Candidate, view: LeaseView, began: Span, now: Span) -> Candidate:
    """Take in a write of ours that began at `began` and succeeded."""
    candidate = seen(candidate, view, now)
    return replace(candidate, renewed_at=began) if candidate.owns else candidate


def holds(candidate: Candidate, now: Span) -> bool:
    """Whether it leads at `now`."""
    renewed = candidate.renewed_at
    return renewed is not None and candidate.not_before <= now <= renewed + candidate.timing.give_up


def changes_at(candidate: Candidate, now: Span) -> Span | None:
    """Return when `holds` changes next if nothing else happens; None if never."""
    renewed = candidate.renewed_at
    if renewed is None or now > renewed + candidate.timing.give_up:
        return None
    return candidate.not_before if now < candidate.not_before else renewed + candidate.timing.give_up + 1


def body_of(candidate: Candidate, step: Step, wall: Instant) -> dict[str, Any]:
    """Return the merge patch, or for CREATE the spec, that makes or keeps the lease ours."""
    spec: dict[str, Any] = {
        "holderIdentity": candidate.identity,
        "leaseDurationSeconds": candidate.timing.duration // SECOND,
        "renewTime": _micro_time(wall),
    }
    view = candidate.view
    if step is not Step.RENEW:
        spec["acquireTime"] = _micro_time(wall)
        spec["leaseTransitions"] = 0 if view is None else view.transitions + 1
    return {"spec": spec} if view is None else {"metadata": {"resourceVersion": view.version}, "spec": spec}


def release_of(view: LeaseView, wall: Instant) -> dict[str, Any]:
    """Return the merge patch that gives a lease up, so that the next candidate need not wait."""
    spec = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": _micro_time(wall)}
    return {"metadata": {"resourceVersion": view.version}, "spec": spec}


def lease_name(namespaces: Iterable[str]) -> str:
    """Return the name of the lease of a scope: the watched namespaces, none for all of them."""
    scope = ",".join(sorted(set(namespaces))) or "*"
    return f"arcfsm-{hashlib.sha256(scope.encode()).hexdigest()[:8]}"


def _micro_time(wall: Instant) -> str:
    """Write a time as the API wants it in leases: with six digits, always."""
    moment = datetime.fromtimestamp(wall // SECOND, UTC).replace(microsecond=wall % SECOND)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
