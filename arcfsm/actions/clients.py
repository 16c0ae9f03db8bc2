"""Makes clients of the service and keeps them by what they are made of (M10)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from arcfsm.actions.connection import CallObserver, Connection
from arcfsm.actions.scale_sets import ScaleSetService
from arcfsm.actions.transport import Now, Sleep, Transport
from arcfsm.domain.client_identity import ClientIdentity
from arcfsm.domain.exchange import ServiceAccess

KEPT: Final = 256
"""Clients that are kept; the one that was not asked for longest goes first."""


@dataclass(frozen=True, slots=True)
class _Kept:
    access: ServiceAccess
    connection: Connection = field(repr=False)


class ActionsClients:
    """All clients of one process."""

    def __init__(
        self,
        open_transport: Callable[[ServiceAccess], Transport],
        *,
        now: Now,
        sleep: Sleep,
        force_enterprise_server: bool = False,
        kept: int = KEPT,
        observer: CallObserver | None = None,
    ) -> None:
        """`open_transport` makes a way to the service and may raise ServiceFailure.

        `force_enterprise_server` is what `GITHUB_ACTIONS_FORCE_GHES` in the environment asks for (X1).
        """
        self._open_transport = open_transport
        self._now = now
        self._sleep = sleep
        self._force_enterprise_server = force_enterprise_server
        self._most = kept
        self._observer = observer
        self._kept: OrderedDict[ClientIdentity, _Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def service(self, access: ServiceAccess, *, scale_set_id: int = 0) -> ScaleSetService:
        """Return the client for an access. Raises ServiceFailure (INVALID) for one that can't be used.

        The same identity with other content is another client too: what a vault holds changes without a trace in the
        identity. Calls that are under way with the client before it come to their end.
        """
        known = self._kept.get(access.identity)
        if known is None or known.access != access:
            connection = self._connect(access)
            self._kept[access.identity] = _Kept(access, connection)
            if known is not None:
                known.connection.close()
            elif len(self._kept) > self._most:
                _, oldest = self._kept.popitem(last=False)
                oldest.connection.close()
            known = self._kept[access.identity]
        self._kept.move_to_end(access.identity)
        return ScaleSetService(known.connection, scale_set_id)

    def close(self) -> None:
        """Forget all clients and their credentials."""
        while self._kept:
            _, kept = self._kept.popitem()
            kept.connection.close()

    def _connect(self, access: ServiceAccess) -> Connection:
        transport = self._open_transport(access)
        return Connection(
            access,
            transport,
            now=self._now,
            sleep=self._sleep,
            force_enterprise_server=self._force_enterprise_server,
            observer=self._observer,
        )
