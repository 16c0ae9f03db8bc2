"""The folded state of a scale set."""

from __future__ import annotations

import msgspec

from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import Digest


class ScaleSet(msgspec.Struct, frozen=True, kw_only=True):
    """A scale set (AutoscalingRunnerSet). Field names are those of the events that set them."""

    uid: str
    state: str = "unseen"
    """State of its machine."""
    present: bool = False
    """False until the object itself was seen, and again once it is gone."""
    resource_version: str = ""
    namespace: str = ""
    name: str = ""
    created_at: Instant = 0
    generation: int = 0
    spec: Digest = ""
    metadata: Digest = ""
    changed_seq: int = 0
    """Seq of the latest change of spec or metadata: earlier answers of the service are not about it (A8–A10)."""
    named_at: Instant = 0
    """When runner group or URL last changed, from which its listener has its name (M9); 0 where they never did."""
    bereft_seq: int = 0
    """Seq at which a listener of it last vanished: the service is asked again before a new one (A17)."""
    listener_wanted: Digest = ""
    """The manifest from which we created its latest listener (A18 breaker)."""
    listener_made_as: tuple[Digest, Digest] = ("", "")
    """What spec and metadata of that listener read as when it appeared: the API may default, prune and mutate."""
    listeners_made: tuple[Instant, ...] = ()
    """Times at which listeners made from that very manifest appeared, newest last."""
    scale_set_id: int = 0
    finalizers: tuple[str, ...] = ()
    phase: str = ""
    observed_generation: int = 0
    deletion_requested_at: Instant | None = None

    @property
    def deleting(self) -> bool:
        """Whether somebody deleted it."""
        return self.deletion_requested_at is not None
