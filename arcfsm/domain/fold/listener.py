"""The fold of a listener and its pod. The world, which sees both, adds the config Secret's version at a pod's birth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from arcfsm.domain.events.listener import (
    ListenerCreated,
    ListenerDeletionRequested,
    ListenerFinalizersChanged,
    ListenerGone,
    ListenerMetadataChanged,
    ListenerObserved,
    ListenerPodChanged,
    ListenerPodCreated,
    ListenerPodDeletionRequested,
    ListenerPodFacts,
    ListenerPodGone,
    ListenerPodObserved,
    ListenerPodStarted,
    ListenerPodTerminated,
    ListenerSpecChanged,
    ListenerSwitched,
)
from arcfsm.domain.fold.fields import appear, set_fields, vanish
from arcfsm.domain.instant import Instant
from arcfsm.domain.states import Listener

REMEMBERED: Final = 8
"""Exits and pods that a listener remembers: more than the breakers of H18 and H28 count."""


def _pod(state: Listener, event: ListenerPodFacts, at: Instant) -> Listener:
    before, pod = state.pod, event.pod
    if before is None or before.uid != pod.uid:
        state = replace(
            state,
            pod_adopted=isinstance(event, ListenerPodObserved),
            config_version_at_pod="",
            pod_wanted="",
            up_since=None,
            pods_created=(*state.pods_created, pod.created_at)[-REMEMBERED:],
        )
        before = None
    was = before.container.state if before and before.container else ""
    now = pod.container.state if pod.container else ""
    if now == "running" and was != "running":
        state = replace(state, up_since=at)
    if now == "terminated" and was != "terminated" and pod.container and pod.container.exit_code:
        state = replace(state, exits=(*state.exits, pod.container.finished_at or at)[-REMEMBERED:])
    return replace(state, pod=pod)


def _pod_gone(state: Listener, event: ListenerPodGone, _at: Instant) -> Listener:
    # A late word about an earlier pod says nothing about the present one.
    if state.pod is not None and state.pod.uid != event.pod_uid:
        return state
    return replace(state, pod=None, up_since=None)


LISTENER_FOLD: Final[dict[type[Any], Callable[[Listener, Any, Instant], Listener]]] = {
    ListenerCreated: appear,
    ListenerObserved: appear,
    ListenerSpecChanged: set_fields,
    ListenerSwitched: set_fields,
    ListenerMetadataChanged: set_fields,
    ListenerFinalizersChanged: set_fields,
    ListenerDeletionRequested: set_fields,
    ListenerGone: vanish,
    ListenerPodCreated: _pod,
    ListenerPodObserved: _pod,
    ListenerPodStarted: _pod,
    ListenerPodTerminated: _pod,
    ListenerPodChanged: _pod,
    ListenerPodDeletionRequested: _pod,
    ListenerPodGone: _pod_gone,
}
