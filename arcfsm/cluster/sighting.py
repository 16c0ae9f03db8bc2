"""A sighting: one object, seen against what is known, with its documents redacted and kept."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final, NamedTuple

from arcfsm.cluster.authors import FieldPath
from arcfsm.cluster.redaction import redact, redact_pairs
from arcfsm.cluster.sealing import SealedValues
from arcfsm.cluster.wire import Head
from arcfsm.domain.documents import Documents
from arcfsm.domain.events import DomainEvent
from arcfsm.domain.instant import SECOND, Instant, Span
from arcfsm.domain.jsonvalue import Digest, Json, JsonObject, canonical
from arcfsm.domain.observation import Change, Observation, RefusedError
from arcfsm.domain.world import World

_ADDED: Final = Change.ADDED
FRESH_WITHIN: Final[Span] = 10 * SECOND
"""An object that is ADDED later than this after its creation was not created just now. Clocks may differ by as much."""

REMEMBERED_MAX: Final = 20_000
"""Documents whose redacted form is remembered; the oldest half is forgotten beyond."""


class Fact(NamedTuple):
    """Something that changed: the event, and the fields whose author is its actor."""

    event: DomainEvent
    paths: tuple[FieldPath, ...] = ()


class RedactedDocuments:
    """Keeps documents without their credentials, and remembers which raw content became which document.

    Of the raw content only a hash is remembered.
    """

    def __init__(self, sealed: SealedValues | None = None) -> None:
        self._sealed = sealed
        self._known: dict[bytes, Digest] = {}
        self._documents: Documents | None = None

    def intern(self, documents: Documents, raw: Json) -> Digest:
        """Redact and keep JSON as it came; return the digest of what was kept."""
        return self._intern(documents, b"value", raw)

    def intern_metadata(self, documents: Documents, head: Head) -> Digest:
        """Redact and keep labels and annotations; return the digest."""
        return self._intern(documents, b"metadata", {"labels": head.labels, "annotations": head.annotations})

    def _intern(self, documents: Documents, kind: bytes, raw: Json) -> Digest:
        try:
            key = hashlib.sha256(kind + canonical(raw)).digest()
        except TypeError as error:
            raise RefusedError("it is nested too deeply, or holds numbers or text that JSON can't hold") from error
        if documents is not self._documents:
            self._documents, self._known = documents, {}
        found = self._known.get(key)
        if found is None:
            clean: Json = redact(raw)
            if kind == b"metadata" and isinstance(raw, dict):
                clean = {part: redact_pairs(pairs) for part, pairs in raw.items()}
            if self._sealed is not None:
                self._sealed.learn(raw, clean)
            found = documents.intern(clean)
            if len(self._known) >= REMEMBERED_MAX:
                self._known = dict(list(self._known.items())[REMEMBERED_MAX // 2 :])
            self._known[key] = found
        return found


@dataclass(slots=True)
class Sighting:
    """What a projection looks at."""

    world: World
    object: JsonObject
    head: Head
    observation: Observation
    documents: RedactedDocuments

    @property
    def at(self) -> Instant | None:
        """When the source saw it."""
        return self.observation.at

    @property
    def created_at(self) -> Instant:
        """When the object was created; where it does not say, when it was first seen."""
        return self.head.created_at if self.head.created_at is not None else self.at or 0

    @property
    def fresh(self) -> bool:
        """Whether we see the object being created, rather than that it exists (B13)."""
        head, at = self.head, self.at
        if self.observation.change is not _ADDED or self.observation.listed:
            return False
        if head.generation > 1 or head.deletion_requested_at is not None or head.created_at is None:
            return False
        return at is None or abs(at - head.created_at) <= FRESH_WITHIN

    def document(self, raw: Json) -> Digest:
        """Keep a part of the object; return the digest of its redacted form."""
        return self.documents.intern(self.world.documents, raw)

    def metadata(self) -> Digest:
        """Keep labels and annotations; return the digest of their redacted form."""
        return self.documents.intern_metadata(self.world.documents, self.head)
