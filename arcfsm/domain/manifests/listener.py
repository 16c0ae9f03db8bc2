"""The AutoscalingListener of a scale set (A17, M6)."""

from __future__ import annotations

from arcfsm.domain import keys
from arcfsm.domain.jsonvalue import Json, JsonObject, integer_at, text_at
from arcfsm.domain.kinds import Kind
from arcfsm.domain.manifests.metadata import resource_meta, scale_set_id, scale_set_labels
from arcfsm.domain.manifests.subject import fresh_fields, manifest, name_of, namespace_of, spec_of
from arcfsm.domain.names import listener_name
from arcfsm.domain.rulebook import rule
from arcfsm.domain.settings import ControllerSettings

_COPIED_AS = {
    "proxy": "proxy",
    "githubServerTLS": "githubServerTLS",
    "vaultConfig": "vaultConfig",
    "listenerConfig": "listenerConfig",
    "listenerMetrics": "metrics",
    "listenerTemplate": "template",
    "listenerServiceAccountMetadata": "serviceAccountMetadata",
    "listenerRoleMetadata": "roleMetadata",
    "listenerRoleBindingMetadata": "roleBindingMetadata",
    "listenerConfigSecretMetadata": "configSecretMetadata",
}
"""Fields of the scale set's spec, and what they are called in the listener's."""


def current_listener_name(scale_set: JsonObject) -> str:
    """Return the name that a scale set's listener has under its present spec (M9, A16)."""
    spec = spec_of(scale_set)
    return listener_name(
        namespace_of(scale_set), name_of(scale_set), text_at(spec, "runnerGroup"), text_at(spec, "githubConfigUrl")
    )


@rule("M6", "the listener carries the scale set's labels and the user's annotations; its children add to them")
def listener_manifest(
    scale_set: JsonObject, settings: ControllerSettings, *, runner_set: str = "", phase: str = ""
) -> dict[str, Json]:
    """Return the listener that a scale set wants, in the controller's namespace and without an owner (1.4).

    `runner_set` is the name of the set it serves where that is not the scale set's. `phase` is set only to create one
    switched off (A6). Limits are resolved; zeros are left out, as the API does.
    Raises Unbuildable where the scale set is not registered or its URL is invalid (A13).
    """
    spec = spec_of(scale_set)
    copied = fresh_fields(spec, *_COPIED_AS)
    max_runners = spec.get("maxRunners")
    body: dict[str, Json] = {
        "githubConfigUrl": text_at(spec, "githubConfigUrl"),
        "githubConfigSecret": text_at(spec, "githubConfigSecret"),
        "runnerScaleSetId": scale_set_id(scale_set),
        "autoscalingRunnerSetNamespace": namespace_of(scale_set),
        "autoscalingRunnerSetName": name_of(scale_set),
        "ephemeralRunnerSetName": runner_set or name_of(scale_set),
        "maxRunners": keys.MAX_RUNNERS_DEFAULT if max_runners is None else max_runners,
        "minRunners": integer_at(spec, "minRunners"),
        "image": settings.listener_image,
        "imagePullSecrets": [{"name": secret} for secret in settings.image_pull_secrets],
        **{called: copied[field] for field, called in _COPIED_AS.items() if field in copied},
        "phase": phase,
    }
    return manifest(
        Kind.LISTENER,
        {
            "namespace": settings.controller_namespace,
            "name": current_listener_name(scale_set),
            "labels": scale_set_labels(scale_set, keys.COMPONENT_LISTENER, "autoscalingListener", settings),
            "annotations": resource_meta(spec, "autoscalingListener", "annotations"),
        },
        spec={field: value for field, value in body.items() if value not in ("", 0, [])},
    )
