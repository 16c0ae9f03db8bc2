"""Credentials as Secrets and vaults spell them (M11).

They exist inside effects only: never in an event, a decision, a document or a message. Their repr shows nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import orjson

from arcfsm.domain.rulebook import rule


class InvalidCredentials(ValueError):  # noqa: N818 - named for what is wrong
    """A Secret or vault value does not hold exactly one kind of credentials. The message quotes no value."""


@dataclass(frozen=True, slots=True)
class TokenCredentials:
    """A personal access token."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class AppCredentials:
    """A GitHub App's installation."""

    app_id: str = field(repr=False)
    installation_id: int = field(repr=False)
    private_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ProxyCredentials:
    """Who logs in at a proxy."""

    username: str = field(repr=False)
    password: str = field(repr=False)


GitHubCredentials: TypeAlias = TokenCredentials | AppCredentials


@rule("M11", "credentials are either a token or a complete GitHub App, from a Secret or from JSON in a vault")
def github_credentials(data: Mapping[str, str | int]) -> GitHubCredentials:
    """Read credentials from the decoded data of a Secret, or from the object in a vault. Inside effects only.

    Raises InvalidCredentials for both kinds, neither, or an installation id that is no integer.
    """
    token, app_id, key = (str(data.get(name) or "") for name in ("github_token", "github_app_id", _PRIVATE_KEY))
    installation = str(data.get("github_app_installation_id") or "0")
    if not (installation.isascii() and installation.isdigit()):
        raise InvalidCredentials("github_app_installation_id is not an integer")
    app = AppCredentials(app_id, int(installation), key)
    complete = bool(app_id and app.installation_id and key)
    if token and complete:
        raise InvalidCredentials("both github_token and a GitHub App are given; keep one of them")
    if token:
        return TokenCredentials(token)
    if complete:
        return app
    raise InvalidCredentials(
        f"neither github_token nor all of github_app_id, github_app_installation_id and {_PRIVATE_KEY} are given"
    )


_PRIVATE_KEY = "github_app_private_key"


def vault_object(text: str) -> dict[str, str | int]:
    """Read a vault's value: a JSON object of strings and integers. Inside effects only; raises InvalidCredentials."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise InvalidCredentials("the vault's value is not JSON") from None
    if not isinstance(found, dict):
        raise InvalidCredentials("the vault's value is not a JSON object")
    return {key: value for key, value in found.items() if isinstance(value, str | int)}


def proxy_credentials(data: Mapping[str, str | int]) -> ProxyCredentials:
    """Read a proxy's credentials: keys `username` and `password`. Inside effects only; raises InvalidCredentials."""
    username, password = data.get("username"), data.get("password")
    if not isinstance(username, str) or not isinstance(password, str):
        raise InvalidCredentials("username or password of the proxy is missing")
    return ProxyCredentials(username, password)
