"""The pod of a runner (M8)."""

from __future__ import annotations

from typing import Final

from arcfsm.domain import keys
from arcfsm.domain.jsonvalue import Json, JsonObject, digest, list_at, object_at, strings_at, text_at
from arcfsm.domain.kinds import Kind
from arcfsm.domain.manifests.subject import fresh, manifest, name_of, namespace_of, owned_by, spec_of
from arcfsm.domain.rulebook import rule
from arcfsm.domain.settings import ControllerSettings

_TEMPLATE_HASH_LENGTH: Final = 10


@rule("M8", "a runner pod is the runner's template with the registration, the user agent and the proxy in its env")
def runner_pod(runner: JsonObject, settings: ControllerSettings) -> dict[str, Json]:
    """Return the pod that a runner wants.

    The variables are appended to the container `runner`, so they win over entries of the template with the same name.
    A template without such a container gets none: its pod runs and registers nothing. The value of `pod-template-hash`
    is read by nobody; here it says which labels, annotations and spec the pod was made of, and nothing about Secrets.
    """
    spec = spec_of(runner)
    annotations = {**strings_at(runner, "metadata", "annotations"), **strings_at(spec, "metadata", "annotations")}
    labels = {
        **strings_at(runner, "metadata", "labels"),
        **strings_at(spec, "metadata", "labels"),
        keys.EPHEMERAL_RUNNER: "True",
    }
    hashed = {key: value for key, value in labels.items() if key != keys.RUNNER_TEMPLATE_HASH}
    labels[keys.POD_TEMPLATE_HASH] = digest([hashed, annotations, spec])[:_TEMPLATE_HASH_LENGTH]
    template = object_at(spec, "spec")
    body: dict[str, Json] = {key: fresh(value) for key, value in template.items()}
    body["containers"] = [_with_env(container, runner, settings) for container in list_at(template, "containers")]
    return manifest(
        Kind.POD,
        {
            "namespace": namespace_of(runner),
            "name": name_of(runner),
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": owned_by(runner, Kind.RUNNER),
        },
        spec=body,
    )


def _with_env(container: Json, runner: JsonObject, settings: ControllerSettings) -> Json:
    copied = fresh(container)
    if not isinstance(copied, dict) or copied.get("name") != keys.RUNNER_CONTAINER:
        return copied
    return {**copied, "env": [*list_at(copied, "env"), *_env(runner, settings)]}


def _env(runner: JsonObject, settings: ControllerSettings) -> list[Json]:
    spec = spec_of(runner)
    proxy_secret = text_at(spec, "proxySecretRef")
    return [
        env_from_secret("ACTIONS_RUNNER_INPUT_JITCONFIG", name_of(runner), "jitToken"),
        {
            "name": "GITHUB_ACTIONS_RUNNER_EXTRA_USER_AGENT",
            "value": f"actions-runner-controller/{settings.user_agent_version}",
        },
        {"name": "ACTIONS_RUNNER_RETURN_VERSION_DEPRECATED_EXIT_CODE", "value": "1"},
        *(proxy_env(object_at(spec, "proxy"), proxy_secret) if proxy_secret else ()),
    ]


def proxy_env(proxy: JsonObject, secret: str) -> list[Json]:
    """Return the proxy variables of the parts that are configured, each from the proxy Secret (M8, L15)."""
    configured = {
        "http_proxy": proxy.get("http") is not None,
        "https_proxy": proxy.get("https") is not None,
        "no_proxy": bool(list_at(proxy, "noProxy")),
    }
    return [env_from_secret(name, secret, name) for name, present in configured.items() if present]


def env_from_secret(name: str, secret: str, key: str) -> dict[str, Json]:
    """Return a variable whose value is read from a Secret when the container starts."""
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}
