"""What happens to a pod on its node: a script, as data.

A `PodLife` says what a kubelet would report; a `LifeBook` picks one per pod by label and by how many pods of that
sort came before. Without a script a pod lives an ordinary life: it starts after a moment and runs its program, or for
ever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from arcfsm.domain.instant import MILLISECOND, MINUTE, SECOND, Span


@dataclass(frozen=True)
class ContainerLife:
    """What one container does.

    Without `run_for` its program decides, and without a program it runs until it is stopped.
    """

    run_for: Span | None = None
    exit_code: int = 0
    oom_killed: bool = False
    message: str = ""
    ignores_term: bool = False
    """It does not react to SIGTERM and is killed when the grace period is over."""
    stop_takes: Span = 100 * MILLISECOND
    """From SIGTERM to its exit."""


ORDINARY: Final = ContainerLife()


@dataclass(frozen=True)
class PodLife:
    """What one pod lives through. Spans count from the moment it is bound to its node."""

    start_delay: Span = 300 * MILLISECOND
    """Sandbox, volumes and image: until the first container runs."""
    ready_delay: Span = 0
    pull_failures: int = 0
    """Image pulls that fail first, with the kubelet's back-off between them; negative: all of them."""
    init_run_for: Span = 100 * MILLISECOND
    init_exit_code: int = 0
    """Of the first init container, each time it runs."""
    containers: Mapping[str, ContainerLife] = field(default_factory=dict)
    rejected: str = ""
    """Reason of a rejection by the kubelet at admission, such as `OutOfpods`."""
    evicted_after: Span | None = None
    node_lost_after: Span | None = None
    node_lost_eviction: Span = 5 * MINUTE
    """From node loss until the node controller deletes the pod."""
    node_lost_removal: Span = 40 * SECOND
    """From that until the garbage collector of pods removes what never finished."""

    def container(self, name: str) -> ContainerLife:
        """Return the script of one container."""
        return self.containers.get(name, ORDINARY)


@dataclass(frozen=True)
class LifeRule:
    """Which pods live a life.

    All labels must match, and the pod must be one of the `nth` (from 1) that do; empty is all.
    """

    life: PodLife
    labels: Mapping[str, str] = field(default_factory=dict)
    name_prefix: str = ""
    nth: frozenset[int] = frozenset()


class LifeBook:
    """Chooses lives. The first rule that matches wins."""

    def __init__(self, rules: Sequence[LifeRule] = (), default: PodLife | None = None) -> None:
        self._rules = tuple(rules)
        self._default = default or PodLife()
        self._seen = [0] * len(self._rules)

    def choose(self, pod: Mapping[str, Any]) -> PodLife:
        """Return the life of a pod that was just bound, and count it."""
        metadata = pod["metadata"]
        labels = metadata.get("labels") or {}
        chosen: PodLife | None = None
        for index, rule in enumerate(self._rules):
            if not metadata["name"].startswith(rule.name_prefix):
                continue
            if any(labels.get(key) != value for key, value in rule.labels.items()):
                continue
            self._seen[index] += 1
            if chosen is None and (not rule.nth or self._seen[index] in rule.nth):
                chosen = rule.life
        return chosen or self._default
