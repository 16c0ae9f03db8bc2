"""PATCH requests: which kinds of patch a resource takes, and how a failed one is answered."""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from arcfsm.sim.apiserver import applying
from arcfsm.sim.apiserver.decoding import Decoded, decode_core, decode_custom
from arcfsm.sim.apiserver.engine import Engine
from arcfsm.sim.apiserver.message import Identity, Request, Response, Target
from arcfsm.sim.apiserver.options import check_write
from arcfsm.sim.apiserver.patching import PatchError, go_map, json_patch, merge, strategic
from arcfsm.sim.apiserver.problems import Cause, Problem, bad_request, invalid, invalid_value, quoted
from arcfsm.sim.apiserver.resources import Resource
from arcfsm.sim.apiserver.typed import DecodeError, json_kind
from arcfsm.sim.apiserver.wire import BODY_LIMIT, syntax_error, too_large
from arcfsm.sim.apiserver.writing import Writer, shown

Body = dict[str, Any]
MERGE: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
APPLY_CBOR: Final = "application/apply-patch+cbor"


class Patcher:
    """Handles patches."""

    def __init__(self, engine: Engine, writer: Writer) -> None:
        self._engine = engine
        self._writer = writer

    def patch(self, request: Request, target: Target, resource: Resource, who: Identity) -> Response:
        """Patch an object or its status. Raises Problem."""
        kind = request.content_type
        accepted = [JSON_PATCH, MERGE, APPLY] if resource.custom else [JSON_PATCH, MERGE, STRATEGIC, APPLY]
        if kind not in accepted:
            listed = ", ".join([*accepted, APPLY_CBOR])
            message = f"the body of the request was in an unknown format - accepted media types include: {listed}"
            raise Problem(415, "UnsupportedMediaType", message)
        dry_run = check_write(request, "PatchOptions", apply=kind == APPLY)
        if kind == APPLY:
            return applying.apply(self._engine, self._writer, request, target, resource, who, dry_run=dry_run)
        value = self._load(request, kind)
        warnings: list[str] = []

        def produce(old: Body) -> Decoded:
            patched = _patched(old, value, kind)
            decoded = _decode(patched, resource, value if kind == STRATEGIC else None)
            complaints = decoded.complaints()
            mode = request.first("fieldValidation") or "Warn"
            if complaints and mode == "Strict":
                text = f'Invalid value: "<any>": strict decoding error: {", ".join(complaints)}'
                raise invalid("", "", "", [Cause("FieldValueInvalid", "patch", text)])
            if mode == "Warn":
                warnings.extend(complaints)
            self._writer.match_name(decoded.body, target, resource)
            return decoded

        key = (target.namespace if resource.namespaced else "", target.name)
        stored, more = self._writer.replace(
            resource, key, produce, who, subresource=target.subresource, dry_run=dry_run
        )
        return Response(200, shown(stored, resource), warnings=[*warnings, *more])

    def _load(self, request: Request, kind: str) -> Any:
        if request.raw is None:
            value = request.data
        else:
            if len(request.raw) > BODY_LIMIT:
                raise too_large()
            try:
                value = orjson.loads(request.raw)
            except ValueError as error:
                why = syntax_error(request.raw.decode("utf-8", "replace"), error)
                if kind == JSON_PATCH:
                    raise bad_request(f"error decoding patch: {why}") from None
                raise bad_request(f"error decoding patch: {why}" if kind == STRATEGIC else why) from None
        if kind == JSON_PATCH:
            if not isinstance(value, list):
                text = f"json: cannot unmarshal {json_kind(value)} into Go value of type []handlers.jsonPatchOp"
                raise bad_request(f"error decoding patch: {text}")
        elif not isinstance(value, dict):
            text = f"json: cannot unmarshal {json_kind(value)} into Go value of type map[string]interface {{}}"
            raise bad_request(f"error decoding patch: {text}")
        return value


def _patched(old: Body, value: Any, kind: str) -> Body:
    try:
        if kind == MERGE:
            patched = merge(old, value)
        elif kind == JSON_PATCH:
            patched = json_patch(old, value)
        else:
            patched = strategic(old, value)
    except PatchError as error:
        if str(error):
            raise Problem(500, "", str(error)) from None
        message = "the server rejected our request due to an error in our request"
        raise Problem(422, "Invalid", message, {}) from None
    if not isinstance(patched, dict):
        raise Problem(422, "Invalid", "the server rejected our request due to an error in our request", {})
    return patched


def _decode(patched: Body, resource: Resource, strategic_patch: Any = None) -> Decoded:
    if resource.custom:
        try:
            return decode_custom(patched, resource)
        except Problem as problem:
            if problem.code != 400 or "cannot be handled" not in problem.message:
                raise
            raise _bad_patch(patched, problem.message.rpartition(": json")[2]) from None
    try:
        return decode_core(patched, resource)
    except DecodeError as error:
        if strategic_patch is not None:
            found = re.search(r"cannot unmarshal (\w+) into .* of type (map|\[\]|\w+)", str(error))
            goal = {"map": "map", "[]": "slice"}.get(found[2], found[2]) if found else ""
            why = f"cannot restore {goal} from {found[1]}" if found else str(error)
            cause = invalid_value("patch", go_map(strategic_patch), why)
            raise invalid("", "", "", [cause]) from None
        raise _bad_patch(patched, str(error)) from None


def _bad_patch(patched: Body, why: str) -> Problem:
    text = f"Invalid value: {quoted(orjson.dumps(patched).decode())}: {why}"
    return invalid("", "", "", [Cause("FieldValueInvalid", "patch", text)])
