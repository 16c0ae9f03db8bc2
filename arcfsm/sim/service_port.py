"""The product's own client of the Actions service, inside the simulated world.

Nothing of it is imitated: login, retries and the reading of answers are the real ones, on the kernel's time. Only the
wire is another.
"""

from __future__ import annotations

from typing import Final

import orjson

from arcfsm.actions.clients import ActionsClients
from arcfsm.actions.transport import HttpAnswer, HttpRequest, Sleep, TransportError
from arcfsm.engine.ports import ActionsPort
from arcfsm.sim.clock import Clock
from arcfsm.sim.faults.service import ServiceLink
from arcfsm.sim.service.face import ServiceRequest, decode_body

_JSON: Final = "application/json; charset=utf-8"


class LinkTransport:
    """Carries requests over a simulated link."""

    def __init__(self, link: ServiceLink) -> None:
        self._link = link

    async def send(self, request: HttpRequest) -> HttpAnswer:
        """Send a request. Raises TransportError where no answer comes; the link itself bounds the wait."""
        body = decode_body(request.body)
        answer = await self._link.send(ServiceRequest(request.method, request.url, request.headers, body))
        if answer is None:
            raise TransportError("no answer in time", sent=True)
        headers = {name.lower(): value for name, value in answer.headers.items()}
        if answer.body is None:
            return HttpAnswer(answer.status, headers)
        return HttpAnswer(answer.status, {**headers, "content-type": _JSON}, orjson.dumps(answer.body))

    def close(self) -> None:
        """Do nothing: a simulated link belongs to its process."""


def actions_over(link: ServiceLink, clock: Clock, sleep: Sleep) -> ActionsPort:
    """Return the Actions service behind the engine's port: the real client over a simulated link."""
    transport = LinkTransport(link)
    return ActionsClients(lambda _access: transport, now=clock.now, sleep=sleep)
