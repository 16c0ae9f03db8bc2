"""Server-side apply, as far as one manager goes: the applied fields are merged in; no ownership is kept.

Known to be less than the real thing: fields that an earlier apply of the same manager set and this one leaves out
stay, and other managers' fields never conflict.
"""

from __future__ import annotations

from typing import Any

import yaml

from arcfsm.sim.apiserver.decoding import Decoded, decode_core, decode_custom
from arcfsm.sim.apiserver.engine import Engine
from arcfsm.sim.apiserver.message import Identity, Request, Response, Target
from arcfsm.sim.apiserver.patching import merge, strategic
from arcfsm.sim.apiserver.problems import Problem, bad_request, conflict
from arcfsm.sim.apiserver.resources import Resource
from arcfsm.sim.apiserver.typed import DecodeError
from arcfsm.sim.apiserver.writing import MODIFIED, Writer, shown

Body = dict[str, Any]


def apply(
    engine: Engine,
    writer: Writer,
    request: Request,
    target: Target,
    resource: Resource,
    who: Identity,
    *,
    dry_run: bool,
) -> Response:
    """Create an object or merge the applied fields into it. Raises Problem."""
    applied = _load(request)
    key = (target.namespace if resource.namespaced else "", target.name)
    old = engine.store.get(resource.table, key)
    if old is None:
        if (applied.get("metadata") or {}).get("uid"):
            text = f"uid mismatch: the provided object specified uid {applied['metadata']['uid']}, and no existing object was found"
            raise conflict(resource.group, resource.plural, target.name, text)
        decoded = _decode(applied, resource)
        writer.match_name(decoded.body, target, resource)
        body, warnings = writer.insert(decoded.body, resource, target.namespace, who, dry_run=dry_run)
        return Response(201, shown(body, resource), warnings=warnings)
    given = (applied.get("metadata") or {}).get("resourceVersion")
    if given and given != old["metadata"]["resourceVersion"]:
        raise conflict(resource.group, resource.plural, target.name, MODIFIED)

    def produce(present: Body) -> Decoded:
        combined = merge(present, applied) if resource.custom else strategic(present, applied)
        decoded = _decode(combined, resource)
        writer.match_name(decoded.body, target, resource)
        return decoded

    body, warnings = writer.replace(resource, key, produce, who, subresource=target.subresource, dry_run=dry_run)
    return Response(200, shown(body, resource), warnings=warnings)


def _load(request: Request) -> Body:
    value = request.data
    if request.raw is not None:
        try:
            value = yaml.safe_load(request.raw)
        except yaml.YAMLError as error:
            raise bad_request(f"error decoding YAML: {error}") from None
    if not isinstance(value, dict):
        raise bad_request("error decoding YAML: the body is not an object")
    return value


def _decode(value: Body, resource: Resource) -> Decoded:
    try:
        decoded = decode_custom(value, resource) if resource.custom else decode_core(value, resource)
    except DecodeError as error:
        raise bad_request(str(error)) from None
    if decoded.unknown:
        fields = "\n".join(f".{path}: field not declared in schema" for path in decoded.unknown)
        raise Problem(500, "", f"failed to create typed patch object: {fields}")
    return decoded
