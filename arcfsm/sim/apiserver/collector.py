"""The garbage collector and the namespace controller: what goes when its owner or its namespace goes.

Guaranteed: owners count by uid; a dependent goes only when no owner is left; foreground deletion waits for the
dependents that block, orphaning lets them go free. It runs when it is told to, until nothing is left to do.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from arcfsm.sim.apiserver.deleting import FOREGROUND, ORPHAN, Deleter
from arcfsm.sim.apiserver.engine import Engine
from arcfsm.sim.apiserver.problems import Problem
from arcfsm.sim.apiserver.resources import Resource
from arcfsm.sim.apiserver.store import Change

Body = dict[str, Any]
Place = tuple[str, tuple[str, str]]


class Collector:
    """Follows owners and dependents of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._store = engine.store
        self._deleter: Deleter | None = None
        self._dependents: dict[str, dict[Place, None]] = {}
        self._uids: dict[str, Place] = {}
        self._work: deque[Place] = deque()
        self._namespaces: dict[str, None] = {}
        self._store.listen(None, self._see)

    def attach(self, deleter: Deleter) -> None:
        """Say how to delete."""
        self._deleter = deleter

    def reload(self) -> None:
        """Read everything anew, after the store was restored."""
        self._dependents, self._uids, self._namespaces = {}, {}, {}
        self._work.clear()
        for table, rows in self._store.tables.items():
            for key, body in rows.items():
                self._see(Change(0, table, key, None, body, None))

    def _see(self, change: Change) -> None:
        place = (change.table, change.key)
        if change.old is not None:
            for owner in change.old["metadata"].get("ownerReferences") or ():
                self._dependents.get(owner["uid"], {}).pop(place, None)
            if change.new is None:
                uid = change.old["metadata"]["uid"]
                self._uids.pop(uid, None)
                self._work.extend(self._dependents.get(uid, ()))
                for owner in change.old["metadata"].get("ownerReferences") or ():
                    if owner["uid"] in self._uids:
                        self._work.append(self._uids[owner["uid"]])
                if change.old["metadata"].get("namespace") in self._namespaces:
                    pass
        if change.new is not None:
            meta = change.new["metadata"]
            self._uids[meta["uid"]] = place
            for owner in meta.get("ownerReferences") or ():
                self._dependents.setdefault(owner["uid"], {})[place] = None
            if meta.get("ownerReferences") or meta.get("deletionTimestamp"):
                self._work.append(place)
            if change.table == "namespaces." and meta.get("deletionTimestamp"):
                self._namespaces[meta["name"]] = None
            if meta.get("deletionTimestamp"):
                for owner in meta.get("ownerReferences") or ():
                    if owner["uid"] in self._uids:
                        self._work.append(self._uids[owner["uid"]])

    def run(self) -> None:
        """Work until nothing is left to do."""
        for _ in range(100_000):
            if self._work:
                self._attend(self._work.popleft())
            elif not self._finish_namespaces():
                return

    def _attend(self, place: Place) -> None:
        table, key = place
        body = self._store.get(table, key)
        if body is None:
            return
        meta = body["metadata"]
        if meta.get("deletionTimestamp"):
            finalizers = meta.get("finalizers") or ()
            if ORPHAN in finalizers:
                self._orphan(place, body)
            elif FOREGROUND in finalizers:
                self._foreground(place, body)
            return
        if meta.get("ownerReferences"):
            self._judge(place, body)

    def _owner(self, reference: Body, namespace: str) -> Body | None:
        """Return the living owner a reference means."""
        resource = self._engine.registry.of_kind(reference["apiVersion"], reference["kind"])
        if resource is None:
            return None
        found = self._store.get(resource.table, (namespace if resource.namespaced else "", reference["name"]))
        return found if found is not None and found["metadata"]["uid"] == reference["uid"] else None

    def _known(self, reference: Body) -> bool:
        return self._engine.registry.of_kind(reference["apiVersion"], reference["kind"]) is not None

    def _judge(self, place: Place, body: Body) -> None:
        meta = body["metadata"]
        solid, waiting, dangling = [], [], []
        for reference in meta["ownerReferences"]:
            if not self._known(reference):
                return  # its kind cannot be looked up: nothing is decided
            owner = self._owner(reference, meta.get("namespace", ""))
            if owner is None:
                dangling.append(reference)
            elif owner["metadata"].get("deletionTimestamp") and FOREGROUND in (
                owner["metadata"].get("finalizers") or ()
            ):
                waiting.append(reference)
            else:
                solid.append(reference)
        if not dangling and not waiting:
            return
        if solid:
            self._write(place, body, owners=solid)
            return
        finalizers = meta.get("finalizers") or ()
        policy = "Background"
        if waiting and self._dependents.get(meta["uid"]):
            policy = "Foreground"
        elif ORPHAN in finalizers:
            policy = "Orphan"
        elif FOREGROUND in finalizers:
            policy = "Foreground"
        self._delete(place, {"propagationPolicy": policy, "preconditions": {"uid": meta["uid"]}})

    def _orphan(self, place: Place, body: Body) -> None:
        uid = body["metadata"]["uid"]
        for dependent in list(self._dependents.get(uid, ())):
            found = self._store.get(*dependent)
            if found is not None:
                kept = [each for each in found["metadata"].get("ownerReferences") or () if each["uid"] != uid]
                self._write(dependent, found, owners=kept)
        self._drop_finalizer(place, body, ORPHAN)

    def _foreground(self, place: Place, body: Body) -> None:
        uid = body["metadata"]["uid"]
        dependents = [(each, self._store.get(*each)) for each in list(self._dependents.get(uid, ()))]
        blocking = [
            found
            for _, found in dependents
            if found is not None
            and any(
                ref["uid"] == uid and ref.get("blockOwnerDeletion")
                for ref in found["metadata"].get("ownerReferences") or ()
            )
        ]
        if not blocking:
            self._drop_finalizer(place, body, FOREGROUND)
            return
        for dependent, found in dependents:
            if found is not None and not found["metadata"].get("deletionTimestamp"):
                self._work.append(dependent)

    def _drop_finalizer(self, place: Place, body: Body, name: str) -> None:
        table, key = place
        meta = dict(body["metadata"])
        kept = [each for each in meta.get("finalizers") or () if each != name]
        meta.pop("finalizers", None)
        if kept:
            meta["finalizers"] = kept
            self._store.put(table, key, {**body, "metadata": meta})
        else:
            self._store.remove(table, key)

    def _write(self, place: Place, body: Body, *, owners: list[Body]) -> None:
        meta = {**body["metadata"], "ownerReferences": owners}
        if not owners:
            del meta["ownerReferences"]
        self._store.put(*place, {**body, "metadata": meta})

    def _resource(self, table: str) -> Resource | None:
        for resource in self._engine.registry.all():
            if resource.table == table and resource.struct != "NewEvent":
                return resource
        return None

    def _delete(self, place: Place, options: Body) -> None:
        resource = self._resource(place[0])
        if resource is None or self._deleter is None:
            return
        try:
            self._deleter.remove(resource, place[1], options)
        except Problem:
            return

    def _finish_namespaces(self) -> bool:
        """Empty the namespaces that end, and let go of those that are empty; says whether anything was done."""
        done = False
        for name in list(self._namespaces):
            body = self._store.get("namespaces.", ("", name))
            if body is None:
                del self._namespaces[name]
                continue
            left = [
                (table, key) for table, rows in self._store.tables.items() for key in rows if key[0] == name
            ]  # fmt: skip
            for place in left:
                found = self._store.get(*place)
                if found is not None and not found["metadata"].get("deletionTimestamp"):
                    self._delete(place, {"propagationPolicy": "Background"})
                    done = True
            if not left:
                del self._namespaces[name]
                if body["metadata"].get("finalizers"):
                    continue
                self._store.remove("namespaces.", ("", name))
                done = True
        return done
