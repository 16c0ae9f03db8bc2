"""The folded state of a listener and its pod."""

from __future__ import annotations

import msgspec

from arcfsm.domain import phases
from arcfsm.domain.facts import PodFacts
from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import Digest


class Listener(msgspec.Struct, frozen=True, kw_only=True):
    """A listener (AutoscalingListener) and its pod. Field names are those of the events that set them."""

    uid: str
    state: str = "unseen"
    present: bool = False
    resource_version: str = ""
    namespace: str = ""
    name: str = ""
    created_at: Instant = 0
    scale_set_namespace: str = ""
    scale_set_name: str = ""
    spec: Digest = ""
    metadata: Digest = ""
    phase: str = ""
    finalizers: tuple[str, ...] = ()
    deletion_requested_at: Instant | None = None
    pod: PodFacts | None = None
    pod_adopted: bool = False
    """The pod was there before we looked: we did not create it and never stamp it (Z1)."""
    config_version_at_pod: str = ""
    """resourceVersion of the config Secret when the present pod was first seen (Z1)."""
    pod_wanted: Digest = ""
    """The manifest from which we created the present pod (H18); "" for pods that others created."""
    exits: tuple[Instant, ...] = ()
    """Times of the latest non-zero exits, newest last (H27, H28)."""
    pods_created: tuple[Instant, ...] = ()
    """Times at which the latest pods appeared, newest last (H18 breaker)."""
    up_since: Instant | None = None
    orphaned: bool = False
    """Its scale set was seen to vanish (L3); one that was merely not seen yet is no reason to delete anything."""
    pod_version: str = ""
    """resourceVersion of the latest word about a pod of its; older words are late (B9)."""

    @property
    def deleting(self) -> bool:
        """Whether somebody deleted it."""
        return self.deletion_requested_at is not None

    @property
    def stopped(self) -> bool:
        """Whether it is switched off."""
        return self.phase == phases.STOPPED
