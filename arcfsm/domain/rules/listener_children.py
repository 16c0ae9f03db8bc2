"""What a listener needs before its pod can start: an identity, rights, proxy and configuration (L5–L8, L10).

In advice nobody creates anything one by one for us to see, and Secrets need not be shown at all: everything that is
missing is said at once, and where there is a pod, all of it was there.
"""

from __future__ import annotations

from arcfsm.domain.drift import role_rules_changed
from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.intents import CreateObject, PatchObject, SecretRecipe, WriteSecret
from arcfsm.domain.jsonvalue import Json, JsonObject, list_at, object_at, objects_at, text_at
from arcfsm.domain.kinds import Kind
from arcfsm.domain.manifests import (
    Refusal,
    Unbuildable,
    check_listener,
    listener_config_secret,
    listener_proxy_secret,
    metadata_patch,
    role,
    role_binding,
    service_account,
)
from arcfsm.domain.rules.listener_objects import config_secret_of, listener_object, proxy_secret_of, wanted
from arcfsm.domain.rules.rule import Answer, Look, act, rule, stalled
from arcfsm.domain.states import Dependent, Listener


@rule("L5", "the service account is created, its metadata merged; its secrets are not ours to manage")
def keep_service_account(look: Look[Listener]) -> Answer | None:
    """The pod runs under it."""
    return _keep(look, "L5", Kind.SERVICE_ACCOUNT, wanted(look, service_account))


@rule("L6", "the Role grants exactly what a listener needs; edits of it are taken back")
def keep_role(look: Look[Listener]) -> Answer | None:
    """Compared whole: a right too many is drift as well as one too few (D14)."""
    manifest = wanted(look, role)
    found = _find(look, Kind.ROLE, manifest)
    changes: dict[str, Json] = {}
    if found is not None:
        live = list_at(look.document(found.content), "rules")
        # Controllers of before 2026-07 grant no `get`, and their listeners need none: that is not worth advice (Z9).
        accepted = (manifest, _without_get(manifest)) if look.world.advisory else (manifest,)
        if all(role_rules_changed(live, list_at(one, "rules")) is not None for one in accepted):
            changes["rules"] = list_at(manifest, "rules")
    return _keep(look, "L6", Kind.ROLE, manifest, changes)


@rule("L7", "the RoleBinding is created, its metadata merged; whom it binds can't change")
def keep_role_binding(look: Look[Listener]) -> Answer | None:
    """The API forbids to change a roleRef, and the names in it follow from the listener's own."""
    return _keep(look, "L7", Kind.ROLE_BINDING, wanted(look, role_binding))


@rule("L8", "a listener behind a proxy gets its URLs in a Secret, composed where they are written")
def keep_proxy_secret(look: Look[Listener]) -> Answer | None:
    """Data that changes later is not refreshed for its own sake: a listener reads it once, when it starts."""
    if look.document(look.subject.spec).get("proxy") is None:
        return None
    manifest = wanted(look, listener_proxy_secret)
    found = proxy_secret_of(look)
    write = _write(look, SecretRecipe.LISTENER_PROXY, manifest)
    if found is None and look.world.advisory:
        if look.subject.pod is None:
            look.carry(write)
    elif found is None:
        return act("L8", "writing its proxy Secret", write)
    elif metadata_patch(look.document(found.metadata), object_at(manifest, "metadata"), look.settings):
        look.carry(write)
    return None


