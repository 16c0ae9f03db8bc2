"""Deletes: grace, finalizers and propagation, preconditions, and what the answer shows.

Guaranteed: what is held by finalizers or a grace period stays and is marked; what is not goes at once, under a
revision of its own; a second delete can only shorten a grace period or change the propagation.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from arcfsm.sim.apiserver.engine import Engine
from arcfsm.sim.apiserver.message import Request, Response, Target
from arcfsm.sim.apiserver.options import delete_options
from arcfsm.sim.apiserver.problems import conflict, not_found, success
from arcfsm.sim.apiserver.reading import Reader
from arcfsm.sim.apiserver.resources import Resource
from arcfsm.sim.apiserver.writing import shown

Body = dict[str, Any]
ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
_GC_FINALIZERS: Final = (ORPHAN, FOREGROUND)


class Deleter:
    """Handles deletes."""

    def __init__(self, engine: Engine, reader: Reader) -> None:
        self._engine = engine
        self._reader = reader
        self._store = engine.store

    def delete(self, request: Request, target: Target, resource: Resource) -> Response:
        """Delete one object. Raises Problem."""
        options = delete_options(request)
        self._engine.admission.check_delete(resource, target.name)
        key = (target.namespace if resource.namespaced else "", target.name)
        return Response(200, self.remove(resource, key, options))

    def delete_collection(self, request: Request, target: Target, resource: Resource) -> Response:
        """Delete all objects that selectors match; answers with them as they were. Raises Problem."""
        options = delete_options(request)
        listed = self._reader.list_items(request, target, resource)
        for body in listed.items:
            meta = body["metadata"]
            self.remove(resource, (meta.get("namespace", ""), meta["name"]), options)
        return Response(200, self._reader.list_body(listed, resource))

    def remove(self, resource: Resource, key: tuple[str, str], options: Body) -> Body:
        """Delete an object as options say; returns what the answer shows. Raises Problem."""
        body = self._store.get(resource.table, key)
        if body is None:
            raise not_found(resource.group, resource.plural, key[1])
        self._check_preconditions(body, resource, options.get("preconditions") or {})
        dry_run = bool(options.get("dryRun"))
        if resource.kind == "Namespace" and not resource.group:
            return self._remove_namespace(resource, key, body, dry_run=dry_run)
        if resource.graceful:
            return self._remove_pod(resource, key, body, options, dry_run=dry_run)
        finalizers, changed = _finalizers(body, options)
        meta = {**body["metadata"], "finalizers": finalizers}
        if not finalizers:
            del meta["finalizers"]
        if finalizers:
            _mark(meta, self._engine.now())
            new = {**body, "metadata": meta}
            if new != body and not dry_run:
                new = self._store.put(resource.table, key, new)
            return shown(new, resource)
        if dry_run:
            return self._gone(body, body, resource)
        last = {**body, "metadata": meta} if changed else None
        return self._gone(self._store.remove(resource.table, key, last), body, resource)

    def _gone(self, last: Body, body: Body, resource: Resource) -> Body:
        if resource.returns_deleted:
            return last
        details: Body = {"name": body["metadata"]["name"]}
        if resource.group:
            details["group"] = resource.group
        details["kind"] = resource.plural
        details["uid"] = body["metadata"]["uid"]
        return success(details=details)

    def _check_preconditions(self, body: Body, resource: Resource, wanted: Body) -> None:
        meta = body["metadata"]
        uid, version = wanted.get("uid"), wanted.get("resourceVersion")
        if uid is not None and uid != meta["uid"]:
            text = (
                f"the UID in the precondition ({uid}) does not match the UID in record ({meta['uid']}). "
                "The object might have been deleted and then recreated"
            )
            raise conflict(resource.group, resource.kind, meta["name"], text)
        if version is not None and version != meta["resourceVersion"]:
            text = (
                f"the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record "
                f"({meta['resourceVersion']}). The object might have been modified"
            )
            raise conflict(resource.group, resource.kind, meta["name"], text)

    def _remove_namespace(self, resource: Resource, key: tuple[str, str], body: Body, *, dry_run: bool) -> Body:
        meta = body["metadata"]
        if not meta.get("deletionTimestamp"):
            new = {
                **body,
                "metadata": {**meta, "deletionTimestamp": self._engine.now()},
                "status": {**body.get("status", {}), "phase": "Terminating"},
            }
            return new if dry_run else self._store.put(resource.table, key, new)
        if (body.get("spec") or {}).get("finalizers") or meta.get("finalizers"):
            return body
        return self._gone(body if dry_run else self._store.remove(resource.table, key), body, resource)

    def _remove_pod(
        self, resource: Resource, key: tuple[str, str], body: Body, options: Body, *, dry_run: bool
    ) -> Body:
        meta = dict(body["metadata"])
        asked = options.get("gracePeriodSeconds")
        if meta.get("deletionTimestamp"):
            have = meta.get("deletionGracePeriodSeconds")
            if asked is None or have is None or asked >= have:
                return body
            grace = max(asked, 0) if asked >= 0 else 1
            marked = datetime.strptime(meta["deletionTimestamp"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
            meta["deletionTimestamp"] = (marked + timedelta(seconds=grace - have)).strftime("%Y-%m-%dT%H:%M:%SZ")
        else:
            grace = _pod_grace(body, asked)
            meta["deletionTimestamp"] = self._engine.now(grace)
            if meta.get("generation"):
                meta["generation"] += 1
        meta["deletionGracePeriodSeconds"] = grace
        finalizers, _ = _finalizers(body, options)
        meta.pop("finalizers", None)
        if finalizers:
            meta["finalizers"] = finalizers
        new = {**body, "metadata": meta}
        if dry_run:
            return new
        new = self._store.put(resource.table, key, new)
        if finalizers or grace > 0:
            return new
        return self._store.remove(resource.table, key)


def _pod_grace(body: Body, asked: int | None) -> int:
    grace = asked if asked is not None else body["spec"].get("terminationGracePeriodSeconds", 0)
    if not body["spec"].get("nodeName") or body.get("status", {}).get("phase") in {"Failed", "Succeeded"}:
        return 0
    return 1 if grace < 0 else int(grace)


def _mark(meta: Body, now: str) -> None:
    if not meta.get("deletionTimestamp"):
        meta["deletionTimestamp"] = now
        if meta.get("generation"):
            meta["generation"] += 1
    meta["deletionGracePeriodSeconds"] = 0


def _finalizers(body: Body, options: Body) -> tuple[list[str], bool]:
    """Return the finalizers after the propagation policy had its say, and whether they changed."""
    have = list(body["metadata"].get("finalizers") or [])
    policy, orphan_flag = options.get("propagationPolicy"), options.get("orphanDependents")
    if orphan_flag is not None:
        orphan, foreground = bool(orphan_flag), False
    elif policy is not None:
        orphan, foreground = policy == "Orphan", policy == "Foreground"
    else:
        first = next((each for each in have if each in _GC_FINALIZERS), "")
        orphan, foreground = first == ORPHAN, first == FOREGROUND
    new = [each for each in have if each not in _GC_FINALIZERS]
    if orphan:
        new.append(ORPHAN)
    if foreground:
        new.append(FOREGROUND)
    if sorted(new) == sorted(have):
        return have, False
    return new, True
