"""Which comparison is used where (D10–D14): one function for each question that a rule asks.

Each answers None for "no", or the JSON pointer of the first difference for "yes", so that a rule can name it (H17). A
pointer is never the empty string, so the answer may be used as a condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson

from arcfsm.domain import keys
from arcfsm.domain.drift.comparison import Path, difference
from arcfsm.domain.drift.resource_schema import (
    LISTENER_CONFIG,
    LISTENER_SPEC,
    RESOURCE_META,
    ROLE_RULES,
    RUNNER_SPEC,
)
from arcfsm.domain.drift.schema import STRINGS, Pointer
from arcfsm.domain.jsonvalue import Json, JsonObject, object_at
from arcfsm.domain.rulebook import rule

_RUNNER_SPEC_IGNORED: Final = ("proxySecretRef", "replicas")
_MAYBE_META: Final = Pointer(RESOURCE_META)
_PRUNED_BY_OLDER_CRDS: Final = ("listenerConfig",)


@rule("D10", "a runner spec has changed where it is not semantically equal; replicas don't count")
def runner_spec_changed(live: JsonObject, desired: JsonObject) -> Path | None:
    """Whether two runner specs (`ephemeralRunnerSpec`, or a runner's `spec`) differ (D10, A14, H14).

    Not compared are `replicas`, which only the scale subresource of some CRDs knows, and `proxySecretRef`, which is
    set on runners and never on the set.
    """
    return _below(
        "/ephemeralRunnerSpec",
        difference(_without(live, *_RUNNER_SPEC_IGNORED), _without(desired, *_RUNNER_SPEC_IGNORED), RUNNER_SPEC),
    )


def runner_metadata_changed(live: JsonObject | None, desired: JsonObject | None) -> Path | None:
    """Whether the metadata for new runners (`ephemeralRunnerMetadata`) differs (A15); None is not {} (D4)."""
    return _below("/ephemeralRunnerMetadata", difference(live, desired, _MAYBE_META))


@rule("D11", "a runner set's desired spec has changed where runner spec or runner metadata have")
def desired_spec_changed(live: JsonObject, desired: JsonObject) -> Path | None:
    """Whether two EphemeralRunnerSet specs want different runners (D11, A5, A12).

    Looks at `ephemeralRunnerSpec` and `ephemeralRunnerMetadata` alone: never at replicas, patchID, actionableRevision.
    """
    return runner_spec_changed(
        object_at(live, "ephemeralRunnerSpec"), object_at(desired, "ephemeralRunnerSpec")
    ) or runner_metadata_changed(_maybe(live, "ephemeralRunnerMetadata"), _maybe(desired, "ephemeralRunnerMetadata"))


@rule("D13", "a listener object has drifted where its spec but for the phase, its labels or its annotations differ")
def listener_object_drift(live: JsonObject, desired: JsonObject) -> Path | None:
    """Whether an AutoscalingListener must be replaced (D13, A18).

    Takes objects with `spec` and `metadata`. The spec is compared semantically with the phase blanked (A19 starts a
    stopped listener instead); labels and annotations exactly, because nothing else would ever remove a key, except
    the legacy `integrity-hash` (Z15). A field that the installed CRD prunes is not drift (H34).
    """
    found, wanted = object_at(live, "spec"), object_at(desired, "spec")
    blanked = ("phase", *(field for field in _PRUNED_BY_OLDER_CRDS if found.get(field) is None))
    return (
        _below("/spec", difference(_without(found, *blanked), _without(wanted, *blanked), LISTENER_SPEC))
        or _map_difference(live, desired, "labels")
        or _map_difference(live, desired, "annotations")
    )


@rule("D14", "role rules have changed where the whole list is not semantically equal")
def role_rules_changed(live: Json, desired: Json) -> Path | None:
    """Whether the `rules` of a Role must be written back (D14, L6)."""
    return _below("/rules", difference(live, desired, ROLE_RULES))


def listener_config_equal(live: str | bytes, desired: str | bytes) -> bool:
    """Whether two config.json say the same to a listener (H19): key order, blanks and explicit zeros don't count.

    The texts hold credentials: called inside effects only, and nothing of them may be logged. Text that is not a JSON
    object equals nothing, so it gets overwritten.
    """
    try:
        found, wanted = orjson.loads(live), orjson.loads(desired)
    except orjson.JSONDecodeError:
        return False
    return isinstance(found, dict) and isinstance(wanted, dict) and difference(found, wanted, LISTENER_CONFIG) is None


def _map_difference(live: JsonObject, desired: JsonObject, part: str) -> Path | None:
    found, wanted = object_at(live, "metadata", part), object_at(desired, "metadata", part)
    return _below(
        f"/metadata/{part}",
        difference(_without(found, keys.INTEGRITY_HASH), _without(wanted, keys.INTEGRITY_HASH), STRINGS),
    )


def _maybe(value: JsonObject, field: str) -> JsonObject | None:
    found = value.get(field)
    return found if isinstance(found, Mapping) else None


def _without(value: JsonObject, *fields: str) -> JsonObject:
    if not any(field in value for field in fields):
        return value
    return {key: item for key, item in value.items() if key not in fields}


def _below(prefix: str, tail: Path | None) -> Path | None:
    return None if tail is None else prefix + tail
