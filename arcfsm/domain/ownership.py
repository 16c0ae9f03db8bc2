"""Who controls whom: an index from owners to the uids of what they own, oldest first."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable
from typing import Generic, TypeAlias, TypeVar

O = TypeVar("O", bound=Hashable)  # noqa: E741  # O for owner

Rank: TypeAlias = tuple[int, str]
"""Age, then name."""


class Ownership(Generic[O]):
    """Each uid has at most one owner; owners without anything are forgotten."""

    def __init__(self) -> None:
        self._owned: dict[O, list[tuple[Rank, str]]] = {}
        self._places: dict[str, tuple[O, Rank]] = {}

    def assign(self, uid: str, owner: O, rank: Rank) -> None:
        """Put a uid under an owner at its rank, taking it from where it was."""
        if self._places.get(uid) != (owner, rank):
            self.release(uid)
            self._places[uid] = (owner, rank)
            insort(self._owned.setdefault(owner, []), (rank, uid))

    def release(self, uid: str) -> None:
        """Forget a uid."""
        place = self._places.pop(uid, None)
        if place is not None:
            owner, rank = place
            owned = self._owned[owner]
            del owned[bisect_left(owned, (rank, uid))]
            if not owned:
                del self._owned[owner]

    def of(self, owner: O) -> list[str]:
        """Return what an owner has, by rank and uid."""
        return [uid for _, uid in self._owned.get(owner, ())]
