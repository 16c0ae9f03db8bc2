"""Creates, updates and patches: the common path from a body to what is stored, or to a refusal.

Guaranteed: a write that changes nothing is none; a stale resourceVersion is a conflict even then; status and main
resource do not touch each other; what the server owns in metadata cannot be set by a client.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import orjson

from arcfsm.sim.apiserver import metadata, pods
from arcfsm.sim.apiserver.builtin import event_from_new, event_to_new
from arcfsm.sim.apiserver.decoding import Decoded, decode_request
from arcfsm.sim.apiserver.engine import Engine
from arcfsm.sim.apiserver.message import Identity, Request, Response, Target
from arcfsm.sim.apiserver.options import check_write
from arcfsm.sim.apiserver.problems import (
    Cause,
    Problem,
    already_exists,
    bad_request,
    conflict,
    invalid,
    invalid_value,
    not_found,
    required,
)
from arcfsm.sim.apiserver.resources import Resource
from arcfsm.sim.apiserver.structural import Schema, check

Body = dict[str, Any]
RBAC: Final = "rbac.authorization.k8s.io"
MODIFIED: Final = "the object has been modified; please apply your changes to the latest version and try again"
_STATUS_PATH: Final = re.compile(r"((?:^|[ \"]))status\.(?=[^ ]* in body|[^ ]*$|[^ ]*\" must)")
_STORAGE_LIMIT: Final = 1536 * 1024
_SYSTEM: Final = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "managedFields",
)
Produce = Callable[[Body], Decoded]


class Writer:
    """Handles writes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._store = engine.store

    # creating ---------------------------------------------------------

    def create(self, request: Request, target: Target, resource: Resource, who: Identity) -> Response:
        """Create an object. Raises Problem."""
        dry_run = check_write(request, "CreateOptions")
        decoded, _ = decode_request(request, resource)
        warnings = self._field_validation(request, decoded, resource)
        body = decoded.body
        self._match_namespace(body, target, resource)
        stored, more = self.insert(body, resource, target.namespace, who, dry_run=dry_run)
        return Response(201, shown(stored, resource), warnings=[*warnings, *more])

    def insert(
        self, body: Body, resource: Resource, namespace: str, who: Identity, *, dry_run: bool = False
    ) -> tuple[Body, list[str]]:
        """Store a decoded object as new; returns it and warnings. Raises Problem."""
        engine, meta = self._engine, body["metadata"]
        warnings = self._owner_warnings(meta)
        if resource.namespaced:
            meta["namespace"] = namespace
        version = meta.pop("resourceVersion", "")
        for name in _SYSTEM:
            meta.pop(name, None)
        engine.admission.admit_create(body, resource, namespace)
        generated = bool(meta.get("generateName"))
        if not meta.get("name") and generated:
            meta["name"] = meta["generateName"][:58] + engine.suffix()
            if resource.kind == "Namespace":
                resource.default(body)
        meta["uid"], meta["creationTimestamp"] = engine.uid(), engine.now()
        if resource.custom:
            meta["generation"] = 1
            if "status" in resource.subresources:
                body.pop("status", None)
        elif resource.kind == "CustomResourceDefinition":
            meta["generation"] = 1
        resource.prepare_create(body)
        self._validate_new(body, resource)
        if resource.group == RBAC:
            engine.access.check_escalation(who, body, resource.plural, namespace)
        engine.admission.validate_create(body, resource, namespace, dry_run=dry_run)
        if version not in {"", "0"}:
            raise Problem(500, "", "resourceVersion should not be set on objects to be created")
        key = (namespace if resource.namespaced else "", meta["name"])
        self._refuse_existing(resource, key, generated=generated)
        if resource.custom:
            warnings += finalizer_warnings(meta)
        elif resource.kind == "Pod":
            warnings += pods.warnings_of(body)
        if resource.struct == "NewEvent":
            body = event_from_new(body)
        if dry_run:
            return body, warnings
        check_size(body)
        return self._store.put(resource.table, key, body), warnings

    def _refuse_existing(self, resource: Resource, key: tuple[str, str], *, generated: bool) -> None:
        found = self._store.get(resource.table, key)
        if found is None:
            return
        problem = already_exists(resource.group, resource.plural, key[1])
        if found["metadata"].get("deletionTimestamp"):
            problem.message = f"object is being deleted: {problem.message}"
        elif generated:
            problem.message += ", the server was not able to generate a unique name for the object"
            problem.details = {**(problem.details or {}), "retryAfterSeconds": 1}
        raise problem

    def _validate_new(self, body: Body, resource: Resource) -> None:
        meta = body["metadata"]
        if resource.custom and body["kind"] != resource.kind:
            cause = invalid_value("kind", body["kind"], f"must be {resource.kind}")
            raise invalid(resource.group, body["kind"], meta.get("name", ""), [cause])
        causes = metadata.causes_of(
            meta, namespaced=resource.namespaced, name_errors=resource.name_errors, core=not resource.custom
        )
        causes += custom_causes(body, resource) if resource.custom else resource.validate(body)
        if causes:
            raise invalid(
                resource.group if resource.struct != "NewEvent" else "", resource.kind, meta.get("name", ""), causes
            )

    def _match_namespace(self, body: Body, target: Target, resource: Resource) -> None:
        given = body["metadata"].get("namespace", "")
        if resource.namespaced and given and given != target.namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")

    def _owner_warnings(self, meta: Body) -> list[str]:
        twice = metadata.duplicate_owner_uids(meta)
        if not twice:
            return []
        return [
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may "
            "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
            + ", ".join(dict.fromkeys(twice))
        ]

    def _field_validation(self, request: Request, decoded: Decoded, resource: Resource) -> list[str]:
        mode = request.first("fieldValidation") or "Warn"
        complaints = decoded.complaints()
        if not complaints or mode == "Ignore":
            return []
        if mode == "Warn":
            return complaints
        text = f"strict decoding error: {', '.join(complaints)}"
        raise bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {text}'
        )

    # updating ---------------------------------------------------------

    def update(self, request: Request, target: Target, resource: Resource, who: Identity) -> Response:
        """Replace an object or its status. Raises Problem."""
        dry_run = check_write(request, "UpdateOptions")
        decoded, _ = decode_request(request, resource)
        warnings = self._field_validation(request, decoded, resource)
        body, meta = decoded.body, decoded.body["metadata"]
        self.match_name(body, target, resource)
        key = (target.namespace if resource.namespaced else "", target.name)
        if self._store.get(resource.table, key) is None and resource.create_on_update and not target.subresource:
            self._engine.access.check(who, "create", target)
            meta.pop("resourceVersion", None)
            meta["name"] = target.name
            stored, more = self.insert(body, resource, target.namespace, who, dry_run=dry_run)
            return Response(201, shown(stored, resource), warnings=[*warnings, *more])
        stored, more = self.replace(
            resource, key, lambda _: decoded, who, subresource=target.subresource, dry_run=dry_run, precondition=True
        )
        return Response(200, shown(stored, resource), warnings=[*warnings, *more])

    def match_name(self, body: Body, target: Target, resource: Resource) -> None:
        """Refuse a body that is about another object than the path. Raises Problem."""
        meta = body["metadata"]
        name = meta.get("name", "")
        if not name:
            text = f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
            raise bad_request(text)
        if name != target.name:
            raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({target.name})")
        if resource.namespaced:
            namespace = meta.setdefault("namespace", target.namespace)
            if namespace != target.namespace:
                raise bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )

    def replace(
        self,
        resource: Resource,
        key: tuple[str, str],
        produce: Produce,
        who: Identity,
        *,
        subresource: str = "",
        dry_run: bool = False,
        precondition: bool = False,
    ) -> tuple[Body, list[str]]:
        """Store what `produce` makes of the present object; returns it and warnings. Raises Problem."""
        old = self._store.get(resource.table, key)
        if old is None:
            raise not_found(resource.group, resource.plural, key[1])
        if resource.struct == "NewEvent":
            old = event_to_new(old)
        new = produce(old).body
        meta, had = new["metadata"], old["metadata"]
        warnings = self._owner_warnings(meta)
        self._check_version(meta, had, resource, key[1], precondition=precondition)
        self._inherit(meta, had)
        self._prepare(new, old, resource, subresource)
        meta = new["metadata"]
        self._engine.admission.admit_update(new, resource)
        self._validate_update(new, old, resource, subresource)
        if resource.group == RBAC and self._grants_more(new, old):
            self._engine.access.check_escalation(who, new, resource.plural, key[0])
        if resource.custom and not subresource:
            warnings += finalizer_warnings(meta)
        if not meta.get("finalizers") and had.get("deletionGracePeriodSeconds") == 0:
            if not dry_run:
                self._store.remove(resource.table, key)
            return new, warnings
        if new == old or dry_run:
            return new, warnings
        if resource.struct == "NewEvent":
            new = event_from_new(new)
        check_size(new)
        return self._store.put(resource.table, key, new), warnings

    def _grants_more(self, new: Body, old: Body) -> bool:
        return any(new.get(name) != old.get(name) for name in ("rules", "roleRef", "subjects"))

    def _check_version(self, meta: Body, had: Body, resource: Resource, name: str, *, precondition: bool) -> None:
        given = meta.get("resourceVersion", "")
        if precondition and meta.get("uid") and meta["uid"] != had["uid"]:
            text = (
                f"StorageError: invalid object, Code: 4, Key: {_storage_key(resource, had)}, ResourceVersion: 0, "
                f"AdditionalErrorMsg: Precondition failed: UID in precondition: {meta['uid']}, "
                f"UID in object meta: {had['uid']}"
            )
            raise conflict(resource.group, resource.plural, name, text)
        if given in {"", "0"}:
            if not resource.unconditional_update:
                cause = Cause(
                    "FieldValueInvalid",
                    "metadata.resourceVersion",
                    "Invalid value: 0: must be specified for an update",
                )
                raise invalid(resource.group, resource.plural, name, [cause])
            meta["resourceVersion"] = had["resourceVersion"]
            return
        if not given.isdigit():
            raise bad_request(f'strconv.ParseUint: parsing "{given}": invalid syntax')
        if given != had["resourceVersion"]:
            raise conflict(resource.group, resource.plural, name, MODIFIED)

    def _inherit(self, meta: Body, had: Body) -> None:
        """Take over what a client may leave out."""
        if not meta.get("uid"):
            meta["uid"] = had["uid"]
        meta["creationTimestamp"] = had["creationTimestamp"]
        for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):
            if name in had and had.get("deletionTimestamp"):
                if meta.get(name) is None:
                    meta[name] = had[name]
            elif meta.get(name) is None:
                meta.pop(name, None)
        for name in ("selfLink", "managedFields"):
            meta.pop(name, None)
        meta.pop("generation", None)
        if "generation" in had:
            meta["generation"] = had["generation"]

    def _prepare(self, new: Body, old: Body, resource: Resource, subresource: str) -> None:
        if resource.custom:
            _prepare_custom(new, old, resource, subresource)
        elif subresource in {"status", "finalize"}:
            resource.prepare_status(new, old)
            if "deletionTimestamp" in old["metadata"]:
                new["metadata"].setdefault("deletionTimestamp", old["metadata"]["deletionTimestamp"])
        else:
            resource.prepare_update(new, old)
            if resource.kind == "CustomResourceDefinition" and new["spec"] != old["spec"]:
                new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def _validate_update(self, new: Body, old: Body, resource: Resource, subresource: str) -> None:
        if resource.custom and new["kind"] != resource.kind:
            cause = invalid_value("kind", new["kind"], f"must be {resource.kind}")
            raise invalid(resource.group, new["kind"], new["metadata"].get("name", ""), [cause])
        causes = metadata.shared_causes(new["metadata"], core=not resource.custom)
        # The server looks twice, in the rules all kinds share and in those of the kind, and says so twice.
        causes += metadata.update_causes(new["metadata"], old["metadata"]) * 2
        if resource.custom:
            causes += status_causes(new, resource) if subresource == "status" else custom_causes(new, resource)
        elif subresource == "status":
            causes += resource.validate_status(new, old)
        elif subresource != "finalize":
            ours = resource.validate_update
            causes += ours(new, old)
            if ours.__name__ == "_no_causes":
                causes += resource.validate(new)
        if causes:
            raise invalid(resource.group, resource.kind, new["metadata"].get("name", ""), causes)


