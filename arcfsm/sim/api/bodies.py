"""Reading the body of a write: from bytes or a parsed value to an object of the kind the path asks for.

Everything a body can get wrong before rules are applied is refused here, in the words of the real decoder. Unknown and
repeated fields are refused, warned about or ignored, as the request asks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import yaml

from arcfsm.sim.api.defaulting import complete
from arcfsm.sim.api.failure import (
    ApiFailure,
    Cause,
    bad_request,
    denied,
    invalid,
    not_one_of,
    too_large,
    too_long,
    unsupported_media_type,
    wrong,
)
from arcfsm.sim.api.kinds import BUILT_IN, NEW_EVENTS, RBAC_GROUP, ResourceType
from arcfsm.sim.api.metadata import quoted
from arcfsm.sim.api.new_events import from_new_event
from arcfsm.sim.api.request import JSON, PROTOBUF, YAML, ApiRequest
from arcfsm.sim.api.shapes import DecodeFault, Trace, read_metadata
from arcfsm.sim.api.structural import shape
from arcfsm.sim.api.wire_json import JsonFault, read_json

Item = dict[str, Any]

_PROTOBUF_MAGIC: Final = b"k8s\x00"
BODY_MAX: Final = 3 * 1024 * 1024
MANAGER_MAX: Final = 128
_SHOWN_MAX: Final = 30
_TYPE_META: Final = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; '
    r'Kind string "json:\"kind,omitempty\"" }'
)
_SCHEME: Final = '"pkg/api/legacyscheme/scheme.go:30"'
_PACKAGES: Final = {"": "core", RBAC_GROUP: "rbac", "coordination.k8s.io": "coordination", "events.k8s.io": "core"}
_CORE_KINDS: Final = {(resource.api_version, resource.kind): resource for resource in BUILT_IN if not resource.custom}
NOT_SHAPED: Final = ("apiVersion", "kind", "metadata")


class Body:
    """A body as it came, and what a reader noticed."""

    def __init__(self, value: Any, raw: bytes | None, repeated: list[str]) -> None:
        self.value = value
        self.repeated = repeated
        self._raw = raw

    def text(self) -> str:
        """Return the body as text, for refusals that show it."""
        raw = self._raw if self._raw is not None else json.dumps(self.value).encode()
        return raw.decode("utf-8", "replace")

    def summary(self) -> str:
        """Return the beginning of the body as refusals show it."""
        raw = self._raw if self._raw is not None else json.dumps(self.value).encode()
        if not raw:
            return "<empty>"
        shown = raw[:_SHOWN_MAX]
        text = shown.decode("utf-8", "replace") if raw.startswith(b"{") else shown.hex()
        return f"{text} ..." if len(raw) > _SHOWN_MAX else text


def media_type(content_type: str) -> str:
    """Return a media type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def parse(request: ApiRequest, resource: ResourceType) -> Body:
    """Parse the body of a create or update. Raises ApiFailure."""
    kind = media_type(request.content_type)
    if kind not in {JSON, YAML, PROTOBUF}:
        raise unsupported_media_type((JSON, YAML, PROTOBUF))
    raw = request.body
    if not isinstance(raw, bytes):
        return Body(raw, None, [])
    if len(raw) > BODY_MAX:
        raise too_large(BODY_MAX)
    if kind == PROTOBUF and raw.startswith(_PROTOBUF_MAGIC):
        # A real server reads it. Saying so plainly is better than a riddle about prefixes.
        raise unsupported_media_type((JSON, YAML))
    if kind == PROTOBUF:
        why = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        raise _unrecognized(resource, why, Body(None, raw, []))
    if kind == YAML:
        try:
            return Body(yaml.safe_load(raw), raw, [])
        except yaml.YAMLError as error:
            why = f"couldn't get version/kind; json parse error: {str(error).splitlines()[0]}"
            raise _unrecognized(resource, why, Body(None, raw, [])) from error
    try:
        value, repeated = read_json(raw)
    except JsonFault as fault:
        why = f"couldn't get version/kind; json parse error: {fault}"
        raise _unrecognized(resource, why, Body(None, raw, [])) from fault
    return Body(value, raw, repeated)


