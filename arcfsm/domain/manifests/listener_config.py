"""A listener's config.json (P1).

Written as Go writes it (order of keys, escapes, a newline at the end), so that a controller that compares bytes finds
its own bytes (H19); read back with `drift.listener_config_equal`.
"""

from __future__ import annotations

from typing import Final

import orjson

from arcfsm.domain.github_url import InvalidConfigUrl, parse_config_url
from arcfsm.domain.jsonvalue import Json, JsonObject, integer_at, object_at, text_at
from arcfsm.domain.manifests.credentials import GitHubCredentials, TokenCredentials
from arcfsm.domain.manifests.refusal import Refusal, Unbuildable
from arcfsm.domain.manifests.subject import spec_of
from arcfsm.domain.rulebook import rule
from arcfsm.domain.settings import ControllerSettings

_METRICS_OFF: Final = "0"
_GO_ESCAPES: Final = {
    "&": "\\u0026",
    "<": "\\u003c",
    ">": "\\u003e",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


@rule("P1", "config.json holds what a listener process needs, credentials included, in Go's order of keys")
def listener_config(
    listener: JsonObject,
    settings: ControllerSettings,
    *,
    credentials: GitHubCredentials | None,
    server_root_ca: str = "",
) -> str:
    """Return the text of config.json. It holds credentials: called inside effects only, its result never logged.

    `credentials` are those of the scale set and None with a vault, where the listener fetches them itself.
    `server_root_ca` is PEM text. Raises Unbuildable for what a listener would refuse (L10).
    """
    spec = spec_of(listener)
    vault = spec.get("vaultConfig") is not None
    check_listener(listener)
    if not vault and credentials is None:
        raise Unbuildable(Refusal.INCOMPLETE, "there are neither credentials nor a vault")
    metrics_on = settings.metrics_addr != _METRICS_OFF
    scaler = object_at(spec, "listenerConfig", "scaler")
    config: dict[str, Json] = {
        "configure_url": text_at(spec, "githubConfigUrl"),
        "vault_type": text_at(spec, "vaultConfig", "type"),
        "vault_lookup_key": text_at(spec, "githubConfigSecret") if vault else "",
        **({"azure_key_vault": _azure(object_at(spec, "vaultConfig", "azureKeyVault"))} if vault else {}),
        **({} if credentials is None or vault else _credentials(credentials)),
        "ephemeral_runner_set_namespace": text_at(spec, "autoscalingRunnerSetNamespace"),
        "ephemeral_runner_set_name": text_at(spec, "ephemeralRunnerSetName"),
        "max_runners": integer_at(spec, "maxRunners"),
        "min_runners": integer_at(spec, "minRunners"),
        "runner_scale_set_id": integer_at(spec, "runnerScaleSetId"),
        "runner_scale_set_name": text_at(spec, "autoscalingRunnerSetName"),
        "server_root_ca": server_root_ca,
        "log_level": settings.log_level,
        "log_format": settings.log_format,
        "metrics_addr": settings.metrics_addr if metrics_on else "",
        "metrics_endpoint": settings.metrics_endpoint if metrics_on else "",
        "metrics": spec.get("metrics"),
        **({"scaler_config": scaler} if scaler else {}),
    }
    text = orjson.dumps(config).decode()
    for character, escape in _GO_ESCAPES.items():
        text = text.replace(character, escape)
    return text + "\n"


def check_listener(listener: JsonObject) -> None:
    """Raise Unbuildable for what a listener process would refuse, so that it is said here and not in its log (L10).

    Needs no credentials, so rules may ask before an effect is started.
    """
    spec = spec_of(listener)
    for field in ("autoscalingRunnerSetNamespace", "ephemeralRunnerSetName"):
        if not text_at(spec, field):
            raise Unbuildable(Refusal.INCOMPLETE, f"spec.{field} is missing")
    if integer_at(spec, "runnerScaleSetId") == 0:
        raise Unbuildable(Refusal.INCOMPLETE, "spec.runnerScaleSetId is missing")
    least, most = integer_at(spec, "minRunners"), integer_at(spec, "maxRunners")
    if least > most:
        raise Unbuildable(Refusal.INVALID_LIMITS, f"minRunners {least} is above maxRunners {most}")
    try:
        parse_config_url(text_at(spec, "githubConfigUrl"))
    except InvalidConfigUrl as error:
        raise Unbuildable(Refusal.INVALID_URL, f"spec.githubConfigUrl: {error}") from error
    if spec.get("vaultConfig") is not None:
        if not text_at(spec, "githubConfigSecret"):
            raise Unbuildable(Refusal.INCOMPLETE, "spec.githubConfigSecret is missing: it names the vault's key")
        if not text_at(spec, "vaultConfig", "type"):
            raise Unbuildable(Refusal.INCOMPLETE, "spec.vaultConfig.type is missing")


def _azure(key_vault: JsonObject) -> dict[str, Json]:
    return {
        "tenant_id": text_at(key_vault, "tenantId"),
        "client_id": text_at(key_vault, "clientId"),
        "url": text_at(key_vault, "url"),
        "certificate_path": text_at(key_vault, "certificatePath"),
    }


def _credentials(credentials: GitHubCredentials) -> dict[str, Json]:
    """All four keys are always written; the kind that is not used is empty."""
    if isinstance(credentials, TokenCredentials):
        app_id, installation_id, private_key, token = "", 0, "", credentials.token
    else:
        app_id, installation_id, private_key = (
            credentials.app_id,
            credentials.installation_id,
            credentials.private_key,
        )
        token = ""
    return {
        "github_app_id": app_id,
        "github_app_installation_id": installation_id,
        "github_app_private_key": private_key,
        "github_token": token,
    }
