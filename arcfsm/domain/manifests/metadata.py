"""Labels and annotations of children: what they get, and how they are merged into what is there (M1–M3, M5, M6)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from arcfsm.domain import keys
from arcfsm.domain.github_url import InvalidConfigUrl, parse_config_url, url_labels
from arcfsm.domain.jsonvalue import Json, JsonObject, strings_at, text_at
from arcfsm.domain.manifests.refusal import Refusal, Unbuildable
from arcfsm.domain.manifests.subject import name_of, namespace_of, spec_of
from arcfsm.domain.rulebook import rule
from arcfsm.domain.settings import ControllerSettings

Strings = Mapping[str, str]
_NEVER_STAMPED: Final = (keys.LISTENER_CONFIG_VERSION,)


def propagated(labels: Strings, settings: ControllerSettings) -> dict[str, str]:
    """Return the labels that may be passed on: without those of excluded prefixes (M1)."""
    excluded = settings.excluded_label_prefixes
    return {key: value for key, value in labels.items() if not key.startswith(excluded)} if excluded else dict(labels)


@rule("M1", "labels are merged over what is there; excluded prefixes are never passed on, and never taken away (H21)")
def merge_labels(live: Strings, desired: Strings, settings: ControllerSettings) -> dict[str, str]:
    """Return the labels a child should have: desired ones win, excluded prefixes count on the desired side only."""
    return {**live, **propagated(desired, settings)}


@rule("M2", "annotations are merged over what is there")
def merge_annotations(live: Strings, desired: Strings) -> dict[str, str]:
    """Return the annotations a child should have: desired ones win."""
    return {**live, **desired}


@rule("M3", "a merge never removes a key, so a foreign one never causes a patch")
def metadata_patch(
    live: JsonObject, desired: JsonObject, settings: ControllerSettings, *, ignored: Collection[str] = ()
) -> dict[str, Json] | None:
    """Return the smallest merge patch of `metadata` that brings the desired keys in, or None where all are there.

    Takes objects with `labels` and `annotations` (a `metadata`, or the document of one). Keys that only the live side
    has stay (A15, L5–L8, L11). `ignored` annotations are left as they are.
    """
    found_labels, found_annotations = strings_at(live, "labels"), strings_at(live, "annotations")
    labels = merge_labels(found_labels, strings_at(desired, "labels"), settings)
    annotations = merge_annotations(found_annotations, strings_at(desired, "annotations"))
    changes: dict[str, Json] = {
        "labels": {key: value for key, value in labels.items() if found_labels.get(key) != value},
        "annotations": {
            key: value
            for key, value in annotations.items()
            if found_annotations.get(key) != value and key not in ignored
        },
    }
    return {part: changed for part, changed in changes.items() if changed} or None


def listener_pod_metadata_patch(
    live: JsonObject, desired: JsonObject, settings: ControllerSettings
) -> dict[str, Json] | None:
    """As `metadata_patch`, for a listener pod (L11): the config version is never stamped onto a pod that runs (Z1).

    The annotation says which config a pod has read at its start; written later it would hide a lost update for ever.
    """
    return metadata_patch(live, desired, settings, ignored=_NEVER_STAMPED)


def resource_meta(spec: JsonObject, field: str, part: str) -> dict[str, str]:
    """Return what a user asked for a child: `labels` or `annotations` of a ResourceMeta field of the spec."""
    return strings_at(spec, field, part)


def scale_set_labels(
    scale_set: JsonObject, component: str, meta_field: str, settings: ControllerSettings
) -> dict[str, str]:
    """Return the labels of a direct child of a scale set (M5, M6): the user's lie below the controller's.

    A scale set without a version label gives its children an empty one, as ARC does; to leave it out would replace
    every listener that ARC made (A18 compares exactly). Raises Unbuildable for an invalid URL.
    """
    own = strings_at(scale_set, "metadata", "labels")
    try:
        of_url = url_labels(parse_config_url(text_at(scale_set, "spec", "githubConfigUrl")))
    except InvalidConfigUrl as error:
        raise Unbuildable(Refusal.INVALID_URL, f"spec.githubConfigUrl: {error}") from error
    standard = {
        keys.PART_OF: keys.PART_OF_VALUE,
        keys.COMPONENT: component,
        keys.VERSION_LABEL: own.get(keys.VERSION_LABEL, ""),
        keys.SCALE_SET_NAME: name_of(scale_set),
        keys.SCALE_SET_NAMESPACE: namespace_of(scale_set),
    }
    below = resource_meta(spec_of(scale_set), meta_field, "labels")
    return propagated({**below, **own, **standard, **of_url}, settings)


def scale_set_id(scale_set: JsonObject) -> int:
    """Return the service's id of a scale set. Raises Unbuildable where it is not registered (A13)."""
    text = text_at(scale_set, "metadata", "annotations", keys.SCALE_SET_ID)
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    found = f"is {text!r}, not a positive integer" if text else "is missing"
    raise Unbuildable(Refusal.UNREGISTERED, f"annotation {keys.SCALE_SET_ID} {found}")
