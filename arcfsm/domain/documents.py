"""Big content by its digest: pod templates, specs, manifests, patches. Said once, referred to often.

Interning is idempotent and content-addressed, so it is as pure as a memo: the digest of a value never depends on what
else was interned before. Where a journal stands behind it, a document that is not at hand is fetched from there when
it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from arcfsm.domain.jsonvalue import EMPTY, Digest, Json, JsonObject, digest


class Documents:
    """The documents that a world refers to."""

    def __init__(
        self,
        fetch: Callable[[Digest], Json] | None = None,
        fetch_all: Callable[[Iterable[Digest]], Mapping[Digest, Json]] | None = None,
    ) -> None:
        self._known: dict[Digest, Json] = {}
        self._fetch = fetch
        self._fetch_all = fetch_all
        self._expected: dict[Digest, None] = {}
        self._stored: dict[Digest, None] = {}
        """Those that can be fetched again, the longest at hand first."""

    def intern(self, value: Json) -> Digest:
        """Keep a value and return its digest. The caller must not change the value afterwards."""
        found = digest(value)
        self._known.setdefault(found, value)
        return found

    def get(self, wanted: Digest) -> Json:
        """Return a document. Raises KeyError for one that nobody knows."""
        try:
            return self._known[wanted]
        except KeyError:
            if self._fetch is None:
                raise
        if wanted in self._expected and self._fetch_all is not None:
            expected, self._expected = self._expected, {}
            fetched = self._fetch_all(expected)
            self._known.update(fetched)
            self._stored.update(dict.fromkeys(fetched))
            if wanted in self._known:
                return self._known[wanted]
        value = self._known[wanted] = self._fetch(wanted)
        self._stored[wanted] = None
        return value

    def expect(self, digests: Iterable[Digest]) -> None:
        """Note what is likely to be asked for soon: with the first that is, all of them are fetched at once."""
        if self._fetch_all is not None:
            self._expected.update((one, None) for one in digests if one not in self._known)

    def mapping(self, wanted: Digest) -> JsonObject:
        """Return a document that is an object; "" and documents of another shape are the empty object."""
        found = self.get(wanted) if wanted else None
        return found if isinstance(found, Mapping) else EMPTY

    def add(self, known: Digest, value: Json) -> None:
        """Keep a document whose digest is already known to be right: it comes from a journal that verified it."""
        self._known.setdefault(known, value)

    def stored(self, digests: Iterable[Digest], *, keep_max: int) -> None:
        """Note which documents can be fetched again from now on, and let go of the oldest beyond `keep_max` of them.

        What was never stored stays: nobody else knows it.
        """
        for one in digests:
            if one in self._known:
                self._stored[one] = None
        while len(self._stored) > keep_max:
            oldest = next(iter(self._stored))
            del self._stored[oldest]
            del self._known[oldest]
