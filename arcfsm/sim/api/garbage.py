"""The garbage collector and the namespace controller: what a real cluster does after a delete.

An object whose owners are all gone is deleted; a reference to an owner that is gone is dropped when another lives.
Owners count by uid, and only in the same namespace. Owners deleted in the foreground wait for the dependents that
block them; orphaning takes the references away first. A terminating namespace loses its contents, then itself.

Work is found by following changes, so a pass costs what changed and not what is there. A pass runs to the end and
always in the same order.
"""

from __future__ import annotations

from typing import Any

from arcfsm.sim.api.deletion import FOREGROUND, ORPHAN, DeleteOptions
from arcfsm.sim.api.failure import ApiFailure
from arcfsm.sim.api.kinds import NAMESPACES, NEW_EVENTS, Catalogue, ResourceType
from arcfsm.sim.api.rbac import ADMIN_USER, Identity
from arcfsm.sim.api.store import Change, Store
from arcfsm.sim.api.target import Target
from arcfsm.sim.api.writing import Writer

Item = dict[str, Any]
Place = tuple[str, str]
"""A table and a key in it."""

_PASSES_MAX = 10_000


class GarbageCollector:
    """Follows the store and cleans up when it is told to."""

    def __init__(self, store: Store, writer: Writer, catalogue: Catalogue) -> None:
        self._store = store
        self._writer = writer
        self._catalogue = catalogue
        self._identity = Identity.named(ADMIN_USER)
        self._places: dict[str, Place] = {}
        self._dependents: dict[str, dict[str, None]] = {}
        self._due: dict[str, None] = {}
        self._namespaces: dict[str, None] = {}
        store.observe(self._changed)
        store.on_restore(self._start_over)

    # --- following ---------------------------------------------------------------------------------------------------

    def _changed(self, table: str, change: Change) -> None:
        before, after = change.before, change.after
        if after is None:
            if before is not None:
                self._removed(table, before)
            return
        metadata = after["metadata"]
        uid = metadata["uid"]
        self._places[uid] = (table, change.key)
        owners = metadata.get("ownerReferences")
        if before is not None and before["metadata"].get("ownerReferences") != owners:
            self._unlink(before)
        if owners:
            for owner in owners:
                self._dependents.setdefault(owner["uid"], {})[uid] = None
            self._due[uid] = None
        if metadata.get("deletionTimestamp"):
            self._due[uid] = None
            if table == NAMESPACES.table:
                self._namespaces[metadata["name"]] = None

    def _removed(self, table: str, item: Item) -> None:
        metadata = item["metadata"]
        uid = metadata["uid"]
        self._places.pop(uid, None)
        self._due.pop(uid, None)
        self._unlink(item)
        for dependent in self._dependents.get(uid, ()):
            self._due[dependent] = None
        for owner in metadata.get("ownerReferences") or ():
            self._due[owner["uid"]] = None
        if table != NAMESPACES.table and metadata.get("namespace"):
            namespace = self._store.get(NAMESPACES.table, metadata["namespace"])
            if namespace is not None and namespace["metadata"].get("deletionTimestamp"):
                self._namespaces[metadata["namespace"]] = None

    def _unlink(self, item: Item) -> None:
        uid = item["metadata"]["uid"]
        for owner in item["metadata"].get("ownerReferences") or ():
            dependents = self._dependents.get(owner["uid"])
            if dependents is not None:
                dependents.pop(uid, None)
                if not dependents:
                    del self._dependents[owner["uid"]]

    def _start_over(self) -> None:
        self._places.clear()
        self._dependents.clear()
        self._due.clear()
        self._namespaces.clear()
        for table in dict.fromkeys(resource.table for resource in self._catalogue.everything()):
            for key, item in self._store.items(table):
                self._changed(table, Change(0, key, None, item))

    # --- cleaning ----------------------------------------------------------------------------------------------------

    def collect(self) -> int:
        """Do all there is to do; return how many objects were looked at."""
        looked = 0
        while self._due or self._namespaces:
            if looked > _PASSES_MAX:
                raise RuntimeError("the garbage collector does not come to an end")
            looked += 1
            if self._due:
                uid = next(iter(self._due))
                del self._due[uid]
                self._attend(uid)
            else:
                name = next(iter(self._namespaces))
                del self._namespaces[name]
                self._empty(name)
        return looked

    def _attend(self, uid: str) -> None:
        place = self._places.get(uid)
        item = self._store.get(*place) if place is not None else None
        if place is None or item is None or item["metadata"]["uid"] != uid:
            return
        metadata = item["metadata"]
        if metadata.get("deletionTimestamp"):
            finalizers = metadata.get("finalizers") or []
            if ORPHAN in finalizers:
                self._orphan(place, item)
                return
            if FOREGROUND in finalizers:
                self._wait(place, item)
            return
        owners = metadata.get("ownerReferences")
        if owners:
            self._judge(place, item, owners)

    def _judge(self, place: Place, item: Item, owners: list[Item]) -> None:
        living = [owner for owner in owners if self._owner(owner, item) is not None]
        leaving = [owner for owner in living if self._leaves_in_foreground(owner, item)]
        if len(living) > len(leaving):
            if len(living) < len(owners) or leaving:
                kept = [owner for owner in living if owner not in leaving]
                self._rewrite(place, item, owners=kept)
            return
        if leaving and self._dependents.get(item["metadata"]["uid"]):
            self._delete(place, item, "Foreground")
            return
        self._delete(place, item, "Background")

    def _owner(self, reference: Item, item: Item) -> Item | None:
        place = self._places.get(reference["uid"])
        owner = self._store.get(*place) if place is not None else None
        if owner is None or owner["metadata"]["uid"] != reference["uid"]:
            return None
        namespace = owner["metadata"].get("namespace", "")
        if namespace and namespace != item["metadata"].get("namespace", ""):
            return None
        fits = owner["kind"] == reference.get("kind") and owner["metadata"]["name"] == reference.get("name")
        return owner if fits else None

    def _leaves_in_foreground(self, reference: Item, item: Item) -> bool:
        owner = self._owner(reference, item)
        if owner is None or not owner["metadata"].get("deletionTimestamp"):
            return False
        return FOREGROUND in (owner["metadata"].get("finalizers") or [])

    def _wait(self, place: Place, item: Item) -> None:
        """Let an owner that is deleted in the foreground go once nothing blocks it any more."""
        uid = item["metadata"]["uid"]
        blocked = False
        for dependent in list(self._dependents.get(uid, ())):
            found = self._places.get(dependent)
            child = self._store.get(*found) if found is not None else None
            if child is None:
                continue
            if not child["metadata"].get("deletionTimestamp"):
                self._attend(dependent)
                child = self._store.get(*found) if found is not None else None
            if child is not None:
                blocked = blocked or any(
                    owner["uid"] == uid and owner.get("blockOwnerDeletion")
                    for owner in child["metadata"].get("ownerReferences") or ()
                )
        if not blocked:
            self._drop_finalizer(place, FOREGROUND)

    def _orphan(self, place: Place, item: Item) -> None:
        uid = item["metadata"]["uid"]
        for dependent in list(self._dependents.get(uid, ())):
            found = self._places.get(dependent)
            child = self._store.get(*found) if found is not None else None
            if found is not None and child is not None:
                owners = [owner for owner in child["metadata"]["ownerReferences"] if owner["uid"] != uid]
                self._rewrite(found, child, owners=owners)
        self._drop_finalizer(place, ORPHAN)

    def _drop_finalizer(self, place: Place, finalizer: str) -> None:
        item = self._store.get(*place)
        if item is not None:
            kept = [each for each in item["metadata"].get("finalizers") or () if each != finalizer]
            self._rewrite(place, item, finalizers=kept)

    def _rewrite(
        self, place: Place, item: Item, *, owners: list[Item] | None = None, finalizers: list[str] | None = None
    ) -> None:
        metadata = dict(item["metadata"])
        for name, value in (("ownerReferences", owners), ("finalizers", finalizers)):
            if value is not None:
                metadata.pop(name, None)
                if value:
                    metadata[name] = value
        self._writer.settle(self._target(place, item), {**item, "metadata": metadata}, item)

    def _delete(self, place: Place, item: Item, policy: str) -> None:
        finalizers = item["metadata"].get("finalizers") or []
        if ORPHAN in finalizers:
            policy = "Orphan"
        elif FOREGROUND in finalizers:
            policy = "Foreground"
        options = DeleteOptions(uid=item["metadata"]["uid"], propagation=policy)
        self._attempt(place, item, options)

    def _attempt(self, place: Place, item: Item, options: DeleteOptions) -> None:
        try:
            self._writer.delete(self._target(place, item), options)
        except ApiFailure:
            # Only a protected namespace refuses; like the real collector, leave it and go on.
            return

    def _target(self, place: Place, item: Item) -> Target:
        metadata = item["metadata"]
        resource = self._resource(place[0])
        return Target(resource, metadata.get("namespace", ""), metadata["name"], "", self._identity, {})

    def _resource(self, table: str) -> ResourceType:
        for resource in self._catalogue.everything():
            if resource.table == table and resource is not NEW_EVENTS:
                return resource
        raise KeyError(table)

    # --- namespaces --------------------------------------------------------------------------------------------------

    def _empty(self, name: str) -> None:
        namespace = self._store.get(NAMESPACES.table, name)
        if namespace is None or not namespace["metadata"].get("deletionTimestamp"):
            return
        left = False
        for resource in self._catalogue.everything():
            if not resource.namespaced or resource is NEW_EVENTS:
                continue
            for key, item in self._store.items(resource.table, name):
                if not item["metadata"].get("deletionTimestamp"):
                    options = DeleteOptions(uid=item["metadata"]["uid"], propagation="Background")
                    self._attempt((resource.table, key), item, options)
                left = left or self._store.get(resource.table, key) is not None
        if not left:
            spec = {key: value for key, value in namespace["spec"].items() if key != "finalizers"}
            place = (NAMESPACES.table, name)
            self._writer.settle(self._target(place, namespace), {**namespace, "spec": spec}, namespace)
