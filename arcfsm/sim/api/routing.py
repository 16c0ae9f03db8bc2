"""From a path and a method to what is wanted: which resource, which object, which verb.

A path is understood before anybody knows whether there is such a resource, since a user who may not do a thing learns
nothing about what exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote

from arcfsm.sim.api.listing import truth
from arcfsm.sim.api.rbac import Attributes

_OBJECT_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_COLLECTION_VERBS = {
    "GET": "list", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "deletecollection",
}  # fmt: skip
_PATHS_MAX: Final = 4096
_OWN_SUBRESOURCES = ("status", "finalize")


@dataclass(frozen=True)
class Route:
    """What a request's path means."""

    group: str
    version: str
    plural: str
    namespace: str
    name: str
    subresource: str
    scoped: bool
    """Whether the path names a namespace."""
    verb: str
    watch: bool

    def attributes(self) -> Attributes:
        """Return what has to be allowed."""
        resource = f"{self.plural}/{self.subresource}" if self.subresource else self.plural
        namespace = self.name if self.plural == "namespaces" and not self.group else self.namespace
        name = "" if self.verb == "create" and not self.subresource else self.name
        return Attributes(self.verb, self.group, resource, namespace, name)


def parse_path(method: str, path: str, query: Mapping[str, str]) -> Route | None:
    """Understand a path; None when it leads outside the API's resources."""
    place = _place(path)
    if place is None:
        return None
    watch = method == "GET" and not place.name and "watch" in query and truth(query["watch"])
    verb = (_OBJECT_VERBS if place.name else _COLLECTION_VERBS).get(method, method.lower())
    return Route(*place, "watch" if watch else verb, watch)


class _Place(NamedTuple):
    group: str
    version: str
    plural: str
    namespace: str
    name: str
    subresource: str
    scoped: bool


@lru_cache(maxsize=_PATHS_MAX)
def _place(path: str) -> _Place | None:
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    scoped = rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _OWN_SUBRESOURCES
    if scoped:
        namespace, rest = rest[1], rest[2:]
    return _Place(group, version, rest[0], namespace, rest[1] if len(rest) > 1 else "", "/".join(rest[2:]), scoped)
