"""Writes: create, update, patch and delete, for every kind, with all the rules between a body and the store.

The order of the steps is the real server's, because it decides which refusal a request gets that is wrong in several
ways. A write that changes nothing is not a write: no new version, no event.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

import orjson

from arcfsm.sim.api import admission, core_rules, metadata, quota
from arcfsm.sim.api.bodies import Reader, check_options, check_type, media_type, parse
from arcfsm.sim.api.composing import composed, schema_faults, update_faults
from arcfsm.sim.api.custom_resources import accepted
from arcfsm.sim.api.defaulting import quality_of_service
from arcfsm.sim.api.deletion import DeleteOptions, check_preconditions, leaves_with, plan
from arcfsm.sim.api.failure import (
    Cause,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    internal,
    invalid,
    modified,
    not_found,
    unsupported_media_type,
    wrong,
)
from arcfsm.sim.api.kinds import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CRDS,
    NAMESPACES,
    NEW_EVENTS,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    ResourceType,
)
from arcfsm.sim.api.new_events import check_new_event, to_new_event
from arcfsm.sim.api.patching import json_patch, merge_patch
from arcfsm.sim.api.pod_rules import pod_warnings
from arcfsm.sim.api.rbac import Attributes, Authorizer, describe
from arcfsm.sim.api.request import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, ApiRequest
from arcfsm.sim.api.store import Store, object_key
from arcfsm.sim.api.strategic import strategic_merge
from arcfsm.sim.api.target import Target
from arcfsm.sim.api.wire_json import JsonFault, read_json
from arcfsm.sim.clock import Clock, timestamp

Item = dict[str, Any]

STORED_MAX: Final = 1536 * 1024
_SIZE_HINT: Final = 4096
"""Bodies whose text is shorter cannot be too large to store."""


class Writer:
    """Carries out writes against a store."""

    def __init__(
        self, store: Store, clock: Clock, stream: random.Random, authorizer: Authorizer, *, accounts: bool
    ) -> None:
        self._store = store
        self._clock = clock
        self._stream = stream
        self._authorizer = authorizer
        self._accounts = accounts
        self.defined: Callable[[Item], None] = lambda _: None
        """Called with a definition that was created or changed."""

    # --- create ------------------------------------------------------------------------------------------------------

    def create(self, target: Target, request: ApiRequest) -> Item:
        """Create an object. Raises ApiFailure."""
        body = parse(request, target.resource)
        check_options("CreateOptions", target.query)
        value = check_type(target.resource, body, target.warnings)
        reader = Reader(target.resource, target.query.get("fieldValidation", ""), target.warnings)
        item = reader.created(value, body.repeated)
        self._check_namespace_of(target, item)
        return self._create(target, item)

    def _check_namespace_of(self, target: Target, item: Item) -> None:
        named = item["metadata"].get("namespace", "")
        if named and named != target.namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")

    def _create(self, target: Target, item: Item) -> Item:
        resource, namespace, store = target.resource, target.namespace, self._store
        admission.check_namespace(store, resource, namespace, item["metadata"].get("name", ""))
        if resource is PODS:
            admission.complete_pod(store, item, namespace, self._stream, accounts=self._accounts)
        wanted_version = item["metadata"].get("resourceVersion", "")
        generated = bool(item["metadata"].get("generateName"))
        made, warning = metadata.fold_owners(item["metadata"])
        if warning:
            target.warnings.append(warning)
        now = timestamp(self._clock.now())
        item["metadata"] = metadata.fresh(resource, made, namespace, self._stream, now)
        name = item["metadata"].get("name", "")
        self._begin_life(resource, item, now)
        self._check_grant(target, item)
        causes = self._faults(resource, item)
        if causes:
            raise invalid(resource.group if resource is not NEW_EVENTS else "", item["kind"], name, causes)
        target.warnings += metadata.finalizer_warnings(resource, item["metadata"], None)
        if resource is PODS:
            target.warnings += pod_warnings(item)
            admission.check_new_pod(store, item, namespace)
        quota.charge(store, resource, item, namespace, dry=target.dry)
        if wanted_version not in {"", "0"}:
            raise internal("resourceVersion should not be set on objects to be created")
        key = object_key(namespace, name)
        present = store.get(resource.table, key)
        if present is not None:
            gone = bool(present["metadata"].get("deletionTimestamp"))
            raise already_exists(resource.group, resource.plural, name, terminating=gone, generated=generated)
        if target.dry:
            return item
        self._check_size(item)
        stored = store.put(resource.table, key, item)
        if resource is CRDS:
            self.defined(stored)
        return stored

    def _begin_life(self, resource: ResourceType, item: Item, now: str) -> None:
        """Set what a new object begins with whatever its body said."""
        if resource is PODS:
            item["status"] = {"phase": "Pending", "qosClass": quality_of_service(item["spec"])}
        elif resource is NAMESPACES:
            item["spec"] = {**item["spec"], "finalizers": ["kubernetes"]}
            item["status"] = {"phase": "Active"}
            item["metadata"]["labels"] = {
                **(item["metadata"].get("labels") or {}),
                "kubernetes.io/metadata.name": item["metadata"].get("name", ""),
            }
        elif resource is CRDS:
            try:
                item.update(accepted(item, now))
            except (KeyError, TypeError) as error:
                raise bad_request(f"CustomResourceDefinition cannot be handled: {error} is missing") from error
        elif "status" in resource.subresources:
            if resource.custom:
                item.pop("status", None)
            else:
                item["status"] = {}

    def _check_size(self, item: Item) -> None:
        if len(orjson.dumps(item)) > STORED_MAX:
            raise internal("etcdserver: request is too large")

    def _faults(self, resource: ResourceType, item: Item) -> list[Cause]:
        causes = metadata.check_new(resource, item["metadata"])
        if resource is NEW_EVENTS:
            return causes + check_new_event(item)
        if resource.custom:
            return causes + schema_faults(resource, item)
        return causes + core_rules.check(item)

    def _check_grant(self, target: Target, item: Item) -> None:
        """Refuse to hand out rights the user does not have. Raises ApiFailure."""
        resource, identity, namespace = target.resource, target.identity, target.namespace
        if resource in {ROLES, CLUSTER_ROLES}:
            verb, rules = "escalate", item.get("rules") or []
            wanted = Attributes(verb, resource.group, resource.plural, namespace, item["metadata"].get("name", ""))
        elif resource in {ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS}:
            role = item["roleRef"]
            plural = "clusterroles" if role.get("kind") == "ClusterRole" else "roles"
            wanted = Attributes("bind", resource.group, plural, namespace, role.get("name", ""))
            rules = []
        else:
            return
        if self._authorizer.allows(identity, wanted):
            return
        if resource in {ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS}:
            found = self._authorizer.rules_behind(item["roleRef"], namespace)
            if found is None:
                raise not_found(resource.group, resource.plural, item["roleRef"].get("name", ""))
            rules = found
        missing = self._authorizer.not_held(identity, namespace, rules)
        if missing:
            groups = " ".join(f'"{group}"' for group in identity.groups)
            listed = "\n".join(describe(rule) for rule in missing)
            why = (
                f'user "{identity.user}" (groups=[{groups}]) is attempting to grant RBAC permissions not currently '
                f"held:\n{listed}"
            )
            raise forbidden(resource.group, resource.plural, item["metadata"].get("name", ""), why)

    # --- update ------------------------------------------------------------------------------------------------------

    def replace(self, target: Target, request: ApiRequest) -> tuple[int, Item]:
        """Replace an object, or create it where its kind allows. Raises ApiFailure."""
        resource = target.resource
        body = parse(request, resource)
        check_options("UpdateOptions", target.query)
        value = check_type(resource, body, target.warnings)
        reader = Reader(resource, target.query.get("fieldValidation", ""), target.warnings)
        item = reader.created(value, body.repeated)
        self._check_namespace_of(target, item)
        self._check_name_of(target, item)
        before = self._store.get(resource.table, target.key)
        if before is None:
            if not resource.creates_on_update or target.subresource:
                raise not_found(resource.group, resource.plural, target.name)
            wanted = Attributes("create", resource.group, resource.plural, target.namespace, target.name)
            if not self._authorizer.allows(target.identity, wanted):
                raise forbidden(resource.group, resource.plural, target.name, wanted.refusal(target.identity))
            item["metadata"].pop("resourceVersion", None)
            return 201, self._create(target, item)
        uid = item["metadata"].get("uid", "")
        if uid and uid != before["metadata"]["uid"]:
            key = resource.registry_key(target.namespace, target.name)
            told = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {before['metadata']['uid']}"
            why = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {told}"
            raise conflict(resource.group, resource.plural, target.name, why)
        return 200, self._update(target, item, before)

    def _check_name_of(self, target: Target, item: Item) -> None:
        named = item["metadata"].get("name", "")
        if not named:
            told = f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
            raise bad_request(told)
        if named != target.name:
            raise bad_request(f"the name of the object ({named}) does not match the name on the URL ({target.name})")

    def _update(self, target: Target, item: Item, before: Item) -> Item:
        resource = target.resource
        wanted = item["metadata"].get("resourceVersion", "")
        if wanted in {"", "0"}:
            if not resource.unconditional:
                cause = wrong("metadata.resourceVersion", "0", "must be specified for an update")
                raise invalid(resource.group, resource.plural, target.name, [cause])
        elif wanted != before["metadata"]["resourceVersion"]:
            raise modified(resource.group, resource.plural, target.name)
        after = composed(target, item, before)
        if resource in {ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS} and _differs(after, before):
            self._check_grant(target, after)
        causes = update_faults(target, after, before)
        if causes:
            raise invalid(resource.group, after["kind"], target.name, causes)
        target.warnings += metadata.finalizer_warnings(resource, after["metadata"], before["metadata"])
        return self.settle(target, after, before)

    def settle(self, target: Target, after: Item, before: Item) -> Item:
        """Store the result of an update, or remove the object when nothing holds it any more."""
        resource, key = target.resource, target.key
        after = {**after, "metadata": {**after["metadata"], "resourceVersion": before["metadata"]["resourceVersion"]}}
        if after == before:
            return before
        if target.dry:
            return after
        if leaves_with(before, after):
            self._store.remove(resource.table, key)
            return after
        self._check_size(after)
        stored = self._store.put(resource.table, key, after)
        if resource is CRDS:
            self.defined(stored)
        return stored

    # --- patch -------------------------------------------------------------------------------------------------------

    def patch(self, target: Target, request: ApiRequest) -> tuple[int, Item]:
        """Patch an object. Raises ApiFailure."""
        resource = target.resource
        kind = media_type(request.content_type)
        offered = (JSON_PATCH, MERGE_PATCH) if resource.custom else (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH)
        if kind not in (*offered, APPLY_PATCH) or (kind == APPLY_PATCH):
            raise unsupported_media_type((*offered, APPLY_PATCH))
        check_options("PatchOptions", target.query, applies=kind == APPLY_PATCH)
        before = self._store.get(resource.table, target.key)
        if before is None:
            raise not_found(resource.group, resource.plural, target.name)
        return 200, self._patch(target, request, kind, before)

    def _patch(self, target: Target, request: ApiRequest, kind: str, before: Item) -> Item:
        resource = target.resource
        operations, repeated = self._read_patch(request, kind)
        reader = Reader(resource, target.query.get("fieldValidation", ""), target.warnings)
        base = to_new_event(before) if resource is NEW_EVENTS else before
        if kind == JSON_PATCH:
            item = reader.patched(json_patch(base, operations), before, repeated)
        elif kind == MERGE_PATCH:
            item = reader.patched(merge_patch(base, operations), before, repeated)
        else:
            merged = strategic_merge(resource.struct, base, operations)
            shown = go_map(operations)
            item = reader.patched(merged, before, repeated, shown, restoring=True)
        self._check_namespace_of(target, item)
        self._check_name_of(target, item)
        return self._update(target, item, before)

    def _read_patch(self, request: ApiRequest, kind: str) -> tuple[Any, list[str]]:
        raw = request.body
        repeated: list[str] = []
        if isinstance(raw, bytes):
            try:
                raw, repeated = read_json(raw)
            except JsonFault as fault:
                told = str(fault) if kind == STRATEGIC_PATCH else f"error decoding patch: {fault}"
                raise bad_request(told) from fault
        if kind != JSON_PATCH and not isinstance(raw, dict):
            found = {list: "array", str: "string", bool: "bool", type(None): "null"}.get(type(raw), "number")
            told = f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            raise bad_request(told if kind == STRATEGIC_PATCH else f"error decoding patch: {told}")
        return raw, repeated

    # --- delete ------------------------------------------------------------------------------------------------------

    def delete(self, target: Target, options: DeleteOptions) -> tuple[Item, bool]:
        """Delete an object; return it, and whether it is gone. Raises ApiFailure."""
        resource, store = target.resource, self._store
        before = store.get(resource.table, target.key)
        if before is None:
            raise not_found(resource.group, resource.plural, target.name)
        admission.check_kept(resource, target.name)
        check_preconditions(resource, before, options)
        step = plan(resource, before, options, self._clock.now())
        item = before
        if step.write is not None and step.write != before:
            item = step.write if options.dry else store.put(resource.table, target.key, step.write)
        if not step.goes:
            return item, False
        if not options.dry:
            item = store.remove(resource.table, target.key)
        return item, True


def _differs(after: Item, before: Item) -> bool:
    return any(after.get(name) != before.get(name) for name in ("rules", "subjects", "roleRef"))


def go_map(value: Any) -> str:
    """Write a value the way Go prints maps."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{go_map(value[name])}" for name in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(go_map(item) for item in value) + "]"
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)
