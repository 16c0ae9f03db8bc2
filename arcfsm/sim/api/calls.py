"""The server's verbs as typed methods, for callers in the same process.

Each builds the request a client would send and hands it to `handle`, so there is one way through the rules. What the
server refuses is raised.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

from arcfsm.sim.api.failure import ApiFailure, no_such_resource
from arcfsm.sim.api.kinds import Catalogue, ResourceType
from arcfsm.sim.api.request import ADMIN, JSON, MERGE_PATCH, ApiRequest, ApiResponse, JsonObject
from arcfsm.sim.api.store import Store, object_key
from arcfsm.sim.api.watching import WatchStream


class Located(Protocol):
    """Anything that says where the API serves a kind."""

    @property
    def group(self) -> str:
        """The API group; empty for the core."""

    @property
    def version(self) -> str:
        """The version of the group."""

    @property
    def plural(self) -> str:
        """The resource."""


class TypedCalls(ABC):
    """What `ApiServer` offers beside `handle` and `watch`."""

    _catalogue: Catalogue
    _store: Store

    @abstractmethod
    def handle(self, request: ApiRequest) -> ApiResponse:
        """Answer one request."""

    @abstractmethod
    def watch(self, request: ApiRequest) -> WatchStream | ApiResponse:
        """Open a watch."""

    def create(self, kind: str | Located, namespace: str, body: JsonObject, *, user: str = ADMIN) -> JsonObject:
        """Create an object. Raises ApiFailure."""
        return self._call("POST", self.path(kind, namespace), body=body, user=user)

    def get(self, kind: str | Located, namespace: str, name: str, *, user: str = ADMIN) -> JsonObject:
        """Read an object. Raises ApiFailure."""
        return self._call("GET", self.path(kind, namespace, name), user=user)

    def list(
        self, kind: str | Located, namespace: str = "", *, label_selector: str = "", field_selector: str = "",
        user: str = ADMIN,
    ) -> list[JsonObject]:  # fmt: skip
        """Read the objects of a collection, kinds included. Raises ApiFailure."""
        query = {"labelSelector": label_selector, "fieldSelector": field_selector}
        listed = self._call("GET", self.path(kind, namespace), query={k: v for k, v in query.items() if v}, user=user)
        table = self._resource(kind).table
        return [
            self._store.table(table)[object_key(item["metadata"].get("namespace", ""), item["metadata"]["name"])]
            for item in listed["items"]
        ]

    def replace(
        self, kind: str | Located, namespace: str, name: str, body: JsonObject, *, subresource: str = "",
        user: str = ADMIN,
    ) -> JsonObject:  # fmt: skip
        """Replace an object. Raises ApiFailure."""
        return self._call("PUT", self.path(kind, namespace, name, subresource), body=body, user=user)

    def patch(
        self, kind: str | Located, namespace: str, name: str, body: Any, *, subresource: str = "",
        content_type: str = MERGE_PATCH, user: str = ADMIN,
    ) -> JsonObject:  # fmt: skip
        """Patch an object. Raises ApiFailure."""
        path = self.path(kind, namespace, name, subresource)
        return self._call("PATCH", path, body=body, content_type=content_type, user=user)

    def delete(
        self, kind: str | Located, namespace: str, name: str, *, uid: str = "", grace: int | None = None,
        propagation: str = "", user: str = ADMIN,
    ) -> JsonObject:  # fmt: skip
        """Delete an object; return what the server answers. Raises ApiFailure."""
        options: JsonObject = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        if propagation:
            options["propagationPolicy"] = propagation
        return self._call("DELETE", self.path(kind, namespace, name), body=options, user=user)

    def subscribe(
        self, kind: str | Located, namespace: str = "", *, resource_version: int | None = None,
        label_selector: str = "", user: str = ADMIN,
    ) -> WatchStream:  # fmt: skip
        """Open a watch, from a version or with the present objects first. Raises ApiFailure."""
        query = {"watch": "true"}
        if resource_version is not None:
            query["resourceVersion"] = str(resource_version)
        if label_selector:
            query["labelSelector"] = label_selector
        stream = self.watch(ApiRequest("GET", self.path(kind, namespace), query, user=user))
        if isinstance(stream, ApiResponse):
            raise ApiFailure(stream.status, stream.body)
        return stream

    def path(self, kind: str | Located, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the path of a collection or an object."""
        if isinstance(kind, str):
            kind = self._catalogue.by_plural(kind)
        parts = ["", "apis", kind.group, kind.version] if kind.group else ["", "api", kind.version]
        if namespace:
            parts += ["namespaces", namespace]
        parts.append(kind.plural)
        return "/".join([*parts, *(part for part in (name, subresource) if part)])

    def _resource(self, kind: str | Located) -> ResourceType:
        if isinstance(kind, str):
            return self._catalogue.by_plural(kind)
        found = self._catalogue.find(kind.group, kind.version, kind.plural)
        if found is None:
            raise no_such_resource()
        return found

    def _call(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, body: Any = None,
        content_type: str = JSON, user: str = ADMIN,
    ) -> JsonObject:  # fmt: skip
        response = self.handle(ApiRequest(method, path, query or {}, body, content_type, user=user))
        if not response.ok:
            raise ApiFailure(response.status, response.body)
        made: JsonObject = response.body
        return made
