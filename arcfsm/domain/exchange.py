"""What travels through the ports of the engine: answers of the API server and of the Actions service.

The adapters (arcfsm/cluster, arcfsm/actions, arcfsm/sim) and the engine don't import each other: they meet in these
types. What holds a credential shows none in its repr and lives inside one effect.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from arcfsm.domain.client_identity import ClientIdentity
from arcfsm.domain.jsonvalue import EMPTY, JsonObject
from arcfsm.domain.manifests.credentials import GitHubCredentials

NO_ANSWER: Final = 0
"""Status of a reply that never came: unreachable, cut off, or past its deadline. What was asked may have been done."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the API server: its status, and the object or the Status that it sent."""

    status: int
    body: JsonObject = field(default_factory=lambda: EMPTY, repr=False)
    detail: str = ""
    """Why there is no answer, in one line without secrets; "" where there is one."""
    retry_after_s: int = 0
    """What a `Retry-After` header asks for."""

    @property
    def ok(self) -> bool:
        """Whether it was done."""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class ProxySetting:
    """How to reach the service: proxy URLs with their credentials, "" for none, and who is reached directly."""

    http: str = field(default="", repr=False)
    https: str = field(default="", repr=False)
    no_proxy: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceAccess:
    """All that is needed to speak to the Actions service for one scale set (X1, X2, M10)."""

    identity: ClientIdentity
    """Clients of the same identity are one client (M10)."""
    config_url: str = field(repr=False)
    """As written: somebody may have put a password into it."""
    credentials: GitHubCredentials = field(repr=False)
    proxy: ProxySetting = ProxySetting()
    root_ca: str = ""
    """PEM text of further certificate authorities to trust."""


@dataclass(frozen=True, slots=True)
class ScaleSetReference:
    """A scale set as the service knows it."""

    id: int
    name: str
    group: str


@dataclass(frozen=True, slots=True)
class RunnerReference:
    """A runner as the service knows it."""

    id: int
    name: str
    scale_set_id: int


@dataclass(frozen=True, slots=True)
class JitConfiguration:
    """A just-in-time registration (R10)."""

    runner: RunnerReference
    encoded: str = field(repr=False)
    """The credential that the runner starts with."""


class FailureKind(StrEnum):
    """Why the service did not do what it was asked (X4), by what follows."""

    NOT_FOUND = "not-found"
    """No such scale set, runner or group; RunnerNotFound as well."""
    RUNNER_EXISTS = "runner-exists"
    BUSY = "busy"
    """JobStillRunning: the runner may not be removed now."""
    CONFLICT = "conflict"
    UNAUTHORIZED = "unauthorized"
    """The credentials are refused, or the rights are missing."""
    INVALID = "invalid"
    """The request is refused as it is; sending it again changes nothing."""
    THROTTLED = "throttled"
    UNREACHABLE = "unreachable"
    """No connection, no answer in time, or an answer that is none."""
    FAILED = "failed"
    """The service failed (5xx)."""


class ServiceFailure(Exception):  # noqa: N818 - a fact about the service, journaled as an outcome
    """The service did not do what it was asked. The message is one line that holds no credential."""

    def __init__(self, kind: FailureKind, detail: str, *, status: int = NO_ANSWER) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        """With ActivityId and X-GitHub-Request-Id where the service sent them."""
        self.status = status
