"""The trace of a run: what happened, in order, one line each. Two runs are the same when their traces are.

A line holds virtual time, who, what, and how it ended; written content goes in as a digest, so a difference anywhere
in what an object became shows up in the line of the write that made it so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from arcfsm.domain.instant import Instant


@dataclass(frozen=True)
class TraceLine:
    """One thing that happened."""

    at: Instant
    """Since the start of the run."""
    actor: str
    action: str
    detail: str

    def __str__(self) -> str:
        return f"{self.at / 1_000_000:12.6f}  {self.actor:<28} {self.action:<14} {self.detail}"


class Trace:
    """All lines of one run."""

    def __init__(self) -> None:
        self.lines: list[TraceLine] = []

    def add(self, at: Instant, actor: str, action: str, detail: str = "") -> None:
        """Append a line."""
        self.lines.append(TraceLine(at, actor, action, detail))

    def digest(self) -> str:
        """Return the SHA-256 over all lines."""
        sum_ = hashlib.sha256()
        for line in self.lines:
            sum_.update(f"{line.at} {line.actor} {line.action} {line.detail}\n".encode())
        return sum_.hexdigest()

    def of(self, actor: str) -> list[TraceLine]:
        """Return the lines of one actor."""
        return [line for line in self.lines if line.actor == actor]

    def render(self) -> str:
        """Write the whole trace as text."""
        return "\n".join(str(line) for line in self.lines)

    def __len__(self) -> int:
        return len(self.lines)


def fingerprint(value: Any) -> str:
    """Return a short digest of a JSON value."""
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:10]


def first_difference(left: Iterable[TraceLine], right: Iterable[TraceLine]) -> tuple[int, str, str] | None:
    """Return where two traces part: the line number and both lines. None when they are the same."""
    mine, theirs = [str(line) for line in left], [str(line) for line in right]
    for number in range(max(len(mine), len(theirs))):
        one = mine[number] if number < len(mine) else "(end)"
        other = theirs[number] if number < len(theirs) else "(end)"
        if one != other:
            return number, one, other
    return None
