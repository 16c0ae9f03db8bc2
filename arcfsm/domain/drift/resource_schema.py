"""How the fields of our own kinds and of the listener's children are typed (D6, outside pod specs)."""

from __future__ import annotations

from typing import Final

from arcfsm.domain.drift.pod_schema import OBJECT_META, POD_SPEC, POD_TEMPLATE
from arcfsm.domain.drift.schema import PLAIN, STRINGS, ListOf, MapOf, Pointer, Struct, struct

RESOURCE_META: Final = struct(labels=STRINGS, annotations=STRINGS)
_META: Final = Pointer(RESOURCE_META)
_PROXY: Final = Pointer(struct("http https"))
_METRICS: Final = Pointer(
    struct(
        counters=MapOf(Pointer(PLAIN)),
        gauges=MapOf(Pointer(PLAIN)),
        histograms=MapOf(Pointer(PLAIN)),
    )
)
_GITHUB: Final = {
    "proxy": _PROXY,
    "githubServerTLS": Pointer(struct(certificateFrom=Pointer(struct(configMapKeyRef=Pointer(struct("optional")))))),
    "vaultConfig": Pointer(struct("azureKeyVault", proxy=_PROXY)),
}

RUNNER_SPEC: Final = Struct(
    {
        **_GITHUB,
        "ephemeralRunnerConfigSecretMetadata": _META,
        "metadata": OBJECT_META,
        "spec": POD_SPEC,
    }
)
"""`spec` of an EphemeralRunner and `spec.ephemeralRunnerSpec` of an EphemeralRunnerSet."""

RUNNER_SET_SPEC: Final = struct(ephemeralRunnerSpec=RUNNER_SPEC, ephemeralRunnerMetadata=_META)
"""`spec` of an EphemeralRunnerSet."""

LISTENER_SPEC: Final = Struct(
    {
        **_GITHUB,
        "metrics": _METRICS,
        "listenerConfig": Pointer(struct(scaler=Pointer(struct("qps burst")))),
        "template": Pointer(POD_TEMPLATE),
        "configSecretMetadata": _META,
        "serviceAccountMetadata": _META,
        "roleMetadata": _META,
        "roleBindingMetadata": _META,
    }
)
"""`spec` of an AutoscalingListener."""

ROLE_RULES: Final = ListOf(PLAIN)
"""`rules` of a Role: structs of lists of strings."""

LISTENER_CONFIG: Final = struct("azure_key_vault scaler_config", metrics=_METRICS)
"""A listener's config.json (P1)."""
