"""The EphemeralRunnerSet of a scale set (A11, M5), and the Secret with its runners' proxy (S5)."""

from __future__ import annotations

from arcfsm.domain import keys
from arcfsm.domain.jsonvalue import Json, JsonObject, object_at, strings_at
from arcfsm.domain.kinds import Kind
from arcfsm.domain.manifests.metadata import propagated, resource_meta, scale_set_id, scale_set_labels
from arcfsm.domain.manifests.subject import fresh, fresh_fields, manifest, name_of, namespace_of, owned_by, spec_of
from arcfsm.domain.names import runner_proxy_secret_name
from arcfsm.domain.rulebook import rule
from arcfsm.domain.settings import ControllerSettings


@rule("M5", "the runner set carries the scale set's labels and names; the user's metadata lies below")
def runner_set_manifest(scale_set: JsonObject, settings: ControllerSettings) -> dict[str, Json]:
    """Return the runner set that a scale set wants: no replicas, patch id 0, no revision (A11).

    Its `spec.ephemeralRunnerSpec`, `spec.ephemeralRunnerMetadata` and metadata are what D10, D11 and A15 compare with.
    Raises Unbuildable where the scale set is not registered or its URL is invalid (A13).
    """
    spec = spec_of(scale_set)
    own = strings_at(scale_set, "metadata", "annotations")
    labels = scale_set_labels(scale_set, keys.COMPONENT_RUNNER_SET, "ephemeralRunnerSetMetadata", settings)
    annotations = {
        **resource_meta(spec, "ephemeralRunnerSetMetadata", "annotations"),
        keys.RUNNER_GROUP_NAME: own.get(keys.RUNNER_GROUP_NAME, ""),
        keys.RUNNER_SCALE_SET_NAME: own.get(keys.RUNNER_SCALE_SET_NAME, ""),
    }
    return manifest(
        Kind.RUNNER_SET,
        {
            "namespace": namespace_of(scale_set),
            "name": name_of(scale_set),
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": owned_by(scale_set, Kind.SCALE_SET),
        },
        spec={
            "patchID": 0,
            "ephemeralRunnerSpec": _runner_spec(scale_set),
            **fresh_fields(spec, "ephemeralRunnerMetadata"),
        },
    )


def _runner_spec(scale_set: JsonObject) -> dict[str, Json]:
    """The part whose change makes a new actionable revision (A14)."""
    spec = spec_of(scale_set)
    return {
        "runnerScaleSetId": scale_set_id(scale_set),
        **fresh_fields(
            spec,
            "githubConfigUrl",
            "githubConfigSecret",
            "proxy",
            "githubServerTLS",
            "vaultConfig",
            "ephemeralRunnerConfigSecretMetadata",
        ),
        "metadata": fresh(object_at(spec, "template", "metadata")),
        "spec": fresh(object_at(spec, "template", "spec")),
    }


def runner_proxy_secret(runner_set: JsonObject, settings: ControllerSettings) -> dict[str, Json]:
    """Return the Secret with the proxy of a set's runners, without data (S5).

    Its data is composed inside the effect (`proxy_data`), because it holds credentials.
    """
    own = strings_at(runner_set, "metadata", "labels")
    labels = {
        keys.SCALE_SET_NAME: own.get(keys.SCALE_SET_NAME, name_of(runner_set)),
        keys.SCALE_SET_NAMESPACE: own.get(keys.SCALE_SET_NAMESPACE, namespace_of(runner_set)),
    }
    return manifest(
        Kind.SECRET,
        {
            "namespace": namespace_of(runner_set),
            "name": runner_proxy_secret_name(namespace_of(runner_set), name_of(runner_set)),
            "labels": propagated(labels, settings),
            "ownerReferences": owned_by(runner_set, Kind.RUNNER_SET),
        },
    )
