"""The writes that rules of every aggregate want, in short: patches of what changes, deletions that name a uid."""

from __future__ import annotations

from arcfsm.domain.intents import DeleteObject, Intent, PatchObject
from arcfsm.domain.jsonvalue import Digest, Json, JsonObject
from arcfsm.domain.kinds import KIND_OF, AggregateKind, StreamId
from arcfsm.domain.knowledge import Aggregate
from arcfsm.domain.rules.rule import A, Look
from arcfsm.domain.states import Listener, Runner, RunnerSet, ScaleSet


def stream_of(one: Aggregate) -> StreamId:
    """Return the stream of an aggregate."""
    return StreamId(_KINDS[type(one)], one.uid)


def patch(look: Look[A], one: Aggregate, body: JsonObject, *, content: Digest = "") -> PatchObject:
    """Merge-patch the object itself."""
    stream = stream_of(one)
    return PatchObject(
        target=stream,
        kind=KIND_OF[stream.kind],
        namespace=one.namespace,
        name=one.name,
        uid=one.uid,
        patch=look.intern(body),
        content=content,
    )


def patch_status(look: Look[A], one: Aggregate, *, locked: bool = False, **fields: Json) -> PatchObject:
    """Merge-patch exactly these fields of the status, at this very version of the object if locked (H2, H3)."""
    stream = stream_of(one)
    return PatchObject(
        target=stream,
        kind=KIND_OF[stream.kind],
        namespace=one.namespace,
        name=one.name,
        uid=one.uid,
        patch=look.intern({"status": fields}),
        subresource="status",
        resource_version=one.resource_version if locked else "",
    )


def add_finalizer(look: Look[A], one: Aggregate, finalizer: str) -> PatchObject:
    """Put one finalizer beside those that are there."""
    return patch(look, one, {"metadata": {"finalizers": [*one.finalizers, finalizer]}})


def drop_finalizer(look: Look[A], one: Aggregate, finalizer: str) -> PatchObject:
    """Take one finalizer away and leave those of others."""
    rest: Json = [other for other in one.finalizers if other != finalizer]
    return patch(look, one, {"metadata": {"finalizers": rest}})


def delete(one: Aggregate) -> DeleteObject:
    """Delete the object, never a successor of the same name."""
    stream = stream_of(one)
    kind = KIND_OF[stream.kind]
    return DeleteObject(target=stream, kind=kind, namespace=one.namespace, name=one.name, uid=one.uid)


def in_steps(look: Look[A], *steps: tuple[Intent, ...]) -> tuple[Intent, ...]:
    """Return the first step that still has something to do; the next one waits for its outcome.

    In advice nobody carries anything out and no outcome comes: there all steps are said at once, in order.
    """
    if look.world.advisory:
        return tuple(intent for step in steps for intent in step)
    return next((step for step in steps if step), ())


_KINDS = {
    ScaleSet: AggregateKind.SCALE_SET,
    RunnerSet: AggregateKind.RUNNER_SET,
    Runner: AggregateKind.RUNNER,
    Listener: AggregateKind.LISTENER,
}
