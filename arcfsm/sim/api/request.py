"""What goes into the API server and what comes out of it, independent of HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import orjson

JsonObject: TypeAlias = dict[str, Any]

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
MERGE_PATCH: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

ADMIN: Final = "system:admin"
"""Who calls in process without saying who: may do everything."""


@dataclass(frozen=True)
class ApiRequest:
    """One request.

    `user` acts with `groups`; when those are None they are what a real cluster would give a user of that name.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    """A parsed body, or the bytes that came over the wire."""
    content_type: str = JSON
    accept: str = JSON
    user: str = ADMIN
    groups: tuple[str, ...] | None = None

    @property
    def writes(self) -> bool:
        """Whether it may change something."""
        return self.method != "GET"


@dataclass(frozen=True)
class ApiResponse:
    """One answer. `body` is a JSON value, or text when `content_type` says so."""

    status: int
    body: Any
    warnings: tuple[str, ...] = ()
    content_type: str = JSON

    @property
    def ok(self) -> bool:
        """Whether it was done."""
        return 200 <= self.status < 300


def private_copy(value: Any) -> Any:
    """Copy a JSON value so that it may be changed."""
    return orjson.loads(orjson.dumps(value))
