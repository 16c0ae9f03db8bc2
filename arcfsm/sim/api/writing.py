"""Writes: create, update, patch and delete, for every kind, with all the rules between a body and the store.

The order of the steps is the real server's, because it decides which refusal a request gets that is wrong in several
ways. A write that changes nothing is not a write: no new version, no event.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from arcfsm.sim.api import admission, core_rules, metadata, quota
from arcfsm.sim.api.bodies import Reader, check_options, check_type, media_type, parse
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
from arcfsm.sim.api.new_events import check_new_event
from arcfsm.sim.api.patching import json_patch, merge_patch
from arcfsm.sim.api.pod_rules import check_pod_status, check_pod_update, pod_warnings
from arcfsm.sim.api.rbac import Attributes, Authorizer, Identity, describe
from arcfsm.sim.api.request import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, ApiRequest
from arcfsm.sim.api.store import Store, object_key
from arcfsm.sim.api.strategic import strategic_merge
from arcfsm.sim.api.structural import check
from arcfsm.sim.api.wire_json import JsonFault, read_json
from arcfsm.sim.clock import Clock, timestamp

Item = dict[str, Any]

STORED_MAX: Final = 1536 * 1024
_SIZE_HINT: Final = 4096
"""Bodies whose text is shorter cannot be too large to store."""


@dataclass
class Target:
    """What a request writes to, and for whom."""

    resource: ResourceType
    namespace: str
    name: str
    subresource: str
    identity: Identity
    query: Mapping[str, str]
    warnings: list[str] = field(default_factory=list)

    @property
    def dry(self) -> bool:
        """Whether nothing is to be stored."""
        return "dryRun" in self.query

    @property
    def key(self) -> str:
        """The key of the object."""
        return object_key(self.namespace, self.name)


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
            return causes + self._schema_faults(resource, item)
        return causes + core_rules.check(item)

    def _schema_faults(self, resource: ResourceType, item: Item, before: Item | None = None) -> list[Cause]:
        causes: list[Cause] = []
        if item["kind"] != resource.kind:
            causes.append(wrong("kind", metadata.quoted(item["kind"]), f"must be {resource.kind}"))
            return causes
        schema = resource.schema
        if schema is None:
            return causes
        properties = schema.get("properties") or {}
        has_status = "status" in resource.subresources
        rest = {
            name: value
            for name, value in item.items()
            if name not in {"apiVersion", "kind", "metadata"}
            and not (has_status and name == "status")
            and (before is None or value is not before.get(name))
        }
        needed = [name for name in schema.get("required") or () if name not in {"apiVersion", "kind", "metadata"}]
        root = {**schema, "required": [name for name in needed if name not in item], "properties": properties}
        check(rest, root, "", "", causes)
        return causes

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
        after = self._composed(target, item, before)
        if resource in {ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS} and _differs(after, before):
            self._check_grant(target, after)
        causes = self._update_faults(target, after, before)
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

    def _composed(self, target: Target, item: Item, before: Item) -> Item:
        """Return what an update makes of an object: only what this path may change."""
        resource = target.resource
        kept = before["metadata"]
        if target.subresource == "status":
            return self._with_status(resource, item, before)
        if target.subresource == "finalize":
            finalizers = (item.get("spec") or {}).get("finalizers") or []
            spec = {name: value for name, value in before["spec"].items() if name != "finalizers"}
            return {**before, "spec": {**spec, "finalizers": finalizers} if finalizers else spec}
        made, warning = metadata.fold_owners(item["metadata"])
        if warning:
            target.warnings.append(warning)
        carried = metadata.carried_over(made, kept)
        after = {**item, "metadata": carried}
        if resource is CRDS:
            names = (before.get("status") or {}).get("acceptedNames") or {}
            after["spec"] = {**after.get("spec", {}), "names": {**names, **after.get("spec", {}).get("names", {})}}
        if "status" in resource.subresources:
            after.pop("status", None)
            if "status" in before:
                after["status"] = before["status"]
        if resource.counts_generations and self._changes_spec(resource, after, before):
            carried["generation"] = kept.get("generation", 0) + 1
        return after

    def _with_status(self, resource: ResourceType, item: Item, before: Item) -> Item:
        after = {name: value for name, value in before.items() if name != "status"}
        if "status" in item:
            after["status"] = item["status"]
        if resource.custom:
            kind = item["kind"]
            return after if kind == resource.kind else {**after, "kind": kind}
        carried = metadata.carried_over(item["metadata"], before["metadata"])
        if resource is PODS:
            carried.pop("ownerReferences", None)
            if "ownerReferences" in before["metadata"]:
                carried["ownerReferences"] = before["metadata"]["ownerReferences"]
            if not after["status"].get("qosClass") and (before.get("status") or {}).get("qosClass"):
                after["status"] = {**after["status"], "qosClass": before["status"]["qosClass"]}
        return {**after, "metadata": carried}

    def _changes_spec(self, resource: ResourceType, after: Item, before: Item) -> bool:
        if resource is PODS or resource is CRDS:
            return bool(after["spec"] != before["spec"])
        ignored = {"metadata", "status"} if "status" in resource.subresources else {"metadata"}
        names = (after.keys() | before.keys()) - ignored
        return any(after.get(name) != before.get(name) or (name in after) != (name in before) for name in names)

    def _update_faults(self, target: Target, after: Item, before: Item) -> list[Cause]:
        resource = target.resource
        causes: list[Cause] = []
        if after["metadata"] != before["metadata"]:
            causes += metadata.check_update(resource, after["metadata"], before["metadata"])
        if resource.custom:
            if target.subresource == "status":
                return causes + self._status_faults(resource, after)
            return causes + self._schema_faults(resource, after, before)
        if resource is PODS:
            if target.subresource == "status":
                return causes + check_pod_status(after, before)
            if after["spec"] is before["spec"]:
                return causes
            return causes + check_pod_update(after, before) if after["spec"] != before["spec"] else causes
        if resource is NEW_EVENTS or target.subresource:
            return causes
        return causes + core_rules.check_change(after, before) + core_rules.check(after)

    def _status_faults(self, resource: ResourceType, after: Item) -> list[Cause]:
        causes: list[Cause] = []
        if after["kind"] != resource.kind:
            return [wrong("kind", metadata.quoted(after["kind"]), f"must be {resource.kind}")]
        schema = ((resource.schema or {}).get("properties") or {}).get("status")
        if schema is not None and "status" in after:
            check(after["status"], schema, "status", "", causes)
        return causes

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
        if kind == JSON_PATCH:
            item = reader.patched(json_patch(before, operations), before, repeated)
        elif kind == MERGE_PATCH:
            item = reader.patched(merge_patch(before, operations), before, repeated)
        else:
            merged = strategic_merge(resource.struct, before, operations)
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
