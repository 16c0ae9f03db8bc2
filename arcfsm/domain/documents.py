"""Big content by its digest: pod templates, specs, manifests, patches. Said once, referred to often.

Interning is idempotent and content-addressed, so it is as pure as a memo: the digest of a value never depends on what
else was interned before. Where a journal stands behind it, a document that is not at hand is fetched from there when
it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from arcfsm.domain.jsonvalue import EMPTY, Digest, Json, JsonObject, canonical, digest


class Documents:
    """The documents that a world refers to."""

    def __init__(self, fetch: Callable[[Digest], Json] | None = None) -> None:
        self._known: dict[Digest, Json] = {}
        self._digests: dict[bytes, Digest] = {}
        self._fetch = fetch

    def intern(self, value: Json) -> Digest:
        """Keep a value and return its digest. The caller must not change the value afterwards."""
        found = self._digests.get(key := canonical(value))
        if found is None:
            found = digest(value)
            self._digests[key] = found
            self._known.setdefault(found, value)
        return found

    def get(self, wanted: Digest) -> Json:
        """Return a document. Raises KeyError for one that nobody knows."""
        try:
            return self._known[wanted]
        except KeyError:
            if self._fetch is None:
                raise
        value = self._known[wanted] = self._fetch(wanted)
        return value

    def mapping(self, wanted: Digest) -> JsonObject:
        """Return a document that is an object; "" and documents of another shape are the empty object."""
        found = self.get(wanted) if wanted else None
        return found if isinstance(found, Mapping) else EMPTY

    def add(self, known: Digest, value: Json) -> None:
        """Keep a document whose digest is already known to be right: it comes from a journal that verified it."""
        self._known.setdefault(known, value)
