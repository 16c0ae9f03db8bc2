"""Who may do what: roles and bindings, evaluated as the real authorizer does.

Identities come from names: a service account belongs to the groups of its namespace and of all accounts, everybody
who is known is authenticated. The group `system:masters` may do everything. Answers are remembered until a role or
binding changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from arcfsm.sim.api.kinds import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from arcfsm.sim.api.store import Change, Store, object_key

Item = dict[str, Any]
Rule = dict[str, Any]

MASTERS: Final = "system:masters"
ANONYMOUS: Final = "system:anonymous"
ADMIN_USER: Final = "system:admin"
_TABLES: Final = (ROLES.table, ROLE_BINDINGS.table, CLUSTER_ROLES.table, CLUSTER_ROLE_BINDINGS.table)
_ACCOUNT_PARTS: Final = 4
_ALL: Final = "*"


@dataclass(frozen=True)
class Identity:
    """Who makes a request."""

    user: str
    groups: tuple[str, ...]

    @classmethod
    def named(cls, user: str) -> Identity:
        """Return the identity a user of a name has."""
        if user == ADMIN_USER:
            return cls(user, (MASTERS, "system:authenticated"))
        if user == ANONYMOUS:
            return cls(user, ("system:unauthenticated",))
        parts = user.split(":")
        if user.startswith("system:serviceaccount:") and len(parts) == _ACCOUNT_PARTS:
            groups = ("system:serviceaccounts", f"system:serviceaccounts:{parts[2]}", "system:authenticated")
            return cls(user, groups)
        if user.startswith("system:node:"):
            return cls(user, ("system:nodes", "system:authenticated"))
        return cls(user, ("system:authenticated",))


@dataclass(frozen=True)
class Attributes:
    """What a request wants to do."""

    verb: str
    group: str = ""
    resource: str = ""
    """The plural; with a subresource after a slash."""
    namespace: str = ""
    name: str = ""
    path: str = ""
    """A path outside the API's resources, instead of everything else."""

    def refusal(self, identity: Identity) -> str:
        """Say why it is refused."""
        if self.path:
            return f'User "{identity.user}" cannot {self.verb} path "{self.path}"'
        where = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        what = f'resource "{self.resource}" in API group "{self.group}"'
        return f'User "{identity.user}" cannot {self.verb} {what} {where}'


