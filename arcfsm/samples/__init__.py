"""Recorded incidents that ship with the package, to try things out on. Real watch streams of a real cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent
_SUFFIX: Final = ".jsonl"


def sample_names() -> tuple[str, ...]:
    """Return the names of the samples, sorted."""
    return tuple(sorted(path.name.removesuffix(_SUFFIX) for path in _FOLDER.glob(f"*{_SUFFIX}")))


def sample_path(name: str) -> Path:
    """Return where a sample lies. Raises KeyError for an unknown one."""
    if name not in sample_names():
        raise KeyError(name)
    return _FOLDER / f"{name}{_SUFFIX}"
