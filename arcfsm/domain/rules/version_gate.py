"""Which chart versions this controller accepts (A3)."""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = r"(0|[1-9][0-9]*)"
_VERSION: Final = re.compile(rf"{_NUMBER}(?:\.{_NUMBER}(?:\.{_NUMBER}.*)?)?", re.DOTALL)


def accepts(build: str, label: str) -> bool:
    """Whether a controller of this build accepts a scale set with this version label ("" where there is none)."""
    if build in ("dev", label) or build.startswith("canary-"):
        return True
    ours, theirs = _minor(build), _minor(label)
    return ours is not None and ours == theirs


def _minor(version: str) -> tuple[int, int] | None:
    """Read major and minor. Leading zeros are refused, a missing minor is 0, the rest is of no account."""
    found = _VERSION.fullmatch(version)
    return (int(found[1]), int(found[2] or 0)) if found else None
