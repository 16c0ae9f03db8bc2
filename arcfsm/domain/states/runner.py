"""The folded state of a runner and its pod."""

from __future__ import annotations

import msgspec

from arcfsm.domain import keys, phases
from arcfsm.domain.facts import Job, PodFacts, PodFailure
from arcfsm.domain.instant import Instant
from arcfsm.domain.jsonvalue import Digest


class Runner(msgspec.Struct, frozen=True, kw_only=True):
    """A runner (EphemeralRunner) and its pod. Field names are those of the events that set them."""

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
    spec: Digest = ""
    patch_id: int = 0
    revision: int = 0
    incarnation: str = ""
    finalizers: tuple[str, ...] = ()
    phase: str = ""
    ready: bool = False
    reason: str = ""
    message: str = ""
    runner_id: int = 0
    runner_name: str = ""
    failures: tuple[PodFailure, ...] = ()
    job: Job = Job()
    job_since: Instant | None = None
    """When its job was first seen (H37)."""
    adopted: bool = False
    """It was there before we looked: what had happened to it by then is not known (H23, H26)."""
    ended_at: Instant = 0
    """When its phase was first seen to be terminal; 0 where it is not (H35)."""
    deletion_requested_at: Instant | None = None
    pod: PodFacts | None = None
    pod_heard_at: Instant = 0
    """When the latest word about a pod of its came."""
    pod_gone_at: Instant | None = None
    """When its last pod vanished; None while there is one or there never was (H25)."""
    pod_cut_off: bool = False
    """That pod vanished while its runner ran: nobody can tell what became of the registration it held."""
    pods_seen: int = 0
    pods_failed: tuple[PodFailure, ...] = ()
    """Pods that we saw fail and vanish, whether or not the status tells of them yet."""
    exit_code: int | None = None
    """How its runner container last ended."""
    parting: bool = False
    """We asked for its removal or deletion at some time; its effects tell what became of it."""
    pod_version: str = ""
    """resourceVersion of the latest word about a pod of its; older words are late (B9)."""

    @property
    def deleting(self) -> bool:
        """Whether somebody deleted it."""
        return self.deletion_requested_at is not None

    @property
    def has_job(self) -> bool:
        """A job was assigned to it; the field is never cleared."""
        return self.job.job_id != ""

    @property
    def done(self) -> bool:
        """Its phase is terminal: Succeeded, Failed or Outdated."""
        return self.phase in phases.RUNNER_DONE_PHASES

    @property
    def occupies(self) -> bool:
        """It holds a slot of its set, or is about to leave one (S10). Failed ones hold theirs."""
        return self.deleting or not self.done or self.phase == phases.FAILED

    @property
    def finished(self) -> bool:
        """Its job is over: exit code 0, or a phase that says so."""
        return self.phase == phases.SUCCEEDED or self.exit_code == 0

    @property
    def known_failures(self) -> tuple[PodFailure, ...]:
        """Every failed pod once: those of the status, and those we saw that it does not tell of yet (R12)."""
        told = {failure.pod_uid for failure in self.failures}
        return (*self.failures, *(failure for failure in self.pods_failed if failure.pod_uid not in told))

    @property
    def has_registration_finalizer(self) -> bool:
        """The registration on the service is not yet known to be released."""
        return keys.REGISTRATION_FINALIZER in self.finalizers
