"""The API server as everybody in the process sees it: requests in, answers out, watches that can be polled.

`handle` and `watch` are what the HTTP face calls too, and what the typed methods (`calls`) build requests for, so there
is one way through the rules for every caller.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

import orjson
import yaml

from arcfsm.domain.instant import SECOND
from arcfsm.sim.api import discovery, pod_actions, reviews
from arcfsm.sim.api.calls import TypedCalls
from arcfsm.sim.api.custom_resources import load_crds, resources_of
from arcfsm.sim.api.deletion import DeleteOptions, options_from
from arcfsm.sim.api.failure import (
    ApiFailure,
    bad_request,
    expired,
    forbidden,
    method_not_allowed,
    no_such_page,
    no_such_resource,
    not_found,
    success,
    verb_not_supported,
    version_too_large,
)
from arcfsm.sim.api.garbage import GarbageCollector
from arcfsm.sim.api.kinds import CRDS, VIRTUAL, Catalogue, ResourceType
from arcfsm.sim.api.listing import ListOptions, list_items, read_options, read_version
from arcfsm.sim.api.rbac import Attributes, Authorizer, Identity
from arcfsm.sim.api.rendering import View, accepted_form
from arcfsm.sim.api.request import JSON, YAML, ApiRequest, ApiResponse, JsonObject
from arcfsm.sim.api.routing import Route, parse_path
from arcfsm.sim.api.selectors import parse_selector
from arcfsm.sim.api.starting import starting_objects
from arcfsm.sim.api.store import Change, Snapshot, Store
from arcfsm.sim.api.target import Target
from arcfsm.sim.api.watching import WatchStream
from arcfsm.sim.api.wire_json import JsonFault, read_json
from arcfsm.sim.api.writing import Writer
from arcfsm.sim.clock import Clock

_CREATED: Final = 201


class Interceptor(Protocol):
    """What a fault injector sees of every request, watches included."""

    def before(self, request: ApiRequest) -> ApiResponse | None:
        """Answer in the server's place, so that the request takes no effect; None lets it through."""

    def after(self, request: ApiRequest, response: ApiResponse) -> ApiResponse:
        """Return the answer the client gets; the request has taken its effect."""


