"""What the client speaks through: one request there, one answer back, or none.

The client's logic awaits nothing but a `Transport` and `sleep`, and reads time through `now`. So it runs on asyncio and
on the kernel of the simulation alike, and neither appears in it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from arcfsm.domain.instant import SECOND, Instant, Span

DEADLINE: Final[Span] = 20 * SECOND
"""How long an answer is waited for. The service answers all that is asked here within a second or two."""
Now: TypeAlias = Callable[[], Instant]
Sleep: TypeAlias = Callable[[Span], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request. Names of headers are lower case; headers and body hold credentials."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(default=b"", repr=False)
    deadline: Span = DEADLINE
    """From connecting to the last byte of the answer."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """One answer, whatever its status. Names of headers are lower case; the body may hold a credential."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(default=b"", repr=False)

    @property
    def ok(self) -> bool:
        """Whether what was asked was done."""
        return 200 <= self.status < 300


class TransportError(Exception):
    """No answer came. The message is one line that holds no credential."""

    def __init__(self, detail: str, *, sent: bool) -> None:
        super().__init__(detail)
        self.detail = detail
        self.sent = sent
        """Whether the request may have reached the service: then it may have been done, too."""


class Transport(Protocol):
    """A way to the service."""

    async def send(self, request: HttpRequest) -> HttpAnswer:
        """Send a request and return its answer. Raises TransportError where none comes before the deadline."""
        ...

    def close(self) -> None:
        """Keep no connection any longer than what is under way needs."""
        ...
