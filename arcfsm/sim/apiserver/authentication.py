"""Who sends a request: tokens, and acting as somebody else, as the real server reads the headers."""

from __future__ import annotations

from collections.abc import Mapping

from arcfsm.sim.apiserver.access import Access
from arcfsm.sim.apiserver.message import ANONYMOUS, Identity, Target
from arcfsm.sim.apiserver.problems import Problem


class Authenticator:
    """Knows tokens."""

    def __init__(self, access: Access, tokens: dict[str, Identity]) -> None:
        self._access = access
        self.tokens = tokens

    def identify(self, headers: Mapping[str, str], groups: tuple[str, ...] = ()) -> Identity:
        """Return who sends a request with these headers (lower-case names). Raises Problem.

        `groups` are the values of the Impersonate-Group header, which may come many times.
        """
        who = self._bearer(headers.get("authorization", ""))
        name = headers.get("impersonate-user", "")
        if not name:
            if groups:
                message = "requested groups without impersonating a user"
                raise Problem(500, "InternalError", f"Internal error occurred: {message}")
            return who
        self._access.check(who, "impersonate", _impersonated(name))
        for group in groups:
            self._access.check(who, "impersonate", Target("", "v1", "groups", name=group))
        return Identity(name, _groups_of(name, groups))

    def _bearer(self, header: str) -> Identity:
        if not header:
            return ANONYMOUS
        scheme, _, token = header.partition(" ")
        found = self.tokens.get(token.strip()) if scheme.lower() == "bearer" else None
        if found is None:
            raise Problem(401, "Unauthorized", "Unauthorized")
        return found


def _impersonated(name: str) -> Target:
    parts = name.split(":")
    if len(parts) == 4 and name.startswith("system:serviceaccount:"):
        return Target("", "v1", "serviceaccounts", parts[2], parts[3])
    return Target("", "v1", "users", name=name)


def _groups_of(name: str, asked: tuple[str, ...]) -> tuple[str, ...]:
    if asked:
        return asked if "system:authenticated" in asked else (*asked, "system:authenticated")
    parts = name.split(":")
    if len(parts) == 4 and name.startswith("system:serviceaccount:"):
        return ("system:serviceaccounts", f"system:serviceaccounts:{parts[2]}", "system:authenticated")
    if name == "system:anonymous":
        return ("system:unauthenticated",)
    return ("system:authenticated",)


def service_account(namespace: str, name: str) -> Identity:
    """Return the identity of a service account."""
    user = f"system:serviceaccount:{namespace}:{name}"
    return Identity(user, _groups_of(user, ()))
