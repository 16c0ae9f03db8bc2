"""List, then watch, then again: how a client keeps up with one resource (what client-go calls a reflector).

Used by every simulated actor that follows objects. Events of one reflector come in order; after a break the watch
resumes where it was, and after 410 Gone it lists again and tells what is new, changed or gone since.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from arcfsm.domain.instant import SECOND
from arcfsm.domain.kinds import Resource
from arcfsm.sim.faults.cluster import Body, ClusterLink, ClusterResponse
from arcfsm.sim.kernel import Kernel

_RETRY: Final = SECOND


class Reflector:
    """Follows one resource and reports `(type, object)`."""

    def __init__(
        self,
        kernel: Kernel,
        link: ClusterLink,
        resource: Resource,
        report: Callable[[str, Body], None],
        namespace: str = "",
    ) -> None:
        self.objects: dict[tuple[str, str], Body] = {}
        """What is known, by namespace and name."""
        self._kernel = kernel
        self._link = link
        self._resource = resource
        self._report = report
        self._namespace = namespace
        self._version = ""

    async def run(self) -> None:
        """Follow for ever."""
        while True:
            if not self._version and not await self._list():
                await self._kernel.sleep(_RETRY)
                continue
            watch = await self._link.watch(
                self._resource, self._namespace, resourceVersion=self._version, allowWatchBookmarks="true"
            )
            if watch is None or isinstance(watch, ClusterResponse):
                if watch is not None and watch.status == 410:
                    self._version = ""
                await self._kernel.sleep(_RETRY)
                continue
            while (event := await watch.events.get()) is not None:
                if not self._take(event):
                    self._version = ""
                    watch.close()

    def forget_version(self) -> None:
        """List before the next watch, as a process does that was started again."""
        self._version = ""

    async def _list(self) -> bool:
        answer = await self._link.list(self._resource, self._namespace)
        if answer is None or not answer.ok:
            return False
        found = {_key(item): item for item in answer.body["items"]}
        for key in [key for key in self.objects if key not in found]:
            self._report("DELETED", self.objects.pop(key))
        for key, item in found.items():
            known = self.objects.get(key)
            if known is not None and known["metadata"]["uid"] != item["metadata"]["uid"]:
                self._report("DELETED", known)
                known = None
            self.objects[key] = item
            if known is None or known["metadata"]["resourceVersion"] != item["metadata"]["resourceVersion"]:
                self._report("ADDED" if known is None else "MODIFIED", item)
        self._version = answer.body["metadata"]["resourceVersion"]
        return True

    def _take(self, event: Body) -> bool:
        kind, item = event["type"], event["object"]
        if kind == "ERROR":
            return False
        self._version = item["metadata"]["resourceVersion"]
        if kind == "BOOKMARK":
            return True
        if kind == "DELETED":
            self.objects.pop(_key(item), None)
        else:
            self.objects[_key(item)] = item
        self._report(kind, item)
        return True


def _key(item: Body) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]
