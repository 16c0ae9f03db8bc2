"""Names that follow from other names (M9), and the names of runners, which follow from the decision that wants them.

All suffixes use the 27 letters and digits that Kubernetes itself uses for generated names: no vowels, so no words.
"""

from __future__ import annotations

from typing import Final

from arcfsm.domain.keys import LISTENER_CONFIG_SUFFIX, LISTENER_PROXY_SUFFIX

ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"

_FNV_OFFSET: Final = 0x811C9DC5
_FNV_PRIME: Final = 0x01000193
_HASH_LENGTH: Final = 8

_SUFFIX_LENGTH: Final = 5
_SUFFIXES: Final = len(ALPHABET) ** _SUFFIX_LENGTH
"""14,348,907: a power of three, so any factor that three does not divide permutes them."""
_STRIDE: Final = 8_868_113
"""Near the golden section of the number of suffixes: neighbouring decisions get suffixes that look nothing alike."""


def fnv1a_32(text: str) -> int:
    """Return the 32-bit FNV-1a hash of the text's UTF-8 bytes."""
    value = _FNV_OFFSET
    for byte in text.encode():
        value = (value ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    return value


def safe_encode(text: str) -> str:
    """Write each character as a letter of the alphabet, as Kubernetes does for hashes in names."""
    return "".join(ALPHABET[ord(character) % len(ALPHABET)] for character in text)


def _short_hash(text: str) -> str:
    return safe_encode(str(fnv1a_32(text)))[:_HASH_LENGTH]


def listener_name(namespace: str, scale_set: str, runner_group: str, config_url: str) -> str:
    """Return the listener's name (M9). Group and URL count to the letter, so editing either renames it (A16)."""
    return f"{scale_set}-{_short_hash(f'{namespace}@{runner_group}@{config_url}')}-listener"


def listener_config_secret_name(listener: str) -> str:
    """Return the name of the Secret that holds a listener's configuration."""
    return listener + LISTENER_CONFIG_SUFFIX


def listener_proxy_secret_name(listener: str) -> str:
    """Return the name of the Secret that holds a listener's proxy URLs."""
    return listener + LISTENER_PROXY_SUFFIX


def runner_proxy_secret_name(namespace: str, runner_set: str) -> str:
    """Return the name of the Secret that holds the proxy URLs of a set's runners (M9)."""
    return f"{runner_set}-{_short_hash(namespace)}-runner-proxy"


def runner_name(runner_set: str, decision: int, index: int) -> str:
    """Return `<set>-runner-<5 characters>` for one runner of a scale-up, from the seq of the decision that wants it.

    Pure, so that a retry after a crash asks for the same name and finds its own work. The suffixes of one set repeat
    only after 14 million events and runners; a foreign runner of that name makes the creation fail, and the next decision
    chooses another.
    """
    rest = (decision + index * _INDEX_STRIDE) * _STRIDE % _SUFFIXES
    letters = []
    for _ in range(_SUFFIX_LENGTH):
        rest, digit = divmod(rest, len(ALPHABET))
        letters.append(ALPHABET[digit])
    return f"{runner_set}-runner-{''.join(letters)}"


_INDEX_STRIDE: Final = 1_000_003
"""Indexes of one decision and decisions that follow each other must not meet: seqs grow by one, indexes stay below
1,000, so `decision + index * stride` repeats only when a million events lie between two scale-ups of one set."""
