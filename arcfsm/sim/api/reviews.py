"""Questions about rights and tokens: access reviews and token reviews. They are answered and never stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arcfsm.sim.api.failure import bad_request
from arcfsm.sim.api.rbac import Attributes, Authorizer, Identity
from arcfsm.sim.api.shapes import STRUCTS, DecodeFault, Trace, read_object

Item = dict[str, Any]
FindToken = Callable[[str], Identity | None]


def answer(
    kind: str, api_version: str, body: Item, identity: Identity, authorizer: Authorizer, find: FindToken
) -> Item:
    """Answer a review. Raises ApiFailure."""
    made: Item = {"kind": kind, "apiVersion": api_version}
    if kind == "SelfSubjectReview":
        return {**made, "metadata": {}, "status": {"userInfo": _user(identity)}}
    struct = STRUCTS["TokenReview" if kind == "TokenReview" else "SubjectAccessReview"]
    try:
        read = read_object(struct, body, Trace())
    except DecodeFault as fault:
        raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {fault}') from fault
    spec = read["spec"]
    if kind == "TokenReview":
        known = find(spec.get("token", ""))
        status: Item = {"user": {}, "error": "invalid bearer token"}
        if known is not None:
            status = {"authenticated": True, "user": _user(known)}
        return {**made, "metadata": read["metadata"], "spec": spec, "status": status}
    who = identity
    if kind == "SubjectAccessReview":
        who = Identity(spec.get("user", ""), tuple(spec.get("groups") or ()))
    allowed = authorizer.allows(who, _wanted(spec))
    return {**made, "metadata": read["metadata"], "spec": spec, "status": {"allowed": allowed}}


def _user(identity: Identity) -> Item:
    return {"username": identity.user, "groups": list(identity.groups)}


def _wanted(spec: Item) -> Attributes:
    elsewhere = spec.get("nonResourceAttributes")
    if elsewhere is not None:
        return Attributes(elsewhere.get("verb", ""), path=elsewhere.get("path", ""))
    asked = spec.get("resourceAttributes") or {}
    resource = asked.get("resource", "")
    if asked.get("subresource"):
        resource = f"{resource}/{asked['subresource']}"
    return Attributes(
        asked.get("verb", ""), asked.get("group", ""), resource, asked.get("namespace", ""), asked.get("name", "")
    )
