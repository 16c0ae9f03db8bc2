"""What the server says about itself: versions, groups, resources, and as much OpenAPI as clients need to write.

`kubectl apply` asks the OpenAPI documents whether a resource takes the `fieldValidation` parameter and leaves
validation to the server when it does; the documents say just that.
"""

from __future__ import annotations

from typing import Any, Final

from arcfsm.sim.api.kinds import VIRTUAL, Catalogue, ResourceType

Item = dict[str, Any]

MINOR: Final = "36"
VERSION: Final[Item] = {
    "major": "1", "minor": MINOR, "gitVersion": f"v1.{MINOR}.0", "gitCommit": "", "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "arcfsm-sim", "platform": "simulated",
}  # fmt: skip


def answer(path: str, catalogue: Catalogue) -> Item | str | None:
    """Answer a path outside the resources; None when there is nothing."""
    parts = [part for part in path.strip("/").split("/") if part]
    if path.rstrip("/") in {"/healthz", "/livez", "/readyz"}:
        return "ok"
    if parts == ["version"]:
        return VERSION
    if parts == ["api"]:
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if parts == ["apis"]:
        groups = [_group(group, versions) for group, versions in _versions(catalogue).items() if group]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
    if len(parts) == 2 and parts[0] == "apis":
        versions = _versions(catalogue).get(parts[1])
        return None if versions is None else {"apiVersion": "v1", **_group(parts[1], versions), "kind": "APIGroup"}
    if len(parts) == 2 and parts[0] == "api":
        return _resources("", parts[1], catalogue)
    if len(parts) == 3 and parts[0] == "apis":
        return _resources(parts[1], parts[2], catalogue)
    if parts[:2] == ["openapi", "v3"]:
        return _openapi(parts[2:], catalogue)
    if not parts:
        return {"paths": ["/api", "/apis", "/healthz", "/openapi/v3", "/version"]}
    return None


def _versions(catalogue: Catalogue) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for resource in catalogue.everything():
        found.setdefault(resource.group, {})[resource.version] = None
    for group, version, _ in VIRTUAL:
        found.setdefault(group, {})[version] = None
    return {group: list(versions) for group, versions in found.items()}


def _group(name: str, versions: list[str]) -> Item:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _resources(group: str, version: str, catalogue: Catalogue) -> Item | None:
    listed: list[Item] = []
    for resource in catalogue.everything():
        if (resource.group, resource.version) != (group, version):
            continue
        listed.append(_resource(resource))
        for subresource in resource.subresources:
            verbs = ["create"] if subresource in {"binding", "eviction"} else ["get", "patch", "update"]
            listed.append({
                "name": f"{resource.plural}/{subresource}", "singularName": "", "namespaced": resource.namespaced,
                "kind": resource.kind, "verbs": verbs,
            })  # fmt: skip
    listed += [
        {"name": plural, "singularName": kind.lower(), "namespaced": False, "kind": kind, "verbs": ["create"]}
        for (virtual_group, virtual_version, plural), kind in VIRTUAL.items()
        if (virtual_group, virtual_version) == (group, version)
    ]
    if not listed:
        return None
    name = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": listed}


def _resource(resource: ResourceType) -> Item:
    made: Item = {
        "name": resource.plural, "singularName": resource.singular or resource.kind.lower(),
        "namespaced": resource.namespaced, "kind": resource.kind, "verbs": list(resource.verbs),
    }  # fmt: skip
    if resource.short_names:
        made["shortNames"] = list(resource.short_names)
    return made


def _openapi(rest: list[str], catalogue: Catalogue) -> Item | None:
    places = {
        f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}": None
        for resource in catalogue.everything()
    }
    if not rest:
        return {"paths": {each: {"serverRelativeURL": f"/openapi/v3/{each}?hash=0"} for each in places}}
    place = "/".join(rest)
    if place not in places:
        return None
    parameter = {
        "name": "fieldValidation", "in": "query", "schema": {"type": "string", "uniqueItems": True},
    }  # fmt: skip
    paths: Item = {}
    schemas: Item = {}
    for resource in catalogue.everything():
        where = f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"
        if where != place:
            continue
        kind = {"group": resource.group, "kind": resource.kind, "version": resource.version}
        scope = "/namespaces/{namespace}" if resource.namespaced else ""
        patch: Item = {"parameters": [parameter], "responses": {}, "x-kubernetes-action": "patch",
                 "x-kubernetes-group-version-kind": kind}  # fmt: skip
        paths[f"/{place}{scope}/{resource.plural}/{{name}}"] = {"patch": patch}
        schemas[f"simulated.{resource.kind}"] = {
            "type": "object", "x-kubernetes-group-version-kind": [kind], "x-kubernetes-preserve-unknown-fields": True,
        }  # fmt: skip
    info = {"title": "Kubernetes", "version": VERSION["gitVersion"]}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}}
