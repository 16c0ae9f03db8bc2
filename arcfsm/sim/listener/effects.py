"""What the listener process asks of the outside, and how it is answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class CreateSession:
    """POST a session for the configured scale set."""

    owner: str


@dataclass(frozen=True)
class RefreshSession:
    """PATCH the session for a new queue token."""


@dataclass(frozen=True)
class DeleteSession:
    """DELETE the session."""


@dataclass(frozen=True)
class GetMessage:
    """Long poll for the next message (P6)."""

    last_message_id: int
    capacity: int


@dataclass(frozen=True)
class DeleteMessage:
    """Acknowledge a message."""

    message_id: int


@dataclass(frozen=True)
class AcquireJobs:
    """Acquire offered jobs."""

    request_ids: tuple[int, ...]


@dataclass(frozen=True)
class PatchRunnerSet:
    """Merge-patch the EphemeralRunnerSet: main resource, no resourceVersion (P3)."""

    replicas: int | None
    """None stands for zero: the field is removed by a JSON null and reads back as 0."""
    patch_id: int

    @property
    def body(self) -> dict[str, Any]:
        """The patch as it is sent; `patchID` is always a number."""
        return {"spec": {"replicas": self.replicas, "patchID": self.patch_id}}


@dataclass(frozen=True)
class GetRunner:
    """GET one EphemeralRunner."""

    name: str


@dataclass(frozen=True)
class PatchRunnerStatus:
    """Merge-patch one EphemeralRunner's status."""

    name: str
    body: dict[str, Any]


@dataclass(frozen=True)
class Wait:
    """Do nothing for a while."""

    milliseconds: int


@dataclass(frozen=True)
class Exit:
    """The process ends."""

    code: int
    reason: str


Effect: TypeAlias = (
    CreateSession
    | RefreshSession
    | DeleteSession
    | GetMessage
    | DeleteMessage
    | AcquireJobs
    | PatchRunnerSet
    | GetRunner
    | PatchRunnerStatus
    | Wait
    | Exit
)


@dataclass(frozen=True)
class Answer:
    """How an effect ended; status 0 means that no answer came."""

    status: int
    object: Mapping[str, Any]
    message: str = ""

    @property
    def ok(self) -> bool:
        """Whether it was done."""
        return 200 <= self.status < 300
