"""The settings that change what rules decide. They are journaled, so that a replay decides under the same ones.

Everything else (ports, journal URLs, log formats of the process itself) belongs to the service and is not here.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from arcfsm.domain.instant import HOUR, MINUTE, SECOND, Span


class ControllerSettings(BaseModel):
    """What a rule may know about how the controller was set up. Spans are microseconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    controller_namespace: str = Field(
        default="arc-systems", description="Namespace of listeners, their pods, service accounts and secrets."
    )
    listener_image: str = Field(
        default="", description="Image written into every listener; a change replaces every listener (A18)."
    )
    image_pull_secrets: tuple[str, ...] = Field(
        default=(), description="Names of image pull secrets written into every listener."
    )
    listener_entrypoint: str = Field(default="/ghalistener", description="Command of the listener container (L15).")
    metrics_addr: str = Field(
        default=":8080", description="Metrics address of the listener; `0` switches its metrics off."
    )
    metrics_endpoint: str = Field(default="/metrics", description="Metrics path of the listener.")
    log_level: str = Field(default="debug", description="Log level written into the listener's configuration.")
    log_format: str = Field(default="text", description="Log format written into the listener's configuration.")
    excluded_label_prefixes: tuple[str, ...] = Field(
        default=(), description="Label prefixes never propagated to children (M1, H21)."
    )
    user_agent_version: str = Field(default="dev", description="Version named in the runner's extra user agent (M8).")
    compatible_arc_version: str = Field(
        default="dev", description="Chart version this controller accepts (A3); `dev` accepts all."
    )
    delete_on_version_skew: bool = Field(
        default=False,
        description="Delete a scale set whose chart version is not accepted, as ARC does (A3, H36).",
    )
    listener_restart_delay: Span = Field(
        default=15 * SECOND, ge=0, description="Wait after a listener exits non-zero (L11, H28)."
    )
    listener_restart_delay_max: Span = Field(
        default=5 * MINUTE, ge=0, description="Longest wait of a listener that keeps failing (H28)."
    )
    listener_steady_after: Span = Field(
        default=10 * MINUTE, ge=0, description="Up-time that resets the restart delay (H28)."
    )
    listener_recreations_max: int = Field(
        default=3, ge=1, description="Recreations for one desired pod within the window before we stop (H18)."
    )
    listener_recreations_window: Span = Field(
        default=5 * MINUTE, ge=0, description="The window of the recreation breaker (H18)."
    )
    unrecorded_grace: Span = Field(
        default=60 * SECOND, ge=0, description="A runner without a recorded id is left alone this long (S-clean)."
    )
    busy_retry: Span = Field(
        default=30 * SECOND, ge=0, description="Wait before asking the service again about a busy runner (R4, R14)."
    )
    registration_abandon_after: Span = Field(
        default=10 * MINUTE,
        ge=0,
        description="Give up a registration that the service calls busy, or for which it takes no credentials, this "
        "long after the pod (or, of a deleted scale set, its last child) went (H25, H26).",
    )
    quota_retry: Span = Field(default=30 * SECOND, ge=0, description="Wait after a pod was refused by quota (R16).")
    quota_give_up_after: Span = Field(
        default=10 * MINUTE, ge=0, description="Age at which a runner refused by quota is deleted (R16)."
    )
    completed_runner_grace: Span = Field(
        default=0,
        ge=0,
        description="Remove a runner that still runs this long after its job completed; 0 never (H37).",
    )
    failed_runner_retire_after: Span = Field(
        default=5 * MINUTE,
        ge=0,
        description="A failed runner holds its slot this long, then makes room for another try; 0 for ever (H35).",
    )
    pod_start_deadline: Span = Field(
        default=10 * MINUTE,
        ge=0,
        description="Fail a runner whose container can't start (image not found, say) this long after its pod came.",
    )
    stuck_pod_after: Span = Field(
        default=5 * MINUTE,
        ge=0,
        description="A pod still there this long after its grace period ended is taken for dead: a listener's is "
        "deleted by force, a runner's takes its runner along.",
    )
    terminated_pod_grace_s: int = Field(
        default=0, description="gracePeriodSeconds for a pod whose containers ended; negative leaves it alone (R15)."
    )
    stalled_after: Span = Field(
        default=15 * SECOND, ge=0, description="Rest states shorter than this are not called a stall."
    )
    finalizer_stalled_after: Span = Field(
        default=1 * HOUR, ge=0, description="A deletion waiting longer than this on finalizers is a stall."
    )
