"""Secrets that are composed inside an effect: a listener's configuration and proxies (L8, L10, S5).

Values are read, composed, compared with what is there by meaning (H19), written where they differ, and forgotten. What
comes back is a resourceVersion.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from arcfsm.domain.drift import listener_config_equal
from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.exchange import Reply, ServiceFailure
from arcfsm.domain.intents import SecretRecipe, WriteSecret
from arcfsm.domain.jsonvalue import Json, JsonObject, object_at, text_at
from arcfsm.domain.kinds import RESOURCES, Kind
from arcfsm.domain.manifests import CONFIG_FILE, Unbuildable, listener_config, metadata_patch, proxy_data, with_data
from arcfsm.domain.observation import Change
from arcfsm.engine.effects.access import decoded, read_authority, read_credentials, read_proxy_credentials
from arcfsm.engine.effects.outcomes import Result, already_exists, of_failure, of_reply
from arcfsm.engine.effects.surroundings import Surroundings

_SECRETS = RESOURCES[Kind.SECRET]


class UnreadableError(Exception):
    """What the values are composed of can't be read; carries how the effect ends."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.detail)
        self.result = result


async def write_secret(near: Surroundings, intent: WriteSecret) -> Result:
    """Bring a Secret to what its recipe says."""
    try:
        data = await _compose(near, intent)
    except UnreadableError as error:
        return error.result
    except ServiceFailure as failure:
        return of_failure(failure, near.concealment.clean)
    except Unbuildable as refusal:
        return Result(Outcome.INVALID, detail=near.concealment.clean(str(refusal)))
    manifest = near.document(intent.manifest)
    found = await near.cluster.get(_SECRETS, intent.namespace, intent.name)
    if found.status == 404:
        reply = await near.cluster.create(_SECRETS, intent.namespace, with_data(manifest, data))
        return _written(near, reply, Outcome.CONFLICT if already_exists(reply) else None)
    if not found.ok:
        return of_reply(found, near.concealment.clean)
    change = _change(near, found.body, manifest, data)
    if not change:
        return _written(near, found, None)
    metadata: dict[str, Json] = {
        **object_at(change, "metadata"),
        "uid": text_at(found.body, "metadata", "uid"),
        "resourceVersion": text_at(found.body, "metadata", "resourceVersion"),
    }
    reply = await near.cluster.patch(_SECRETS, intent.namespace, intent.name, {**change, "metadata": metadata})
    return _written(near, reply, None)


def without_content(secret: JsonObject) -> JsonObject:
    """Return what of a Secret may leave an effect: its head."""
    return {key: secret[key] for key in ("apiVersion", "kind", "metadata") if key in secret}


async def _compose(near: Surroundings, intent: WriteSecret) -> dict[str, str]:
    if intent.recipe is SecretRecipe.RUNNER_PROXY:
        runner_set = near.world.runner_sets.get(intent.target.uid)
        if runner_set is None:
            raise UnreadableError(Result(Outcome.NOT_FOUND, detail="the runner set is gone"))
        proxy = object_at(near.document(runner_set.runner_spec), "proxy")
        return proxy_data(proxy, await read_proxy_credentials(near, runner_set.namespace, proxy))
    listener = near.world.listeners.get(intent.target.uid)
    if listener is None:
        raise UnreadableError(Result(Outcome.NOT_FOUND, detail="the listener is gone"))
    spec, home = near.document(listener.spec), listener.scale_set_namespace
    if intent.recipe is SecretRecipe.LISTENER_PROXY:
        proxy = object_at(spec, "proxy")
        return proxy_data(proxy, await read_proxy_credentials(near, home, proxy))
    vault = spec.get("vaultConfig") is not None
    text = listener_config(
        {"metadata": {"namespace": listener.namespace, "name": listener.name}, "spec": spec},
        near.world.settings,
        credentials=None if vault else await read_credentials(near, home, spec),
        server_root_ca=await read_authority(near, home, spec),
    )
    return {CONFIG_FILE: text}


def _change(near: Surroundings, live: JsonObject, manifest: JsonObject, data: Mapping[str, str]) -> dict[str, Json]:
    """Return the merge patch that brings a Secret there, {} where it is there already."""
    known = decoded(live)
    differing = {key: value for key, value in data.items() if not _same(key, known.get(key), value)}
    change: dict[str, Json] = {}
    if differing:
        change["data"] = {key: base64.b64encode(value.encode()).decode() for key, value in differing.items()}
    if metadata := metadata_patch(object_at(live, "metadata"), object_at(manifest, "metadata"), near.world.settings):
        change["metadata"] = metadata
    return change


def _same(key: str, known: str | None, wanted: str) -> bool:
    if known is None or known == wanted:
        return known is not None
    return key == CONFIG_FILE and listener_config_equal(known, wanted)


def _written(near: Surroundings, reply: Reply, otherwise: Outcome | None) -> Result:
    result = of_reply(reply, near.concealment.clean)
    if not reply.ok:
        return result if otherwise is None else Result(otherwise, result.status, result.detail)
    version = text_at(reply.body, "metadata", "resourceVersion")
    return Result(
        Outcome.OK,
        reply.status,
        answer={"resource_version": version},
        objects=((Change.MODIFIED, without_content(reply.body)),),
    )
