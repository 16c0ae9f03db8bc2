"""Requests and responses, the identity behind a request, and what its path and its query ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

Body = dict[str, Any]
JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True)
class Identity:
    """Who asks."""

    name: str
    groups: tuple[str, ...] = ("system:authenticated",)


ADMIN: Final = Identity("arcfsm-admin", ("system:masters", "system:authenticated"))
ANONYMOUS: Final = Identity("system:anonymous", ("system:unauthenticated",))


@dataclass
class Request:
    """One request. Its body is either raw bytes or what was decoded from them already."""

    method: str
    path: str
    query: Mapping[str, list[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    data: Any = None
    identity: Identity | None = None

    def first(self, name: str) -> str:
        """Return a query parameter, empty when it is not there."""
        values = self.query.get(name)
        return values[0] if values else ""

    def flag(self, name: str) -> bool:
        """Return a boolean query parameter: anything but false and 0 is true."""
        values = self.query.get(name)
        return values is not None and len(values) > 0 and values[0].lower() not in {"false", "0"}

    @property
    def content_type(self) -> str:
        """What the body is, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip()

    @property
    def has_body(self) -> bool:
        """Whether anything was sent."""
        return bool(self.raw) or self.data is not None


@dataclass
class Response:
    """One answer: an object, or a text."""

    status: int
    body: Any = None
    text: str | None = None
    warnings: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = JSON

    @property
    def payload(self) -> bytes:
        """The bytes to send."""
        return self.text.encode() if self.text is not None else orjson.dumps(self.body)


@dataclass(frozen=True)
class Target:
    """What a path names."""

    group: str = ""
    version: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    known_prefix: bool = False
    """Whether the path is of the form of an API resource at all."""


def parse_path(path: str) -> Target:
    """Read a path."""
    parts = [part for part in path.split("/") if part]
    if len(parts) >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return Target()
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in {"status", "finalize"}:
            rest = rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    return Target(group, version, rest[0], namespace, name, "/".join(rest[2:]), known_prefix=True)


def verb_of(request: Request, target: Target) -> str:
    """Return the verb that access is decided by."""
    if request.method in {"GET", "HEAD"}:
        if target.name:
            return "get"
        return "watch" if request.flag("watch") else "list"
    if request.method == "DELETE":
        return "delete" if target.name else "deletecollection"
    return {"POST": "create", "PUT": "update", "PATCH": "patch"}.get(request.method, request.method.lower())
