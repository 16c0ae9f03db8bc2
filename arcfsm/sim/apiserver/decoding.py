"""From a body to an object of a kind: what is unknown is dropped and reported, what is missing is filled in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from arcfsm.sim.apiserver.coretypes import CORE
from arcfsm.sim.apiserver.message import Request
from arcfsm.sim.apiserver.problems import bad_request
from arcfsm.sim.apiserver.resources import Resource
from arcfsm.sim.apiserver.structural import Schema, fill, prune
from arcfsm.sim.apiserver.typed import DecodeError, Report
from arcfsm.sim.apiserver.wire import PROTOBUF, claimed_kind, load, not_protobuf

Body = dict[str, Any]


@dataclass
class Decoded:
    """An object and what was noticed while it was read."""

    body: Body
    unknown: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)

    def complaints(self) -> list[str]:
        """Return what a strict server refuses and a lenient one warns about."""
        found = [f'duplicate field "{path}"' for path in self.duplicates]
        return found + [f'unknown field "{path}"' for path in self.unknown]


def decode_request(request: Request, resource: Resource) -> tuple[Decoded, Any]:
    """Read the body of a create or update. Raises Problem."""
    if request.content_type == PROTOBUF and not resource.custom:
        raise not_protobuf(request, resource.kind)
    value, duplicates = load(request, resource.kind)
    version, kind = claimed_kind(request, value, resource.kind, custom=resource.custom)
    if not resource.custom:
        return _decode_core(value, version, kind, resource, duplicates), value
    decoded = decode_custom(value, resource)
    decoded.duplicates = duplicates
    return decoded, value


def _decode_core(value: Any, version: str, kind: str, resource: Resource, duplicates: list[str]) -> Decoded:
    version, kind = version or resource.api_version, kind or resource.kind
    if (version, kind) != (resource.api_version, resource.kind):
        group = version.rpartition("/")[0]
        short = version.rpartition("/")[2]
        if group == resource.group and kind in CORE.structs and short == resource.version:
            text = f"converting ({short}.{kind}) to (core.{resource.kind}): unknown conversion"
            raise bad_request(f'{kind} in version "{short}" cannot be handled as a {resource.kind}: {text}')
        if kind == resource.kind:
            text = f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
            raise bad_request(text)
        text = f'no kind "{kind}" is registered for version "{version}" in scheme "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"'
        raise bad_request(f'{kind} in version "{short}" cannot be handled as a {resource.kind}: {text}')
    try:
        decoded = decode_core(value, resource)
    except DecodeError as error:
        raise bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {error}'
        ) from None
    decoded.duplicates = duplicates
    return decoded


def decode_core(value: Any, resource: Resource) -> Decoded:
    """Read a built-in object. Raises DecodeError."""
    report = Report()
    body = CORE.decode(resource.struct, value, report)
    body["kind"], body["apiVersion"] = resource.kind, resource.api_version
    resource.default(body)
    return Decoded(body, sorted(report.unknown))


def decode_custom(value: Body, resource: Resource) -> Decoded:
    """Read a custom object. Raises Problem."""
    schema = resource.schema or Schema()
    version = value.get("apiVersion", "")
    if version != resource.api_version:
        text = (
            f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
        )
        unknown = sorted(key for key in value if key not in {"apiVersion", "kind", "metadata"})
        problem = bad_request(text)
        if version:
            problem.warnings = [f'unknown field "{path}"' for path in unknown]
        raise problem
    unknown = []
    meta = decode_metadata(value.get("metadata"), resource, unknown)
    body: Body = {}
    for name, each in value.items():
        if name in {"apiVersion", "kind", "metadata"}:
            continue
        known = schema.properties.get(name)
        if known is not None:
            body[name] = prune(known, each, name, unknown)
        elif schema.keep_unknown:
            body[name] = each
        else:
            unknown.append(name)
    fill(schema, body)
    shown = {"apiVersion": version, "kind": value["kind"], "metadata": meta, **body}
    return Decoded(shown, sorted(unknown))


def decode_metadata(value: Any, resource: Resource, unknown: list[str]) -> Body:
    """Read the metadata of a custom object. Raises Problem."""
    report = Report()
    if value is not None and not isinstance(value, dict):
        value = None
    try:
        meta = CORE.decode("ObjectMeta", value, report)
    except DecodeError as error:
        text = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {error}'
        raise bad_request(text) from None
    unknown.extend(f"metadata.{path}" for path in report.unknown)
    return meta