def _prepare_custom(new: Body, old: Body, resource: Resource, subresource: str) -> None:
    if subresource == "status":
        status = new.get("status")
        had = "status" in new
        version = new["metadata"]["resourceVersion"]
        kind, api_version = new["kind"], new["apiVersion"]
        new.clear()
        new.update({**old, "kind": kind, "apiVersion": api_version})
        new["metadata"] = {**old["metadata"], "resourceVersion": version}
        new.pop("status", None)
        if had:
            new["status"] = status
        return
    if "status" in resource.subresources:
        new.pop("status", None)
        if "status" in old:
            new["status"] = old["status"]
    hidden = (
        {"metadata", "status", "apiVersion", "kind"}
        if "status" in resource.subresources
        else {"metadata", "apiVersion", "kind"}
    )
    if {k: v for k, v in new.items() if k not in hidden} != {k: v for k, v in old.items() if k not in hidden}:
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _storage_key(resource: Resource, meta: Body) -> str:
    group = f"/{resource.group}" if resource.custom or resource.group == "apiextensions.k8s.io" else ""
    namespace = f"/{meta['namespace']}" if resource.namespaced else ""
    return f"/registry{group}/{resource.plural}{namespace}/{meta['name']}"


def custom_causes(body: Body, resource: Resource) -> list[Cause]:
    """Check a custom object against its schema."""
    schema = resource.schema or Schema()
    causes: list[Cause] = []
    for name in schema.required:
        if name not in body:
            causes.append(required(name))
    for name, known in schema.properties.items():
        if name in body and name not in {"apiVersion", "kind", "metadata"}:
            causes += check(known, body[name], name)
    return causes


def status_causes(body: Body, resource: Resource) -> list[Cause]:
    """Check the status of a custom object. The texts name fields from the status on, the causes from the top."""
    known = (resource.schema or Schema()).properties.get("status")
    if known is None or "status" not in body:
        return []
    found = check(known, body["status"], "status")
    return [each._replace(message=_STATUS_PATH.sub(r"\1", each.message)) for each in found]


def finalizer_warnings(meta: Body) -> list[str]:
    """Return what a custom object is warned about."""
    return [
        f'metadata.finalizers: "{each}": prefer a domain-qualified finalizer name to avoid accidental conflicts with '
        "other finalizer writers"
        for each in meta.get("finalizers") or ()
        if "/" not in each and each not in metadata.STANDARD_FINALIZERS
    ]


def check_size(body: Body) -> None:
    """Refuse what storage does not take. Raises Problem."""
    if len(orjson.dumps(body)) > _STORAGE_LIMIT:
        raise Problem(500, "", "etcdserver: request is too large")


def shown(body: Body, resource: Resource) -> Body:
    """Return an object as a resource shows it."""
    return event_to_new(body) if resource.struct == "NewEvent" and body["apiVersion"] == "v1" else body
