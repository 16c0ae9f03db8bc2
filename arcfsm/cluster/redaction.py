"""Credentials never get past here: what looks like one becomes a marker before it is any event, document or message.

Only fields that a projection names enter an event at all (allow-list). Among those some hold text that users wrote: pod
templates, annotations, messages. In them a value is a credential

- by its name: the value beside an environment variable, header, flag or annotation that is called a token, a password,
  a key and so on; names of Secrets and references to them stay, since they are not secret and rules need them;
- by its shape: tokens of GitHub, JWTs, PEM blocks, cloud keys, long opaque strings, `user:password@` in URLs.

The marker is `redacted:` and 16 hexadecimal digits of the value's SHA-256. Rules compare specs, so a changed password
must still be a change and an unchanged one must not: that is why the marker depends on the value. The price: whoever
reads the journal can tell that two values are equal, and can confirm a guess of a weak one. A credential that can be
guessed should live in a Secret, of which nothing but metadata is ever read.

What is never redacted: keys of maps and numbers. A credential used as the *name* of something is found only if it has
the shape of one, which no name that the API accepts for most kinds can have.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from arcfsm.domain.jsonvalue import Json, JsonObject

MARKER: Final = "redacted:"
SHORT_MAX: Final = 64
OURS: Final = "actions.github.com/"
"""Annotations of this prefix name Secrets and roles; the rules read them (A2)."""

APPLIED: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "kapp.k14s.io/original",
        "objectset.rio.cattle.io/applied",
        "banzaicloud.com/last-applied",
        "flux.weave.works/original",
    }
)
"""Annotations that hold a copy of the whole object as somebody wrote it: dropped, not marked (B62)."""

_NAME: Final = (
    r"token|secret|passw(?:or)?d|passphrase|passwd|pwd|credential|private[_.-]?key|api[_.-]?key|access[_.-]?key|"
    r"signing[_.-]?key|encryption[_.-]?key|account[_.-]?key|ssh[_.-]?key|client[_.-]?key|jit[_.-]?config|"
    r"conn(?:ection)?[_.-]?str(?:ing)?|webhook[_.-]?url|authorization|cookie|kubeconfig|dockerconfig"
)
_CREDENTIAL_NAME: Final = re.compile(
    rf"(?:{_NAME})|(?:^|[^a-z])(?:pat|auth|sas|dsn|pass|pw|key)(?:[^a-z]|$)", re.IGNORECASE
)
_SHAPES: Final = re.compile(
    r"gh[opsur]_[A-Za-z0-9]{16,}"
    r"|github_pat_[A-Za-z0-9_]{16,}"
    r"|glpat-[A-Za-z0-9_-]{16,}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}"
    r"|eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]*"
    r"|-----BEGIN [A-Z0-9 ]+-----(?:.*?-----END [A-Z0-9 ]+-----|.*)"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bAIza[A-Za-z0-9_-]{35}"
    r"|\b(?:sk|rk|pk)[-_](?:live|test|proj|ant)[-_][A-Za-z0-9_-]{16,}"
    r"|[A-Za-z0-9+/_-]{120,}={0,2}",
    re.DOTALL,
)
_USERINFO: Final = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,15}://)"
    r"(?P<user>[^/?#\s\"':@]+:(?!\d+(?:/|$))[^\s\"']*|[^/?#\s\"']+)@"
)
_ASSIGNED: Final = re.compile(
    rf"(?P<name>(?:{_NAME})[A-Za-z0-9_.-]{{0,64}})(?P<between>\s*=\s*|[\"']\s*:\s*)"
    r"(?P<value>\"[^\"]*\"|'[^']*'|[^\s,;&\"']+)",
    re.IGNORECASE,
)
_SCHEMED: Final = re.compile(
    r"(?P<scheme>\bbearer\s+|\b(?:basic|token)\s+(?=\S*[\d=]))(?!redacted:)(?P<value>[A-Za-z0-9+/=._~-]{8,})",
    re.IGNORECASE,
)
_FLAG: Final = re.compile(r"--?(?P<name>[A-Za-z][A-Za-z0-9_.-]*)")
_PLAIN_NAME: Final = re.compile(r"[a-z0-9.-]{0,253}")
_SUSPECT: Final = re.compile(
    rf"://|-----BEGIN|gh[opsur]_|glpat-|xox|eyJ|AKIA|ASIA|AIza|[srp]k[-_]|[A-Za-z0-9+/_-]{{120}}|github_pat|bearer|basic|{_NAME}",
    re.IGNORECASE,
)
"""One quick look: text in which this finds nothing holds nothing that the others find."""


def marker(secret: str) -> str:
    """Return the marker of a credential: equal for equal ones, and of no use as one."""
    if secret.startswith(MARKER):
        return secret
    return MARKER + hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@lru_cache(maxsize=4096)
def credential_name(name: str) -> bool:
    """Return whether what is called so is likely to be a credential."""
    return _CREDENTIAL_NAME.search(name) is not None


@lru_cache(maxsize=16_384)
def redact_name(name: str) -> str:
    """Return a name as it is, unless it is no name of an object and has the shape of a credential."""
    return name if _PLAIN_NAME.fullmatch(name) else redact_text(name)


def redact_text(text: str) -> str:
    """Return a text with every credential that can be told by its shape or its label replaced by its marker."""
    return _redact_short(text) if len(text) <= SHORT_MAX else _redact_text(text)


def _redact_text(text: str) -> str:
    if _SUSPECT.search(text) is None:
        return text
    text = _SHAPES.sub(lambda found: marker(found[0]), text)
    text = _USERINFO.sub(lambda found: f"{found['scheme']}{marker(found['user'])}@", text)
    text = _ASSIGNED.sub(lambda found: found["name"] + found["between"] + marker(found["value"]), text)
    return _SCHEMED.sub(lambda found: found["scheme"] + marker(found["value"]), text)


_redact_short = lru_cache(maxsize=4096)(_redact_text)
"""Phases, reasons and managers are few and come again with every word."""


def redact(value: Json) -> Json:
    """Return JSON with every credential in it replaced by its marker. Parts without one are returned as they are."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Mapping):
        return _redact_object(value)
    if isinstance(value, Sequence):
        return _redact_list(value)
    return value


