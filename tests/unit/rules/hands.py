"""The hands of the laboratory: what a cluster does when an intent succeeds, as the events that a watch would bring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from arcfsm.domain import keys
from arcfsm.domain.events import DomainEvent, listener, runner, runner_set, scale_set
from arcfsm.domain.events.dependent import DependentChanged, DependentFacts, DependentGone, DependentObserved
from arcfsm.domain.facts import PodFacts, PodFailure
from arcfsm.domain.instant import parse_instant
from arcfsm.domain.intents import (
    CallService,
    CreateObject,
    CreateRunners,
    DeleteLabelled,
    DeleteObject,
    Intent,
    PatchObject,
    ReadObject,
    RegisterRunner,
    WriteSecret,
)
from arcfsm.domain.kinds import AGGREGATE_OF, AggregateKind, Kind, StreamId
from arcfsm.domain.names import runner_name
from arcfsm.domain.states import DependentKey

if TYPE_CHECKING:
    from tests.unit.rules.harness import Lab


_SAID = ("reason", "message")


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


class Hands:
    """They work on the folded world of one laboratory."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def effect(self, seq: int, intent: Intent, item: int) -> list[tuple[StreamId, DomainEvent]]:
        """What the world looks like after a call succeeded."""
        if isinstance(intent, PatchObject):
            return self._patch(intent)
        if isinstance(intent, DeleteObject):
            return self._delete(intent)
        if isinstance(intent, CreateRunners):
            manifest = self.lab.world.documents.mapping(intent.manifest)
            name = runner_name(intent.set_name, seq, item, intent.salt)
            return [self._created_runner(intent.namespace, name, manifest, intent.incarnation)]
        if isinstance(intent, CreateObject):
            return self._create(intent)
        if isinstance(intent, WriteSecret | RegisterRunner):
            known = self.lab.world.dependent(Kind.SECRET, intent.namespace, intent.name)
            fact = DependentChanged if known else DependentObserved
            return [
                (
                    StreamId(*intent.target),
                    fact(
                        kind=Kind.SECRET,
                        namespace=intent.namespace,
                        name=intent.name,
                        uid=known.uid if known else self.lab.uid("dep"),
                        resource_version=self.lab.rv(),
                        metadata=self._metadata(intent.manifest),
                        modified_at=self.lab.now,
                    ),
                )
            ]
        assert isinstance(intent, CallService | ReadObject | DeleteLabelled)
        return []

    def answer(self, intent: Intent, facts: Iterable[tuple[StreamId, DomainEvent]]) -> dict[str, Any]:
        """What the outcome of a call tells beside the facts, unless the test says otherwise."""
        if not isinstance(intent, WriteSecret):
            return {}
        versions = [event.resource_version for _, event in facts if isinstance(event, DependentFacts)]
        known = self.lab.world.dependent(Kind.SECRET, intent.namespace, intent.name)
        if not versions and known is None:
            return {}
        return {"resource_version": versions[0] if versions else known.resource_version}

    def _patch(self, intent: PatchObject) -> list[tuple[StreamId, DomainEvent]]:
        patch: Any = self.lab.world.documents.get(intent.patch)
        if intent.kind not in AGGREGATE_OF:
            return self._patch_dependent(intent, patch)
        stream = StreamId(AGGREGATE_OF[intent.kind], intent.uid)
        state: Any = self.lab.world.aggregate(stream)
        assert state is not None, f"patches {intent.key}, which is not there"
        if intent.resource_version:
            assert intent.resource_version == state.resource_version, "the lock would fail: script a conflict"
        changes = {
            Kind.SCALE_SET: self._patch_scale_set,
            Kind.RUNNER_SET: self._patch_runner_set,
            Kind.RUNNER: self._patch_runner,
            Kind.LISTENER: self._patch_listener,
        }[intent.kind](state, patch)
        return [(stream, event) for event in changes]

    def _patched_metadata(self, state: Any, patch: Any) -> str | None:
        metadata = patch.get("metadata", {})
        if not any(part in metadata for part in ("labels", "annotations")):
            return None
        before = self.lab.world.documents.mapping(state.metadata)
        change = {part: metadata[part] for part in ("labels", "annotations") if part in metadata}
        return self.lab.doc(merge_patch(before, change))

    def _patch_scale_set(self, state: Any, patch: Any) -> Iterable[DomainEvent]:
        metadata = patch.get("metadata", {})
        if "finalizers" in metadata:
            finalizers = tuple(metadata["finalizers"] or ())
            yield scale_set.ScaleSetFinalizersChanged(finalizers=finalizers)
            if state.deleting and not finalizers:
                yield scale_set.ScaleSetGone()
        if (digest := self._patched_metadata(state, patch)) is not None:
            annotations: Any = self.lab.world.documents.mapping(digest).get("annotations") or {}
            text = str(annotations.get(keys.SCALE_SET_ID, "0"))
            yield scale_set.ScaleSetMetadataChanged(metadata=digest, scale_set_id=int(text) if text.isdigit() else 0)
        if "spec" in patch:
            spec = merge_patch(self.lab.world.documents.mapping(state.spec), patch["spec"])
            yield scale_set.ScaleSetSpecChanged(spec=self.lab.doc(spec), generation=state.generation + 1)
        status = patch.get("status", {})
        if "phase" in status:
            yield scale_set.ScaleSetPhaseChanged(phase=status["phase"])
        if "observedGeneration" in status:
            yield scale_set.ScaleSetGenerationObserved(observed_generation=status["observedGeneration"])

    def _patch_runner_set(self, state: Any, patch: Any) -> Iterable[DomainEvent]:
        metadata = patch.get("metadata", {})
        if "finalizers" in metadata:
            finalizers = tuple(metadata["finalizers"] or ())
            yield runner_set.RunnerSetFinalizersChanged(finalizers=finalizers)
            if state.deleting and not finalizers:
                yield runner_set.RunnerSetGone()
        if (digest := self._patched_metadata(state, patch)) is not None:
            yield runner_set.RunnerSetMetadataChanged(metadata=digest)
        spec = patch.get("spec", {})
        if "replicas" in spec or "patchID" in spec:
            yield runner_set.RunnerSetScaled(
                replicas=spec.get("replicas", state.replicas) or 0,
                patch_id=spec.get("patchID", state.patch_id),
                incarnation=state.incarnation,
            )
        if "ephemeralRunnerSpec" in spec or "actionableRevision" in spec:
            before = self.lab.world.documents.mapping(state.runner_spec)
            yield runner_set.RunnerSpecPublished(
                runner_spec=self.lab.doc(merge_patch(before, spec.get("ephemeralRunnerSpec", {}))),
                actionable_revision=spec.get("actionableRevision", state.actionable_revision),
            )
        if "ephemeralRunnerMetadata" in spec:
            value = spec["ephemeralRunnerMetadata"]
            yield runner_set.RunnerMetadataPublished(runner_metadata=self.lab.doc(value) if value is not None else "")
        status = patch.get("status", {})
        if "appliedActionableRevision" in status:
            yield runner_set.RevisionApplied(applied_revision=status["appliedActionableRevision"])
        if "finishedRunnerCleanupPatchID" in status:
            yield runner_set.FinishedRunnersMarked(
                finished_marker=status["finishedRunnerCleanupPatchID"] or 0, incarnation=state.incarnation
            )
        if "phase" in status:
            yield runner_set.RunnerSetPhaseChanged(phase=status["phase"])

    def _patch_runner(self, state: Any, patch: Any) -> Iterable[DomainEvent]:
        metadata = patch.get("metadata", {})
        if (digest := self._patched_metadata(state, patch)) is not None:
            yield runner.RunnerMetadataChanged(metadata=digest)
        status = patch.get("status", {})
        if "phase" in status:
            yield runner.RunnerPhaseChanged(
                phase=status["phase"],
                reason=status.get("reason", state.reason) or "",
                message=status.get("message", state.message) or "",
            )
        said = "phase" not in status and any(
            status.get(key, getattr(state, key)) != getattr(state, key) for key in _SAID
        )
        if said or status.get("ready", state.ready) != state.ready:
            yield runner.RunnerReadinessChanged(
                ready=status.get("ready", state.ready),
                reason=status.get("reason", state.reason) or "",
                message=status.get("message", state.message) or "",
            )
        if "runnerId" in status:
            yield runner.RunnerRegistered(runner_id=status["runnerId"], runner_name=status.get("runnerName", ""))
        if "failures" in status:
            recorded = {failure.pod_uid: failure for failure in state.failures}
            for uid, at in status["failures"].items():
                recorded[uid] = PodFailure(uid, parse_instant(at))
            yield runner.RunnerFailuresRecorded(failures=tuple(sorted(recorded.values(), key=lambda one: one.at)))
        if "finalizers" in metadata:
            finalizers = tuple(metadata["finalizers"] or ())
            yield runner.RunnerFinalizersChanged(finalizers=finalizers)
            if state.deleting and not finalizers:
                yield runner.RunnerGone()

    def _patch_listener(self, state: Any, patch: Any) -> Iterable[DomainEvent]:
        metadata = patch.get("metadata", {})
        if (digest := self._patched_metadata(state, patch)) is not None:
            yield listener.ListenerMetadataChanged(metadata=digest)
        spec = dict(patch.get("spec", {}))
        if "phase" in spec:
            yield listener.ListenerSwitched(phase=spec.pop("phase") or "")
        if spec:
            merged = merge_patch(self.lab.world.documents.mapping(state.spec), spec)
            yield listener.ListenerSpecChanged(spec=self.lab.doc(merged))
        if "finalizers" in metadata:
            finalizers = tuple(metadata["finalizers"] or ())
            yield listener.ListenerFinalizersChanged(finalizers=finalizers)
            if state.deleting and not finalizers:
                yield listener.ListenerGone()

    def _patch_dependent(self, intent: PatchObject, patch: Any) -> list[tuple[StreamId, DomainEvent]]:
        target = StreamId(*intent.target)
        if intent.kind is Kind.POD:
            found = self.lab.world.listeners.get(target.uid)
            assert found is not None, "only the metadata of listener pods is patched"
            assert found.pod is not None, "patches a pod that is not there"
            pod = found.pod
            metadata = self.lab.doc(
                merge_patch(self.lab.world.documents.mapping(pod.metadata), patch.get("metadata", {}))
            )
            fields = {name: getattr(pod, name) for name in pod.__slots__}
            return [(target, listener.ListenerPodChanged(pod=PodFacts(**{**fields, "metadata": metadata})))]
        known = self.lab.world.dependents[DependentKey(intent.kind, intent.namespace, intent.name)]
        metadata = patch.get("metadata", {})
        finalizers = tuple(metadata["finalizers"] or ()) if "finalizers" in metadata else known.finalizers
        content = self.lab.world.documents.mapping(known.content) if known.content else None
        if "rules" in patch:
            content = {**(content or {}), "rules": patch["rules"]}
        return [
            (
                target,
                DependentChanged(
                    kind=known.kind,
                    namespace=known.namespace,
                    name=known.name,
                    uid=known.uid,
                    resource_version=self.lab.rv(),
                    metadata=self._patched_metadata(known, patch) or known.metadata,
                    content=self.lab.doc(content) if content is not None else "",
                    finalizers=finalizers,
                    modified_at=self.lab.now,
                    deletion_requested_at=known.deletion_requested_at,
                ),
            )
        ]

    def _delete(self, intent: DeleteObject) -> list[tuple[StreamId, DomainEvent]]:
        target = StreamId(*intent.target)
        if intent.kind is Kind.POD:
            state: Any = self.lab.world.aggregate(target)
            if state is None or state.pod is None or state.pod.uid != intent.uid:
                return []
            gone = runner.RunnerPodGone if target.kind is AggregateKind.RUNNER else listener.ListenerPodGone
            return [(target, gone(pod_uid=intent.uid))]
        if intent.kind in AGGREGATE_OF:
            stream = StreamId(AGGREGATE_OF[intent.kind], intent.uid)
            found: Any = self.lab.world.aggregate(stream)
            if found is None:
                return []
            module, prefix = {
                AggregateKind.SCALE_SET: (scale_set, "ScaleSet"),
                AggregateKind.RUNNER_SET: (runner_set, "RunnerSet"),
                AggregateKind.RUNNER: (runner, "Runner"),
                AggregateKind.LISTENER: (listener, "Listener"),
            }[stream.kind]
            if found.finalizers:
                return [(stream, getattr(module, f"{prefix}DeletionRequested")(deletion_requested_at=self.lab.now))]
            return [(stream, getattr(module, f"{prefix}Gone")())]
        known = self.lab.world.dependent(intent.kind, intent.namespace, intent.name)
        if known is None:
            return []
        facts = {"kind": known.kind, "namespace": known.namespace, "name": known.name, "uid": known.uid}
        if known.finalizers:
            return [
                (
                    target,
                    DependentChanged(
                        **facts,
                        resource_version=self.lab.rv(),
                        metadata=known.metadata,
                        content=known.content,
                        finalizers=known.finalizers,
                        deletion_requested_at=self.lab.now,
                    ),
                )
            ]
        return [(target, DependentGone(**facts))]

    def _create(self, intent: CreateObject) -> list[tuple[StreamId, DomainEvent]]:
        manifest: Any = self.lab.world.documents.get(intent.manifest)
        target = StreamId(*intent.target)
        metadata = manifest.get("metadata", {})
        known = self.lab.doc({part: dict(metadata.get(part) or {}) for part in ("labels", "annotations")})
        spec = manifest.get("spec", {})
        if intent.kind is Kind.RUNNER_SET:
            return [
                (StreamId(AggregateKind.RUNNER_SET, self.lab.uid("ers")), self._new_runner_set(intent, manifest, known))
            ]
        if intent.kind is Kind.LISTENER:
            body = {key: value for key, value in spec.items() if key != "phase"}
            return [
                (
                    StreamId(AggregateKind.LISTENER, self.lab.uid("al")),
                    listener.ListenerCreated(
                        namespace=intent.namespace,
                        name=intent.name,
                        created_at=self.lab.now,
                        scale_set_namespace=spec["autoscalingRunnerSetNamespace"],
                        scale_set_name=spec["autoscalingRunnerSetName"],
                        spec=self.lab.doc(body),
                        metadata=known,
                        phase=spec.get("phase", ""),
                        finalizers=tuple(metadata.get("finalizers") or ()),
                    ),
                )
            ]
        if intent.kind is Kind.POD:
            pod = PodFacts(uid=self.lab.uid("pod"), created_at=self.lab.now, phase="Pending")
            if target.kind is AggregateKind.RUNNER:
                return [(target, runner.RunnerPodCreated(pod=pod))]
            full = PodFacts(
                uid=pod.uid, created_at=self.lab.now, phase="Pending", metadata=known, spec=self.lab.doc(spec)
            )
            return [(target, listener.ListenerPodCreated(pod=full))]
        content = {part: manifest[part] for part in ("rules", "roleRef", "subjects") if part in manifest}
        return [
            (
                target,
                DependentObserved(
                    kind=intent.kind,
                    namespace=intent.namespace,
                    name=intent.name,
                    uid=self.lab.uid("dep"),
                    resource_version=self.lab.rv(),
                    metadata=known,
                    content=self.lab.doc(content) if content else "",
                    modified_at=self.lab.now,
                ),
            )
        ]

    def _metadata(self, manifest: str) -> str:
        metadata: Any = self.lab.world.documents.mapping(manifest).get("metadata", {})
        return self.lab.doc({part: dict(metadata.get(part) or {}) for part in ("labels", "annotations")})

    def _new_runner_set(self, intent: CreateObject, manifest: Any, metadata: str) -> DomainEvent:
        spec = manifest["spec"]
        owner = (manifest["metadata"].get("ownerReferences") or [{}])[0]
        extra = spec.get("ephemeralRunnerMetadata")
        return runner_set.RunnerSetCreated(
            namespace=intent.namespace,
            name=intent.name,
            created_at=self.lab.now,
            owner_uid=owner.get("uid", ""),
            owner_name=owner.get("name", ""),
            metadata=metadata,
            runner_spec=self.lab.doc(spec["ephemeralRunnerSpec"]),
            runner_metadata=self.lab.doc(extra) if extra is not None else "",
            replicas=spec.get("replicas", 0),
            patch_id=spec.get("patchID", 0),
            actionable_revision=spec.get("actionableRevision", 0),
            finalizers=tuple(manifest["metadata"].get("finalizers") or ()),
        )

    def _created_runner(
        self, namespace: str, name: str, manifest: Any, incarnation: str
    ) -> tuple[StreamId, DomainEvent]:
        metadata = manifest["metadata"]
        annotations = metadata.get("annotations") or {}
        owner = (metadata.get("ownerReferences") or [{}])[0]
        return (
            StreamId(AggregateKind.RUNNER, self.lab.uid("er")),
            runner.RunnerCreated(
                namespace=namespace,
                name=name,
                created_at=self.lab.now,
                owner_uid=owner.get("uid", ""),
                owner_name=owner.get("name", ""),
                metadata=self.lab.doc({"labels": dict(metadata.get("labels") or {}), "annotations": dict(annotations)}),
                spec=self.lab.doc(manifest["spec"]),
                patch_id=int(annotations.get(keys.PATCH_ID, "0")),
                revision=int(annotations.get(keys.ACTIONABLE_REVISION, "0")),
                incarnation=incarnation,
                finalizers=tuple(metadata.get("finalizers") or ()),
            ),
        )
