"""EphemeralRunnerSet to domain events (W2, W4)."""

from __future__ import annotations

from collections.abc import Iterator

from arcfsm.cluster.authors import ANNOTATIONS, FINALIZERS, LABELS
from arcfsm.cluster.sighting import Fact, Sighting
from arcfsm.cluster.wire import clean, whole
from arcfsm.domain.events.runner_set import (
    FinishedRunnersMarked,
    RevisionApplied,
    RunnerMetadataPublished,
    RunnerSetCreated,
    RunnerSetDeletionRequested,
    RunnerSetFacts,
    RunnerSetFinalizersChanged,
    RunnerSetMetadataChanged,
    RunnerSetObserved,
    RunnerSetPhaseChanged,
    RunnerSetScaled,
    RunnerSpecPublished,
)
from arcfsm.domain.jsonvalue import object_at
from arcfsm.domain.kinds import Kind
from arcfsm.domain.states import RunnerSet

PATCH_ID = ("f:spec", "f:patchID")
REPLICAS = ("f:spec", "f:replicas")
RUNNER_SPEC = (("f:spec", "f:ephemeralRunnerSpec"), ("f:spec", "f:actionableRevision"))
RUNNER_METADATA = (("f:spec", "f:ephemeralRunnerMetadata"),)
PHASE = (("f:status", "f:phase"),)
APPLIED = (("f:status", "f:appliedActionableRevision"),)
MARKER = (("f:status", "f:finishedRunnerCleanupPatchID"),)


def project(sighting: Sighting) -> RunnerSet:
    """Return everything of a runner set that the rules look at. Its owner is a scale set or nobody."""
    head, obj = sighting.head, sighting.object
    spec, status = object_at(obj, "spec"), object_at(obj, "status")
    runner_metadata = spec.get("ephemeralRunnerMetadata")
    owner = head.owner if head.owner is not None and head.owner.kind is Kind.SCALE_SET else None
    scale_set_name = owner.name if owner else head.name
    return RunnerSet(
        uid=head.uid,
        namespace=head.namespace,
        name=head.name,
        created_at=sighting.created_at,
        owner_uid=owner.uid if owner else "",
        owner_name=owner.name if owner else "",
        metadata=sighting.metadata(),
        runner_spec=sighting.document(object_at(spec, "ephemeralRunnerSpec")),
        runner_metadata="" if runner_metadata is None else sighting.document(runner_metadata),
        replicas=whole(spec, "replicas"),
        patch_id=whole(spec, "patchID"),
        actionable_revision=whole(spec, "actionableRevision"),
        finalizers=head.finalizers,
        phase=clean(status, "phase"),
        applied_revision=whole(status, "appliedActionableRevision"),
        finished_marker=whole(status, "finishedRunnerCleanupPatchID"),
        incarnation=sighting.world.incarnation_of(head.namespace, scale_set_name),
        deletion_requested_at=head.deletion_requested_at,
    )


def appeared(seen: RunnerSet, *, fresh: bool) -> RunnerSetFacts:
    """Return the event of a runner set that was not known, or that changed hands."""
    cls = RunnerSetCreated if fresh else RunnerSetObserved
    return cls(**{name: getattr(seen, name) for name in RunnerSetFacts.model_fields})


def changes(known: RunnerSet, seen: RunnerSet) -> Iterator[Fact]:
    """Yield what changed. The incarnation is that of the wish: it is no change by itself."""
    if seen.owner_uid != known.owner_uid:
        yield Fact(appeared(seen, fresh=False))
        return
    if seen.runner_spec != known.runner_spec or seen.actionable_revision != known.actionable_revision:
        published = RunnerSpecPublished(runner_spec=seen.runner_spec, actionable_revision=seen.actionable_revision)
        yield Fact(published, RUNNER_SPEC)
    if seen.runner_metadata != known.runner_metadata:
        yield Fact(RunnerMetadataPublished(runner_metadata=seen.runner_metadata), RUNNER_METADATA)
    incarnation = known.incarnation
    if (seen.replicas, seen.patch_id) != (known.replicas, known.patch_id):
        incarnation = seen.incarnation
        scaled = RunnerSetScaled(replicas=seen.replicas, patch_id=seen.patch_id, incarnation=incarnation)
        yield Fact(scaled, (PATCH_ID, REPLICAS) if seen.patch_id != known.patch_id else (REPLICAS,))
    if seen.metadata != known.metadata:
        yield Fact(RunnerSetMetadataChanged(metadata=seen.metadata), (LABELS, ANNOTATIONS))
    if seen.deletion_requested_at is not None and known.deletion_requested_at is None:
        yield Fact(RunnerSetDeletionRequested(deletion_requested_at=seen.deletion_requested_at))
    if seen.finalizers != known.finalizers:
        yield Fact(RunnerSetFinalizersChanged(finalizers=seen.finalizers), (FINALIZERS,))
    if seen.applied_revision != known.applied_revision:
        yield Fact(RevisionApplied(applied_revision=seen.applied_revision), APPLIED)
    if seen.phase != known.phase:
        yield Fact(RunnerSetPhaseChanged(phase=seen.phase), PHASE)
    if seen.finished_marker != known.finished_marker:
        marked = FinishedRunnersMarked(finished_marker=seen.finished_marker, incarnation=incarnation)
        yield Fact(marked, MARKER)
