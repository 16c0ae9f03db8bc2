"""Names of the objects that a controller creates, and of runners.

Names are part of the contract with controllers that ran before us: a listener under another name is another listener.
So they follow from wire facts alone (M9), and a runner's name from the decision that wanted it, so that carrying out
the same intent twice makes one runner.
"""

from __future__ import annotations

from typing import Final

from arcfsm.domain import keys
from arcfsm.domain.instant import Instant
from arcfsm.domain.rulebook import rule

ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""27 letters from which no words can be formed, as Kubernetes uses them for generated names."""

_FNV_OFFSET: Final = 0x811C9DC5
_FNV_PRIME: Final = 0x01000193
_HASH_LENGTH: Final = 8

_SUFFIX_LENGTH: Final = 5
_SUFFIXES: Final = len(ALPHABET) ** _SUFFIX_LENGTH
_SEQ_STRIDE: Final = 8867755
"""Near the golden section of `_SUFFIXES`, no multiple of 3, and all partial quotients of their ratio are at most 3.

By the three-distance theorem the multiples of such a stride keep apart: among D decisions in a row no two suffixes
meet as long as no decision makes more than about `_SUFFIXES / 5 / D` runners (2,800 at D = 1,000).
"""
_INDEX_STRIDE: Final = 5481197
"""Neighbours differ in every letter; no multiple of 3, so the step is a bijection."""


def safe_encode(text: str) -> str:
    """Map every character to a letter of the alphabet: by its code point modulo 27, so `0` is `4` and `9` is `f`."""
    return "".join(ALPHABET[ord(character) % len(ALPHABET)] for character in text)


def fnv1a_32(data: bytes) -> int:
    """Return the 32-bit FNV-1a hash."""
    value = _FNV_OFFSET
    for byte in data:
        value = (value ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    return value


def _short_hash(text: str) -> str:
    return safe_encode(str(fnv1a_32(text.encode())))[:_HASH_LENGTH]


@rule("M9", "names of listeners and runner proxy secrets follow from FNV-1a hashes of wire facts")
def listener_name(namespace: str, scale_set: str, runner_group: str, config_url: str) -> str:
    """Return the listener's name (M9). Group and URL count verbatim: editing either renames the listener (A16)."""
    return f"{scale_set}-{_short_hash(f'{namespace}@{runner_group}@{config_url}')}-listener"


def runner_proxy_secret_name(namespace: str, runner_set: str) -> str:
    """Return the name of the proxy Secret that the runners of a set share (M9)."""
    return f"{runner_set}-{_short_hash(namespace)}-runner-proxy"


def listener_config_secret_name(listener: str) -> str:
    """Return the name of the Secret that holds a listener's config.json."""
    return listener + keys.LISTENER_CONFIG_SUFFIX


def listener_proxy_secret_name(listener: str) -> str:
    """Return the name of the Secret that holds a listener's proxy URLs."""
    return listener + keys.LISTENER_PROXY_SUFFIX


def runner_salt(set_uid: str, known_since: Instant) -> int:
    """Return what keeps the names of one set and one journal apart from those of any other.

    Decisions are counted anew in a fresh journal, on a cluster where runners of an earlier one may live: so it is
    not the set's uid alone, but also the moment from which this journal knows the set.
    """
    return fnv1a_32(f"{set_uid}@{known_since}".encode())


def runner_name(set_name: str, decision_seq: int, index: int, salt: int) -> str:
    """Return `<set>-runner-<5 letters>` for the runner `index` that the decision at `decision_seq` wanted.

    A retry after a crash asks for the same name and finds its own runner (architecture.md §4.4). There are 14.3
    million suffixes; over the decisions that can have living runners at one time they do not repeat. The salt shifts
    all of them alike, which changes nothing about their distances.
    """
    number = ((decision_seq * _SEQ_STRIDE + index) * _INDEX_STRIDE + salt) % _SUFFIXES
    letters = []
    for _ in range(_SUFFIX_LENGTH):
        number, letter = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[letter])
    return f"{set_name}-runner-{''.join(letters)}"
