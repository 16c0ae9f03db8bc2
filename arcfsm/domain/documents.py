"""Big content by its digest: pod templates, specs, manifests, patches. Said once, referred to often.

Interning is idempotent and content-addressed, so it is as pure as a memo: the digest of a value never depends on what
else was interned before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from arcfsm.domain.jsonvalue import EMPTY, Digest, Json, JsonObject, canonical, digest


class Documents:
    """The documents that a world refers to. `load` fetches a document that is not at hand, from a journal say."""

    def __init__(self, known: Mapping[Digest, Json] | None = None) -> None:
        self._known: dict[Digest, Json] = dict(known or {})
        self._digests: dict[bytes, Digest] = {}

    def intern(self, value: Json) -> Digest:
        """Keep a value and return its digest. The caller must not change the value afterwards."""
        found = self._digests.get(key := canonical(value))
        if found is None:
            found = digest(value)
            self._digests[key] = found
            self._known.setdefault(found, value)
        return found

    def get(self, wanted: Digest) -> Json:
        """Return a document. Raises KeyError for one that is not known."""
        return self._known[wanted]

    def mapping(self, wanted: Digest) -> JsonObject:
        """Return a document that is an object; "" and documents of another shape are the empty object."""
        found = self._known[wanted] if wanted else None
        return found if isinstance(found, Mapping) else EMPTY

    def __contains__(self, wanted: object) -> bool:
        return wanted in self._known

    def __iter__(self) -> Iterator[Digest]:
        return iter(sorted(self._known))

    def items(self) -> Iterator[tuple[Digest, Json]]:
        """Yield every document with its digest, in the order of the digests."""
        for key in sorted(self._known):
            yield key, self._known[key]

    def add(self, known: Digest, value: Json) -> None:
        """Keep a document whose digest is already known to be right: it comes from a journal that verified it."""
        self._known.setdefault(known, value)
