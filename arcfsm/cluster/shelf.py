"""Dependents that are of no interest yet: a scale set that comes later may name them. Redacted metadata, bounded."""

from __future__ import annotations

from typing import Final

from arcfsm.domain.states import Dependent, DependentKey

KEPT_MAX: Final = 5_000
"""Enough for the Secrets of a large cluster's runner namespaces; the longest untouched goes first."""


class Shelf:
    """Keeps the latest version of each by name."""

    def __init__(self) -> None:
        self._kept: dict[DependentKey, Dependent] = {}

    def keep(self, key: DependentKey, dependent: Dependent) -> None:
        """Put one on the shelf, in place of an earlier version."""
        self._kept.pop(key, None)
        self._kept[key] = dependent
        if len(self._kept) > KEPT_MAX:
            del self._kept[next(iter(self._kept))]

    def take(self, key: DependentKey) -> Dependent | None:
        """Take one off the shelf; None where there is none."""
        return self._kept.pop(key, None)
