"""What a `githubConfigUrl` says: which enterprise, organization or repository, and where its API is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from arcfsm.domain import keys
from arcfsm.domain.rulebook import rule

_HOSTED: Final = ("github.com", "www.github.com", "github.localhost")
_HOSTED_SUFFIX: Final = ".ghe.com"
_LABEL_LENGTH: Final = 63
_TRIM_MARK: Final = "-trim"


class InvalidConfigUrl(ValueError):  # noqa: N818 - named for what is wrong, as the rules speak of it
    """The URL names no enterprise, organization or repository of a GitHub."""


@dataclass(frozen=True, slots=True)
class ConfigUrl:
    """A parsed `githubConfigUrl`. Either `enterprise` is set, or `organization`, or that and `repository`."""

    scheme: str
    host: str
    """With the port, if one is written."""
    enterprise: str = ""
    organization: str = ""
    repository: str = ""

    @property
    def hosted(self) -> bool:
        """Whether GitHub itself serves it (X1); any other host is a GitHub Enterprise Server."""
        host = self.host.lower()
        return host in _HOSTED or host.endswith(_HOSTED_SUFFIX)

    @property
    def registration_path(self) -> str:
        """Where below the API base runners of this scope are registered (X2)."""
        if self.enterprise:
            return f"/enterprises/{self.enterprise}/actions/runners/registration-token"
        if self.repository:
            return f"/repos/{self.organization}/{self.repository}/actions/runners/registration-token"
        return f"/orgs/{self.organization}/actions/runners/registration-token"


def parse_config_url(text: str) -> ConfigUrl:
    """Read a `githubConfigUrl`; slashes around it don't count (M4).

    Raises InvalidConfigUrl. Stricter than ARC in one thing: without scheme and host it is invalid, where ARC takes
    `github.com/acme` for the repository `acme` of an organization `github.com`.
    """
    try:
        parts = urlsplit(text.strip("/"))
        host = parts.netloc.rpartition("@")[2]
    except ValueError as error:
        raise InvalidConfigUrl(f"{text!r} is not a URL: {error}") from error
    if parts.scheme not in {"http", "https"} or not host:
        raise InvalidConfigUrl(f"{text!r} is not a URL; expected https://HOST/ORGANIZATION[/REPOSITORY]")
    match unquote(parts.path).strip("/").split("/"):
        case [organization] if organization:
            return ConfigUrl(parts.scheme, host, organization=organization)
        case [first, enterprise] if first.lower() == "enterprises" and enterprise:
            return ConfigUrl(parts.scheme, host, enterprise=enterprise)
        case [organization, repository] if organization and repository:
            return ConfigUrl(parts.scheme, host, organization=organization, repository=repository)
    raise InvalidConfigUrl(
        f"{text!r} names no enterprise, organization or repository; "
        "expected https://HOST/ORGANIZATION[/REPOSITORY] or https://HOST/enterprises/ENTERPRISE"
    )


@rule("M4", "the config URL yields the labels enterprise, organization and repository")
def url_labels(url: ConfigUrl) -> dict[str, str]:
    """Return the labels that say whose runners these are (M4); parts that the URL lacks have no label."""
    parts = {
        keys.ENTERPRISE: url.enterprise,
        keys.ORGANIZATION: url.organization,
        keys.REPOSITORY: url.repository,
    }
    return {key: _label_value(part) for key, part in parts.items() if part}


def _label_value(text: str) -> str:
    if len(text) > _LABEL_LENGTH:
        return text[: _LABEL_LENGTH - len(_TRIM_MARK)] + _TRIM_MARK
    return text.strip("-_.")


def api_base(url: ConfigUrl, *, force_enterprise_server: bool = False) -> str:
    """Return the base of the GitHub REST API for a URL (X1), without a trailing slash."""
    if not url.hosted or force_enterprise_server:
        return f"{url.scheme}://{url.host}/api/v3"
    host = "github.com" if url.host.lower() == "www.github.com" else url.host
    return f"{url.scheme}://api.{host}"
