"""The listener's configuration file (rules.md P1): read once at start, refused as a whole when a part is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from arcfsm.domain.keys import MAX_RUNNERS_DEFAULT

CONFIG_KEY: Final = "config.json"
"""The key of the config Secret, and the name of the file it becomes."""
CONFIG_PATH_ENV: Final = "LISTENER_CONFIG_PATH"
QPS_DEFAULT: Final = 50.0
BURST_DEFAULT: Final = 100


class ConfigError(ValueError):
    """The configuration cannot be used; the process exits with code 1."""


@dataclass(frozen=True)
class ListenerConfig:
    """What the process needs of its configuration."""

    configure_url: str
    runner_set_namespace: str
    runner_set_name: str
    scale_set_id: int
    scale_set_name: str
    """The name of the AutoscalingRunnerSet, not the one on the service."""
    min_runners: int = 0
    max_runners: int = MAX_RUNNERS_DEFAULT
    token: str = ""
    metrics_addr: str = ""
    metrics_endpoint: str = "/metrics"
    qps: float = QPS_DEFAULT
    burst: int = BURST_DEFAULT
    warnings: tuple[str, ...] = ()

    @classmethod
    def parse(cls, raw: bytes | str) -> ListenerConfig:
        """Read the file's content. Raises ConfigError with the reason when P1 refuses it."""
        try:
            content = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            raise ConfigError(f"the configuration is not JSON: {error}") from error
        if not isinstance(content, dict):
            raise ConfigError("the configuration must be a JSON object")
        return cls.from_object(content)

    @classmethod
    def from_object(cls, content: Mapping[str, Any]) -> ListenerConfig:
        """Check a decoded configuration. Raises ConfigError with the reason when P1 refuses it."""
        for key in ("configure_url", "ephemeral_runner_set_namespace", "ephemeral_runner_set_name"):
            if not content.get(key):
                raise ConfigError(f"{key} is required")
        if not content.get("runner_scale_set_id"):
            raise ConfigError("runner_scale_set_id must not be 0")
        low, high = int(content.get("min_runners") or 0), int(content.get("max_runners") or 0)
        if low > high:
            raise ConfigError(f"min_runners {low} is above max_runners {high}")
        _check_credentials(content)
        warnings: list[str] = []
        scaler = content.get("scaler") or {}
        return cls(
            configure_url=content["configure_url"],
            runner_set_namespace=content["ephemeral_runner_set_namespace"],
            runner_set_name=content["ephemeral_runner_set_name"],
            scale_set_id=int(content["runner_scale_set_id"]),
            scale_set_name=content.get("runner_scale_set_name") or "",
            min_runners=low,
            max_runners=high,
            token=content.get("github_token") or "",
            metrics_addr=content.get("metrics_addr") or "",
            metrics_endpoint=content.get("metrics_endpoint") or "/metrics",
            qps=_limit(scaler, "qps", QPS_DEFAULT, warnings),
            burst=int(_limit(scaler, "burst", BURST_DEFAULT, warnings)),
            warnings=tuple(warnings),
        )


def _check_credentials(content: Mapping[str, Any]) -> None:
    if content.get("vault_type"):
        if not content.get("vault_lookup_key"):
            raise ConfigError("vault_type needs vault_lookup_key")
        return
    app = all(content.get(key) for key in ("github_app_id", "github_app_installation_id", "github_app_private_key"))
    if not content.get("github_token") and not app:
        raise ConfigError("neither a vault nor credentials are configured")


def _limit(scaler: Mapping[str, Any], key: str, default: float, warnings: list[str]) -> float:
    """P9: values below 1 fall back to the default with a warning."""
    value = scaler.get(key)
    if value is None:
        return default
    if value < 1:
        warnings.append(f"scaler.{key} {value} is below 1; using {default:g}")
        return default
    return float(value)
