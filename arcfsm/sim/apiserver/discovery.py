"""Discovery: the groups, versions and resources that clients ask for before they ask for objects."""

from __future__ import annotations

from typing import Any, Final

from arcfsm.sim.apiserver.message import Response
from arcfsm.sim.apiserver.registry import Registry
from arcfsm.sim.apiserver.resources import ALL_VERBS, Resource

Body = dict[str, Any]
VERSION: Final = {
    "major": "1", "minor": "36", "gitVersion": "v1.36.0-arcfsm", "gitCommit": "", "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z", "goVersion": "go1.25", "compiler": "gc", "platform": "linux/amd64",
}  # fmt: skip
_REVIEWS: Final = (
    ("selfsubjectaccessreviews", "SelfSubjectAccessReview"), ("subjectaccessreviews", "SubjectAccessReview"),
)  # fmt: skip


def _entries(resource: Resource) -> list[Body]:
    main: Body = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        main["shortNames"] = list(resource.short_names)
    if resource.categories:
        main["categories"] = list(resource.categories)
    found = [main]
    for name in resource.subresources:
        entry: Body = {
            "name": f"{resource.plural}/{name}", "singularName": "", "namespaced": resource.namespaced,
            "kind": resource.kind, "verbs": ["get", "patch", "update"],
        }  # fmt: skip
        if name == "binding":
            entry |= {"kind": "Binding", "verbs": ["create"]}
        elif name == "token":
            entry |= {"kind": "TokenRequest", "group": "authentication.k8s.io", "version": "v1", "verbs": ["create"]}
        elif name == "scale":
            continue
        found.append(entry)
        if name == "binding":
            found.append({**entry, "name": "pods/eviction", "group": "policy", "version": "v1", "kind": "Eviction"})
    return found


def _resource_list(registry: Registry, group: str, version: str) -> Body | None:
    entries = [
        entry for each in registry.all() if (each.group, each.version) == (group, version) for entry in _entries(each)
    ]  # fmt: skip
    if group == "authorization.k8s.io" and version == "v1":
        entries = [
            {"name": name, "singularName": kind.lower(), "namespaced": False, "kind": kind, "verbs": ["create"]}
            for name, kind in _REVIEWS
        ]
    if not entries:
        return None
    group_version = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": entries}


def _groups(registry: Registry) -> list[Body]:
    versions: dict[str, list[str]] = {"authorization.k8s.io": ["v1"]}
    for each in registry.all():
        if each.group and each.version not in versions.setdefault(each.group, []):
            versions[each.group].append(each.version)
    return [_group(name, found) for name, found in sorted(versions.items())]


def _group(name: str, versions: list[str]) -> Body:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def answer(registry: Registry, path: str, accept: str) -> Response | None:
    """Answer what is no object; None when nobody serves it."""
    del accept
    parts = [part for part in path.split("/") if part]
    if path in {"/healthz", "/livez", "/readyz"}:
        return Response(200, text="ok", content_type="text/plain; charset=utf-8")
    if path == "/version":
        return Response(200, VERSION)
    if parts == ["api"]:
        return Response(200, {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
    if parts == ["apis"]:
        return Response(200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": _groups(registry)})
    if parts == ["api", "v1"]:
        return _found(_resource_list(registry, "", "v1"))
    if len(parts) == 2 and parts[0] == "apis":
        for group in _groups(registry):
            if group["name"] == parts[1]:
                return Response(200, {"kind": "APIGroup", "apiVersion": "v1", **group})
    if len(parts) == 3 and parts[0] == "apis":
        return _found(_resource_list(registry, parts[1], parts[2]))
    if not parts:
        return Response(200, {"paths": ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/readyz", "/version"]})
    return None


def _found(body: Body | None) -> Response | None:
    return None if body is None else Response(200, body)


__all__ = ["ALL_VERBS", "answer"]