def _unrecognized(resource: ResourceType, why: str, body: Body) -> ApiFailure:
    return bad_request(
        f"the object provided is unrecognized (must be of type {resource.kind}): {why} ({body.summary()})"
    )


def check_type(resource: ResourceType, body: Body, warnings: list[str]) -> Item:
    """Return the body as an object that claims to be of the right kind. Raises ApiFailure."""
    value = body.value
    if value is None and not resource.custom:
        return {}
    if value is None:
        raise _unrecognized(resource, "Object 'Kind' is missing in 'null'", body)
    if not isinstance(value, dict):
        found = {list: "array", str: "string", bool: "bool"}.get(type(value), "number")
        why = f"json: cannot unmarshal {found} into Go value of type {_TYPE_META}"
        raise _unrecognized(resource, f"couldn't get version/kind; json parse error: {why}", body)
    kind, version = value.get("kind") or "", value.get("apiVersion") or ""
    if resource.custom:
        if not kind:
            raise _unrecognized(resource, f"Object 'Kind' is missing in '{body.text()}'", body)
        if version != resource.api_version:
            if version.partition("/")[0] == resource.group:
                warnings += [f"unknown field {quoted(name)}" for name in value if name not in NOT_SHAPED]
            expected = f"does not match the expected API version ({resource.api_version})"
            raise bad_request(f"the API version in the data ({version}) {expected}")
        return value
    kind, version = kind or resource.kind, version or resource.api_version
    if (kind, version) != (resource.kind, resource.api_version):
        raise _other_kind(resource, kind, version)
    return value


def _other_kind(resource: ResourceType, kind: str, version: str) -> ApiFailure:
    short = version.rpartition("/")[2]
    known = _CORE_KINDS.get((version, kind))
    if known is None:
        why = f'no kind "{kind}" is registered for version "{version}" in scheme {_SCHEME}'
    elif known.kind == resource.kind:
        expected = f"does not match the expected API version ({resource.api_version})"
        return bad_request(f"the API version in the data ({version}) {expected}")
    else:
        target = f"{_PACKAGES.get(resource.group, 'core')}.{resource.kind}"
        why = f"converting (v1.{kind}) to ({target}): unknown conversion"
    return bad_request(f'{kind} in version "{short}" cannot be handled as a {resource.kind}: {why}')


