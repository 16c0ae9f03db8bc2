"""Who may do what: role-based access control as the real server evaluates it, and its guard against escalation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from arcfsm.sim.apiserver.message import Identity, Target
from arcfsm.sim.apiserver.problems import Problem, forbidden, not_found
from arcfsm.sim.apiserver.store import Store

Body = dict[str, Any]
RBAC: Final = "rbac.authorization.k8s.io"
_ROLES: Final = f"roles.{RBAC}"
_BINDINGS: Final = f"rolebindings.{RBAC}"
_CLUSTER_ROLES: Final = f"clusterroles.{RBAC}"
_CLUSTER_BINDINGS: Final = f"clusterrolebindings.{RBAC}"
_OPEN_PATHS: Final = (
    "/api", "/apis", "/healthz", "/livez", "/readyz", "/version", "/openapi", "/.well-known/",
)  # fmt: skip
_REVIEWS: Final = "authorization.k8s.io"


def _applies(subject: Body, who: Identity, namespace: str) -> bool:
    kind, name = subject.get("kind"), subject.get("name")
    if kind == "User":
        return name == who.name
    if kind == "Group":
        return name in who.groups
    return who.name == f"system:serviceaccount:{subject.get('namespace') or namespace}:{name}"


def _matches(wanted: Iterable[str], value: str) -> bool:
    return any(each in {"*", value} for each in wanted)


def _covers_resource(rule: Body, resource: str) -> bool:
    base, _, sub = resource.partition("/")
    return any(
        each in {"*", resource} or (sub and each == f"*/{sub}") or (each == base and not sub)
        for each in rule.get("resources") or ()
    )


class Access:
    """Evaluates roles and bindings of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def _rules(self, reference: Body, namespace: str) -> list[Body]:
        if reference["kind"] == "ClusterRole":
            role = self._store.get(_CLUSTER_ROLES, ("", reference["name"]))
        else:
            role = self._store.get(_ROLES, (namespace, reference["name"]))
        return list((role or {}).get("rules") or ())

    def rules_for(self, who: Identity, namespace: str) -> list[Body]:
        """Return all rules that hold for somebody in a namespace (empty for the whole cluster)."""
        found: list[Body] = []
        for _, binding in self._store.items(_CLUSTER_BINDINGS):
            if any(_applies(subject, who, "") for subject in binding.get("subjects") or ()):
                found += self._rules(binding["roleRef"], "")
        if namespace:
            for _, binding in self._store.items(_BINDINGS, namespace):
                if any(_applies(subject, who, namespace) for subject in binding.get("subjects") or ()):
                    found += self._rules(binding["roleRef"], namespace)
        return found

    def allowed(self, who: Identity, verb: str, group: str, resource: str, namespace: str, name: str = "") -> bool:
        """Decide about a resource (`pods/status` for a subresource)."""
        if "system:masters" in who.groups:
            return True
        if group == _REVIEWS and resource.startswith("selfsubject") and "system:authenticated" in who.groups:
            return True
        return any(
            _matches(rule.get("verbs") or (), verb)
            and _matches(rule.get("apiGroups") or (), group)
            and _covers_resource(rule, resource)
            and (not rule.get("resourceNames") or name in rule["resourceNames"])
            for rule in self.rules_for(who, namespace)
        )

    def allowed_path(self, who: Identity, verb: str, path: str) -> bool:
        """Decide about a path that names no resource."""
        if "system:masters" in who.groups:
            return True
        if verb == "get" and "system:authenticated" in who.groups and path.startswith(_OPEN_PATHS):
            return True
        if verb == "get" and path.rstrip("/") in {"/healthz", "/livez", "/readyz", "/version"}:
            return True
        for rule in self.rules_for(who, ""):
            if _matches(rule.get("verbs") or (), verb):
                for each in rule.get("nonResourceURLs") or ():
                    if each in {"*", path} or (each.endswith("*") and path.startswith(each[:-1])):
                        return True
        return False

    def check(self, who: Identity, verb: str, target: Target) -> None:
        """Refuse what somebody may not do. Raises Problem."""
        resource = target.resource + (f"/{target.subresource}" if target.subresource else "")
        if not self.allowed(who, verb, target.group, resource, target.namespace, target.name):
            raise denied(who, verb, target)

    def check_path(self, who: Identity, verb: str, path: str) -> None:
        """Refuse a path that names no resource. Raises Problem."""
        if not self.allowed_path(who, verb, path):
            message = f'forbidden: User "{who.name}" cannot {verb} path "{path}"'
            raise Problem(403, "Forbidden", message, {})

    def check_escalation(self, who: Identity, body: Body, plural: str, namespace: str) -> None:
        """Refuse a role or binding that grants more than its writer has. Raises Problem."""
        if "system:masters" in who.groups:
            return
        name = body["metadata"].get("name", "")
        if plural in {"roles", "clusterroles"}:
            if self.allowed(who, "escalate", RBAC, plural, namespace, name):
                return
            wanted = list(body.get("rules") or ())
        else:
            reference = body["roleRef"]
            kind = "clusterroles" if reference["kind"] == "ClusterRole" else "roles"
            if self.allowed(who, "bind", RBAC, kind, namespace, reference["name"]):
                return
            table = _CLUSTER_ROLES if kind == "clusterroles" else _ROLES
            key = ("" if kind == "clusterroles" else namespace, reference["name"])
            role = self._store.get(table, key)
            if role is None:
                raise not_found(RBAC, plural, reference["name"])
            wanted = list(role.get("rules") or ())
        missing = [rule for rule in wanted if not self._covered(rule, self.rules_for(who, namespace))]
        if missing:
            groups = " ".join(f'"{group}"' for group in who.groups)
            shown = "\n".join(_compact(rule) for rule in missing)
            text = (
                f'user "{who.name}" (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:\n'
                f"{shown}"
            )
            raise forbidden(RBAC, plural, name, text)

    def _covered(self, rule: Body, held: list[Body]) -> bool:
        for verb in rule.get("verbs") or ():
            for group in rule.get("apiGroups") or ():
                for resource in rule.get("resources") or ():
                    for name in rule.get("resourceNames") or ("",):
                        if not any(
                            _matches(own.get("verbs") or (), verb)
                            and _matches(own.get("apiGroups") or (), group)
                            and _covers_resource(own, resource)
                            and (not own.get("resourceNames") or (name and name in own["resourceNames"]))
                            for own in held
                        ):
                            return False
        return True


def _compact(rule: Body) -> str:
    parts = []
    for key, title in (("apiGroups", "APIGroups"), ("resources", "Resources"), ("resourceNames", "ResourceNames"),
                       ("nonResourceURLs", "NonResourceURLs"), ("verbs", "Verbs")):  # fmt: skip
        if rule.get(key):
            parts.append(f"{title}:[{' '.join(chr(34) + each + chr(34) for each in rule[key])}]")
    return "{" + ", ".join(parts) + "}"


def denied(who: Identity, verb: str, target: Target) -> Problem:
    """Build the refusal of a request."""
    resource = target.resource + (f"/{target.subresource}" if target.subresource else "")
    scope = f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
    why = f'User "{who.name}" cannot {verb} resource "{resource}" in API group "{target.group}" {scope}'
    return forbidden(target.group, target.resource, target.name, why)
