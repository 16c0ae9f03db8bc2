"""AutoscalingRunnerSet to domain events (W1)."""

from __future__ import annotations

from collections.abc import Iterator

from arcfsm.cluster.authors import ANNOTATIONS, FINALIZERS, LABELS, SPEC
from arcfsm.cluster.sighting import Fact, Sighting
from arcfsm.cluster.wire import clean, positive, text, whole
from arcfsm.domain import keys
from arcfsm.domain.events.scale_set import (
    ScaleSetCreated,
    ScaleSetDeletionRequested,
    ScaleSetFacts,
    ScaleSetFinalizersChanged,
    ScaleSetGenerationObserved,
    ScaleSetMetadataChanged,
    ScaleSetObserved,
    ScaleSetPhaseChanged,
    ScaleSetSpecChanged,
)
from arcfsm.domain.jsonvalue import object_at
from arcfsm.domain.states import ScaleSet

PHASE = (("f:status", "f:phase"),)
GENERATION = (("f:status", "f:observedGeneration"),)


def project(sighting: Sighting) -> ScaleSet:
    """Return everything of a scale set that the rules look at."""
    head, obj = sighting.head, sighting.object
    return ScaleSet(
        uid=head.uid,
        namespace=head.namespace,
        name=head.name,
        created_at=sighting.created_at,
        generation=head.generation,
        spec=sighting.document(object_at(obj, "spec")),
        metadata=sighting.metadata(),
        scale_set_id=positive(text(head.annotations, keys.SCALE_SET_ID)),
        finalizers=head.finalizers,
        phase=clean(object_at(obj, "status"), "phase"),
        observed_generation=whole(obj, "status", "observedGeneration"),
        deletion_requested_at=head.deletion_requested_at,
    )


def appeared(seen: ScaleSet, *, fresh: bool) -> ScaleSetFacts:
    """Return the event of a scale set that was not known."""
    cls = ScaleSetCreated if fresh else ScaleSetObserved
    return cls(**{name: getattr(seen, name) for name in ScaleSetFacts.model_fields})


def changes(known: ScaleSet, seen: ScaleSet) -> Iterator[Fact]:
    """Yield what changed, in the order in which it reads as a story: what was asked for, then how it is going."""
    # A deletion moves the generation too; that alone is no edit of the spec.
    if seen.spec != known.spec or (seen.generation != known.generation and not seen.deleting):
        yield Fact(ScaleSetSpecChanged(spec=seen.spec, generation=seen.generation), (SPEC,))
    if seen.metadata != known.metadata:
        event = ScaleSetMetadataChanged(metadata=seen.metadata, scale_set_id=seen.scale_set_id)
        yield Fact(event, (LABELS, ANNOTATIONS))
    if seen.deletion_requested_at is not None and known.deletion_requested_at is None:
        yield Fact(ScaleSetDeletionRequested(deletion_requested_at=seen.deletion_requested_at))
    if seen.finalizers != known.finalizers:
        yield Fact(ScaleSetFinalizersChanged(finalizers=seen.finalizers), (FINALIZERS,))
    if seen.phase != known.phase:
        yield Fact(ScaleSetPhaseChanged(phase=seen.phase), PHASE)
    if seen.observed_generation != known.observed_generation:
        yield Fact(ScaleSetGenerationObserved(observed_generation=seen.observed_generation), GENERATION)
