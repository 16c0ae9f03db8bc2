"""Who controls whom: an index from owners to the uids of what they own."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

O = TypeVar("O", bound=Hashable)  # noqa: E741  # O for owner


class Ownership(Generic[O]):
    """Each uid has at most one owner; owners without anything are forgotten."""

    def __init__(self) -> None:
        self._owned: dict[O, set[str]] = {}
        self._owner: dict[str, O] = {}

    def assign(self, uid: str, owner: O) -> None:
        """Put a uid under an owner, taking it from the former one."""
        if self._owner.get(uid) != owner:
            self.release(uid)
            self._owner[uid] = owner
            self._owned.setdefault(owner, set()).add(uid)

    def release(self, uid: str) -> None:
        """Forget a uid."""
        owner = self._owner.pop(uid, None)
        if owner is not None:
            self._owned[owner].discard(uid)
            if not self._owned[owner]:
                del self._owned[owner]

    def of(self, owner: O) -> list[str]:
        """Return what an owner has, sorted."""
        return sorted(self._owned.get(owner, ()))
