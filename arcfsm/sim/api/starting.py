"""What is there before anybody created anything: namespaces, and the roles every client counts on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from arcfsm.sim.api.kinds import RBAC_GROUP

Item = dict[str, Any]

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_DISCOVERY = ["/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz",
              "/version", "/version/"]  # fmt: skip
_REVIEWS = {
    "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews"], "verbs": ["create"],
}  # fmt: skip
_WHO_AM_I = {"apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"]}
_EVERYTHING = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, {"nonResourceURLs": ["*"], "verbs": ["*"]},
]  # fmt: skip
_ROLES: tuple[tuple[str, list[Item], str], ...] = (
    ("cluster-admin", _EVERYTHING, "system:masters"),
    ("system:discovery", [{"nonResourceURLs": _DISCOVERY, "verbs": ["get"]}], "system:authenticated"),
    ("system:basic-user", [_REVIEWS, _WHO_AM_I], "system:authenticated"),
)


def starting_objects() -> Iterator[tuple[str, Item]]:
    """Yield the resource and body of everything to create, in order."""
    for name in NAMESPACES:
        yield "namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    version = f"{RBAC_GROUP}/v1"
    for name, rules, group in _ROLES:
        yield "clusterroles", {
            "apiVersion": version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules,
        }  # fmt: skip
        yield "clusterrolebindings", {
            "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "Group", "apiGroup": RBAC_GROUP, "name": group}],
        }  # fmt: skip
