"""The URL that a scale set is configured with: whose runners these are, and where the service's API is (M4, X1)."""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import urlsplit

from arcfsm.domain import keys

_LABEL_MAX: Final = 63
_LABEL_CUT: Final = 58
_TRIM_MARK: Final = "-trim"
_HOSTED: Final = ("github.com", "www.github.com", "github.localhost")
_HOSTED_SUFFIX: Final = ".ghe.com"


class InvalidUrlError(ValueError):
    """The URL names no enterprise, organization or repository."""


class GitHubUrl(NamedTuple):
    """A configuration URL, taken apart. Exactly one of enterprise and organization is set."""

    scheme: str
    host: str
    enterprise: str
    organization: str
    repository: str

    @property
    def labels(self) -> dict[str, str]:
        """The labels that say whose runners these are (M4), values cut to what a label may hold."""
        named = {
            keys.ENTERPRISE: self.enterprise,
            keys.ORGANIZATION: self.organization,
            keys.REPOSITORY: self.repository,
        }
        return {key: label_value(value) for key, value in named.items() if value}

    @property
    def hosted(self) -> bool:
        """Whether GitHub hosts it, rather than an enterprise server."""
        return self.host in _HOSTED or self.host.endswith(_HOSTED_SUFFIX)

    def api_base(self, *, force_server: bool = False) -> str:
        """Return where the GitHub API is (X1). `force_server` is GITHUB_ACTIONS_FORCE_GHES."""
        if self.hosted and not force_server:
            host = self.host.removeprefix("www.")
            return f"{self.scheme}://api.{host}"
        return f"{self.scheme}://{self.host}/api/v3"


def parse_github_url(text: str) -> GitHubUrl:
    """Take a configuration URL apart; slashes around the path don't matter. Raises InvalidUrlError."""
    try:
        parts = urlsplit(text.strip())
        host = parts.netloc.rpartition("@")[2]
    except ValueError as error:
        raise InvalidUrlError(f"{text!r} is not a URL") from error
    segments = parts.path.strip("/").split("/")
    if not parts.scheme or not host or not all(segments):
        raise InvalidUrlError(f"{text!r} names no enterprise, organization or repository")
    if len(segments) == 1:
        return GitHubUrl(parts.scheme, host, "", segments[0], "")
    if len(segments) == 2 and segments[0].lower() == "enterprises":
        return GitHubUrl(parts.scheme, host, segments[1], "", "")
    if len(segments) == 2:
        return GitHubUrl(parts.scheme, host, "", segments[0], segments[1])
    raise InvalidUrlError(f"{text!r} has more parts than an enterprise, organization or repository")


def label_value(value: str) -> str:
    """Return a label value: too long is cut and marked, else separators at either end are dropped (M4)."""
    if len(value) > _LABEL_MAX:
        return value[:_LABEL_CUT] + _TRIM_MARK
    return value.strip("-_.")
