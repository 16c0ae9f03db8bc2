"""Reads: objects and collections, now or as they were, in pages and through selectors.

Guaranteed: pages of one list show one moment; a token whose moment is forgotten says so and offers to go on.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any, Final

from arcfsm.sim.apiserver.engine import Engine
from arcfsm.sim.apiserver.message import Request, Response, Target
from arcfsm.sim.apiserver.options import list_options
from arcfsm.sim.apiserver.problems import Problem, bad_request, not_found
from arcfsm.sim.apiserver.resources import Resource
from arcfsm.sim.apiserver.selectors import Match, SelectorError, fields, labels
from arcfsm.sim.apiserver.store import Gone
from arcfsm.sim.apiserver.writing import shown

Body = dict[str, Any]
_EXPIRED: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


@dataclass
class Listed:
    """A page of a collection."""

    items: list[Body]
    revision: int
    token: str = ""
    remaining: int | None = None


def number(request: Request, name: str) -> int:
    """Return a number from the query, 0 when it is not there. Raises Problem."""
    text = request.first(name)
    if not text:
        return 0
    try:
        return int(text)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def revision(request: Request) -> int | None:
    """Return the resourceVersion asked for, None when it is not there. Raises Problem."""
    text = request.first("resourceVersion")
    if not text:
        return None
    if not text.isdigit():
        why = f'strconv.ParseUint: parsing "{text}": invalid syntax'
        raise bad_request(f'invalid resource version: resourceVersion: Invalid value: "{text}": {why}')
    return int(text)


def too_large(wanted: int, current: int) -> Problem:
    """Build the answer to who asks for what is still to come."""
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    return Problem(504, "Timeout", message, details)


def selector(request: Request, resource: Resource) -> Match | None:
    """Return what objects have to match, None for all. Raises Problem."""
    label_text, field_text = request.first("labelSelector"), request.first("fieldSelector")
    try:
        by_label = labels(label_text) if label_text else None
        by_field = fields(field_text, resource.fields, custom=resource.custom) if field_text else None
    except SelectorError as error:
        raise bad_request(str(error)) from None
    if by_label is None or by_field is None:
        return by_label or by_field
    return lambda body: by_label(body) and by_field(body)


def encode_token(at: int, start: str) -> str:
    """Write a continue token."""
    payload = json.dumps({"v": "meta.k8s.io/v1", "rv": at, "start": start}, separators=(",", ":"))
    return base64.urlsafe_b64encode(payload.encode()).decode().rstrip("=")


def decode_token(token: str) -> tuple[int, str]:
    """Read a continue token. Raises Problem."""
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except (ValueError, binascii.Error):
        raise bad_request(f"invalid continue token: continue key is not valid: {token}") from None
    try:
        found = json.loads(raw)
        at, start = int(found["rv"]), str(found["start"])
    except (ValueError, KeyError, TypeError):
        first = raw[:1]
        shown_byte = f"\\x{first[0]:02x}" if first and not 32 <= first[0] < 127 else first.decode("latin-1")
        why = f"invalid character '{shown_byte}' looking for beginning of value"
        raise bad_request(f"invalid continue token: continue key is not valid: {why}") from None
    return at, start


class Reader:
    """Handles gets and lists."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._store = engine.store

    def get(self, request: Request, target: Target, resource: Resource) -> Response:
        """Return one object. Raises Problem."""
        wanted = revision(request)
        if wanted and wanted > self._store.revision:
            raise too_large(wanted, self._store.revision)
        key = (target.namespace if resource.namespaced else "", target.name)
        body = self._store.get(resource.table, key)
        if body is None:
            raise not_found(resource.group, resource.plural, target.name)
        return Response(200, shown(body, resource))

    def list(self, request: Request, target: Target, resource: Resource) -> Response:
        """Return a collection. Raises Problem."""
        return Response(200, self.list_body(self.list_items(request, target, resource), resource))

    def list_body(self, listed: Listed, resource: Resource) -> Body:
        """Return the list object of a page."""
        meta: Body = {"resourceVersion": str(listed.revision)}
        if listed.token or resource.custom:
            meta["continue"] = listed.token
        if listed.remaining is not None:
            meta["remainingItemCount"] = listed.remaining
        items = listed.items
        if not resource.custom:
            items = [{k: v for k, v in each.items() if k not in {"kind", "apiVersion"}} for each in items]
        kind = resource.list_kind or f"{resource.kind}List"
        return {"kind": kind, "apiVersion": resource.api_version, "metadata": meta, "items": items}

    def list_items(self, request: Request, target: Target, resource: Resource) -> Listed:
        """Return a page of a collection. Raises Problem."""
        limit, _ = max(0, number(request, "limit")), number(request, "timeoutSeconds")
        list_options(request, watch=False)
        match = selector(request, resource)
        wanted, token = revision(request), request.first("continue")
        namespace = target.namespace if resource.namespaced else ""
        current = self._store.revision
        start = ""
        at = current
        if token:
            if wanted:
                raise bad_request("specifying resource version is not allowed when using continue")
            at, start = decode_token(token)
            if at < 0:
                at = current
        elif wanted is not None:
            if wanted > current:
                raise too_large(wanted, current)
            exact = request.first("resourceVersionMatch") == "Exact"
            if wanted and (exact or (limit and request.first("resourceVersionMatch") != "NotOlderThan")):
                at = wanted
            if wanted == 0:
                limit = 0
        try:
            rows = (
                self._store.items(resource.table, namespace)
                if at == current
                else self._store.items_at(resource.table, namespace, at)
            )
        except Gone:
            raise self._gone(token, start) from None
        if start:
            rows = [row for row in rows if "/".join(filter(None, row[0])) + "\0" > start]
        found = [(key, body) for key, body in rows if match is None or match(body)]
        listed = Listed([shown(body, resource) for _, body in found], at)
        if limit and len(found) > limit:
            listed.items = listed.items[:limit]
            listed.token = encode_token(at, "/".join(filter(None, found[limit - 1][0])) + "\0")
            if match is None:
                listed.remaining = len(found) - limit
        return listed

    def _gone(self, token: str, start: str) -> Problem:
        if token:
            problem = Problem(410, "Expired", _EXPIRED)
            problem.metadata = {"continue": encode_token(-1, start)}
            return problem
        return Problem(410, "Expired", "The resourceVersion for the provided list is too old.")