class ApiServer(TypedCalls):
    """A simulated kube-apiserver."""

    def __init__(
        self,
        clock: Clock,
        stream: random.Random,
        *,
        crds: Iterable[JsonObject] | None = None,
        rbac: bool = False,
        accounts: bool = False,
    ) -> None:
        """Make an empty server.

        `crds` are definitions to serve, the project's own by default. With `rbac` rights are checked, else everybody
        may do everything. With `accounts` pods need a service account and get its token.
        """
        self.interceptor: Interceptor | None = None
        self.tokens: dict[str, Identity] = {}
        """Who bears which token; only the HTTP face and token reviews look here."""
        self._clock = clock
        self._rbac = rbac
        self._store = Store()
        self._catalogue = Catalogue()
        self._authorizer = Authorizer(self._store)
        self._writer = Writer(self._store, clock, stream, self._authorizer, accounts=accounts)
        self._writer.defined = self._serve
        self._garbage = GarbageCollector(self._store, self._writer, self._catalogue)
        self._streams: dict[str, list[WatchStream]] = {}
        self._store.observe(self._announce)
        self._store.on_restore(self._restored)
        for resource in self._catalogue.everything():
            self._store.begin(resource.table)
        for definition in load_crds() if crds is None else crds:
            self._install(definition)

    # --- requests ----------------------------------------------------------------------------------------------------

    def handle(self, request: ApiRequest) -> ApiResponse:
        """Answer one request; refusals are answers too."""
        if self.interceptor is not None:
            early = self.interceptor.before(request)
            if early is not None:
                return early
        response = self._answer(request)
        if self.interceptor is not None:
            return self.interceptor.after(request, response)
        return response

    def watch(self, request: ApiRequest) -> WatchStream | ApiResponse:
        """Open a watch; a refusal is an answer."""
        if self.interceptor is not None:
            early = self.interceptor.before(request)
            if early is not None:
                return early
        try:
            identity = _identity(request)
            route = parse_path(request.method, request.path, request.query)
            self._authorize(identity, request, route)
            if route is None:
                raise no_such_page()
            resource = self._find(route)
            return self._open(resource, route, request)
        except ApiFailure as failure:
            return _refused(failure, request)

    def _answer(self, request: ApiRequest) -> ApiResponse:
        target: list[Target] = []
        try:
            identity = _identity(request)
            route = parse_path(request.method, request.path, request.query)
            self._authorize(identity, request, route)
            if route is None:
                return self._describe(request)
            kind = VIRTUAL.get((route.group, route.version, route.plural))
            if kind is not None and request.method == "POST":
                return self._review(kind, route, identity, request)
            resource = self._find(route)
            target.append(Target(resource, route.namespace, route.name, route.subresource, identity, request.query))
            status, body, view = self._dispatch(route, target[0], request)
        except ApiFailure as failure:
            failure.warnings = tuple(target[0].warnings) if target else ()
            return _refused(failure, request)
        shown = view.item(body) if view is not None else body
        return _encoded(ApiResponse(status, shown, tuple(target[0].warnings)), request)

    def _authorize(self, identity: Identity, request: ApiRequest, route: Route | None) -> None:
        if not self._rbac:
            return
        if route is None:
            wanted = Attributes(request.method.lower(), path=request.path)
            if not self._authorizer.allows(identity, wanted):
                raise forbidden("", "", "", wanted.refusal(identity))
            return
        wanted = route.attributes()
        if not self._authorizer.allows(identity, wanted):
            raise forbidden(route.group, route.plural, wanted.name, wanted.refusal(identity))

    def _describe(self, request: ApiRequest) -> ApiResponse:
        found = discovery.answer(request.path, self._catalogue) if request.method == "GET" else None
        if found is None:
            raise no_such_resource() if request.path.startswith("/api/") else no_such_page()
        if isinstance(found, str):
            return ApiResponse(200, found, content_type="text/plain; charset=utf-8")
        return ApiResponse(200, found)

    def _review(self, kind: str, route: Route, identity: Identity, request: ApiRequest) -> ApiResponse:
        body = _parsed(request.body)
        if not isinstance(body, dict):
            raise bad_request(f"the object provided is unrecognized (must be of type {kind})")
        made = reviews.answer(kind, f"{route.group}/{route.version}", body, identity, self._authorizer, self.tokens.get)
        return ApiResponse(_CREATED, made)

    def _find(self, route: Route) -> ResourceType:
        """Return the resource of a path. Raises ApiFailure in the words of whoever would serve it."""
        resource = self._catalogue.find(route.group, route.version, route.plural)
        if resource is None:
            own = not route.group or self._catalogue.built_in_group(route.group)
            raise no_such_resource() if own else no_such_page()
        custom = resource.custom and resource is not CRDS
        if resource.namespaced and not route.scoped and (route.name or route.verb not in {"list", "watch"}):
            raise no_such_page() if custom else method_not_allowed()
        if not resource.namespaced and route.scoped:
            raise no_such_page() if custom else no_such_resource()
        if route.subresource and route.subresource not in resource.subresources:
            raise not_found(resource.group, resource.plural, route.name) if custom else no_such_resource()
        return resource

    # --- verbs -------------------------------------------------------------------------------------------------------

    def _dispatch(self, route: Route, target: Target, request: ApiRequest) -> tuple[int, Any, View | None]:
        resource = target.resource
        custom = resource.custom and resource is not CRDS
        method = request.method
        if method == "GET":
            return self._read(route, target, request)
        if route.subresource in {"binding", "eviction"}:
            if method != "POST":
                raise method_not_allowed()
            return _CREATED, self._act(route.subresource, target, request), None
        view = self._view(resource, request)
        if method == "POST":
            if route.subresource:
                raise verb_not_supported("create", resource.group, resource.plural) if custom else method_not_allowed()
            if route.name and not custom:
                raise method_not_allowed()
            return _CREATED, self._writer.create(target, request), view
        if method in {"PUT", "PATCH"}:
            if not route.name:
                raise bad_request("name must be provided") if custom else method_not_allowed()
            status, item = (self._writer.replace if method == "PUT" else self._writer.patch)(target, request)
            return status, item, view
        if method == "DELETE":
            if route.subresource:
                raise verb_not_supported("delete", resource.group, resource.plural) if custom else method_not_allowed()
            return self._delete(route, target, request, view)
        raise method_not_allowed()

    def _read(self, route: Route, target: Target, request: ApiRequest) -> tuple[int, Any, View | None]:
        resource = target.resource
        view = self._view(resource, request)
        if not route.name:
            options = read_options(request.query, watch=False)
            selector = _selector(resource, request.query)
            return 200, list_items(self._store, resource, route.namespace, selector, options, view), None
        wanted = read_version(request.query.get("resourceVersion", ""))
        if wanted is not None and wanted > self._store.version:
            raise version_too_large(wanted, self._store.version)
        item = self._store.get(resource.table, target.key)
        if item is None:
            raise not_found(resource.group, resource.plural, route.name)
        return 200, item, view

    def _act(self, subresource: str, target: Target, request: ApiRequest) -> JsonObject:
        body = _parsed(request.body)
        if subresource == "binding":
            return pod_actions.bind(self._store, self._clock, target, body)
        return pod_actions.evict(self._store, self._clock, self._writer, target, body)

    def _delete(self, route: Route, target: Target, request: ApiRequest, view: View) -> tuple[int, Any, View | None]:
        resource = target.resource
        if not route.name and "deletecollection" not in resource.verbs:
            raise method_not_allowed()
        options = options_from(dict(request.query), _options_body(request.body), resource.api_version)
        if not route.name:
            return 200, self._delete_all(route, target, request, options, view), None
        item, gone = self._writer.delete(target, options)
        if gone and not options.dry and resource is CRDS:
            self._withdraw(item)
        if gone and not resource.returns_deleted:
            details = {"name": route.name, "group": resource.group, "kind": resource.plural,
                       "uid": item["metadata"]["uid"]}  # fmt: skip
            return 200, success({key: value for key, value in details.items() if value}), None
        return 200, item, view

    def _delete_all(
        self, route: Route, target: Target, request: ApiRequest, options: DeleteOptions, view: View
    ) -> JsonObject:
        resource = target.resource
        selector = _selector(resource, request.query)
        listed = list_items(self._store, resource, route.namespace, selector, ListOptions(), view)
        for _, item in self._store.items(resource.table, route.namespace):
            if selector.matches(item):
                name, namespace = item["metadata"]["name"], item["metadata"].get("namespace", "")
                self._writer.delete(Target(resource, namespace, name, "", target.identity, target.query), options)
        return listed

    def _view(self, resource: ResourceType, request: ApiRequest) -> View:
        form = accepted_form(request.accept)
        return View(resource, form, request.query.get("includeObject", ""), self._clock.now())

    # --- watches -----------------------------------------------------------------------------------------------------

    def _open(self, resource: ResourceType, route: Route, request: ApiRequest) -> WatchStream:
        selector = _selector(resource, request.query)
        options = read_options(request.query, watch=True)
        store, table = self._store, resource.table
        deadline = None
        if options.timeout_s is not None:
            deadline = self._clock.now() + options.timeout_s * SECOND
        wanted = options.version or 0
        initial = options.initial if options.initial is not None else wanted == 0
        replayed = bool(wanted) and not initial
        stream = WatchStream(
            store, self._clock, self._view(resource, request), route.namespace, selector,
            after=wanted if replayed else store.version, bookmarks=options.bookmarks, deadline=deadline,
        )  # fmt: skip
        if replayed and wanted < store.begin_of(table):
            told = f"too old resource version: {wanted} ({store.begin_of(table)})"
            stream.refuse(expired(told).body)
        elif replayed and not resource.cached and wanted < store.compacted:
            stream.refuse(expired("The resourceVersion for the provided watch is too old.").body)
        elif replayed:
            for change in store.since(table, wanted):
                stream.offer(change)
        elif initial:
            stream.start_with(store.items(table, route.namespace))
            if options.initial and options.bookmarks:
                stream.end_initial(store.version)
        if not stream.closed:
            streams = self._streams.setdefault(table, [])
            streams[:] = [each for each in streams if not each.closed]
            streams.append(stream)
        return stream

    def _announce(self, table: str, change: Change) -> None:
        for stream in self._streams.get(table, ()):
            stream.offer(change)

    def _restored(self) -> None:
        streams = [stream for group in self._streams.values() for stream in group]
        self._streams.clear()
        for stream in streams:
            stream.close()
        for resource in self._catalogue.everything():
            if resource.custom and resource is not CRDS:
                self._catalogue.withdraw(resource)
        for _, definition in self._store.items(CRDS.table):
            for resource in resources_of(definition):
                self._catalogue.serve(resource)

    # --- definitions -------------------------------------------------------------------------------------------------

    def _install(self, definition: JsonObject) -> None:
        self.create(CRDS, "", {**definition, "metadata": {"name": definition["metadata"]["name"]}})

    def _serve(self, definition: JsonObject) -> None:
        try:
            resources = resources_of(definition)
        except ValueError as error:
            raise bad_request(str(error)) from error
        for resource in resources:
            known = self._catalogue.find(resource.group, resource.version, resource.plural)
            self._catalogue.serve(resource)
            if known is None:
                self._store.begin(resource.table)

    def _withdraw(self, definition: JsonObject) -> None:
        for resource in resources_of(definition):
            for key, _ in self._store.items(resource.table):
                self._store.remove(resource.table, key)
            self._catalogue.withdraw(resource)

    def may_impersonate(self, identity: Identity, user: str) -> bool:
        """Whether somebody may act as another user."""
        wanted = Attributes("impersonate", "", "users", "", user)
        return not self._rbac or self._authorizer.allows(identity, wanted)

    # --- beside answering --------------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The newest resourceVersion."""
        return self._store.version

    def bootstrap(self) -> None:
        """Create what every cluster has: the default namespaces and the roles of clients."""
        for plural, body in starting_objects():
            self.create(plural, "", body)

    def collect_garbage(self) -> None:
        """Do all that the garbage collector and the namespace controller find to do."""
        self._garbage.collect()

    def compact(self, resource_version: int | None = None, *, caches: bool = True) -> None:
        """Forget history before a version, or all of it. Without `caches` watch caches still know it."""
        self._store.compact(resource_version or self._store.version, caches=caches)

    def snapshot(self) -> Snapshot:
        """Return everything that is stored."""
        return self._store.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to an older state; open watches are closed, the resourceVersion goes back."""
        self._store.restore(snapshot)


def _identity(request: ApiRequest) -> Identity:
    if request.groups is None:
        return Identity.named(request.user)
    return Identity(request.user, request.groups)


def _selector(resource: ResourceType, query: Mapping[str, str]) -> Any:
    return parse_selector(resource, query.get("labelSelector", ""), query.get("fieldSelector", ""))


def _parsed(body: Any) -> Any:
    if not isinstance(body, bytes):
        return body
    try:
        return read_json(body)[0]
    except JsonFault as fault:
        raise bad_request(f"couldn't get version/kind; json parse error: {fault}") from fault


def _options_body(body: Any) -> Any:
    return None if body is None or body == b"" else _parsed(body)


def _refused(failure: ApiFailure, request: ApiRequest) -> ApiResponse:
    return _encoded(ApiResponse(failure.status, failure.body, failure.warnings, failure.content_type), request)


def _encoded(response: ApiResponse, request: ApiRequest) -> ApiResponse:
    """Answer in YAML where that is all the client takes."""
    if not request.accept.startswith(YAML) or response.content_type != JSON:
        return response
    plain = orjson.loads(orjson.dumps(response.body))
    text = yaml.safe_dump(plain, sort_keys=True, default_flow_style=False, allow_unicode=True, width=2**31)
    return ApiResponse(response.status, text, response.warnings, YAML)