class Reader:
    """Turns a parsed body into an object as it would be stored, defaults included."""

    def __init__(self, resource: ResourceType, validation: str, warnings: list[str]) -> None:
        self._resource = resource
        self._validation = validation or "Warn"
        self._warnings = warnings

    def created(self, value: Item, repeated: list[str]) -> Item:
        """Read the body of a create or update. Raises ApiFailure."""
        trace = Trace()
        try:
            item = self._read(value, trace, None)
        except DecodeFault as fault:
            raise self._not_handled(value, str(fault)) from fault
        if item["kind"] == self._resource.kind:
            self._judge(trace, repeated, patched=False)
        complete(item)
        return item

    def patched(
        self, value: Any, before: Item, repeated: list[str], shown: str = "", *, restoring: bool = False
    ) -> Item:
        """Read the result of a patch; parts that are still those of `before` are not read again. Raises ApiFailure."""
        trace = Trace(restoring=restoring)
        try:
            item = self._read(_an_object(value, self._resource), trace, before)
        except DecodeFault as fault:
            raise _bad_patch(shown or json.dumps(value, sort_keys=True, separators=(",", ":")), str(fault)) from fault
        self._judge(trace, repeated, patched=True)
        complete(item)
        return item

    def _read(self, value: Item, trace: Trace, known: Item | None) -> Item:
        resource = self._resource
        if resource is NEW_EVENTS:
            value = from_new_event(value)
        made: Item = {"kind": resource.kind, "apiVersion": "v1" if resource is NEW_EVENTS else resource.api_version}
        if resource.struct is not None:
            fresh = {name: part for name, part in value.items() if name not in {"kind", "apiVersion"}}
            if known is not None:
                kept = {name: part for name, part in fresh.items() if part is known.get(name) and part is not None}
                read = resource.struct.read({n: p for n, p in fresh.items() if n not in kept}, trace, None)
                return {**made, **read, **kept}
            return {**made, **resource.struct.read(fresh, trace, None)}
        made["kind"] = value.get("kind", resource.kind)
        schema = resource.schema or {"x-kubernetes-preserve-unknown-fields": True}
        trace.unknown_below = "metadata."
        metadata = value.get("metadata")
        if metadata is not None and known is not None and metadata is known.get("metadata"):
            made["metadata"] = metadata
        else:
            made["metadata"] = {} if metadata is None else read_metadata(metadata, trace)
        fresh = {
            name: part
            for name, part in value.items()
            if name not in NOT_SHAPED and (known is None or part is not known.get(name) or part is None)
        }
        kept = {name: part for name, part in value.items() if name not in NOT_SHAPED and name not in fresh}
        unknown: list[str] = []
        shaped = shape(fresh, schema, "", unknown)
        trace.unknown = sorted(trace.unknown + unknown)
        return {**made, **shaped, **kept}

    def _not_handled(self, value: Item, why: str) -> ApiFailure:
        kind = value.get("kind") or self._resource.kind
        version = self._resource.version
        return bad_request(f'{kind} in version "{version}" cannot be handled as a {self._resource.kind}: {why}')

    def _judge(self, trace: Trace, repeated: list[str], *, patched: bool) -> None:
        found = [f'duplicate field "{path}"' for path in repeated]
        found += [f'unknown field "{path}"' for path in trace.unknown]
        if not found or self._validation == "Ignore":
            return
        if self._validation != "Strict":
            self._warnings += found
            return
        told = f"strict decoding error: {', '.join(found)}"
        if patched:
            raise _bad_patch("<patched>", told)
        kind, version = self._resource.kind, self._resource.version
        raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {told}')


def _an_object(value: Any, resource: ResourceType) -> Item:
    if not isinstance(value, dict):
        found = {list: "array", str: "string", bool: "bool"}.get(type(value), "number")
        version = resource.version
        raise DecodeFault(f"json: cannot unmarshal {found} into Go value of type {version}.{resource.kind}")
    return value


def _bad_patch(shown: str, why: str) -> ApiFailure:
    return invalid("", "", "", [wrong("patch", quoted(shown), why)])


def check_options(kind: str, query: Mapping[str, str], *, applies: bool = False) -> None:
    """Refuse options of a write that make no sense. Raises ApiFailure."""
    causes: list[Cause] = []
    if query.keys().isdisjoint({"dryRun", "fieldManager", "fieldValidation", "force"}):
        return
    manager = query.get("fieldManager", "")
    if len(manager.encode()) > MANAGER_MAX:
        causes.append(too_long("fieldManager", MANAGER_MAX))
    for index, character in enumerate(manager):
        if not character.isprintable():
            shown = json.dumps(manager).replace(f"\\u{ord(character):04x}", f"\\x{ord(character):02x}")
            detail = f"invalid character U+{ord(character):04X} (at position {index})"
            causes.append(wrong("fieldManager", shown, detail))
            break
    if kind == "PatchOptions" and "force" in query and not applies:
        causes.append(denied("force", "may not be specified for non-apply patch"))
    dry = query.get("dryRun")
    if dry is not None and dry != "All":
        causes.append(not_one_of("dryRun", quoted([dry]), ["All"]))
    validation = query.get("fieldValidation", "")
    if validation not in {"", "Ignore", "Strict", "Warn"}:
        causes.append(not_one_of("fieldValidation", quoted(validation), ["", "Ignore", "Strict", "Warn"]))
    if causes:
        raise invalid("meta.k8s.io", kind, "", causes)
