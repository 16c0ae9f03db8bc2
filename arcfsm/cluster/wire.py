"""Objects as the API writes them, read with care: whatever shape they have, nothing but RefusedError leaves here.

Older controllers and other tools wrote numbers as strings, left out fields and wrote null for "none"; all of that is
read as what it means. What an object can't do without is its kind, uid and name.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from arcfsm.cluster.redaction import redact_name, redact_text
from arcfsm.domain.instant import SECOND, Instant, parse_instant
from arcfsm.domain.jsonvalue import Json, JsonObject, list_at, object_at, objects_at, text_at
from arcfsm.domain.kinds import AGGREGATE_OF, RESOURCES, Kind
from arcfsm.domain.observation import RefusedError

PARTIAL: Final = "PartialObjectMetadata"
"""What a metadata-only watch returns. Secrets are watched this way and nothing else is (architecture.md §4.9)."""

_KINDS: Final = {(resource.group, kind.value): kind for kind, resource in RESOURCES.items()}


class Owner(NamedTuple):
    """The controller reference of an object, where it points to one of our kinds."""

    kind: Kind
    name: str
    uid: str


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What every object carries."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    version: str
    generation: int
    created_at: Instant | None
    deletion_requested_at: Instant | None
    finalizers: tuple[str, ...]
    owner: Owner | None
    labels: JsonObject
    annotations: JsonObject

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def text(value: JsonObject, key: str) -> str:
    """Return the string under one key, or "" where there is none. For places that every word passes."""
    leaf = value.get(key)
    return leaf if isinstance(leaf, str) else ""


def clean(value: JsonObject, key: str) -> str:
    """Return the string under one key without credentials, or "" where there is none."""
    leaf = value.get(key)
    return redact_text(leaf) if leaf and isinstance(leaf, str) else ""


def kind_of(obj: JsonObject) -> Kind | None:
    """Return the kind of an object, None for kinds that arcfsm does not know."""
    kind = text(obj, "kind")
    return Kind.SECRET if kind == PARTIAL else _kind(text(obj, "apiVersion"), kind)


@lru_cache(maxsize=256)
def _kind(api_version: str, kind: str) -> Kind | None:
    return _KINDS.get((api_version.rpartition("/")[0], kind))


def name_of_kind(obj: JsonObject) -> str:
    """Return how an unknown kind is called in counts: group and kind, shortened."""
    kind, group = text_at(obj, "kind") or "without a kind", text_at(obj, "apiVersion").rpartition("/")[0]
    return redact_name(f"{kind[:63]}.{group[:63]}" if group else kind[:63])


def read_head(obj: JsonObject, kind: Kind) -> Head:
    """Return the head of an object. Raises RefusedError where it has no uid or name, or a time that is none."""
    metadata = object_at(obj, "metadata")
    uid, name = redact_name(text(metadata, "uid")), redact_name(text(metadata, "name"))
    version = text(metadata, "resourceVersion")
    if not uid or not name:
        raise RefusedError(f"the {kind} has no {'uid' if name else 'name'}")
    return Head(
        kind=kind,
        namespace=redact_name(text(metadata, "namespace")),
        name=name,
        uid=uid,
        version=version if version.isdecimal() else redact_name(version),
        generation=whole(metadata, "generation"),
        created_at=moment(metadata, "creationTimestamp"),
        deletion_requested_at=_requested(metadata),
        finalizers=_finalizers(metadata),
        owner=_owner(metadata),
        labels=object_at(metadata, "labels"),
        annotations=object_at(metadata, "annotations"),
    )


def whole(value: JsonObject, *path: str) -> int:
    """Return the integer under `path`; strings of digits count as what they say, everything else is 0."""
    leaf = (value if len(path) == 1 else object_at(value, *path[:-1])).get(path[-1])
    if isinstance(leaf, bool) or leaf is None:
        return 0
    if isinstance(leaf, int):
        return leaf
    if isinstance(leaf, str):
        return _digits(leaf)
    return int(leaf) if isinstance(leaf, float) and leaf.is_integer() else 0


def flag(value: JsonObject, *path: str) -> bool:
    """Return the boolean under `path`; the strings `true` and `True` count, everything else is False."""
    leaf = object_at(value, *path[:-1]).get(path[-1])
    return leaf is True or (isinstance(leaf, str) and leaf.lower() == "true")


def positive(text: str) -> int:
    """Return the positive integer that an annotation holds, else 0 (A8, M7)."""
    return max(0, _digits(text))


def moment(value: JsonObject, *path: str) -> Instant | None:
    """Return the time under `path`, None where there is none. Raises RefusedError where it is not a time."""
    text = text_at(value, *path)
    if not text:
        return None
    try:
        return _instant(text)
    except (ValueError, OverflowError) as error:
        raise RefusedError(f"{'.'.join(path)} is not a time") from error


def moment_or_none(value: Json) -> Instant | None:
    """Return a time, None for whatever is not one: for places where older versions wrote something else."""
    if not isinstance(value, str) or not value:
        return None
    try:
        return _instant(value)
    except (ValueError, OverflowError):
        return None


def newest_moment(obj: JsonObject) -> Instant | None:
    """Return the newest time that an object mentions: the last thing that is known to have happened to it.

    A deletion's timestamp is the time of the request plus the grace period, so the request counts. Times of users
    (annotations, specs) say nothing about when the object was written and do not count.
    """
    metadata, status = object_at(obj, "metadata"), object_at(obj, "status")
    deleted = moment_or_none(metadata.get("deletionTimestamp"))
    if deleted is not None:
        deleted -= whole(metadata, "deletionGracePeriodSeconds") * SECOND
    found = [moment_or_none(metadata.get("creationTimestamp")), deleted]
    found += [moment_or_none(entry.get("time")) for entry in objects_at(metadata, "managedFields")]
    found += [moment_or_none(condition.get("lastTransitionTime")) for condition in objects_at(status, "conditions")]
    for container in (*objects_at(status, "containerStatuses"), *objects_at(status, "initContainerStatuses")):
        state = object_at(container, "state")
        found += [
            moment_or_none(object_at(state, "running").get("startedAt")),
            moment_or_none(object_at(state, "terminated").get("finishedAt")),
        ]
    found += [moment_or_none(at) for at in object_at(status, "failures").values()]
    return max((at for at in found if at is not None), default=None)


def _requested(metadata: JsonObject) -> Instant | None:
    at = moment(metadata, "deletionTimestamp") if "deletionTimestamp" in metadata else None
    return None if at is None else at - whole(metadata, "deletionGracePeriodSeconds") * SECOND


def _finalizers(metadata: JsonObject) -> tuple[str, ...]:
    if "finalizers" not in metadata:
        return ()
    return tuple(redact_text(item) for item in list_at(metadata, "finalizers") if isinstance(item, str))


def _owner(metadata: JsonObject) -> Owner | None:
    if "ownerReferences" not in metadata:
        return None
    for reference in objects_at(metadata, "ownerReferences"):
        if reference.get("controller") is not True:
            continue
        api_version, uid = text(reference, "apiVersion"), redact_name(text(reference, "uid"))
        kind = _kind(api_version, text(reference, "kind"))
        if kind in AGGREGATE_OF and uid:
            return Owner(kind, redact_name(text(reference, "name")), uid)
    return None


def _digits(text: str) -> int:
    sign, digits = (-1, text[1:]) if text[:1] == "-" else (1, text)
    return sign * int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 19 else 0


@lru_cache(maxsize=4096)
def _instant(text: str) -> Instant:
    return parse_instant(text)
