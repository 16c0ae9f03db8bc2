"""What other programs say about a failure, as one line that can be shown: bounded, and without any credential.

Credentials that the client holds are replaced wherever they occur; what merely looks like one (another client's token
in a message, a password in a URL) is replaced by its shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from arcfsm.domain.exchange import ProxySetting
from arcfsm.domain.manifests.credentials import AppCredentials, GitHubCredentials

LINE_MAX: Final = 360
REDACTED: Final = "[redacted]"
_SHORTEST: Final = 4
"""Anything shorter occurs in ordinary words."""
_PEM: Final = re.compile(r"-----BEGIN [A-Z0-9 ]+-----(?:.*?-----END [A-Z0-9 ]+-----|.*)", re.DOTALL)
_SHAPES: Final = re.compile(
    r"gh[opsur]_\w{10,}"
    r"|github_pat_\w{10,}"
    r"|eyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?"
    r"|(?<=://)[^\s/?#]*@"
    r"|(?i:\b(?:bearer|remoteauth|basic)\s+)[\w+/=.~:-]{6,}"
)


def one_line(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text without credentials, in one line of at most LINE_MAX characters."""
    spellings = {spelling for secret in secrets for spelling in _spellings(secret)}
    for spelling in sorted(spellings, key=len, reverse=True):
        text = text.replace(spelling, REDACTED)
    text = _SHAPES.sub(REDACTED, _PEM.sub(REDACTED, text))
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= LINE_MAX else line[: LINE_MAX - 1] + "…"


def secrets_of(credentials: GitHubCredentials, proxy: ProxySetting) -> tuple[str, ...]:
    """Return what must never be shown of an access. An app's ids are no secrets: its owner needs them in messages."""
    mine = credentials.private_key if isinstance(credentials, AppCredentials) else credentials.token
    return (mine, *_password(proxy.http), *_password(proxy.https))


def _password(url: str) -> tuple[str, ...]:
    userinfo, at, _ = url.rpartition("://")[2].rpartition("@")
    return (userinfo, userinfo.partition(":")[2]) if at else ()


def _spellings(secret: str) -> tuple[str, ...]:
    return tuple(form for form in (secret, quote(secret, safe="")) if len(form) >= _SHORTEST)
