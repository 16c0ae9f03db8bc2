"""A memory for what follows from content-addressed values: the same key always means the same answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar, cast

T = TypeVar("T")

_KEPT: Final = 20_000
"""Answers kept. Beyond that all are forgotten: what is still asked for comes back at the price of one evaluation."""


class Memo:
    """Pure like a cache by digest is: forgetting it, at any time, changes no answer."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, ...], object] = {}

    def recall(self, key: tuple[str, ...], work_out: Callable[[], T]) -> T:
        """Return the answer to `key`, worked out at most once."""
        try:
            return cast("T", self._answers[key])
        except KeyError:
            if len(self._answers) >= _KEPT:
                self._answers.clear()
            answer = self._answers[key] = work_out()
            return answer

    def forget(self) -> None:
        """Drop all answers: what they depend on beside their keys has changed."""
        self._answers.clear()
