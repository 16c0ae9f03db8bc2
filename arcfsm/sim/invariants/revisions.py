"""Revisions and parking: numbers that only grow, and no verdict about a spec that nobody ran (A12, A14, S3)."""

from __future__ import annotations

from typing import Any

import orjson

from arcfsm.domain import keys, phases
from arcfsm.domain.kinds import Kind
from arcfsm.sim.faults.cluster import Body, ClusterRequest, ClusterResponse
from arcfsm.sim.invariants.invariant import Invariant, Target, by_controller, target_of

_FREELY_EDITED = frozenset(
    {"minRunners", "maxRunners", "runnerGroup", "runnerScaleSetName", "runnerScaleSetLabels", "listenerTemplate",
     "listenerMetrics", "autoscalingListener", "listenerServiceAccountMetadata", "listenerRoleMetadata",
     "listenerRoleBindingMetadata", "listenerConfigSecretMetadata"}
)  # fmt: skip
"""Fields of a scale set that say nothing about what its runners run."""


class RevisionsOnlyGrow(Invariant):
    """`appliedActionableRevision` never moves back, never ahead of the spec, and never ahead of the clean-up."""

    def begin(self) -> None:
        """Nothing happened yet."""
        self._applied: dict[str, tuple[int, int]] = {}

    def after(self, request: ClusterRequest, user: str, response: ClusterResponse) -> None:
        """Look at every write of a runner set's status."""
        target = target_of(request) if request.method == "PATCH" and response.ok and by_controller(user) else None
        if target is None or target.kind is not Kind.RUNNER_SET or target.subresource != "status":
            return
        obj = response.body
        uid, restores = obj["metadata"]["uid"], self.world.cluster.restores
        applied = int((obj.get("status") or {}).get("appliedActionableRevision") or 0)
        wanted = int((obj.get("spec") or {}).get("actionableRevision") or 0)
        before, at = self._applied.get(uid, (0, restores))
        self._applied[uid] = (applied, restores)
        if at == restores and applied < before:
            self.violated(f"applied revision of {target.name} went back from {before} to {applied}")
        if applied > wanted:
            self.violated(f"applied revision {applied} of {target.name} is ahead of its spec's {wanted}")
        if applied > before and at == restores:
            self._clean(target, uid, applied)

    def _clean(self, target: Target, uid: str, applied: int) -> None:
        for runner in self.world.cluster.objects(Kind.RUNNER, target.namespace):
            if _owned_by(runner, uid) and not _excused(runner) and _revision(runner) < applied:
                name = runner["metadata"]["name"]
                self.violated(f"revision {applied} counts as applied while {name} of an older one waits for a job")


class VerdictsAreOfTheSpecThatRan(Invariant):
    """A scale set is parked only for a spec its runners ran, and only an edit of what they run ends that."""

    def begin(self) -> None:
        """Nothing happened yet."""
        self._refused: dict[str, set[bytes]] = {}
        self._parked: dict[str, bytes] = {}

    def after(self, request: ClusterRequest, user: str, response: ClusterResponse) -> None:
        """Note every refusal, and judge every verdict."""
        target = target_of(request) if request.method == "PATCH" and response.ok else None
        if target is None or target.subresource != "status":
            return
        phase = str((response.body.get("status") or {}).get("phase") or "")
        if target.kind is Kind.RUNNER and phase == phases.OUTDATED:
            owner = next((one["uid"] for one in response.body["metadata"].get("ownerReferences") or ()), "")
            self._refused.setdefault(owner, set()).add(_ran(response.body.get("spec")))
        elif target.kind is Kind.SCALE_SET and by_controller(user):
            self._judge(response.body, phase)

    def _judge(self, scale_set: Body, phase: str) -> None:
        metadata = scale_set["metadata"]
        uid, name = metadata["uid"], metadata["name"]
        runs = _runs(scale_set)
        if phase != phases.OUTDATED:
            before = self._parked.pop(uid, None)
            owned = self._runner_set(metadata["namespace"], name)
            if before == runs and owned is not None and self.world.cluster.restores == 0:
                self.violated(f"{name} is no longer parked though what its runners run did not change")
            return
        if uid in self._parked:
            return
        self._parked[uid] = runs
        runner_set = self._runner_set(metadata["namespace"], name)
        if runner_set is None:
            return
        published = _ran(runner_set["spec"].get("ephemeralRunnerSpec"))
        if published not in self._refused.get(runner_set["metadata"]["uid"], set()):
            self.violated(f"{name} is parked for a spec that none of its runners was refused with")

    def _runner_set(self, namespace: str, name: str) -> Body | None:
        found = self.world.cluster.objects(Kind.RUNNER_SET, namespace)
        return next((one for one in found if one["metadata"]["name"] == name), None)


def _owned_by(obj: Body, uid: str) -> bool:
    return any(owner["uid"] == uid for owner in obj["metadata"].get("ownerReferences") or ())


def _excused(runner: Body) -> bool:
    status = runner.get("status") or {}
    deleted = bool(runner["metadata"].get("deletionTimestamp"))
    return deleted or bool(status.get("jobId")) or status.get("phase") in phases.RUNNER_DONE_PHASES


def _revision(runner: Body) -> int:
    text = (runner["metadata"].get("annotations") or {}).get(keys.ACTIONABLE_REVISION, "0")
    return int(text) if text.isdigit() else 0


def _ran(spec: Any) -> bytes:
    """Return what a runner runs, in one form for runners and what they are made from."""
    return _canonical({key: value for key, value in (spec or {}).items() if key != "proxySecretRef"})


def _runs(scale_set: Body) -> bytes:
    registered = (scale_set["metadata"].get("annotations") or {}).get(keys.SCALE_SET_ID, "")
    kept = {key: value for key, value in scale_set["spec"].items() if key not in _FREELY_EDITED}
    return _canonical([kept, registered])


def _canonical(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
