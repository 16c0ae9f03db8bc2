"""The garbage collector while a journal is made or read through.

Every line or event is hundreds of small containers that die with it, and what is kept (documents, states) has no
cycles. The default thresholds were made for other programs: they look through everything kept again and again, which
doubled the time of an import when it was measured.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

YOUNG_MAX: Final = 100_000
"""Containers made before the young ones are looked through."""
SELDOM: Final = 50
"""How many looks at one generation make one at the next."""


@contextmanager
def patient_collector() -> Iterator[None]:
    """Let the collector look seldom; afterwards as before."""
    before = gc.get_threshold()
    gc.set_threshold(YOUNG_MAX, SELDOM, SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
