"""Long work over a journal: how far it is, where there is a terminal, and a garbage collector that waits."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import Progress

from arcfsm.replay.collector import patient_collector

STEP_EVENTS: Final = 1_000
"""A step shown costs as much as the work on an event."""


@contextmanager
def long_work(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield what is to be told the seq that was reached; `total` is the last one, 0 where it is not known."""
    shown = 0
    with (
        patient_collector(),
        Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar,
    ):
        task = bar.add_task(what, total=total or None)

        def reached(seq: int) -> None:
            nonlocal shown
            if seq >= shown + STEP_EVENTS:
                shown = seq
                bar.update(task, completed=seq)

        yield reached
