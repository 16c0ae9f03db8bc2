"""A scenario as data: what users, jobs and other tools do, and when. Written in YAML or built in Python.

A scenario says nothing about faults by chance (that is the fault plan's, drawn from the seed) and nothing about what
the controller should do step by step: only what must be true in the end. Unknown keys are refused, so that a typing
error is not a silent no-op.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from arcfsm.domain.instant import DAY, HOUR, MILLISECOND, MINUTE, SECOND, Span
from arcfsm.domain.keys import MAX_RUNNERS_DEFAULT
from arcfsm.domain.kinds import Kind
from arcfsm.sim.faults.plan import FaultLevel, IncidentKind
from arcfsm.sim.kubelet.life import ContainerLife, LifeRule, PodLife
from arcfsm.sim.service.model import ServiceSettings

_UNITS: Final = {"ms": MILLISECOND, "s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
GITOPS_USER: Final = "system:serviceaccount:argocd:argocd-application-controller"
ADMIN_USER: Final = "platform-admin"


def parse_span(value: object) -> object:
    """Read `1m30s`, `200ms`, `-2m`; a number passes as microseconds. Raises ValueError for other text."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    sign, text = (-1, text[1:]) if text.startswith("-") else (1, text)
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{value!r} is not a length of time; write it as 90s, 1m30s or 200ms")
    return sign * sum(int(float(number) * _UNITS[unit]) for number, unit in parts)


SpanText = Annotated[Span, BeforeValidator(parse_span)]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScaleSetData(_Data):
    """A scale set that is installed at the start, as its chart would."""

    name: str = "demo"
    min_runners: int | None = None
    max_runners: int | None = None
    runner_group: str = ""
    labels: dict[str, str] = Field(default_factory=dict)
    image: str = "ghcr.io/actions/actions-runner:2.335.1"
    spec: dict[str, Any] = Field(default_factory=dict)
    """Merged over the generated spec."""


class ContainerLifeData(_Data):
    """Script of a container, see `ContainerLife`."""

    run_for: SpanText | None = None
    exit_code: int = 0
    oom_killed: bool = False
    message: str = ""
    ignores_term: bool = False
    stop_takes: SpanText = 100 * MILLISECOND

    def to_life(self) -> ContainerLife:
        """Make the script."""
        return ContainerLife(**self.model_dump())


class LifeData(_Data):
    """Which pods live how, see `PodLife` and `LifeRule`."""

    labels: dict[str, str] = Field(default_factory=dict)
    name_prefix: str = ""
    nth: tuple[int, ...] = ()
    start_delay: SpanText = 300 * MILLISECOND
    ready_delay: SpanText = 0
    pull_failures: int = 0
    init_run_for: SpanText = 100 * MILLISECOND
    init_exit_code: int = 0
    rejected: str = ""
    evicted_after: SpanText | None = None
    node_lost_after: SpanText | None = None
    containers: dict[str, ContainerLifeData] = Field(default_factory=dict)

    def to_rule(self) -> LifeRule:
        """Make the rule."""
        script = self.model_dump(exclude={"labels", "name_prefix", "nth", "containers"})
        containers = {name: life.to_life() for name, life in self.containers.items()}
        return LifeRule(PodLife(**script, containers=containers), self.labels, self.name_prefix, frozenset(self.nth))


class ServiceData(_Data):
    """How the Actions service behaves, see `ServiceSettings`."""

    assign_delay: SpanText = 200 * MILLISECOND
    deregistration_lag: SpanText = 0
    job_lease: SpanText = 10 * MINUTE
    session_lease: SpanText = 60 * SECOND
    queue_lifetime: SpanText = 10 * MINUTE
    admin_lifetime: SpanText = HOUR

    def to_settings(self) -> ServiceSettings:
        """Make the settings."""
        return ServiceSettings(**self.model_dump())


class _Step(_Data):
    at: SpanText = 0
    """Since the start of the run."""


class QueueJobs(_Step):
    """Queue jobs for a scale set."""

    do: Literal["queue-jobs"]
    scale_set: str = "demo"
    count: int = 1
    every: SpanText = 0
    duration: SpanText = 30 * SECOND


class CancelJobs(_Step):
    """Cancel so many of the jobs that are not over yet, oldest first."""

    do: Literal["cancel-jobs"]
    count: int = 1


class PatchObject(_Step):
    """Somebody edits an object (merge patch)."""

    do: Literal["patch"]
    kind: Kind
    name: str
    namespace: str = ""
    """The scale sets' namespace unless said otherwise."""
    patch: dict[str, Any]
    subresource: str = ""
    user: str = ADMIN_USER
    every: SpanText = 0
    """Repeated at this interval: a second controller that keeps writing what it believes."""
    times: int = 1


class DeleteObject(_Step):
    """Somebody deletes an object."""

    do: Literal["delete"]
    kind: Kind
    name: str
    namespace: str = ""
    grace: int | None = None
    user: str = ADMIN_USER


class CreateObject(_Step):
    """Somebody creates an object."""

    do: Literal["create"]
    kind: Kind
    object: dict[str, Any]
    user: str = ADMIN_USER


class GitOps(_Step):
    """From then on a GitOps tool holds labels and annotations of a kind's objects at what it wants.

    Null removes a key.
    """

    do: Literal["gitops"]
    kind: Kind
    labels: dict[str, str | None] = Field(default_factory=dict)
    annotations: dict[str, str | None] = Field(default_factory=dict)
    reaction: SpanText = 3 * SECOND
    times_max: int = 50


class Trouble(_Step):
    """An incident on purpose, beside those that the seed draws."""

    do: Literal["trouble"]
    incident: IncidentKind
    span: SpanText = 0
    steps: int = 0


Step = Annotated[
    QueueJobs | CancelJobs | PatchObject | DeleteObject | CreateObject | GitOps | Trouble,
    Field(discriminator="do"),
]


class Expectation(_Data):
    """What must be true at the end of a run with a controller. What is not set is not looked at."""

    jobs_completed: int | None = None
    jobs_succeeded: int | None = None
    runners: int | None = None
    pods: int | None = None
    """Runner pods."""
    scale_set_phase: str | None = None


class Scenario(_Data):
    """What happens in a run, but for chance."""

    name: str
    description: str = ""
    duration: SpanText = 5 * MINUTE
    namespace: str = "arc-runners"
    controller_namespace: str = "arc-systems"
    config_url: str = "http://github.example.test/example-org"
    faults: FaultLevel = FaultLevel.NONE
    scale_sets: tuple[ScaleSetData, ...] = (ScaleSetData(),)
    service: ServiceData = ServiceData()
    lives: tuple[LifeData, ...] = ()
    steps: tuple[Step, ...] = ()
    expect: Expectation = Expectation()
    pods_max: int = 110

    def scale_set_object(self, data: ScaleSetData) -> dict[str, Any]:
        """Build the AutoscalingRunnerSet that a chart would install."""
        spec: dict[str, Any] = {
            "githubConfigUrl": self.config_url,
            "githubConfigSecret": "github-credentials",
            "runnerScaleSetName": data.name,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "runner", "image": data.image, "command": ["/home/runner/run.sh"]}],
                }
            },
        }
        if data.min_runners is not None:
            spec["minRunners"] = data.min_runners
        if data.max_runners is not None:
            spec["maxRunners"] = min(data.max_runners, MAX_RUNNERS_DEFAULT)
        if data.runner_group:
            spec["runnerGroup"] = data.runner_group
        return {"metadata": {"name": data.name, "labels": dict(data.labels)}, "spec": {**spec, **data.spec}}
