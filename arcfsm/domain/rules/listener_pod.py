"""The pod of a listener: whether it still is what is wanted, lives, and may be replaced now (L11–L13; H18, H28)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from arcfsm.domain import keys, phases
from arcfsm.domain.drift import listener_pod_drift
from arcfsm.domain.facts import PodFacts
from arcfsm.domain.fold.listener import REMEMBERED
from arcfsm.domain.instant import Instant, Span, format_instant, format_span
from arcfsm.domain.intents import CreateObject, PatchObject
from arcfsm.domain.jsonvalue import JsonObject, object_at, text_at
from arcfsm.domain.kinds import Kind
from arcfsm.domain.manifests import Unbuildable, listener_pod_metadata_patch
from arcfsm.domain.rules.listener_objects import config_secret_of, wanted_pod
from arcfsm.domain.rules.pod_deletion import delete_pod, stuck_from
from arcfsm.domain.rules.rule import Answer, Look, act, rule, settled, stalled, wait
from arcfsm.domain.settings import ControllerSettings
from arcfsm.domain.states import Listener

_CONFIG: Final = "its configuration was written after it started"


@rule("L11", "a pod that drifted or ended is replaced, in this order; one that lives gets its metadata merged")
def judge_pod(look: Look[Listener]) -> Answer | None:
    """Ended comes before metadata: whoever patches a dead pod first needs a right for it and may loop (H31)."""
    pod = look.subject.pod
    if pod is None:
        return None
    try:
        desired = wanted_pod(look)
    except Unbuildable as refusal:
        return stalled("L11", f"no pod can be made: {refusal}")
    drift = _drift(look, pod, desired)
    loops = drift is not None and _loops(look, desired)
    if drift is not None and not loops:
        return _replace(look, pod, drift)
    if (ended := _ended(look, pod)) is not None:
        return ended
    if pod.deletion_requested_at is not None:
        return _replace(look, pod, "it was deleted")
    if drift is not None:
        text = f"each new pod of listener {look.subject.name} at once differs again from what was created: {drift}"
        look.find("ListenerNotConverging", text)
        return stalled("L11", f"not recreating the pod any more, since it comes out the same each time: {drift}")
    change = listener_pod_metadata_patch(_live(look, pod), object_at(desired, "metadata"), look.settings)
    if change is None:
        return None
    patch = PatchObject(
        target=look.stream,
        kind=Kind.POD,
        namespace=look.subject.namespace,
        name=look.subject.name,
        uid=pod.uid,
        patch=look.intern({"metadata": change}),
    )
    return act("L11", "bringing labels and annotations of its pod up to date", patch)


@rule("L12", "a missing pod is created, stamped with the version of the configuration it will read")
def make_pod(look: Look[Listener]) -> Answer | None:
    """A stamp is put on at birth only (Z1)."""
    one = look.subject
    if one.pod is not None:
        return None
    try:
        manifest = wanted_pod(look)
    except Unbuildable as refusal:
        return stalled("L12", f"no pod can be made: {refusal}")
    create = CreateObject(
        target=look.stream, kind=Kind.POD, namespace=one.namespace, name=one.name, manifest=look.intern(manifest)
    )
    first = ", and first what it needs" if look.carried else ""
    return act("L12", f"it has no pod; creating it{first}", create)


@rule("L13", "a listener whose container runs is up")
def rest(look: Look[Listener]) -> Answer:
    """Whether it runs is a gauge made from the fold (M12)."""
    pod = look.subject.pod
    if look.carried:
        return act("L13", "bringing what it needs up to date")
    if pod is None or pod.container is None or pod.container.state != "running":
        return wait("L13", "its pod has not started yet")
    return settled("L13", "it listens")


def restart_delay(exits: Sequence[Instant], settings: ControllerSettings) -> Span:
    """Return how long to wait after the latest of these exits: longer with each one, shortest after a steady run (H28).

    A session that is still held by a predecessor looks like any other failure; it passes by itself (H39).
    """
    failures, delay, before = 0, settings.listener_restart_delay, None
    for at in exits:
        if before is not None and at - before - delay >= settings.listener_steady_after:
            failures = 0
        failures += 1
        delay = min(settings.listener_restart_delay << (failures - 1), settings.listener_restart_delay_max)
        before = at
    return delay


def _drift(look: Look[Listener], pod: PodFacts, desired: JsonObject) -> str | None:
    """Return why the pod is not the one that is wanted (D12)."""
    one = look.subject
    if _config_is_newer(look, pod):
        return _CONFIG
    key = ("D12", pod.spec, pod.metadata, look.intern(desired), one.pod_wanted, one.config_version_at_pod)
    return look.recall(key, lambda: _pod_drift(look, pod, desired))


def _pod_drift(look: Look[Listener], pod: PodFacts, desired: JsonObject) -> str | None:
    one = look.subject
    drift = listener_pod_drift(
        {"metadata": _live(look, pod), "spec": look.document(pod.spec)},
        desired,
        recorded=object_at(look.document(one.pod_wanted), "spec"),
        adopted_config_version=one.config_version_at_pod,
    )
    return str(drift) if drift is not None else None


def _config_is_newer(look: Look[Listener], pod: PodFacts) -> bool:
    """Whether a pod without a stamp is known to have read an older configuration than there is (Z1)."""
    config = config_secret_of(look)
    if config is None or config.modified_at is None or config.modified_at <= pod.created_at:
        return False
    return not text_at(_live(look, pod), "annotations", keys.LISTENER_CONFIG_VERSION)


def _live(look: Look[Listener], pod: PodFacts) -> JsonObject:
    return look.document(pod.metadata)


def _loops(look: Look[Listener], desired: JsonObject) -> bool:
    """Whether recreating brings nothing: this pod was created as it is wanted now, and so were several before (H18).

    Counted back from the latest pod, not from now, so that a pause alone doesn't start it again. Pods that replaced
    one that failed don't count.
    """
    one, settings = look.subject, look.settings
    if not one.pod_wanted or one.pod_wanted != look.intern(desired):
        return False
    since = one.pods_created[-1] - settings.listener_recreations_window
    recreated = sum(1 for at in one.pods_created if at >= since) - 1
    failed = sum(1 for at in one.exits if at >= since)
    return recreated - failed >= min(settings.listener_recreations_max, REMEMBERED - 1)


def _ended(look: Look[Listener], pod: PodFacts) -> Answer | None:
    """Whether the pod can never listen again. It is replaced at once, or after a wait where it failed."""
    one, settings, container = look.subject, look.settings, pod.container
    if pod.reason == keys.REASON_EVICTED:
        return _replace(look, pod, "it was evicted")
    if container is not None and container.state == "terminated":
        if not container.exit_code:
            return _replace(look, pod, "it ended with exit code 0")
        delay = restart_delay(one.exits, settings)
        again = (one.exits[-1] if one.exits else pod.created_at) + delay
        why = f"it ended with exit code {container.exit_code}"
    elif pod.phase in phases.POD_DONE_PHASES:
        # Refused by its node, say: no container ever tells, and the pod never starts again.
        delay = settings.listener_restart_delay
        again = pod.created_at + delay
        why = f"it is {pod.phase}{f' ({pod.reason})' if pod.reason else ''}"
    else:
        return None
    if again > look.now and pod.deletion_requested_at is None:
        return wait("L11", f"{why}; another one {format_span(delay)} later, at {format_instant(again)}", again)
    return _replace(look, pod, why)


def _replace(look: Look[Listener], pod: PodFacts, why: str) -> Answer:
    intents = delete_pod(look, pod)
    if not intents:
        stuck = stuck_from(look, pod)
        wake_at = stuck if stuck is not None and stuck > look.now and not look.world.advisory else None
        return wait("L11", f"replacing its pod: {why}; it is being deleted", wake_at)
    return act("L11", f"replacing its pod: {why}", *intents)
