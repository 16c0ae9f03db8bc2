"""AutoscalingListener to domain events (W3, W8)."""

from __future__ import annotations

from collections.abc import Iterator

from arcfsm.cluster.authors import ANNOTATIONS, FINALIZERS, LABELS, SPEC
from arcfsm.cluster.redaction import redact_name
from arcfsm.cluster.sighting import Fact, Sighting
from arcfsm.cluster.wire import clean
from arcfsm.domain.events.listener import (
    ListenerCreated,
    ListenerDeletionRequested,
    ListenerFacts,
    ListenerFinalizersChanged,
    ListenerMetadataChanged,
    ListenerObserved,
    ListenerSpecChanged,
    ListenerSwitched,
)
from arcfsm.domain.jsonvalue import object_at, text_at
from arcfsm.domain.states import Listener

PHASE = (("f:spec", "f:phase"),)


def project(sighting: Sighting) -> Listener:
    """Return everything of a listener that the rules look at."""
    head = sighting.head
    spec = object_at(sighting.object, "spec")
    return Listener(
        uid=head.uid,
        namespace=head.namespace,
        name=head.name,
        created_at=sighting.created_at,
        scale_set_namespace=redact_name(text_at(spec, "autoscalingRunnerSetNamespace")),
        scale_set_name=redact_name(text_at(spec, "autoscalingRunnerSetName")),
        spec=sighting.document({key: value for key, value in spec.items() if key != "phase"}),
        metadata=sighting.metadata(),
        phase=clean(spec, "phase"),
        finalizers=head.finalizers,
        deletion_requested_at=head.deletion_requested_at,
    )


def appeared(seen: Listener, *, fresh: bool) -> ListenerFacts:
    """Return the event of a listener that was not known, or that serves another scale set now."""
    cls = ListenerCreated if fresh else ListenerObserved
    return cls(**{name: getattr(seen, name) for name in ListenerFacts.model_fields})


def changes(known: Listener, seen: Listener) -> Iterator[Fact]:
    """Yield what changed."""
    served = (known.scale_set_namespace, known.scale_set_name)
    if (seen.scale_set_namespace, seen.scale_set_name) != served:
        yield Fact(appeared(seen, fresh=False))
        return
    if seen.spec != known.spec:
        yield Fact(ListenerSpecChanged(spec=seen.spec), (SPEC,))
    if seen.phase != known.phase:
        yield Fact(ListenerSwitched(phase=seen.phase), PHASE)
    if seen.metadata != known.metadata:
        yield Fact(ListenerMetadataChanged(metadata=seen.metadata), (LABELS, ANNOTATIONS))
    if seen.deletion_requested_at is not None and known.deletion_requested_at is None:
        yield Fact(ListenerDeletionRequested(deletion_requested_at=seen.deletion_requested_at))
    if seen.finalizers != known.finalizers:
        yield Fact(ListenerFinalizersChanged(finalizers=seen.finalizers), (FINALIZERS,))
