"""EphemeralRunner to domain events (W5, W6). `status.runnerJITConfig` is a credential and is never read (B64)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from arcfsm.cluster.authors import ANNOTATIONS, FINALIZERS, LABELS, SPEC
from arcfsm.cluster.redaction import redact_name
from arcfsm.cluster.sighting import Fact, Sighting
from arcfsm.cluster.wire import clean, flag, moment_or_none, positive, text, whole
from arcfsm.domain import keys
from arcfsm.domain.events.runner import (
    RunnerCreated,
    RunnerDeletionRequested,
    RunnerFacts,
    RunnerFailuresRecorded,
    RunnerFinalizersChanged,
    RunnerJobAssigned,
    RunnerMetadataChanged,
    RunnerObserved,
    RunnerPhaseChanged,
    RunnerReadinessChanged,
    RunnerRegistered,
    RunnerSpecChanged,
)
from arcfsm.domain.facts import Job, PodFailure
from arcfsm.domain.jsonvalue import JsonObject, object_at
from arcfsm.domain.kinds import Kind
from arcfsm.domain.states import Runner

PHASE = (("f:status", "f:phase"), ("f:status", "f:reason"), ("f:status", "f:message"))
READINESS = (("f:status", "f:ready"), ("f:status", "f:reason"), ("f:status", "f:message"))
REGISTRATION = (("f:status", "f:runnerId"), ("f:status", "f:runnerName"))
JOB = (("f:status", "f:jobId"), ("f:status", "f:jobRequestId"), ("f:status", "f:workflowRunId"))
FAILURES = (("f:status", "f:failures"),)

_NO_JOB: Final = Job()
_JOB_KEYS: Final = frozenset(
    {"jobId", "jobRequestId", "jobRepositoryName", "jobWorkflowRef", "workflowRunId", "jobDisplayName"}
)


def project(sighting: Sighting, known: Runner | None) -> Runner:
    """Return everything of a runner that the rules look at; birth marks of a known one are as its first event said."""
    head, obj = sighting.head, sighting.object
    status = object_at(obj, "status")
    owner = head.owner if head.owner is not None and head.owner.kind is Kind.RUNNER_SET else None
    patch_id = positive(text(head.annotations, keys.PATCH_ID))
    owner_uid = owner.uid if owner else ""
    born = known is None or known.owner_uid != owner_uid
    return Runner(
        uid=head.uid,
        namespace=head.namespace,
        name=head.name,
        created_at=sighting.created_at,
        owner_uid=owner_uid,
        owner_name=owner.name if owner else "",
        metadata=sighting.metadata(),
        spec=sighting.document(object_at(obj, "spec")),
        patch_id=patch_id,
        revision=positive(text(head.annotations, keys.ACTIONABLE_REVISION)),
        incarnation=_incarnation(sighting, owner_uid, patch_id) if born else "",
        finalizers=head.finalizers,
        phase=clean(status, "phase"),
        ready=flag(status, "ready"),
        reason=clean(status, "reason"),
        message=clean(status, "message"),
        runner_id=whole(status, "runnerId"),
        runner_name=clean(status, "runnerName"),
        failures=_failures(sighting, status, known),
        job=_job(status),
        deletion_requested_at=head.deletion_requested_at,
    )


def appeared(seen: Runner, *, fresh: bool) -> RunnerFacts:
    """Return the event of a runner that was not known, or that changed hands."""
    cls = RunnerCreated if fresh else RunnerObserved
    return cls(**{name: getattr(seen, name) for name in RunnerFacts.model_fields})


def changes(known: Runner, seen: Runner) -> Iterator[Fact]:
    """Yield what changed. Patch id, revision and incarnation are birth marks and never do (H6)."""
    if seen.owner_uid != known.owner_uid:
        yield Fact(appeared(seen, fresh=False))
        return
    if seen.spec != known.spec:
        yield Fact(RunnerSpecChanged(spec=seen.spec), (SPEC,))
    if seen.metadata != known.metadata:
        yield Fact(RunnerMetadataChanged(metadata=seen.metadata), (LABELS, ANNOTATIONS))
    if seen.deletion_requested_at is not None and known.deletion_requested_at is None:
        yield Fact(RunnerDeletionRequested(deletion_requested_at=seen.deletion_requested_at))
    if seen.finalizers != known.finalizers:
        yield Fact(RunnerFinalizersChanged(finalizers=seen.finalizers), (FINALIZERS,))
    if (seen.runner_id, seen.runner_name) != (known.runner_id, known.runner_name):
        yield Fact(RunnerRegistered(runner_id=seen.runner_id, runner_name=seen.runner_name), REGISTRATION)
    if seen.job != known.job:
        yield Fact(RunnerJobAssigned(job=seen.job), JOB)
    if seen.failures != known.failures:
        yield Fact(RunnerFailuresRecorded(failures=seen.failures), FAILURES)
    said = (seen.reason, seen.message) != (known.reason, known.message)
    if seen.phase != known.phase:
        yield Fact(RunnerPhaseChanged(phase=seen.phase, reason=seen.reason, message=seen.message), PHASE)
        said = False
    if seen.ready != known.ready or said:
        event = RunnerReadinessChanged(ready=seen.ready, reason=seen.reason, message=seen.message)
        yield Fact(event, READINESS if seen.ready != known.ready else READINESS[1:])


def _incarnation(sighting: Sighting, owner_uid: str, patch_id: int) -> str:
    """Return the listener pod whose wish a runner was born for: that of its set's present wish, if it is that wish's.

    A runner that is older than the pod was born for an earlier one, whatever its patch id says (H8).
    """
    owner = sighting.world.runner_sets.get(owner_uid)
    if owner is None or not owner.incarnation or owner.patch_id != patch_id:
        return ""
    if sighting.fresh:
        return owner.incarnation
    for listener in sighting.world.listeners_of(owner.namespace, owner.owner_name or owner.name):
        if listener.pod is not None and listener.pod.uid == owner.incarnation:
            return owner.incarnation if listener.pod.created_at <= sighting.created_at else ""
    return ""


def _failures(sighting: Sighting, status: JsonObject, known: Runner | None) -> tuple[PodFailure, ...]:
    """Return the failed pods, earliest first.

    Older versions wrote `true` in place of the time. Then the time is the one we first saw the entry at.
    """
    if "failures" not in status:
        return ()
    before = {failure.pod_uid: failure.at for failure in known.failures} if known else {}
    found: list[PodFailure] = []
    for pod_uid, value in object_at(status, "failures").items():
        if value is False or value is None:
            continue
        at = moment_or_none(value)
        if at is None:
            at = before.get(redact_name(pod_uid), sighting.at if sighting.at is not None else sighting.created_at)
        found.append(PodFailure(pod_uid=redact_name(pod_uid), at=at))
    return tuple(sorted(found, key=lambda failure: (failure.at, failure.pod_uid)))


def _job(status: JsonObject) -> Job:
    if _JOB_KEYS.isdisjoint(status):
        return _NO_JOB
    return Job(
        job_id=clean(status, "jobId"),
        request_id=whole(status, "jobRequestId"),
        repository=clean(status, "jobRepositoryName"),
        workflow_ref=clean(status, "jobWorkflowRef"),
        workflow_run_id=whole(status, "workflowRunId"),
        display_name=clean(status, "jobDisplayName"),
    )
