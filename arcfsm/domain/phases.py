"""The phases that the CRDs publish in `status.phase`, and `spec.phase` of a listener."""

from __future__ import annotations

from typing import Final

NONE: Final = ""
PENDING: Final = "Pending"
RUNNING: Final = "Running"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
OUTDATED: Final = "Outdated"
STOPPED: Final = "Stopped"

SCALE_SET_PHASES: Final = (NONE, PENDING, RUNNING, OUTDATED)
RUNNER_SET_PHASES: Final = (NONE, RUNNING, OUTDATED)
RUNNER_PHASES: Final = (NONE, PENDING, RUNNING, SUCCEEDED, FAILED, OUTDATED)
RUNNER_DONE_PHASES: Final = frozenset({SUCCEEDED, FAILED, OUTDATED})
LISTENER_PHASES: Final = (NONE, RUNNING, STOPPED)
POD_DONE_PHASES: Final = frozenset({SUCCEEDED, FAILED})
