"""The machine of a listener and its pod (rules.md 2.3)."""

from __future__ import annotations

from arcfsm.domain import keys, phases
from arcfsm.domain.machines.machine import MachineSpec, Move, StateSpec
from arcfsm.domain.states import Listener

_SEEN = ("provisioning", "up", "down", "stopping", "parked")
_LIVE = ("unseen", *_SEEN)


def _by_pod(trigger: str, sources: tuple[str, ...]) -> tuple[Move, ...]:
    return (
        Move(trigger, sources, "stopping", ("stopped", "pod_present")),
        Move(trigger, sources, "parked", ("stopped",)),
        Move(trigger, sources, "down", ("pod_dead",)),
        Move(trigger, sources, "up", ("container_running",)),
        Move(trigger, sources, "provisioning"),
    )


LISTENER = MachineSpec[Listener](
    name="listener",
    title="Listener (AutoscalingListener and its Pod)",
    initial="unseen",
    states=(
        StateSpec("unseen", (), "Known by its pod only; the object itself was not seen yet."),
        StateSpec(
            "provisioning",
            ("", phases.RUNNING),
            "Its account, role, binding, config and pod are brought about (L5–L12).",
        ),
        StateSpec("up", ("", phases.RUNNING), "The listener container runs (L13)."),
        StateSpec(
            "down", ("", phases.RUNNING), "Its pod was evicted or its container ended; the pod is replaced (L11.2)."
        ),
        StateSpec("stopping", (phases.STOPPED,), "Switched off while its pod is still there (L4)."),
        StateSpec("parked", (phases.STOPPED,), "Switched off: the object stays, its pod is gone (L4)."),
        StateSpec("draining", phases.LISTENER_PHASES, "Deleted; its children go first (L1)."),
        StateSpec("gone", (), "No more.", final=True),
    ),
    moves=(
        *(
            move
            for trigger, sources in (("ListenerCreated", ("unseen",)), ("ListenerObserved", _LIVE))
            for move in (Move(trigger, sources, "draining", ("deleting",)), *_by_pod(trigger, sources))
        ),
        *(
            move
            for trigger in (
                "ListenerSwitched",
                "ListenerPodCreated",
                "ListenerPodObserved",
                "ListenerPodStarted",
                "ListenerPodTerminated",
                "ListenerPodChanged",
                "ListenerPodDeletionRequested",
                "ListenerPodGone",
            )
            for move in _by_pod(trigger, _SEEN)
        ),
        Move("ListenerDeletionRequested", _LIVE, "draining"),
        Move("ListenerGone", (*_LIVE, "draining"), "gone"),
    ),
    guards={
        "deleting": lambda listener: listener.deleting,
        "stopped": lambda listener: listener.stopped,
        "pod_present": lambda listener: listener.pod is not None,
        "pod_dead": lambda listener: (
            listener.pod is not None
            and (
                listener.pod.reason == keys.REASON_EVICTED
                or (listener.pod.container is not None and listener.pod.container.state == "terminated")
            )
        ),
        "container_running": lambda listener: (
            listener.pod is not None
            and listener.pod.container is not None
            and listener.pod.container.state == "running"
        ),
    },
)
