"""Words that reasons are made of. A reason says the same thing for as long as the same thing is true."""

from __future__ import annotations


def many(count: int, noun: str) -> str:
    """Say how many: `1 runner`, `3 runners`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
