"""Sending a request, and sending it again where that does no harm and may help (X3).

The engine comes back to whatever failed, with patience of its own. So repetitions here are few and short: they bridge a
hiccup, and leave an outage to the engine. Two things are never repeated: what may have created something although no
good answer came (H22), and what only waits longer than anybody here should.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final, TypeAlias

from arcfsm.actions.failures import is_throttled
from arcfsm.actions.transport import HttpAnswer, HttpRequest, Now, Sleep, Transport, TransportError
from arcfsm.domain.exchange import NO_ANSWER, FailureKind, ServiceFailure
from arcfsm.domain.instant import SECOND, Instant, Span

REPEATS_MAX: Final = 3
"""How often anything is sent again within one call of the client, logging in included."""
WAIT_FIRST: Final[Span] = 1 * SECOND
WAITS_MAX: Final[Span] = 15 * SECOND
"""How long all waits of one call take together; a `Retry-After` beyond that is left to the engine."""
CALL_MAX: Final[Span] = 45 * SECOND
"""When nothing is sent again any more, counted from the start of the call."""
CallObserver: TypeAlias = Callable[[str, int, Span], None]
"""Told of every exchange: the name of the call, the status (0 for no answer), how long it took."""
_NOT_IMPLEMENTED: Final = 501


@dataclass(slots=True)
class Patience:
    """How much repeating one call of the client may still do, whatever it sends."""

    until: Instant
    repeats: int = REPEATS_MAX
    waits: Span = WAITS_MAX
    wait: Span = WAIT_FIRST
    """The next wait, unless the service asks for a longer one."""

    def spend(self, asked_for: Span, now: Instant) -> Span | None:
        """Take the next wait out of what is left; None where there is no patience left for it."""
        wait = max(self.wait, asked_for)
        if not self.repeats or wait > self.waits or now + wait > self.until:
            return None
        self.repeats -= 1
        self.waits -= wait
        self.wait *= 2
        return wait


class Sender:
    """Sends requests by one transport."""

    def __init__(self, transport: Transport, *, now: Now, sleep: Sleep, observer: CallObserver | None = None) -> None:
        self._transport = transport
        self._now = now
        self._sleep = sleep
        self._observer = observer

    def patience(self) -> Patience:
        """Return what a call may use up."""
        return Patience(self._now() + CALL_MAX)

    async def send(
        self,
        call: str,
        request: HttpRequest,
        patience: Patience,
        *,
        creates: bool = False,
        also: frozenset[int] = frozenset(),
    ) -> HttpAnswer:
        """Send a request, again where that may help, and return the last answer, whatever its status.

        With `creates` it is sent again only where it certainly has done nothing. `also` are further statuses to repeat
        on. Raises ServiceFailure (UNREACHABLE) where no answer came.
        """
        while True:
            answer = error = None
            started = self._now()
            try:
                answer = await self._transport.send(request)
            except TransportError as problem:
                error = problem
            if self._observer is not None:
                self._observer(call, NO_ANSWER if answer is None else answer.status, max(0, self._now() - started))
            wait = None
            if (error is not None and not (creates and error.sent)) or (
                answer is not None and _worth_repeating(answer, also, creates=creates)
            ):
                wait = patience.spend(0 if answer is None else _retry_after(answer, self._now()), self._now())
            if wait is not None:
                await self._sleep(wait)
            elif answer is not None:
                return answer
            else:
                raise ServiceFailure(FailureKind.UNREACHABLE, f"{call}: {error}")


def _worth_repeating(answer: HttpAnswer, also: frozenset[int], *, creates: bool) -> bool:
    if is_throttled(answer) or answer.status in also:
        return True
    return answer.status >= 500 and answer.status != _NOT_IMPLEMENTED and not creates


def _retry_after(answer: HttpAnswer, now: Instant) -> Span:
    """Return the wait that the service asks for, in seconds or as a date; 0 where it asks for none."""
    text = answer.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        # More digits than a year has seconds are no wait that anybody means.
        return int(text[:9]) * SECOND
    try:
        return max(0, int(parsedate_to_datetime(text).timestamp() * SECOND) - now)
    except (ValueError, OverflowError):
        return 0
