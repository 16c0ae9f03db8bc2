"""A few threads that do one job after the other.

An executor of the standard library would do, at twice the cost a job: nobody here needs its futures, and a thread of
ours that waits for a server which never answers must not hold up the end of the program.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeAlias

Job: TypeAlias = Callable[[], None]


class Workers:
    """At most `count` threads, each started when it is first needed."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._closed = False

    def submit(self, job: Job) -> None:
        """Have a job done, after those before it. It must not raise. Nothing is done once closed."""
        if self._closed:
            return
        if len(self._threads) < self._count:
            thread = threading.Thread(target=self._run, name=f"request-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._jobs.put(job)

    def close(self) -> None:
        """End the threads after what they are doing now, without waiting for it."""
        self._closed = True
        for _ in self._threads:
            self._jobs.put(None)

    def _run(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            if not self._closed:
                job()
            # A job holds its request and answer; an idle thread must not.
            del job
