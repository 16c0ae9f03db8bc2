"""Judges the end of a run: which of a scenario's expectations are not met, in words a person can act on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arcfsm.domain.keys import RUNNER_CONTAINER
from arcfsm.domain.kinds import Kind
from arcfsm.sim.scenario.model import Expectation, Scenario
from arcfsm.sim.service import ActionsService, JobResult, JobState

Objects = Callable[[Kind, str], list[dict[str, Any]]]
"""All objects of a kind in a namespace."""


def unmet(expect: Expectation, scenario: Scenario, objects: Objects, service: ActionsService) -> list[str]:
    """Return one line per expectation that does not hold."""
    problems: list[str] = []

    def compare(what: str, wanted: int | str | None, found: int | str) -> None:
        if wanted is not None and wanted != found:
            problems.append(f"{what}: expected {wanted}, found {found}")

    jobs = service.all_jobs
    compare("jobs completed", expect.jobs_completed, sum(job.state is JobState.COMPLETED for job in jobs))
    compare("jobs succeeded", expect.jobs_succeeded, sum(job.result is JobResult.SUCCEEDED for job in jobs))
    compare("runners", expect.runners, len(objects(Kind.RUNNER, scenario.namespace)))
    pods = objects(Kind.POD, scenario.namespace)
    compare("runner pods", expect.pods, sum(_runs_a_runner(pod) for pod in pods))
    for item in objects(Kind.SCALE_SET, scenario.namespace):
        phase = str((item.get("status") or {}).get("phase") or "")
        compare(f"phase of scale set {item['metadata']['name']}", expect.scale_set_phase, phase)
    return problems


def _runs_a_runner(pod: dict[str, Any]) -> bool:
    return any(container["name"] == RUNNER_CONTAINER for container in pod["spec"]["containers"])
