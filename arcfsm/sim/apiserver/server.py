"""The API server: one object that answers requests and opens watches, and moves nothing by itself.

Guaranteed: the answers depend on the requests, their order, the clock and the randomness that were handed in, and on
nothing else. It starts no thread and never waits.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import yaml

from arcfsm.domain.instant import Instant
from arcfsm.sim.apiserver import discovery, rendering, tables
from arcfsm.sim.apiserver.collector import Collector
from arcfsm.sim.apiserver.deleting import Deleter
from arcfsm.sim.apiserver.engine import Engine
from arcfsm.sim.apiserver.message import ADMIN, TEXT, Identity, Request, Response, Target, parse_path, verb_of
from arcfsm.sim.apiserver.patches import Patcher
from arcfsm.sim.apiserver.problems import Problem, not_found
from arcfsm.sim.apiserver.reading import Reader
from arcfsm.sim.apiserver.resources import Resource
from arcfsm.sim.apiserver.store import Snapshot
from arcfsm.sim.apiserver.subresources import REVIEW_GROUP, REVIEWS, Subresources
from arcfsm.sim.apiserver.watching import Stream, Watcher
from arcfsm.sim.apiserver.writing import Writer

Body = dict[str, Any]
_ALWAYS: Final = ("default", "kube-system", "kube-public", "kube-node-lease")
_PATH_VERBS: Final = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update"}
_PLAIN_404: Final = "404 page not found\n"


class ApiServer:
    """A simulated API server."""

    def __init__(
        self,
        clock: Callable[[], Instant],
        chance: random.Random,
        *,
        collect: bool = False,
        service_accounts: bool = False,
        definitions: Iterable[Body] = (),
    ) -> None:
        self.engine = Engine(clock, chance)
        self.store = self.engine.store
        self.collector: Collector | None = Collector(self.engine) if collect else None
        self._collects = collect
        self._reader = Reader(self.engine)
        self._writer = Writer(self.engine)
        self._patcher = Patcher(self.engine, self._writer)
        self._deleter = Deleter(self.engine, self._reader)
        self._watcher = Watcher(self.engine)
        self._subresources = Subresources(self.engine, self._deleter)
        self._streams: list[Stream] = []
        if self.collector is not None:
            self.collector.attach(self._deleter)
        for name in _ALWAYS:
            self._install("v1", "Namespace", {"metadata": {"name": name}})
        for name in ("cluster-admin",):
            rules = [
                {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
                {"nonResourceURLs": ["*"], "verbs": ["*"]},
            ]
            self._install("rbac.authorization.k8s.io/v1", "ClusterRole", {"metadata": {"name": name}, "rules": rules})
        for definition in definitions:
            self._install("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition)
        self.engine.admission.service_accounts = service_accounts

    def _install(self, api_version: str, kind: str, body: Body) -> None:
        resource = self.engine.registry.of_kind(api_version, kind)
        if resource is None:
            return
        path = f"/{'apis' if resource.group else 'api'}/{api_version}/{resource.plural}"
        data = {**body, "apiVersion": api_version, "kind": kind}
        answer = self.handle(Request("POST", path, data=data, identity=ADMIN))
        if answer.status >= 300:
            raise ValueError(f"{kind} {body.get('metadata', {}).get('name')}: {answer.body.get('message')}")

    # requests ---------------------------------------------------------

    def handle(self, request: Request) -> Response:
        """Answer one request; a watch is for `watch` to open."""
        try:
            answer = self._route(request, request.identity or ADMIN)
        except Problem as problem:
            answer = refused(problem)
        if rendering.wants_yaml(request.headers.get("accept", "")) and answer.text is None:
            answer = rendering.as_yaml(answer)
        if self._collects and self.collector is not None and request.method != "GET":
            self.collector.run()
        return answer

    def watch(self, request: Request) -> Stream | Response:
        """Open a watch, or answer why not."""
        who, target = request.identity or ADMIN, parse_path(request.path)
        try:
            self.engine.access.check(who, "watch", target)
            resource = self._resource(target)
            if isinstance(resource, Response):
                return resource
            render = rendering.renderer(request.headers.get("accept", ""), resource, self.engine.clock)
            stream = self._watcher.watch(request, target, resource, render)
        except Problem as problem:
            return refused(problem)
        self._streams = [*(each for each in self._streams if not each.ended), stream]
        return stream

    def is_watch(self, request: Request) -> bool:
        """Whether a request opens a watch."""
        if request.method != "GET" or not request.flag("watch"):
            return False
        target = parse_path(request.path)
        return target.known_prefix and not target.name

    def _route(self, request: Request, who: Identity) -> Response:
        target = parse_path(request.path)
        if not target.known_prefix:
            self.engine.access.check_path(who, _PATH_VERBS.get(request.method, request.method.lower()), request.path)
            found = discovery.answer(self.engine.registry, request.path, request.headers.get("accept", ""))
            return found or plain_404()
        verb = verb_of(request, target)
        self.engine.access.check(who, verb, target)
        if target.group == REVIEW_GROUP and target.resource in REVIEWS and request.method == "POST":
            return self._subresources.review(request, target, who)
        resource = self._resource(target)
        if isinstance(resource, Response):
            return resource
        if target.subresource:
            return self._subresource(request, target, resource, who)
        return self._main(request, target, resource, who)

    def _resource(self, target: Target) -> Resource | Response:
        resource = self.engine.registry.find(target.group, target.version, target.resource)
        if resource is None or (resource.custom and resource.namespaced != bool(target.namespace) and target.name):
            if not target.group:
                message = "the server could not find the requested resource"
                raise Problem(404, "NotFound", message, {})
            return plain_404()
        if not resource.namespaced and target.namespace and target.resource != "namespaces":
            return plain_404()
        return resource

    def _main(self, request: Request, target: Target, resource: Resource, who: Identity) -> Response:
        method, named = request.method, bool(target.name)
        unplaced = resource.namespaced and not target.namespace
        if method in {"GET", "HEAD"}:
            if named and unplaced:
                raise not_allowed() if not resource.custom else Problem(404, "NotFound", _PLAIN_404)
            answer = (
                self._reader.get(request, target, resource) if named else self._reader.list(request, target, resource)
            )
            return self._rendered(request, answer, resource, listed=not named)
        if unplaced:
            if resource.custom:
                return plain_404()
            raise not_allowed()
        if method == "POST":
            if named and not resource.custom:
                raise not_allowed()
            return self._rendered(request, self._writer.create(request, target, resource, who), resource)
        if not named and method in {"PUT", "PATCH"}:
            if resource.custom:
                raise Problem(400, "BadRequest", "name must be provided")
            raise not_allowed()
        if method == "PUT":
            return self._rendered(request, self._writer.update(request, target, resource, who), resource)
        if method == "PATCH":
            return self._rendered(request, self._patcher.patch(request, target, resource, who), resource)
        if method == "DELETE":
            if named:
                return self._deleter.delete(request, target, resource)
            if "deletecollection" not in resource.verbs:
                raise not_allowed()
            return self._deleter.delete_collection(request, target, resource)
        raise not_allowed()

    def _subresource(self, request: Request, target: Target, resource: Resource, who: Identity) -> Response:
        method, name = request.method, target.subresource
        if resource.kind == "Pod" and not resource.group and method == "POST":
            if name == "binding":
                return self._subresources.bind(request, target)
            if name == "eviction":
                return self._subresources.evict(request, target)
        if resource.kind == "ServiceAccount" and name == "token" and method == "POST":
            return self._subresources.token(request, target, resource)
        if name not in resource.subresources or name not in {"status", "finalize"}:
            if resource.custom:
                raise not_found(resource.group, resource.plural, target.name)
            raise Problem(404, "NotFound", "the server could not find the requested resource", {})
        if method == "GET":
            return self._rendered(request, self._reader.get(request, target, resource), resource)
        if method == "PUT":
            return self._rendered(request, self._writer.update(request, target, resource, who), resource)
        if method == "PATCH":
            return self._rendered(request, self._patcher.patch(request, target, resource, who), resource)
        if resource.custom:
            verb = {"POST": "create", "DELETE": "delete"}.get(method, method.lower())
            group = f"{resource.plural}.{resource.group}"
            message = f'{verb} is not supported on resources of kind "{group}"'
            details = {"group": resource.group, "kind": resource.plural}
            raise Problem(405, "MethodNotAllowed", message, details)
        raise not_allowed()

    def _rendered(self, request: Request, answer: Response, resource: Resource, *, listed: bool = False) -> Response:
        kind = rendering.wanted(request.headers.get("accept", ""))
        body = answer.body
        if not kind or not isinstance(body, dict) or body.get("kind") == "Status":
            return answer
        if kind == "Table":
            items = body["items"] if listed else [body]
            meta = body["metadata"] if listed else {"resourceVersion": body["metadata"]["resourceVersion"]}
            include = request.first("includeObject") or "Metadata"
            answer.body = tables.table(items, resource, meta, self.engine.clock(), include)
        elif kind == "PartialObjectMetadataList" and listed:
            answer.body = rendering.partial_list(body)
        elif kind == "PartialObjectMetadata" and not listed:
            answer.body = rendering.partial(body)
        return answer

    # control ----------------------------------------------------------

    def collect_garbage(self) -> None:
        """Do all that the garbage collector and the namespace controller find to do."""
        if self.collector is None:
            self.collector = Collector(self.engine)
            self.collector.attach(self._deleter)
            self.collector.reload()
        self.collector.run()

    def compact(self, revision: int) -> None:
        """Forget the history before a revision."""
        self.store.compact(revision)

    def snapshot(self) -> Snapshot:
        """Return all there is."""
        return self.store.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Become what was: revisions go back, and all watches end."""
        for stream in self._streams:
            stream.close()
        self._streams = []
        self.store.restore(snapshot)
        self.engine.registry.reload()
        if self.collector is not None:
            self.collector.reload()


def refused(problem: Problem) -> Response:
    """Return the answer of a refusal."""
    if problem.message == _PLAIN_404:
        return plain_404()
    headers = {}
    retry = (problem.details or {}).get("retryAfterSeconds")
    if retry:
        headers["Retry-After"] = str(retry)
    return Response(problem.code, problem.body(), warnings=problem.warnings, headers=headers)


def plain_404() -> Response:
    """Return the answer for paths nobody serves."""
    return Response(404, text=_PLAIN_404, content_type=TEXT)


def not_allowed() -> Problem:
    """Build the refusal of a method."""
    return Problem(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def load_definitions(folder: Path) -> list[Body]:
    """Read the CustomResourceDefinitions of a folder. Raises ValueError when there is none, OSError, YAMLError."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = []
    for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]):
        for document in yaml.load_all(path.read_text(), Loader=loader):  # a safe loader either way
            if isinstance(document, dict) and document.get("kind") == "CustomResourceDefinition":
                found.append(document)
    if not found:
        raise ValueError(f"no CustomResourceDefinition in {folder}")
    return found
