"""The calls of the service that a controller needs (X3), with the answers as the engine knows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from arcfsm.actions import bodies
from arcfsm.actions.connection import Connection
from arcfsm.domain.exchange import (
    FailureKind,
    JitConfiguration,
    RunnerReference,
    ScaleSetReference,
    ServiceFailure,
)
from arcfsm.domain.jsonvalue import Json, JsonObject, integer_at, object_at, objects_at, text_at
from arcfsm.domain.keys import DEFAULT_RUNNER_GROUP_ID

T = TypeVar("T")
_SCALE_SETS: Final = "runtime/runnerscalesets"
_GROUPS: Final = "runtime/runnergroups/"
_AGENTS: Final = "distributedtask/pools/0/agents"


class ScaleSetService:
    """The service as one scale set's controller sees it. Costs nothing to make; many share a connection."""

    def __init__(self, connection: Connection, scale_set_id: int = 0) -> None:
        """`scale_set_id` is told to the service with every call; 0 while there is none (X6)."""
        self._connection = connection
        self._id = scale_set_id

    async def find_scale_set(self, name: str, group: str) -> ScaleSetReference | None:
        """Look a scale set up by its name in a runner group, "" being the default one (A8)."""
        query: dict[str, str | int] = {"runnerGroupId": await self._group_id(group), "name": name}
        found = await self._ask("find scale set", "GET", _SCALE_SETS, query=query)
        return _at_most_one("find scale set", found, bodies.scale_set, f"scale sets are called {name!r}")

    async def create_scale_set(self, name: str, group: str, labels: tuple[str, ...]) -> ScaleSetReference:
        """Create a scale set (A8). Not repeated where it may have been created."""
        body = bodies.new_scale_set(name, await self._group_id(group), labels)
        found = await self._ask("create scale set", "POST", _SCALE_SETS, body=body, creates=True)
        return _known("create scale set", bodies.scale_set(found))

    async def get_scale_set(self, scale_set_id: int) -> ScaleSetReference:
        """Look a scale set up by its id (A17)."""
        found = await self._ask("get scale set", "GET", f"{_SCALE_SETS}/{scale_set_id}")
        return _known("get scale set", bodies.scale_set(found))

    async def update_scale_set(self, scale_set_id: int, *, name: str = "", group: str = "") -> ScaleSetReference:
        """Rename it or move it to another group (A9, A10). Labels are never sent."""
        body: dict[str, Json] = {"RunnerSetting": bodies.RUNNER_SETTING}
        if name:
            body["name"] = name
        if group:
            body["runnerGroupId"] = await self._group_id(group)
        found = await self._ask("update scale set", "PATCH", f"{_SCALE_SETS}/{scale_set_id}", body=body)
        return _known("update scale set", bodies.scale_set(found))

    async def delete_scale_set(self, scale_set_id: int) -> None:
        """Delete it; one that is gone counts as deleted."""
        try:
            await self._do("delete scale set", f"{_SCALE_SETS}/{scale_set_id}")
        except ServiceFailure as failure:
            if failure.kind is not FailureKind.NOT_FOUND:
                raise

    async def jit_configuration(self, scale_set_id: int, runner_name: str, work_folder: str) -> JitConfiguration:
        """Register a runner just in time (R10). Not repeated where it may have been registered (H22)."""
        call = "register runner"
        path = f"{_SCALE_SETS}/{scale_set_id}/generatejitconfig"
        found = await self._ask(call, "POST", path, body={"name": runner_name, "workFolder": work_folder}, creates=True)
        runner = _known(call, bodies.runner(object_at(found, "runner")))
        return JitConfiguration(runner, _known(call, text_at(found, "encodedJITConfig") or None))

    async def find_runner(self, name: str) -> RunnerReference | None:
        """Look a runner up by name (R3)."""
        found = await self._ask("find runner", "GET", _AGENTS, query={"agentName": name})
        return _at_most_one("find runner", found, bodies.runner, f"runners are called {name!r}")

    async def remove_runner(self, runner_id: int) -> None:
        """Give a registration up (R4, R14). BUSY while its job runs, NOT_FOUND where there is none."""
        await self._do("remove runner", f"{_AGENTS}/{runner_id}")

    async def _group_id(self, group: str) -> int:
        """Return the id of a runner group, the default one's for "". NOT_FOUND where there is no such group."""
        if not group:
            return DEFAULT_RUNNER_GROUP_ID
        call = "find runner group"
        found = await self._ask(call, "GET", _GROUPS, query={"groupName": group})
        identity = _at_most_one(
            call, found, lambda one: integer_at(one, "id") or None, f"runner groups are called {group!r}"
        )
        if identity is None:
            raise ServiceFailure(FailureKind.NOT_FOUND, f"{call}: there is no runner group {group!r}", status=200)
        return identity

    async def _ask(
        self,
        call: str,
        method: str,
        path: str,
        *,
        query: dict[str, str | int] | None = None,
        body: JsonObject | None = None,
        creates: bool = False,
    ) -> JsonObject:
        return await self._connection.ask(
            call, method, path, query=query, body=body, creates=creates, scale_set_id=self._id
        )

    async def _do(self, call: str, path: str) -> None:
        await self._connection.call(call, "DELETE", path, scale_set_id=self._id)


def _known(call: str, found: T | None) -> T:
    """Return what was found. Raises ServiceFailure (UNREACHABLE) where the answer lacks it."""
    if found is None:
        raise ServiceFailure(FailureKind.UNREACHABLE, f"{call}: the answer lacks what was asked for", status=200)
    return found


def _at_most_one(call: str, listing: JsonObject, read: Callable[[JsonObject], T | None], what: str) -> T | None:
    """Return the one element of a listing, None for an empty one. Raises ServiceFailure for more, or for none at all.

    What counts is what is listed. A body without a list is no answer: it must not pass for "there is none".
    """
    if not isinstance(listing.get("value"), list):
        return _known(call, None)
    elements = objects_at(listing, "value")
    if len(elements) > 1:
        raise ServiceFailure(FailureKind.INVALID, f"{call}: {len(elements)} {what}", status=200)
    return _known(call, read(elements[0])) if elements else None
