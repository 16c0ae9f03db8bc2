"""A runner's registration: asked of the service and kept in the runner's Secret, in one effect (R10, H22)."""

from __future__ import annotations

from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.exchange import JitConfiguration, ServiceFailure
from arcfsm.domain.intents import RegisterRunner
from arcfsm.domain.jsonvalue import Json, JsonObject, objects_at, text_at
from arcfsm.domain.kinds import RESOURCES, Kind
from arcfsm.domain.manifests import jit_secret_data, with_data
from arcfsm.domain.observation import Change
from arcfsm.engine.effects.access import Accesses, decoded
from arcfsm.engine.effects.objects import AGAIN
from arcfsm.engine.effects.outcomes import Result, already_exists, of_failure, of_reply, unknown
from arcfsm.engine.effects.secrets import without_content
from arcfsm.engine.effects.surroundings import Surroundings

_SECRETS = RESOURCES[Kind.SECRET]


async def register(near: Surroundings, accesses: Accesses, intent: RegisterRunner) -> Result:
    """Register the runner and write its Secret.

    Where the Secret can't be written the registration stays behind: the next try meets it as RunnerExists, looks it up
    and removes it before it registers again (R10.3).
    """
    if near.world.runners.get(intent.target.uid) is None:
        return Result(Outcome.NOT_FOUND, detail="the runner is gone")
    try:
        service = await accesses.service_for(intent.target, scale_set_id=intent.scale_set_id)
        found = await service.jit_configuration(intent.scale_set_id, intent.name, intent.work_folder)
    except ServiceFailure as failure:
        return of_failure(failure, near.concealment.clean)
    return await _keep(near, intent, found)


async def recall(near: Surroundings, namespace: str, name: str) -> Result:
    """Read a runner's id back from its Secret (R3, R11)."""
    reply = await near.cluster.get(_SECRETS, namespace, name)
    if not reply.ok:
        return of_reply(reply, near.concealment.clean)
    text = decoded(reply.body).get("runnerId", "").strip()
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        return Result(Outcome.INVALID, reply.status, "its Secret holds no usable runnerId")
    return Result(Outcome.OK, reply.status, answer={"runner_id": int(text)})


async def _keep(near: Surroundings, intent: RegisterRunner, found: JitConfiguration) -> Result:
    data = jit_secret_data(
        jit_token=found.encoded,
        runner_name=found.runner.name or intent.name,
        runner_id=found.runner.id,
        scale_set_id=found.runner.scale_set_id or intent.scale_set_id,
    )
    secret = with_data(near.document(intent.manifest), data)
    reply = await near.cluster.create(_SECRETS, intent.namespace, secret)
    for wait in AGAIN:
        if not (unknown(reply) or already_exists(reply)):
            break
        await near.runtime.sleep(wait)
        present = await near.cluster.get(_SECRETS, intent.namespace, intent.name)
        if present.ok and decoded(present.body) == data:
            reply = present
        elif present.ok and _owners(present.body) != _owners(secret):
            return Result(Outcome.ALREADY_EXISTS, 409, "another Secret has its name")
        elif present.ok:
            # Ours, with an earlier registration that is no good any more.
            reply = await near.cluster.patch(_SECRETS, intent.namespace, intent.name, _replacing(present.body, secret))
        else:
            reply = await near.cluster.create(_SECRETS, intent.namespace, secret)
    result = of_reply(reply, near.concealment.clean)
    if not reply.ok:
        return Result(result.outcome, result.status, f"its registration can't be kept: {result.detail}")
    return Result(
        Outcome.OK,
        reply.status,
        answer={"runner_id": found.runner.id},
        objects=((Change.ADDED, without_content(reply.body)),),
    )


def _replacing(present: JsonObject, secret: JsonObject) -> dict[str, Json]:
    metadata: dict[str, Json] = {"uid": text_at(present, "metadata", "uid")}
    return {"metadata": metadata, "data": secret.get("data")}


def _owners(obj: JsonObject) -> set[str]:
    return {text_at(owner, "uid") for owner in objects_at(obj, "metadata", "ownerReferences")}
