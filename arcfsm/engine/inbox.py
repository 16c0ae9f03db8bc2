"""The inbox: what arrived and waits for its turn, in the order in which it arrived."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from arcfsm.domain.envelope import Source
from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.instant import Instant
from arcfsm.domain.intents import Intent
from arcfsm.domain.jsonvalue import JsonObject
from arcfsm.domain.kinds import Kind
from arcfsm.domain.observation import Change

COUNTS_ANEW: Final = "the API server counts resourceVersions anew: its store was restored"
"""Why a feed is read again that found this out."""
RESTORED: Final = "another feed found that the API server's store was restored"
"""Why all others are, too."""
ROOM: Final = 5_000
"""Items that may wait. Readers of watches pause beyond that; outcomes and errands of our own always get in."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One object, as a watch or an answer showed it."""

    change: Change
    object: JsonObject = field(repr=False)
    source: Source
    at: Instant
    feed: str = ""
    """Name of the watch that told it; "" for answers."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything of one kind in one scope, as of a resourceVersion."""

    feed: str
    kind: Kind
    namespace: str
    """"" for all namespaces."""
    items: tuple[JsonObject, ...] = field(repr=False)
    version: str
    at: Instant
    reason: str = ""
    """Why it was read again; "" for the first time in this process."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a watch is though nothing changed (a bookmark)."""

    feed: str
    version: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """A feed can't be read: what is said once, until it can again."""

    feed: str
    reason: str
    at: Instant


@dataclass(frozen=True, slots=True)
class Settlement:
    """How an effect ended."""

    intent: Intent
    decision: int
    index: int
    item: int
    outcome: Outcome
    at: Instant
    status: int = 0
    detail: str = ""
    answer: dict[str, str | int | bool] = field(default_factory=dict)
    objects: tuple[tuple[Change, JsonObject], ...] = field(default=(), repr=False)
    """What the API server returned on the way, oldest first: folded before the outcome (read-your-writes)."""


Item: TypeAlias = Seen | Listing | Progress | Trouble | Settlement


class Inbox:
    """An unbounded queue whose readers of the outside are asked to pause when it is full."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._items: deque[Item] = deque()
        self._wake = wake

    def __len__(self) -> int:
        return len(self._items)

    @property
    def full(self) -> bool:
        """Whether a reader should wait before it brings more."""
        return len(self._items) >= ROOM

    def put(self, item: Item) -> None:
        """Add an item and ask for a turn."""
        self._items.append(item)
        self._wake()

    def take(self, most: int) -> list[Item]:
        """Return up to `most` items, the oldest first."""
        return [self._items.popleft() for _ in range(min(most, len(self._items)))]