class Authorizer:
    """Evaluates roles and bindings."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._answers: dict[tuple[Identity, Attributes], bool] = {}
        self._rules: dict[tuple[Identity, str], list[Rule]] = {}
        store.observe(self._changed)
        store.on_restore(self._forget)

    def _changed(self, table: str, _: Change) -> None:
        if table in _TABLES:
            self._forget()

    def _forget(self) -> None:
        self._answers.clear()
        self._rules.clear()

    def allows(self, identity: Identity, wanted: Attributes) -> bool:
        """Whether an identity may do something."""
        if MASTERS in identity.groups:
            return True
        key = (identity, wanted)
        known = self._answers.get(key)
        if known is None:
            rules = self.rules_of(identity, wanted.namespace)
            known = self._answers[key] = any(_grants(rule, wanted) for rule in rules)
        return known

    def rules_of(self, identity: Identity, namespace: str) -> list[Rule]:
        """Return all rules that hold for an identity in a namespace, or in the cluster."""
        key = (identity, namespace)
        known = self._rules.get(key)
        if known is not None:
            return known
        found: list[Rule] = []
        for _, binding in self._store.items(CLUSTER_ROLE_BINDINGS.table):
            if _names(binding, identity, ""):
                found += self.rules_behind(binding["roleRef"], "") or []
        if namespace:
            for _, binding in self._store.items(ROLE_BINDINGS.table, namespace):
                if _names(binding, identity, namespace):
                    found += self.rules_behind(binding["roleRef"], namespace) or []
        self._rules[key] = found
        return found

    def rules_behind(self, role: Item, namespace: str) -> list[Rule] | None:
        """Return the rules a binding refers to; None when there is no such role."""
        if role.get("kind") == "ClusterRole":
            found = self._store.get(CLUSTER_ROLES.table, role.get("name", ""))
        else:
            found = self._store.get(ROLES.table, object_key(namespace, role.get("name", "")))
        return None if found is None else found.get("rules") or []

    def not_held(self, identity: Identity, namespace: str, rules: list[Rule]) -> list[Rule]:
        """Return the parts of rules that an identity does not hold itself."""
        if MASTERS in identity.groups:
            return []
        held = self.rules_of(identity, namespace)
        missing: list[Rule] = []
        for rule in rules:
            missing += [part for part in _parts(rule) if not any(_covers(own, part) for own in held)]
        return _compact(missing)


def _names(binding: Item, identity: Identity, namespace: str) -> bool:
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name")
        if kind == "User" and name in {identity.user, _ALL}:
            return True
        if kind == "Group" and name in identity.groups:
            return True
        if kind == "ServiceAccount":
            place = subject.get("namespace") or namespace
            if identity.user == f"system:serviceaccount:{place}:{name}":
                return True
    return False


def _grants(rule: Rule, wanted: Attributes) -> bool:
    verbs = rule.get("verbs") or ()
    if _ALL not in verbs and wanted.verb not in verbs:
        return False
    if wanted.path:
        return any(
            path in {_ALL, wanted.path} or (path.endswith("*") and wanted.path.startswith(path[:-1]))
            for path in rule.get("nonResourceURLs") or ()
        )
    groups = rule.get("apiGroups") or ()
    if _ALL not in groups and wanted.group not in groups:
        return False
    resources = rule.get("resources") or ()
    subresource = wanted.resource.partition("/")[2]
    if not (_ALL in resources or wanted.resource in resources or (subresource and f"*/{subresource}" in resources)):
        return False
    limited_to = rule.get("resourceNames")
    return not limited_to or wanted.name in limited_to


def _parts(rule: Rule) -> list[Rule]:
    """Split a rule into parts of one verb, group, resource and name each."""
    verbs = rule.get("verbs") or []
    if rule.get("nonResourceURLs"):
        return [{"nonResourceURLs": [url], "verbs": [verb]} for url in rule["nonResourceURLs"] for verb in verbs]
    parts: list[Rule] = []
    for group in rule.get("apiGroups") or []:
        for resource in rule.get("resources") or []:
            for verb in verbs:
                part: Rule = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                named = rule.get("resourceNames")
                parts += [{**part, "resourceNames": [name]} for name in named] if named else [part]
    return parts


def _covers(own: Rule, part: Rule) -> bool:
    verbs = own.get("verbs") or ()
    if _ALL not in verbs and part["verbs"][0] not in verbs:
        return False
    if "nonResourceURLs" in part:
        url = part["nonResourceURLs"][0]
        return any(
            each in {_ALL, url} or (each.endswith("*") and url.startswith(each[:-1]))
            for each in own.get("nonResourceURLs") or ()
        )
    groups = own.get("apiGroups") or ()
    resource = part["resources"][0]
    resources = own.get("resources") or ()
    subresource = resource.partition("/")[2]
    named = own.get("resourceNames")
    return (
        (_ALL in groups or part["apiGroups"][0] in groups)
        and (_ALL in resources or resource in resources or (bool(subresource) and f"*/{subresource}" in resources))
        and (not named or part.get("resourceNames", [""])[0] in named)
    )


def _compact(parts: list[Rule]) -> list[Rule]:
    """Join parts that differ in the verb only."""
    joined: dict[str, Rule] = {}
    for part in parts:
        rest = {key: value for key, value in part.items() if key != "verbs"}
        whole = joined.setdefault(repr(sorted(rest.items())), {**rest, "verbs": []})
        whole["verbs"] = whole["verbs"] + [verb for verb in part["verbs"] if verb not in whole["verbs"]]
    return list(joined.values())


def describe(rule: Rule) -> str:
    """Write a rule as refusals show it."""
    parts: list[str] = []
    for title, key in (
        ("APIGroups", "apiGroups"), ("Resources", "resources"), ("ResourceNames", "resourceNames"),
        ("NonResourceURLs", "nonResourceURLs"), ("Verbs", "verbs"),
    ):  # fmt: skip
        values = rule.get(key)
        if values:
            quoted = " ".join(f'"{value}"' for value in values)
            parts.append(f"{title}:[{quoted}]")
    return "{" + ", ".join(parts) + "}"
