"""The root of errors that a person can do something about. Each says in one line what, where and what to do."""

from __future__ import annotations

from typing import ClassVar


class ArcfsmError(Exception):
    """Subclasses are by what the caller should do; the exit code is that of the command line."""

    exit_code: ClassVar[int] = 2