def redact_pairs(pairs: JsonObject) -> dict[str, Json]:
    """Return labels or annotations: copies of whole objects are dropped, credentials are marked."""
    return {key: _pair(key, value) for key, value in pairs.items() if key not in APPLIED}


def _pair(key: str, value: Json) -> Json:
    if not isinstance(value, str):
        return redact(value)
    if key.startswith(OURS):
        return redact_text(value)
    if value and (credential_name(key) or ('"apiVersion"' in value and value.lstrip().startswith("{"))):
        return marker(value)
    return redact_text(value)


def _redact_object(value: JsonObject) -> Json:
    name, literal = value.get("name"), value.get("value")
    named = isinstance(name, str) and isinstance(literal, str) and literal and credential_name(name)
    result: dict[str, Json] = {}
    for key, item in value.items():
        if key == "value" and named and isinstance(item, str):
            result[key] = marker(item)
        elif key in {"labels", "annotations"} and isinstance(item, Mapping):
            result[key] = redact_pairs(item)
        elif key == "managedFields":
            continue
        else:
            result[key] = redact(item)
    return result


def _redact_list(value: Sequence[Json]) -> Json:
    result: list[Json] = []
    after_flag = False
    for item in value:
        if not isinstance(item, str):
            result.append(redact(item))
            after_flag = False
            continue
        flag = _FLAG.fullmatch(item)
        result.append(marker(item) if after_flag and flag is None and item else redact_text(item))
        after_flag = flag is not None and credential_name(flag["name"])
    return result
