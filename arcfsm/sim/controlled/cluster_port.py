"""The engine's cluster port over a simulated link: what the HTTP adapter does, without HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arcfsm.domain.exchange import NO_ANSWER, Reply
from arcfsm.domain.jsonvalue import JsonObject
from arcfsm.domain.kinds import RESOURCES, Resource
from arcfsm.sim.faults.cluster import Body, ClusterLink, ClusterResponse, Watch

_KINDS = {resource: str(kind) for kind, resource in RESOURCES.items()}
_NO_ANSWER = Reply(NO_ANSWER, detail="no answer")


class SimulatedStream:
    """An open watch."""

    def __init__(self, watch: Watch, *, metadata_only: bool) -> None:
        self._watch = watch
        self._metadata_only = metadata_only

    async def next(self) -> JsonObject | None:
        """Return the next line; None once the stream has ended."""
        line = await self._watch.events.get()
        if line is None or not self._metadata_only or line["type"] == "ERROR":
            return line
        return {"type": line["type"], "object": _head(line["object"])}

    def close(self) -> None:
        """End it."""
        self._watch.close()


class SimulatedCluster:
    """The API server of a simulated world."""

    def __init__(self, link: ClusterLink) -> None:
        self._link = link

    async def get(self, resource: Resource, namespace: str, name: str) -> Reply:
        """Read one object."""
        return _reply(await self._link.get(resource, namespace, name))

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
        """Read a collection, or a page of it."""
        query = {"labelSelector": labels, "limit": str(limit or ""), "continue": token}
        answer = await self._link.list(resource, namespace, **{key: text for key, text in query.items() if text})
        if answer is None or not answer.ok:
            return _reply(answer)
        kind = {"apiVersion": resource.api_version, "kind": _KINDS.get(resource, "")}
        items = [{**kind, **(_head(item) if metadata_only else item)} for item in answer.body["items"]]
        return Reply(answer.status, {**answer.body, "items": items})

    async def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        version: str,
        labels: str = "",
        metadata_only: bool = False,
    ) -> SimulatedStream | Reply:
        """Follow a collection."""
        query = {"resourceVersion": version, "labelSelector": labels, "allowWatchBookmarks": "true"}
        found = await self._link.watch(resource, namespace, **{key: text for key, text in query.items() if text})
        if isinstance(found, Watch):
            return SimulatedStream(found, metadata_only=metadata_only)
        return _reply(found)

    async def create(self, resource: Resource, namespace: str, body: Mapping[str, Any]) -> Reply:
        """Create an object."""
        return _reply(await self._link.create(resource, namespace, dict(body)))

    async def patch(
        self, resource: Resource, namespace: str, name: str, body: Mapping[str, Any], *, subresource: str = ""
    ) -> Reply:
        """Merge-patch an object."""
        return _reply(await self._link.patch(resource, namespace, name, dict(body), subresource))

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str = "", grace_period_s: int | None = None
    ) -> Reply:
        """Delete an object."""
        return _reply(await self._link.delete(resource, namespace, name, uid=uid, grace=grace_period_s))


def _reply(answer: ClusterResponse | None) -> Reply:
    if answer is None:
        return _NO_ANSWER
    return Reply(answer.status, answer.body if isinstance(answer.body, dict) else {})


def _head(obj: Body) -> Body:
    return {key: obj[key] for key in ("apiVersion", "kind", "metadata") if key in obj}
