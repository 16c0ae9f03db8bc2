"""Objects that manifests are built from, references back to them, and copies that share nothing (H32)."""

from __future__ import annotations

from collections.abc import Mapping

from arcfsm.domain.jsonvalue import Json, JsonObject, object_at, text_at
from arcfsm.domain.kinds import RESOURCES, Kind


def subject(*, kind: Kind, namespace: str, name: str, uid: str, metadata: JsonObject, spec: JsonObject) -> JsonObject:
    """Put an object together again from what the fold keeps apart.

    `metadata` is a document with `labels` and `annotations`; the identity is set over it.
    """
    return {
        "apiVersion": RESOURCES[kind].api_version,
        "kind": kind.value,
        "metadata": {**metadata, "namespace": namespace, "name": name, "uid": uid},
        "spec": spec,
    }


def name_of(owner: JsonObject) -> str:
    """Return `metadata.name`."""
    return text_at(owner, "metadata", "name")


def namespace_of(owner: JsonObject) -> str:
    """Return `metadata.namespace`."""
    return text_at(owner, "metadata", "namespace")


def spec_of(owner: JsonObject) -> JsonObject:
    """Return `spec`, or an empty object."""
    return object_at(owner, "spec")


def manifest(kind: Kind, metadata: JsonObject, **rest: Json) -> dict[str, Json]:
    """Return an object of a kind; what is empty in its metadata is left out."""
    return {
        "apiVersion": RESOURCES[kind].api_version,
        "kind": kind.value,
        "metadata": {key: value for key, value in metadata.items() if value},
        **rest,
    }


def owned_by(owner: JsonObject, kind: Kind) -> list[Json]:
    """Return the owner references of a child: one, controlling and blocking the owner's deletion (rules.md 1.5)."""
    return [
        {
            "apiVersion": RESOURCES[kind].api_version,
            "kind": kind.value,
            "name": name_of(owner),
            "uid": text_at(owner, "metadata", "uid"),
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def fresh(value: Json) -> Json:
    """Return a deep copy: nobody who completes a manifest may change a document by it (H32)."""
    if isinstance(value, Mapping):
        return {key: fresh(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [fresh(item) for item in value]
    return value


def fresh_fields(value: JsonObject, *fields: str) -> dict[str, Json]:
    """Return copies of the fields that are there and not null."""
    return {field: fresh(value[field]) for field in fields if value.get(field) is not None}
