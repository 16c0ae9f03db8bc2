"""Effects on objects of the API server: create, patch, delete, read.

All of them may be done twice: a creation that finds its own object is done, a deletion names the uid it means, and a
write that was locked to a version is repeated only where the newer version changed nothing that a rule looks at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.exchange import Reply
from arcfsm.domain.instant import MILLISECOND, SECOND, Span
from arcfsm.domain.intents import CreateObject, CreateRunners, DeleteLabelled, DeleteObject, PatchObject, ReadObject
from arcfsm.domain.jsonvalue import Json, JsonObject, object_at, objects_at, text_at
from arcfsm.domain.kinds import AGGREGATE_OF, RESOURCES, Kind
from arcfsm.domain.manifests import named
from arcfsm.domain.names import runner_name
from arcfsm.domain.observation import Change
from arcfsm.domain.pruning import PRUNED, pruned_fields
from arcfsm.engine.effects.outcomes import Result, already_exists, of_reply, unknown
from arcfsm.engine.effects.surroundings import Surroundings
from arcfsm.engine.effects.work import Work

AGAIN: Final[tuple[Span, ...]] = (100 * MILLISECOND, 500 * MILLISECOND, 2 * SECOND, 5 * SECOND)
"""Waits after a creation of which nobody knows whether it was done."""
LOCKED_TRIES: Final = 3

AddsNothing = Callable[[JsonObject], bool]
"""Whether an object says nothing that is not known already."""


async def create(near: Surroundings, intent: CreateObject) -> Result:
    """Create one object."""
    return await _create(near, intent.kind, intent.namespace, near.document(intent.manifest))


async def create_runner(near: Surroundings, intent: CreateRunners, work: Work) -> Result:
    """Create one runner of a scale-up under the name that follows from its decision (H9)."""
    name = runner_name(intent.set_name, work.decision, work.item, intent.salt)
    return await _create(near, Kind.RUNNER, intent.namespace, named(near.document(intent.manifest), name))


async def _create(near: Surroundings, kind: Kind, namespace: str, manifest: JsonObject) -> Result:
    name = text_at(manifest, "metadata", "name")
    reply = await near.cluster.create(RESOURCES[kind], namespace, manifest)
    for wait in AGAIN:
        if not unknown(reply):
            break
        # It may have been done: look before it is done a second time, and never leave it at not knowing.
        await near.runtime.sleep(wait)
        found = await near.cluster.get(RESOURCES[kind], namespace, name)
        if found.ok and _ours(found.body, manifest):
            return Result(Outcome.OK, found.status, "made by a try without an answer", objects=_seen(found))
        reply = await near.cluster.create(RESOURCES[kind], namespace, manifest)
    if not already_exists(reply):
        return _telling_of_loss(_with_object(near, reply, Change.ADDED), kind, manifest, reply.body)
    found = await near.cluster.get(RESOURCES[kind], namespace, name)
    if not found.ok:
        return of_reply(reply, near.concealment.clean)
    if _ours(found.body, manifest):
        return Result(Outcome.OK, reply.status, "it exists already", objects=_seen(found))
    return replace(of_reply(reply, near.concealment.clean), objects=_seen(found))


async def patch(near: Surroundings, intent: PatchObject, lock: str, adds_nothing: AddsNothing) -> Result:
    """Merge-patch an object, never its successor of the same name."""
    body = near.document(intent.patch)
    result = Result(Outcome.CONFLICT)
    for _ in range(LOCKED_TRIES):
        metadata: dict[str, Json] = {**object_at(body, "metadata"), "uid": intent.uid}
        if lock:
            metadata["resourceVersion"] = lock
        reply = await near.cluster.patch(
            RESOURCES[intent.kind],
            intent.namespace,
            intent.name,
            {**body, "metadata": metadata},
            subresource=intent.subresource,
        )
        result = _with_object(near, reply, Change.MODIFIED)
        if result.outcome is not Outcome.CONFLICT or not lock:
            return _telling_of_loss(result, intent.kind, body, reply.body)
        found = await near.cluster.get(RESOURCES[intent.kind], intent.namespace, intent.name)
        if found.status == 404:
            return of_reply(found, near.concealment.clean)
        if not found.ok:
            return result
        result = replace(result, objects=_seen(found))
        if text_at(found.body, "metadata", "uid") != intent.uid or not adds_nothing(found.body):
            return result
        lock = text_at(found.body, "metadata", "resourceVersion")
    return result


async def delete(near: Surroundings, intent: DeleteObject) -> Result:
    """Delete one object by uid."""
    reply = await near.cluster.delete(
        RESOURCES[intent.kind],
        intent.namespace,
        intent.name,
        uid=intent.uid,
        grace_period_s=intent.grace_period_s,
    )
    result = of_reply(reply, near.concealment.clean)
    # An object that waits for finalizers or its grace period is returned; one that is gone may be, too: the watch says.
    waits = text_at(reply.body, "metadata", "deletionTimestamp") and text_at(reply.body, "kind") == intent.kind
    lasting = waits and (object_at(reply.body, "metadata").get("finalizers") or _graceful(reply.body))
    return replace(result, objects=((Change.MODIFIED, reply.body),)) if reply.ok and lasting else result


async def read(near: Surroundings, intent: ReadObject) -> Result:
    """Read one object past any cache."""
    reply = await near.cluster.get(RESOURCES[intent.kind], intent.namespace, intent.name)
    return _with_object(near, reply, Change.MODIFIED)


async def delete_labelled(near: Surroundings, intent: DeleteLabelled) -> Result:
    """Delete everything of a kind that carries a label and is not on its way already."""
    resource = RESOURCES[intent.kind]
    reply = await near.cluster.list(
        resource, intent.namespace, labels=f"{intent.label}={intent.value}", metadata_only=True
    )
    if not reply.ok:
        return of_reply(reply, near.concealment.clean)
    failed, deleted = Result(Outcome.OK), 0
    for item in objects_at(reply.body, "items"):
        metadata = object_at(item, "metadata")
        if metadata.get("deletionTimestamp"):
            continue
        answer = await near.cluster.delete(
            resource, intent.namespace, text_at(metadata, "name"), uid=text_at(metadata, "uid")
        )
        if answer.ok or answer.status in (404, 409):
            # Gone, or another object has the name by now: either way this one is no more.
            deleted += 1
        else:
            failed = of_reply(answer, near.concealment.clean)
    return failed if failed.outcome is not Outcome.OK else Result(Outcome.OK, reply.status, answer={"deleted": deleted})


def _with_object(near: Surroundings, reply: Reply, change: Change) -> Result:
    result = of_reply(reply, near.concealment.clean)
    return replace(result, objects=((change, reply.body),)) if reply.ok else result


def _telling_of_loss(result: Result, kind: Kind, written: JsonObject, returned: JsonObject) -> Result:
    """Return the result with the fields that an installed CRD did not keep (H34)."""
    dropped = pruned_fields(written, returned) if result.outcome is Outcome.OK and kind in AGGREGATE_OF else ()
    return replace(result, answer={**result.answer, PRUNED: ",".join(dropped)}) if dropped else result


def _seen(found: Reply) -> tuple[tuple[Change, JsonObject], ...]:
    return ((Change.MODIFIED, found.body),)


def _graceful(obj: JsonObject) -> bool:
    seconds = object_at(obj, "metadata").get("deletionGracePeriodSeconds")
    return isinstance(seconds, int) and seconds > 0


def _ours(found: JsonObject, wanted: JsonObject) -> bool:
    """Return whether an object that has the name is the one that was wanted: same owners, or same labels for none."""
    owners = {text_at(owner, "uid") for owner in objects_at(wanted, "metadata", "ownerReferences")}
    if owners:
        return owners <= {text_at(owner, "uid") for owner in objects_at(found, "metadata", "ownerReferences")}
    present = object_at(found, "metadata", "labels")
    return all(present.get(key) == value for key, value in object_at(wanted, "metadata", "labels").items())
