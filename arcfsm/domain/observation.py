"""An observation: what the outside told us about one object, before it is anything in our terms.

The translator (arcfsm/cluster) turns observations into domain events; who reads the source (the engine a watch, an
importer a file) knows how it came about and says so here. Neither imports the other: they meet in these types.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple, Protocol

import msgspec

from arcfsm.domain.envelope import Source
from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import JsonObject
from arcfsm.domain.kinds import Kind
from arcfsm.domain.turn import Arrival
from arcfsm.domain.world import World


class Change(StrEnum):
    """The type of a watch event."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One object as a source showed it."""

    change: Change
    object: JsonObject
    source: Source
    at: Instant | None = None
    """When the source saw it, where it says so."""
    listed: bool = False
    """It was part of a list: ADDED then says that it exists, not that it was created just now (B13)."""


class Translation(NamedTuple):
    """What an observation means: events, or why there are none."""

    arrivals: tuple[Arrival, ...]
    noise: str = ""
    """Why it leaves no trace; "" where there are arrivals."""
    kind: Kind | None = None
    version: str = ""


class Scope(NamedTuple):
    """What one list covers: a kind in a namespace."""

    kind: Kind
    namespace: str


class Identity(NamedTuple):
    """Which object an observation is about, and which version of it is known already."""

    scope: Scope
    name: str
    uid: str
    version: str
    known_version: str
    """"" where the object is not known."""
    created_at: Instant | None


class RefusedError(ValueError):
    """An observation can't be understood. The message says what is wrong with it, in one line without content."""


class Translator(Protocol):
    """Turns observations into domain events. The same observations against the same world give the same events."""

    def kind_of(self, obj: JsonObject) -> Kind | None:
        """Return the kind of an object; None for kinds we do not know."""
        ...

    def identify(self, world: World, obj: JsonObject) -> Identity | None:
        """Return which object this is; None for kinds we do not know. Raises RefusedError where it can't be told."""
        ...

    def translate(self, world: World, observation: Observation) -> Translation:
        """Return the events of one observation. Raises RefusedError where it can't be understood."""
        ...

    def missing(self, world: World, scopes: Iterable[Scope], listed: Collection[str]) -> Iterator[Arrival]:
        """Yield what is gone: known objects in the listed scopes whose uid the list does not hold."""
        ...

    def known_in(self, world: World, scope: Scope) -> frozenset[str]:
        """Return the uids of the objects of a scope that are known to be there."""
        ...

    def newest_moment(self, obj: JsonObject) -> Instant | None:
        """Return the newest time that an object mentions: when it was last written, as far as it tells."""
        ...

    def latest_version(self, uid: str) -> str:
        """Return the newest resourceVersion seen of an object in this session; "" for none."""
        ...

    def restart_versions(self, world: World) -> None:
        """Forget the order of resource versions: the cluster started a new count of them (B40)."""
        ...
