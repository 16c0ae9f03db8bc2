"""The folded state of a runner set."""

from __future__ import annotations

import msgspec

from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import Digest


class RunnerSet(msgspec.Struct, frozen=True, kw_only=True):
    """A runner set (EphemeralRunnerSet). Field names are those of the events that set them."""

    uid: str
    state: str = "unseen"
    present: bool = False
    resource_version: str = ""
    namespace: str = ""
    name: str = ""
    created_at: Instant = 0
    owner_uid: str = ""
    owner_name: str = ""
    metadata: Digest = ""
    runner_spec: Digest = ""
    runner_metadata: Digest = ""
    replicas: int = 0
    patch_id: int = 0
    incarnation: str = ""
    """Uid of the listener pod that made the present wish (H8)."""
    wished_at: Instant = 0
    """When the present wish was seen."""
    known_since: Instant = 0
    """When this journal first saw the set: names of its runners are salted with it."""
    due: int = 0
    """Runners still to be born for the present wish: asked for when it came, less those born under it since (H9)."""
    actionable_revision: int = 0
    revised_at: Instant = 0
    """When the present actionable revision was seen."""
    revised_seq: int = 0
    """Seq of the event that brought it: answers to questions asked before don't count for it (S3)."""
    applied_revision: int = 0
    refused_revision: int = -1
    """Highest revision of which a runner was seen refused (Outdated); -1 where none was (H4)."""
    published: Digest = ""
    """The content of our latest A14 patch that succeeded (H17)."""
    published_as: tuple[Digest, Digest] = ("", "")
    """What runner spec and runner metadata read as right after it: the API may default and prune (D16)."""
    finished_marker: int = 0
    marker_incarnation: str = ""
    reaped_patch_id: int = 0
    """Patch id of the wish under which a runner whose job was over last vanished, whoever deleted it (S9)."""
    reaped_incarnation: str = ""
    finalizers: tuple[str, ...] = ()
    phase: str = ""
    deletion_requested_at: Instant | None = None

    @property
    def deleting(self) -> bool:
        """Whether somebody deleted it."""
        return self.deletion_requested_at is not None

    @property
    def unapplied(self) -> bool:
        """Whether a revision is published whose clean-up has not succeeded yet (S3)."""
        return self.actionable_revision > self.applied_revision
