"""Merge patches (RFC 7386) that say only what changes."""

from __future__ import annotations

from collections.abc import Mapping

from arcfsm.domain.jsonvalue import Json, JsonObject, canonical


def merge_diff(live: JsonObject, desired: JsonObject) -> dict[str, Json]:
    """Return the smallest merge patch that turns `live` into `desired`: objects merge, everything else is replaced.

    A null in `desired` means absent, which is the only thing a merge patch can say with it.
    """
    patch: dict[str, Json] = {key: None for key in live if live[key] is not None and desired.get(key) is None}
    for key, wanted in desired.items():
        if wanted is None:
            continue
        present = live.get(key)
        if isinstance(wanted, Mapping) and isinstance(present, Mapping):
            if inner := merge_diff(present, wanted):
                patch[key] = inner
        elif present is None or canonical(present) != canonical(wanted):
            patch[key] = wanted
    return patch
