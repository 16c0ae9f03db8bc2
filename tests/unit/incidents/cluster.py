"""An obliging API server in memory, with the few manners of a real one that decisions depend on.

Finalizers hold what is deleted, owners take their children along, a patch may be locked to a version, status is a
subresource, and the generation counts edits of the spec. Whatever changes is noted as a watch event.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from arcfsm.domain.instant import Instant, format_instant
from arcfsm.domain.kinds import AGGREGATE_OF, Kind
from tests.unit.rules.hands import merge_patch

Object = dict[str, Any]
Key = tuple[Kind, str, str]


class Refused(Exception):  # noqa: N818  # an answer, not an error
    """The API server says no."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(message or str(code))
        self.code = code


@dataclass(frozen=True)
class Change:
    """One thing that a watch would tell, with the state it left."""

    at: Instant
    type: str
    object: Object


def key_of(obj: Object) -> Key:
    return Kind(obj["kind"]), obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


@dataclass
class Cluster:
    """The objects of one story."""

    now: Instant
    objects: dict[Key, Object] = field(default_factory=dict)
    history: list[Change] = field(default_factory=list)
    unseen: list[Change] = field(default_factory=list)
    """Changes that no watch has told yet."""
    stuck: set[str] = field(default_factory=set)
    """Uids of pods whose node is dead: only force removes them."""
    _version: int = 1000
    _uids: int = 0

    def get(self, key: Key) -> Object | None:
        return self.objects.get(key)

    def of(self, kind: Kind) -> list[Object]:
        return [obj for key, obj in sorted(self.objects.items()) if key[0] is kind]

    def place(self, obj: Object) -> Object:
        """Put an object there that was there before the story begins. Nobody is told."""
        stored = deepcopy(obj)
        stored["metadata"].setdefault("resourceVersion", self._next())
        stored["metadata"].setdefault("uid", self._uid(stored))
        self.objects[key_of(stored)] = stored
        self.history.append(Change(self.now, "ADDED", deepcopy(stored)))
        return stored

    def create(self, obj: Object) -> Object:
        stored = deepcopy(obj)
        if key_of(stored) in self.objects:
            raise Refused(409, "AlreadyExists")
        metadata = stored["metadata"]
        metadata.setdefault("uid", self._uid(stored))
        metadata.setdefault("creationTimestamp", format_instant(self.now))
        if key_of(stored)[0] in AGGREGATE_OF:
            metadata.setdefault("generation", 1)
        return self._store(stored, "ADDED")

    def patch(self, key: Key, patch: Any, *, subresource: str = "", version: str = "", uid: str = "") -> Object:
        stored = self.objects.get(key)
        if stored is None:
            raise Refused(404)
        metadata = stored["metadata"]
        if (uid and metadata["uid"] != uid) or (version and metadata["resourceVersion"] != version):
            raise Refused(409, "Conflict")
        parts = {part: value for part, value in patch.items() if (part == "status") == (subresource == "status")}
        return self.change(key, parts)

    def change(self, key: Key, patch: Any) -> Object:
        """Merge whatever it is into an object, as somebody with every right would."""
        before = self.objects[key]
        after = merge_patch(deepcopy(before), deepcopy(patch))
        after["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
        if after == before:
            return before
        if after.get("spec") != before.get("spec") and key[0] in AGGREGATE_OF:
            after["metadata"]["generation"] = before["metadata"].get("generation", 1) + 1
        released = after["metadata"].get("deletionTimestamp") and not after["metadata"].get("finalizers")
        if released and key[0] is not Kind.POD:
            return self._remove(key, after)
        return self._store(after, "MODIFIED")

    def delete(self, key: Key, *, uid: str = "", grace: int | None = None) -> None:
        stored = self.objects.get(key)
        if stored is None:
            raise Refused(404)
        metadata = stored["metadata"]
        if uid and metadata["uid"] != uid:
            raise Refused(409, "Conflict")
        if metadata["uid"] in self.stuck and grace != 0:
            return
        if metadata.get("finalizers"):
            if not metadata.get("deletionTimestamp"):
                self.change(key, {"metadata": {"deletionTimestamp": format_instant(self.now)}})
            return
        self._remove(key, stored)

    def owned(self, uid: str) -> Iterator[Key]:
        for key, obj in list(self.objects.items()):
            if any(owner["uid"] == uid for owner in obj["metadata"].get("ownerReferences") or ()):
                yield key

    def _remove(self, key: Key, last: Object) -> Object:
        del self.objects[key]
        last["metadata"]["resourceVersion"] = self._next()
        self._note("DELETED", last)
        for child in self.owned(last["metadata"]["uid"]):
            if child in self.objects:
                self.delete(child)
        return last

    def _store(self, obj: Object, change: str) -> Object:
        obj["metadata"]["resourceVersion"] = self._next()
        self.objects[key_of(obj)] = obj
        self._note(change, obj)
        return obj

    def _note(self, change: str, obj: Object) -> None:
        noted = Change(self.now, change, deepcopy(obj))
        self.history.append(noted)
        self.unseen.append(noted)

    def _next(self) -> str:
        self._version += 1
        return str(self._version)

    def _uid(self, obj: Object) -> str:
        self._uids += 1
        return f"uid-{obj['kind']}-{self._uids}".lower()
