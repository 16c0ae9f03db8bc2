"""What all handlers share: the store, what is served, the rules, and time and chance as they were handed in."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from arcfsm.domain.instant import Instant
from arcfsm.sim.apiserver.access import Access
from arcfsm.sim.apiserver.admission import Admission
from arcfsm.sim.apiserver.message import Identity
from arcfsm.sim.apiserver.registry import Registry
from arcfsm.sim.apiserver.store import Key, Store

Body = dict[str, Any]
SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Engine:
    """The shared parts of one server."""

    def __init__(self, clock: Callable[[], Instant], chance: random.Random) -> None:
        self.clock = clock
        self.chance = chance
        self.store = Store()
        self.tokens: dict[str, Identity] = {}
        self.registry = Registry(self.store)
        self.access = Access(self.store)
        self.admission = Admission(self.store, self.write)
        self.admission.token_name = self.suffix

    def write(self, table: str, key: Key, body: Body) -> Body:
        """Write an object for the server itself."""
        return self.store.put(table, key, body)

    def now(self, seconds_ahead: int = 0) -> str:
        """Return the time as the server writes it, in whole seconds."""
        moment = _EPOCH + timedelta(microseconds=self.clock()) + timedelta(seconds=seconds_ahead)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def uid(self) -> str:
        """Draw a uid."""
        value = self.chance.getrandbits(128) & ~(0xF << 76) | (4 << 76)
        text = f"{value & ~(3 << 62) | (2 << 62):032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def suffix(self) -> str:
        """Draw the five characters that make a name unique."""
        return "".join(self.chance.choice(SUFFIX_LETTERS) for _ in range(5))
