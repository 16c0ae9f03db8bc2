"""Runners of a set (M7), and the Secret with a runner's registration (R10)."""

from __future__ import annotations

from arcfsm.domain import keys
from arcfsm.domain.jsonvalue import Json, JsonObject, integer_at, object_at, strings_at
from arcfsm.domain.kinds import Kind
from arcfsm.domain.manifests.metadata import propagated, resource_meta
from arcfsm.domain.manifests.subject import fresh, manifest, name_of, namespace_of, owned_by, spec_of
from arcfsm.domain.names import runner_proxy_secret_name
from arcfsm.domain.rulebook import rule
from arcfsm.domain.settings import ControllerSettings


@rule("M7", "a runner carries its set's labels, annotations and spec, stamped with patch id and revision")
def runner_manifest(runner_set: JsonObject, settings: ControllerSettings) -> dict[str, Json]:
    """Return one new runner of a set, still without a name: all runners of one decision are alike but for it.

    Give it a name with `named`. The user's `ephemeralRunnerMetadata` lies below the set's metadata and the stamps.
    The legacy `integrity-hash` of a set is not passed on: it is never written by us (Z16).
    """
    spec = spec_of(runner_set)
    runner_spec = object_at(spec, "ephemeralRunnerSpec")
    body: dict[str, Json] = {key: fresh(value) for key, value in runner_spec.items()}
    if runner_spec.get("proxy") is not None:
        body["proxySecretRef"] = runner_proxy_secret_name(namespace_of(runner_set), name_of(runner_set))
    annotations = {
        **resource_meta(spec, "ephemeralRunnerMetadata", "annotations"),
        **strings_at(runner_set, "metadata", "annotations"),
        keys.PATCH_ID: str(integer_at(spec, "patchID")),
        keys.ACTIONABLE_REVISION: str(integer_at(spec, "actionableRevision")),
    }
    labels = {
        **resource_meta(spec, "ephemeralRunnerMetadata", "labels"),
        **strings_at(runner_set, "metadata", "labels"),
        keys.COMPONENT: keys.COMPONENT_RUNNER,
    }
    return manifest(
        Kind.RUNNER,
        {
            "namespace": namespace_of(runner_set),
            "labels": propagated(labels, settings),
            "annotations": {key: value for key, value in annotations.items() if key != keys.INTEGRITY_HASH},
            "finalizers": [keys.RUNNER_FINALIZER, keys.REGISTRATION_FINALIZER],
            "ownerReferences": owned_by(runner_set, Kind.RUNNER_SET),
        },
        spec=body,
    )


def named(nameless: JsonObject, name: str) -> dict[str, Json]:
    """Return a copy of a manifest under a name (`names.runner_name`)."""
    return {
        **{key: fresh(value) for key, value in nameless.items()},
        "metadata": {**{key: fresh(value) for key, value in object_at(nameless, "metadata").items()}, "name": name},
    }


def jit_secret(runner: JsonObject, settings: ControllerSettings) -> dict[str, Json]:
    """Return the Secret of a runner's registration, without data (R10).

    Its data (`jit_secret_data`) is a credential that the service hands to the effect.
    """
    spec = spec_of(runner)
    return manifest(
        Kind.SECRET,
        {
            "namespace": namespace_of(runner),
            "name": name_of(runner),
            "labels": propagated(resource_meta(spec, "ephemeralRunnerConfigSecretMetadata", "labels"), settings),
            "annotations": resource_meta(spec, "ephemeralRunnerConfigSecretMetadata", "annotations"),
            "ownerReferences": owned_by(runner, Kind.RUNNER),
        },
    )
