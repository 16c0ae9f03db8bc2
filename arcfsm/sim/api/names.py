"""Names: of objects, labels, finalizers, environment variables. Checked with the server's words.

Each check returns what is wrong with a text, and nothing when it is fine.
"""

from __future__ import annotations

import re
from typing import Final

LABEL_VALUE_MAX: Final = 63
SUBDOMAIN_MAX: Final = 253

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = f"({_QUALIFIED})?"
_CONFIG_KEY: Final = "[-._a-zA-Z0-9]+"
_IS_LABEL: Final = re.compile(_LABEL)
_IS_SUBDOMAIN: Final = re.compile(_SUBDOMAIN)
_IS_QUALIFIED: Final = re.compile(_QUALIFIED)
_IS_LABEL_VALUE: Final = re.compile(_LABEL_VALUE)
_IS_CONFIG_KEY: Final = re.compile(_CONFIG_KEY)
_IS_ENV_NAME: Final = re.compile(r"[ -<>-~]+")
_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_QUALIFIED_TEXT: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED}')"
)
_LABEL_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_LABEL_VALUE}')"
)
_CONFIG_KEY_TEXT: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    f"'key-name', regex used for validation is '{_CONFIG_KEY}')"
)
_ENV_NAME_TEXT: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)


def dns_label(text: str) -> list[str]:
    """A label: names of namespaces, containers, volumes."""
    faults = []
    if len(text) > LABEL_VALUE_MAX:
        faults.append("must be no more than 63 characters")
    if _IS_LABEL.fullmatch(text) is None:
        faults.append(_LABEL_TEXT)
    return faults


def dns_subdomain(text: str) -> list[str]:
    """A subdomain: names of most objects."""
    faults = []
    if len(text) > SUBDOMAIN_MAX:
        faults.append("must be no more than 253 characters")
    if _IS_SUBDOMAIN.fullmatch(text) is None:
        faults.append(_SUBDOMAIN_TEXT)
    return faults


def path_segment(text: str) -> list[str]:
    """Anything that fits into a path: names of roles and bindings."""
    if text in {".", ".."}:
        return [f"may not be '{text}'"]
    return [f"may not contain '{character}'" for character in "/%" if character in text]


def qualified_name(text: str) -> list[str]:
    """A name with an optional domain: keys of labels and annotations, finalizers."""
    faults: list[str] = []
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        example = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a qualified name {_QUALIFIED_TEXT} {example}"]
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif slash:
        faults += [f"prefix part {fault}" for fault in dns_subdomain(prefix)]
    if not name:
        faults.append("name part must be non-empty")
    elif len(name) > LABEL_VALUE_MAX:
        faults.append("name part must be no more than 63 bytes")
    if _IS_QUALIFIED.fullmatch(name) is None:
        faults.append(f"name part {_QUALIFIED_TEXT}")
    return faults


def label_value(text: str) -> list[str]:
    """The value of a label."""
    faults = []
    if len(text) > LABEL_VALUE_MAX:
        faults.append("must be no more than 63 bytes")
    if _IS_LABEL_VALUE.fullmatch(text) is None:
        faults.append(_LABEL_VALUE_TEXT)
    return faults


def config_key(text: str) -> list[str]:
    """A key of a secret or config map."""
    faults = []
    if len(text) > SUBDOMAIN_MAX:
        faults.append("must be no more than 253 characters")
    if _IS_CONFIG_KEY.fullmatch(text) is None:
        faults.append(_CONFIG_KEY_TEXT)
    elif text in {".", ".."}:
        faults.append(f"must not be '{text}'")
    elif text.startswith(".."):
        faults.append("must not start with '..'")
    return faults


def env_name(text: str) -> list[str]:
    """The name of an environment variable."""
    return [] if _IS_ENV_NAME.fullmatch(text) else [_ENV_NAME_TEXT]
