"""What a listener needs around its pod: an identity, its rights, and two Secrets (L5–L10, M6)."""

from __future__ import annotations

from typing import Final

from arcfsm.domain import keys
from arcfsm.domain.jsonvalue import Json, JsonObject, strings_at, text_at
from arcfsm.domain.kinds import RESOURCES, Kind
from arcfsm.domain.manifests.metadata import propagated, resource_meta
from arcfsm.domain.manifests.subject import manifest, name_of, namespace_of, owned_by, spec_of
from arcfsm.domain.names import listener_config_secret_name, listener_proxy_secret_name
from arcfsm.domain.rulebook import rule
from arcfsm.domain.settings import ControllerSettings

_RBAC_GROUP: Final = RESOURCES[Kind.ROLE].group


def service_account(listener: JsonObject, settings: ControllerSettings) -> dict[str, Json]:
    """Return the listener's ServiceAccount, beside it (L5)."""
    spec = spec_of(listener)
    labels = {
        **resource_meta(spec, "serviceAccountMetadata", "labels"),
        **strings_at(listener, "metadata", "labels"),
        **_scale_set_labels(listener),
    }
    return manifest(
        Kind.SERVICE_ACCOUNT,
        {
            "namespace": namespace_of(listener),
            "name": name_of(listener),
            "labels": propagated(labels, settings),
            "annotations": resource_meta(spec, "serviceAccountMetadata", "annotations"),
            "ownerReferences": owned_by(listener, Kind.LISTENER),
        },
    )


def role(listener: JsonObject, settings: ControllerSettings) -> dict[str, Json]:
    """Return the listener's Role, beside the scale set; an owner in another namespace is not possible (L6)."""
    return manifest(
        Kind.ROLE, _metadata_beside_scale_set(listener, "roleMetadata", settings), rules=role_rules(listener)
    )


@rule("L9", "a listener may patch its runner set, and get and patch runners and their status")
def role_rules(listener: JsonObject) -> list[Json]:
    """Return the rights of a listener process (L9). `get` is always granted: newer ones read a runner first (Z9)."""
    return [
        {
            "apiGroups": [keys.GROUP],
            "resources": ["ephemeralrunnersets"],
            "resourceNames": [text_at(listener, "spec", "ephemeralRunnerSetName")],
            "verbs": ["patch"],
        },
        {
            "apiGroups": [keys.GROUP],
            "resources": ["ephemeralrunners", "ephemeralrunners/status"],
            "verbs": ["get", "patch"],
        },
    ]


def role_binding(listener: JsonObject, settings: ControllerSettings) -> dict[str, Json]:
    """Return the RoleBinding that gives the Role to the ServiceAccount (L7)."""
    return manifest(
        Kind.ROLE_BINDING,
        _metadata_beside_scale_set(listener, "roleBindingMetadata", settings),
        roleRef={"apiGroup": _RBAC_GROUP, "kind": Kind.ROLE.value, "name": name_of(listener)},
        subjects=[
            {
                "kind": Kind.SERVICE_ACCOUNT.value,
                "namespace": namespace_of(listener),
                "name": name_of(listener),
            }
        ],
    )


def listener_config_secret(listener: JsonObject, settings: ControllerSettings) -> dict[str, Json]:
    """Return the Secret of a listener's config.json, without data (L10).

    Its data (`listener_config`) is composed inside the effect, because it holds credentials.
    """
    spec = spec_of(listener)
    return manifest(
        Kind.SECRET,
        {
            "namespace": namespace_of(listener),
            "name": listener_config_secret_name(name_of(listener)),
            "labels": propagated(resource_meta(spec, "configSecretMetadata", "labels"), settings),
            "annotations": resource_meta(spec, "configSecretMetadata", "annotations"),
            "ownerReferences": owned_by(listener, Kind.LISTENER),
        },
    )


def listener_proxy_secret(listener: JsonObject, settings: ControllerSettings) -> dict[str, Json]:
    """Return the Secret of a listener's proxy URLs, without data (L8).

    Its data (`proxy_data`) is composed inside the effect, because it holds credentials.
    """
    return manifest(
        Kind.SECRET,
        {
            "namespace": namespace_of(listener),
            "name": listener_proxy_secret_name(name_of(listener)),
            "labels": propagated(_scale_set_labels(listener), settings),
            "ownerReferences": owned_by(listener, Kind.LISTENER),
        },
    )


def _metadata_beside_scale_set(listener: JsonObject, meta_field: str, settings: ControllerSettings) -> JsonObject:
    """The watch finds the way back to the listener by the two labels alone (W11)."""
    spec = spec_of(listener)
    labels = {
        **resource_meta(spec, meta_field, "labels"),
        **strings_at(listener, "metadata", "labels"),
        **_scale_set_labels(listener),
        keys.LISTENER_NAME: name_of(listener),
        keys.LISTENER_NAMESPACE: namespace_of(listener),
    }
    return {
        "namespace": text_at(spec, "autoscalingRunnerSetNamespace"),
        "name": name_of(listener),
        "labels": propagated(labels, settings),
        "annotations": resource_meta(spec, meta_field, "annotations"),
    }


def _scale_set_labels(listener: JsonObject) -> dict[str, str]:
    return {
        keys.SCALE_SET_NAME: text_at(listener, "spec", "autoscalingRunnerSetName"),
        keys.SCALE_SET_NAMESPACE: text_at(listener, "spec", "autoscalingRunnerSetNamespace"),
    }
