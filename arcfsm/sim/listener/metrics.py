"""The listener's metrics (rules.md P8), in Prometheus text form.

Kept by the machine itself, so that what a scrape would show is a function of what the process was told, like
everything else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

_COUNTERS: Final = ("gha_started_jobs_total", "gha_completed_jobs_total")
_STATISTICS: Final = {
    "gha_assigned_jobs": "totalAssignedJobs",
    "gha_running_jobs": "totalRunningJobs",
    "gha_registered_runners": "totalRegisteredRunners",
    "gha_busy_runners": "totalBusyRunners",
    "gha_idle_runners": "totalIdleRunners",
}
_HISTOGRAMS: Final = ("gha_job_startup_duration_seconds", "gha_job_execution_duration_seconds")


class ListenerMetrics:
    """Counters and gauges of one process."""

    def __init__(self) -> None:
        self.gauges: dict[str, float] = {}
        self._counters: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
        self._durations: dict[str, list[float]] = {name: [] for name in _HISTOGRAMS}

    def limits(self, low: int, high: int) -> None:
        """Publish the configured bounds."""
        self.gauges["gha_min_runners"], self.gauges["gha_max_runners"] = low, high

    def statistics(self, statistics: Mapping[str, Any], desired: int) -> None:
        """Publish what the service last said, and what was asked for because of it."""
        for name, key in _STATISTICS.items():
            self.gauges[name] = float(statistics.get(key) or 0)
        self.gauges["gha_desired_runners"] = desired

    def started(self, item: Mapping[str, Any]) -> None:
        """Count a started job."""
        self._counters[_COUNTERS[0], _labels(item)] += 1
        self._observe(_HISTOGRAMS[0], item, "queueTime", "runnerAssignTime")

    def completed(self, item: Mapping[str, Any]) -> None:
        """Count a completed job."""
        self._counters[_COUNTERS[1], (*_labels(item), ("job_result", str(item.get("result") or "")))] += 1
        self._observe(_HISTOGRAMS[1], item, "runnerAssignTime", "finishTime")

    def total(self, name: str) -> int:
        """Return a counter summed over its labels."""
        return sum(count for (counter, _), count in self._counters.items() if counter == name)

    def render(self, base: Mapping[str, str]) -> str:
        """Write everything in Prometheus text form; `base` are the labels that name the scale set."""
        lines = []
        for name in _COUNTERS:
            lines.append(f"# TYPE {name} counter")
            found = sorted((labels, count) for (counter, labels), count in self._counters.items() if counter == name)
            lines += [f"{name}{_braces({**base, **dict(labels)})} {count}" for labels, count in found]
        for name, value in sorted(self.gauges.items()):
            lines += [f"# TYPE {name} gauge", f"{name}{_braces(base)} {value:g}"]
        for name, seen in self._durations.items():
            lines.append(f"# TYPE {name} histogram")
            lines.append(f"{name}_sum{_braces(base)} {sum(seen):g}")
            lines.append(f"{name}_count{_braces(base)} {len(seen)}")
        return "\n".join(lines) + "\n"

    def _observe(self, name: str, item: Mapping[str, Any], begin: str, end: str) -> None:
        first, last = _instant(item.get(begin)), _instant(item.get(end))
        if first is not None and last is not None:
            self._durations[name].append(max(0.0, (last - first).total_seconds()))


def _labels(item: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return (
        ("job_name", str(item.get("jobDisplayName") or "")),
        ("job_workflow_ref", str(item.get("jobWorkflowRef") or "")),
        ("event_name", str(item.get("eventName") or "")),
    )


def _braces(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{key}="{value}"' for key, value in sorted(labels.items())) + "}"


def _instant(text: object) -> datetime | None:
    if not isinstance(text, str) or not text or text.startswith("0001-"):
        return None
    return datetime.fromisoformat(text)