@rule("L10", "config.json follows what it is made of: the listener, the credentials, the CA, our own settings")
def keep_config(look: Look[Listener]) -> Answer | None:
    """Written where it is missing, was edited, or was composed of something else than there is now (H16).

    Our first look at one that others wrote is a write, too: the effect compares by meaning, and what says the same is
    left as it is (H19).
    """
    try:
        check_listener(listener_object(look))
    except Unbuildable as refusal:
        # With an invalid URL a listener could never start, and L12 is where that is met.
        return stalled("L12" if refusal.reason is Refusal.INVALID_URL else "L10", f"no listener can start: {refusal}")
    manifest = wanted(look, listener_config_secret)
    found = config_secret_of(look)
    if look.world.advisory:
        drifted = found is not None and metadata_patch(
            look.document(found.metadata), object_at(manifest, "metadata"), look.settings
        )
        if drifted or (found is None and look.subject.pod is None):
            look.carry(_write(look, SecretRecipe.LISTENER_CONFIG, manifest))
        return None
    write = _write(look, SecretRecipe.LISTENER_CONFIG, manifest, inputs=_inputs(look, manifest))
    if found is None:
        return act("L10", "writing its configuration", write)
    written = look.effects.attempt(write.key)
    if written is None:
        return act("L10", "comparing its configuration with what it should be", write)
    if written.outcome is not Outcome.OK or written.written != write.written:
        return act("L10", "what its configuration is made of changed; composing it anew", write)
    if written.answer.get("resource_version", found.resource_version) != found.resource_version:
        return act("L10", "somebody changed its configuration; composing it anew", write)
    return None


def _inputs(look: Look[Listener], manifest: JsonObject) -> JsonObject:
    """Return what config.json is composed of, credentials by version only."""
    one, settings = look.subject, look.settings
    spec = look.document(one.spec)
    authority = text_at(spec, "githubServerTLS", "certificateFrom", "configMapKeyRef", "name")
    vault = spec.get("vaultConfig") is not None
    return {
        "spec": one.spec,
        "secret": look.intern(manifest),
        "credentials": "" if vault else _version(look, Kind.SECRET, text_at(spec, "githubConfigSecret")),
        "authority": _version(look, Kind.CONFIG_MAP, authority) if authority else "",
        "log": [settings.log_level, settings.log_format],
        "metrics": [settings.metrics_addr, settings.metrics_endpoint],
    }


def _version(look: Look[Listener], kind: Kind, name: str) -> str:
    found = look.world.dependent(kind, look.subject.scale_set_namespace, name)
    return f"{found.uid}@{found.resource_version}" if found is not None else ""


def _write(
    look: Look[Listener], recipe: SecretRecipe, manifest: JsonObject, *, inputs: JsonObject | None = None
) -> WriteSecret:
    return WriteSecret(
        target=look.stream,
        recipe=recipe,
        namespace=text_at(manifest, "metadata", "namespace"),
        name=text_at(manifest, "metadata", "name"),
        manifest=look.intern(manifest),
        inputs=look.intern(inputs) if inputs is not None else "",
    )


def _keep(
    look: Look[Listener], rule_id: str, kind: Kind, manifest: JsonObject, changes: JsonObject | None = None
) -> Answer | None:
    """Create the object if it is missing, else merge its metadata and whatever else changed (M1, M2)."""
    found = _find(look, kind, manifest)
    if found is None:
        return _create(look, rule_id, kind, manifest)
    body: dict[str, Json] = {**(changes or {})}
    if metadata := metadata_patch(look.document(found.metadata), object_at(manifest, "metadata"), look.settings):
        body["metadata"] = metadata
    if not body:
        return None
    change = PatchObject(
        target=look.stream,
        kind=kind,
        namespace=found.namespace,
        name=found.name,
        uid=found.uid,
        patch=look.intern(body),
    )
    if look.world.advisory:
        look.carry(change)
        return None
    return act(rule_id, f"bringing its {kind} up to date: {', '.join(sorted(body))} changed", change)


def _create(look: Look[Listener], rule_id: str, kind: Kind, manifest: JsonObject) -> Answer | None:
    create = CreateObject(
        target=look.stream,
        kind=kind,
        namespace=text_at(manifest, "metadata", "namespace"),
        name=text_at(manifest, "metadata", "name"),
        manifest=look.intern(manifest),
    )
    if not look.world.advisory:
        return act(rule_id, f"creating its {kind}", create)
    if look.subject.pod is None:
        look.carry(create)
    return None


def _find(look: Look[Listener], kind: Kind, manifest: JsonObject) -> Dependent | None:
    return look.world.dependent(kind, text_at(manifest, "metadata", "namespace"), text_at(manifest, "metadata", "name"))


def _without_get(manifest: JsonObject) -> JsonObject:
    return {
        "rules": [
            {**granted, "verbs": [verb for verb in list_at(granted, "verbs") if verb != "get"]}
            for granted in objects_at(manifest, "rules")
        ]
    }
