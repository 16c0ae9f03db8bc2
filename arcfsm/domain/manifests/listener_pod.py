"""The pod of a listener: what it is of itself, and what the user's template lays over it (L15)."""

from __future__ import annotations

from typing import Final

from arcfsm.domain import keys
from arcfsm.domain.jsonvalue import Json, JsonObject, list_at, object_at, objects_at, strings_at
from arcfsm.domain.kinds import Kind
from arcfsm.domain.manifests.refusal import Refusal, Unbuildable
from arcfsm.domain.manifests.runner_pod import proxy_env
from arcfsm.domain.manifests.subject import fresh, fresh_fields, manifest, name_of, namespace_of, owned_by, spec_of
from arcfsm.domain.names import listener_config_secret_name, listener_proxy_secret_name
from arcfsm.domain.rulebook import rule
from arcfsm.domain.settings import ControllerSettings

CONFIG_FILE: Final = "config.json"
_CONFIG_FOLDER: Final = "/etc/gha-listener"
_CONFIG_VOLUME: Final = "listener-config"

_METRICS_OFF: Final = ("", "0")
_PORT_MAX: Final = 65535

_CONTAINER_REPLACED_IF_SET: Final = ("image", "command")
_CONTAINER_APPENDED: Final = ("env", "args", "ports", "envFrom", "volumeMounts", "volumeDevices")
_CONTAINER_OVERWRITTEN: Final = (
    "imagePullPolicy",
    "workingDir",
    "resources",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "securityContext",
    "resizePolicy",
    "restartPolicy",
    "stdin",
    "stdinOnce",
    "tty",
)
_POD_REPLACED_IF_SET: Final = ("restartPolicy", "imagePullSecrets", "nodeSelector")
_POD_OVERWRITTEN: Final = (
    "initContainers",
    "ephemeralContainers",
    "terminationGracePeriodSeconds",
    "activeDeadlineSeconds",
    "dnsPolicy",
    "nodeName",
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "shareProcessNamespace",
    "securityContext",
    "hostname",
    "subdomain",
    "affinity",
    "schedulerName",
    "tolerations",
    "hostAliases",
    "priorityClassName",
    "priority",
    "dnsConfig",
    "readinessGates",
    "runtimeClassName",
    "enableServiceLinks",
    "preemptionPolicy",
    "overhead",
    "topologySpreadConstraints",
    "setHostnameAsFQDN",
    "os",
    "hostUsers",
    "schedulingGates",
    "resourceClaims",
)
"""The service account and its token are not the template's to choose: the listener needs its own (L9)."""


@rule("L15", "the listener pod is built in, and the template of the listener is laid over it")
def listener_pod(listener: JsonObject, settings: ControllerSettings, config_version: str) -> dict[str, Json]:
    """Return the pod that a listener wants.

    `config_version` is the resourceVersion of the config Secret that the pod will read; it is annotated at creation
    only (Z1). Raises Unbuildable where the metrics address of the settings has no port.
    """
    template = object_at(spec_of(listener), "template")
    labels = strings_at(listener, "metadata", "labels")
    annotations = {keys.LISTENER_CONFIG_VERSION: config_version} if config_version else {}
    built_in = _pod_spec(listener, settings)
    return manifest(
        Kind.POD,
        {
            "namespace": namespace_of(listener),
            "name": name_of(listener),
            "labels": {**strings_at(template, "metadata", "labels"), **labels},
            "annotations": {**strings_at(template, "metadata", "annotations"), **annotations},
            "ownerReferences": owned_by(listener, Kind.LISTENER),
        },
        spec=_overlaid_pod(built_in, object_at(template, "spec")) if template else built_in,
    )


def _pod_spec(listener: JsonObject, settings: ControllerSettings) -> dict[str, Json]:
    secrets = {"imagePullSecrets": fresh(secrets)} if (secrets := list_at(listener, "spec", "imagePullSecrets")) else {}
    return {
        "serviceAccountName": name_of(listener),
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 60,
        **secrets,
        "volumes": [{"name": _CONFIG_VOLUME, "secret": {"secretName": listener_config_secret_name(name_of(listener))}}],
        "containers": [_container(listener, settings)],
    }


def _container(listener: JsonObject, settings: ControllerSettings) -> dict[str, Json]:
    spec = spec_of(listener)
    port = metrics_port(settings)
    ports: dict[str, Json] = (
        {"ports": [{"containerPort": port, "protocol": "TCP", "name": "metrics"}]} if port is not None else {}
    )
    return {
        "name": keys.LISTENER_CONTAINER,
        **fresh_fields(spec, "image"),
        "command": [settings.listener_entrypoint],
        "env": [
            {"name": "LISTENER_CONFIG_PATH", "value": f"{_CONFIG_FOLDER}/{CONFIG_FILE}"},
            *proxy_env(object_at(spec, "proxy"), listener_proxy_secret_name(name_of(listener))),
        ],
        **ports,
        "volumeMounts": [{"name": _CONFIG_VOLUME, "mountPath": _CONFIG_FOLDER, "readOnly": True}],
    }


def metrics_port(settings: ControllerSettings) -> int | None:
    """Return the port of the listener's metrics, or None where they are switched off.

    Raises Unbuildable for an address without one.
    """
    if settings.metrics_addr in _METRICS_OFF:
        return None
    port = settings.metrics_addr.rpartition(":")[2]
    if port.isascii() and port.isdigit() and 0 < int(port) <= _PORT_MAX:
        return int(port)
    raise Unbuildable(Refusal.INVALID_SETTINGS, f"metrics address {settings.metrics_addr!r} has no port; try :8080")


def _overlaid_pod(built_in: dict[str, Json], template: JsonObject) -> dict[str, Json]:
    """Lay a template over the pod. Overwritten also means with nothing: the 60 s of grace do not stay (T230)."""
    pod = {key: value for key, value in built_in.items() if key not in _POD_OVERWRITTEN}
    pod |= fresh_fields(template, *_POD_OVERWRITTEN)
    pod |= {key: fresh(template[key]) for key in _POD_REPLACED_IF_SET if template.get(key)}
    pod["volumes"] = [*list_at(built_in, "volumes"), *map(fresh, list_at(template, "volumes"))]
    listener, *_ = objects_at(built_in, "containers")
    others: list[Json] = []
    for container in objects_at(template, "containers"):
        if container.get("name") == keys.LISTENER_CONTAINER:
            listener = _overlaid_container(listener, container)
        else:
            others.append(fresh(container))
    pod["containers"] = [listener, *others]
    return pod


def _overlaid_container(built_in: JsonObject, template: JsonObject) -> JsonObject:
    appended: dict[str, Json] = {
        key: [*list_at(built_in, key), *map(fresh, list_at(template, key))]
        for key in _CONTAINER_APPENDED
        if list_at(template, key)
    }
    return {
        **{key: value for key, value in built_in.items() if key not in _CONTAINER_OVERWRITTEN},
        **{key: fresh(template[key]) for key in _CONTAINER_REPLACED_IF_SET if template.get(key)},
        **appended,
        **fresh_fields(template, *_CONTAINER_OVERWRITTEN),
    }
