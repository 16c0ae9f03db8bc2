"""The ports of the engine: what it needs of a cluster, of the Actions service, and of time.

Whoever composes the program hands in the adapters: the real ones (arcfsm/cluster, arcfsm/actions), or the simulated
ones. The engine runs on either because it awaits nothing but these.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Protocol

from arcfsm.domain.exchange import (
    JitConfiguration,
    Reply,
    RunnerReference,
    ScaleSetReference,
    ServiceAccess,
)
from arcfsm.domain.instant import Instant, Span
from arcfsm.domain.jsonvalue import JsonObject
from arcfsm.domain.kinds import Resource


class WatchStream(Protocol):
    """An open watch."""

    async def next(self) -> JsonObject | None:
        """Return the next line, `{"type": …, "object": …}`; None once the stream has ended, for whatever reason."""
        ...

    def close(self) -> None:
        """End it."""
        ...


class ClusterPort(Protocol):
    """The API server. Every call answers within its deadline; none raises for what the server or the network does.

    Objects in lists and watches carry `apiVersion` and `kind`, whatever the wire leaves out. `metadata_only` asks the
    server to send no content at all (architecture.md §4.9).
    """

    async def get(self, resource: Resource, namespace: str, name: str) -> Reply:
        """Read one object."""
        ...

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        limit: int = 0,
        token: str = "",
        metadata_only: bool = False,
    ) -> Reply:
        """Read a collection, or one page of it: `limit` items from the `continue` token of the page before."""
        ...

    async def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        version: str,
        labels: str = "",
        metadata_only: bool = False,
    ) -> WatchStream | Reply:
        """Follow a collection from a resourceVersion on, bookmarks included. A Reply says why that can't be."""
        ...

    async def create(self, resource: Resource, namespace: str, body: Mapping[str, Any]) -> Reply:
        """Create an object."""
        ...

    async def patch(
        self, resource: Resource, namespace: str, name: str, body: Mapping[str, Any], *, subresource: str = ""
    ) -> Reply:
        """Merge-patch an object (RFC 7386)."""
        ...

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str = "", grace_period_s: int | None = None
    ) -> Reply:
        """Delete an object; with `uid`, only the one that has it."""
        ...


class ActionsService(Protocol):
    """The Actions service, spoken to with one scale set's credentials. Every call may raise ServiceFailure."""

    async def find_scale_set(self, name: str, group: str) -> ScaleSetReference | None:
        """Look a scale set up by its name in a runner group (A8). NOT_FOUND where there is no such group."""
        ...

    async def create_scale_set(self, name: str, group: str, labels: tuple[str, ...]) -> ScaleSetReference:
        """Create a scale set (A8); `labels` beside its name."""
        ...

    async def get_scale_set(self, scale_set_id: int) -> ScaleSetReference:
        """Look a scale set up by its id (A17)."""
        ...

    async def update_scale_set(self, scale_set_id: int, *, name: str = "", group: str = "") -> ScaleSetReference:
        """Rename it or move it to another group (A9, A10); "" leaves a part alone."""
        ...

    async def delete_scale_set(self, scale_set_id: int) -> None:
        """Delete it; one that is gone counts as deleted."""
        ...

    async def jit_configuration(self, scale_set_id: int, runner_name: str, work_folder: str) -> JitConfiguration:
        """Register a runner just in time (R10). RUNNER_EXISTS where the name is taken."""
        ...

    async def find_runner(self, name: str) -> RunnerReference | None:
        """Look a runner up by name (R3)."""
        ...

    async def remove_runner(self, runner_id: int) -> None:
        """Give a registration up (R4, R14). BUSY while its job runs, NOT_FOUND where there is none."""
        ...


class ActionsPort(Protocol):
    """Makes clients of the Actions service, and keeps them by identity."""

    def service(self, access: ServiceAccess, *, scale_set_id: int = 0) -> ActionsService:
        """Return the client for an access; `scale_set_id` is told to the service where it is known (X6)."""
        ...


class Alarm(Protocol):
    """Something that will be done at a time."""

    def cancel(self) -> None:
        """Do not do it after all."""
        ...


class Runtime(Protocol):
    """Time and concurrency. One thing runs at a time: between two awaits nothing else happens."""

    def now(self) -> Instant:
        """Return the wall-clock time."""
        ...

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run something beside all else. What it raises is the end of the program."""
        ...

    def call_after(self, span: Span, action: Callable[[], None]) -> Alarm:
        """Do something a span from now."""
        ...

    def sleep(self, span: Span) -> Awaitable[None]:
        """Return what is done a span from now."""
        ...

    def jitter(self) -> float:
        """Return a number from 0 to 1 by which waits are spread; it decides nothing else."""
        ...
