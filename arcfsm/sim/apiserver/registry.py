"""The registry: which resources are served now, built-in ones and those that definitions in the store add."""

from __future__ import annotations

from typing import Any

from arcfsm.sim.apiserver.resources import CORE_RESOURCES, Resource, custom_resources
from arcfsm.sim.apiserver.store import Change, Store

Body = dict[str, Any]
_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


class Registry:
    """Finds resources by where they are served; follows the definitions in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._core = {(each.group, each.version, each.plural): each for each in CORE_RESOURCES}
        self._custom: dict[str, list[Resource]] = {}
        self._since: dict[str, int] = {}
        self._found: dict[tuple[str, str, str], Resource] = dict(self._core)
        self._by_kind: dict[tuple[str, str], Resource] = {}
        store.listen(_DEFINITIONS, self._changed)
        self._rebuild()

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """Return what is served under a group, a version and a name."""
        return self._found.get((group, version, plural))

    def of_kind(self, api_version: str, kind: str) -> Resource | None:
        """Return what serves a kind."""
        return self._by_kind.get((api_version, kind))

    def all(self) -> list[Resource]:
        """Return everything that is served."""
        return list(self._found.values())

    def established(self, resource: Resource) -> int:
        """Return the revision at which a custom resource began to be served, 0 for built-in ones."""
        return self._since.get(f"{resource.plural}.{resource.group}", 0)

    def reload(self) -> None:
        """Read the definitions of the store anew, after it was restored."""
        self._custom = {key[1]: custom_resources(body) for key, body in self._store.items(_DEFINITIONS)}
        self._rebuild()

    def _changed(self, change: Change) -> None:
        if change.new is None:
            self._custom.pop(change.key[1], None)
        elif change.old is None:
            self._since[change.key[1]] = change.revision
            self._custom[change.key[1]] = custom_resources(change.new)
        elif change.old["spec"] != change.new["spec"]:
            self._custom[change.key[1]] = custom_resources(change.new)
        self._rebuild()

    def _rebuild(self) -> None:
        self._found = dict(self._core)
        for resources in self._custom.values():
            self._found.update({(each.group, each.version, each.plural): each for each in resources})
        self._by_kind = {(each.api_version, each.kind): each for each in self._found.values()}
