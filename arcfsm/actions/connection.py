"""One client's connection to the service: its login, and calls that go through it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson

from arcfsm.actions.attempts import CallObserver, Sender
from arcfsm.actions.bodies import json_object, service_url, user_agent
from arcfsm.actions.failures import not_an_answer, refusal
from arcfsm.actions.login import Login
from arcfsm.actions.transport import HttpAnswer, HttpRequest, Now, Sleep, Transport
from arcfsm.domain.exchange import ServiceAccess
from arcfsm.domain.jsonvalue import JsonObject

_UNAUTHORIZED: Final = 401

__all__ = ["CallObserver", "Connection"]


class Connection:
    """Calls to the service with one access. Shared by all that have it."""

    def __init__(
        self,
        access: ServiceAccess,
        transport: Transport,
        *,
        now: Now,
        sleep: Sleep,
        force_enterprise_server: bool = False,
        observer: CallObserver | None = None,
    ) -> None:
        """Raises ServiceFailure (INVALID) for an access whose config URL is none."""
        self._transport = transport
        self._sender = Sender(transport, now=now, sleep=sleep, observer=observer)
        self._login = Login(access, self._sender, now=now, sleep=sleep, force_enterprise_server=force_enterprise_server)

    async def call(
        self,
        name: str,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int] | None = None,
        body: JsonObject | None = None,
        creates: bool = False,
        scale_set_id: int = 0,
    ) -> HttpAnswer:
        """Make a call and return its answer, which is a success. Raises ServiceFailure.

        `creates` says that doing it twice is not the same as doing it once (H22).
        """
        patience = self._sender.patience()
        admission = await self._login.admission(patience)
        headers = {
            "accept": "application/json",
            "authorization": f"Bearer {admission.token}",
            "content-type": "application/json",
            "user-agent": user_agent(scale_set_id),
        }
        request = HttpRequest(
            method,
            service_url(admission.base, path, **(query or {})),
            headers,
            b"" if body is None else orjson.dumps(body),
        )
        answer = await self._sender.send(name, request, patience, creates=creates)
        if answer.ok:
            return answer
        if answer.status == _UNAUTHORIZED:
            self._login.forget(admission)
        raise refusal(name, answer, self._login.secrets())

    async def ask(
        self,
        name: str,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int] | None = None,
        body: JsonObject | None = None,
        creates: bool = False,
        scale_set_id: int = 0,
    ) -> JsonObject:
        """Make a call and return the object that it answers. Raises ServiceFailure."""
        answer = await self.call(name, method, path, query=query, body=body, creates=creates, scale_set_id=scale_set_id)
        found = json_object(answer)
        if found is None:
            raise not_an_answer(name, answer, "the body is no JSON object")
        return found

    def close(self) -> None:
        """Keep no connection open for what may come."""
        self._transport.close()
