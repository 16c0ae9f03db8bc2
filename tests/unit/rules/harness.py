"""A laboratory for rules: a world built by hand in the notation of rules.md Part 7, and hands that carry intents out.

The hands do to the folded world what a cluster and the Actions service would: they patch, create and delete, settle every intent with
the outcome that the test scripted (ok by default), and fold the result back as events. Everything that was carried out is recorded in
order, so a test says what was written and that nothing else was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from arcfsm.domain.names import runner_name

from arcfsm.domain import keys
from arcfsm.domain.envelope import JournaledEvent, Source
from arcfsm.domain.events import DomainEvent, listener, runner, runner_set, scale_set
from arcfsm.domain.events.controller import SettingsDeclared, TimerFired
from arcfsm.domain.events.decision import Decided, IntentSettled, Outcome
from arcfsm.domain.events.dependent import DependentChanged, DependentGone, DependentObserved
from arcfsm.domain.facts import ContainerFacts, Job, PodFacts, PodFailure
from arcfsm.domain.instant import MINUTE, SECOND, Instant, parse_instant
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
from arcfsm.domain.kinds import AGGREGATE_OF, CONTROLLER_STREAM, AggregateKind, Kind, StreamId
from arcfsm.domain.settings import ControllerSettings
from arcfsm.domain.states import DependentKey
from arcfsm.domain.turn import Arrival, Turn, run_turn
from arcfsm.domain.world import World

NOON = parse_instant("2026-12-01T12:00:00Z")
NAMESPACE = "arc-runners"
CONTROLLER_NAMESPACE = "arc-systems"
URL = "https://github.com/acme/repo"
LISTENER = "demo-5f5c4d65-listener"
TEMPLATE = {"spec": {"containers": [{"name": "runner", "image": "runner:1"}]}}


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


@dataclass
class Result:
    """How a scripted intent ends."""

    outcome: Outcome = Outcome.OK
    answer: dict[str, Any] = field(default_factory=dict)
    detail: str = ""
    status: int = 0
    before: Callable[[], None] | None = None
    """What somebody else does just before the intent is carried out."""


OK = Result()
Script = Result | Callable[[Any], Result | None]


class Lab:
    """One world and the hands that work in it."""

    def __init__(self, *, advisory: bool = False, now: Instant = NOON, **settings: Any) -> None:
        self.world = World()
        self.now = now
        self.done: list[Intent] = []
        """Every intent carried out, in order."""
        self.decisions: list[Decided] = []
        self.events: list[JournaledEvent] = []
        self.decision_seqs: list[int] = []
        self._scripts: list[tuple[Callable[[Intent], bool], list[Result] | Callable[[Intent], Result]]] = []
        self._rv = 100
        self._uids = 0
        settings.setdefault("listener_image", "ghcr.io/acme/listener:1")
        settings.setdefault("controller_namespace", CONTROLLER_NAMESPACE)
        declared = SettingsDeclared(settings=ControllerSettings(**settings), advisory=advisory, rules_version="test")
        self.fold(CONTROLLER_STREAM, declared)

    # Building the world: given

    def uid(self, prefix: str) -> str:
        self._uids += 1
        return f"{prefix}-{self._uids}"

    def rv(self) -> str:
        self._rv += 1
        return str(self._rv)

    def doc(self, value: Any) -> str:
        return self.world.documents.intern(value)

    def fold(self, stream: StreamId, *events: DomainEvent, source: Source = Source.WATCH) -> None:
        """Fold events in without asking the rules."""
        for event in events:
            self.world.apply(
                JournaledEvent(
                    seq=self.world.head + 1,
                    turn=self.world.head + 1,
                    stream=stream,
                    version=self.world.versions.get(stream, 0) + 1,
                    event=event,
                    recorded_at=self.now,
                    source=source,
                    resource_version=self.rv(),
                )
            )

    def scale_set(
        self,
        *,
        g: int = 1,
        o: int = 1,
        phase: str = "Running",
        id: int | str | None = 7,
        finalizer: bool = True,
        deleting: bool = False,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        name: str = "demo",
        **spec: Any,
    ) -> StreamId:
        """ARS(g, o, phase). `id=None` leaves out all three annotations; keyword arguments override the spec."""
        stream = StreamId(AggregateKind.SCALE_SET, self.uid("ars"))
        known: dict[str, str] = {}
        if id is not None:
            known = {
                keys.SCALE_SET_ID: str(id),
                keys.RUNNER_GROUP_NAME: "default",
                keys.RUNNER_SCALE_SET_NAME: name,
            }
        body: dict[str, Any] = {
            "githubConfigUrl": URL,
            "githubConfigSecret": "cred",
            "runnerScaleSetName": name,
            "template": TEMPLATE,
        }
        body.update(spec)
        for key in [key for key, value in body.items() if value is None]:
            del body[key]
        text = str(id or 0)
        self.fold(
            stream,
            scale_set.ScaleSetObserved(
                namespace=NAMESPACE,
                name=name,
                created_at=self.now - 10 * MINUTE,
                generation=g,
                spec=self.doc(body),
                metadata=self.doc(
                    {
                        "labels": {keys.VERSION_LABEL: "0.14.1", **(labels or {})},
                        "annotations": {**known, **(annotations or {})},
                    }
                ),
                scale_set_id=int(text) if text.isdigit() else 0,
                finalizers=(keys.SCALE_SET_FINALIZER,) if finalizer else (),
                phase=phase,
                observed_generation=o,
                deletion_requested_at=self.now - SECOND if deleting else None,
            ),
        )
        return stream

    def runner_set(
        self,
        rep: int = 0,
        patch: int = 0,
        *,
        r: tuple[int, int] = (0, 0),
        phase: str = "Running",
        m: int = 0,
        finalizer: bool = True,
        deleting: bool = False,
        incarnation: str = "",
        marker_incarnation: str | None = None,
        runner_spec: Any = None,
        runner_metadata: Any = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        owner: StreamId | None = None,
        name: str = "demo",
    ) -> StreamId:
        """ERS(rep/patch, r spec/applied, phase, m marker)."""
        stream = StreamId(AggregateKind.RUNNER_SET, self.uid("ers"))
        if runner_spec is None:
            runner_spec = {
                "githubConfigUrl": URL,
                "githubConfigSecret": "cred",
                "runnerScaleSetId": 7,
                **TEMPLATE,
            }
        self.fold(
            stream,
            runner_set.RunnerSetObserved(
                namespace=NAMESPACE,
                name=name,
                created_at=self.now - 10 * MINUTE,
                owner_uid=owner.uid if owner else "ars-0",
                owner_name=name,
                metadata=self.doc({"labels": dict(labels or {}), "annotations": dict(annotations or {})}),
                runner_spec=self.doc(runner_spec),
                runner_metadata=self.doc(runner_metadata) if runner_metadata is not None else "",
                replicas=rep,
                patch_id=patch,
                actionable_revision=r[0],
                applied_revision=r[1],
                finished_marker=m,
                incarnation=incarnation if marker_incarnation is None else marker_incarnation,
                phase=phase,
                finalizers=(keys.RUNNER_SET_FINALIZER,) if finalizer else (),
                deletion_requested_at=self.now - SECOND if deleting else None,
            ),
        )
        if marker_incarnation is not None and marker_incarnation != incarnation:
            self.fold(stream, runner_set.RunnerSetScaled(replicas=rep, patch_id=patch, incarnation=incarnation))
        return stream

    def runner(
        self,
        name: str,
        phase: str = "Pending",
        *,
        of: StreamId | None = None,
        id: int = 0,
        p: int = 0,
        r: int = 0,
        job: bool = False,
        age: int = 10 * MINUTE,
        deleting: bool = False,
        finalizers: tuple[str, ...] = (keys.RUNNER_FINALIZER, keys.REGISTRATION_FINALIZER),
        pod: PodFacts | None = None,
        failures: Iterable[PodFailure] = (),
        incarnation: str = "",
        spec: Any = None,
        annotations: Mapping[str, str] | None = None,
        **facts: Any,
    ) -> StreamId:
        """ER[name] phase id p r job; 10 minutes old unless said."""
        stream = StreamId(AggregateKind.RUNNER, self.uid("er"))
        owner = self.world.runner_sets.get(of.uid) if of else None
        if spec is None:
            spec = {"githubConfigUrl": URL, "githubConfigSecret": "cred", "runnerScaleSetId": 7, **TEMPLATE}
        self.fold(
            stream,
            runner.RunnerObserved(
                namespace=NAMESPACE,
                name=name,
                created_at=self.now - age,
                owner_uid=of.uid if of else "ers-0",
                owner_name=owner.name if owner else "demo",
                metadata=self.doc(
                    {
                        "labels": {},
                        "annotations": {
                            keys.PATCH_ID: str(p),
                            keys.ACTIONABLE_REVISION: str(r),
                            **(annotations or {}),
                        },
                    }
                ),
                spec=self.doc(spec),
                patch_id=p,
                revision=r,
                incarnation=incarnation,
                finalizers=finalizers,
                phase=phase,
                runner_id=id,
                runner_name=name if id else "",
                job=Job(job_id="job-1", request_id=1, repository="acme/repo") if job else Job(),
                failures=tuple(failures),
                deletion_requested_at=self.now - SECOND if deleting else None,
                **facts,
            ),
        )
        if pod is not None:
            self.fold(stream, runner.RunnerPodObserved(pod=pod))
        return stream

    def pod(
        self,
        phase: str = "Running",
        container: ContainerFacts | None = None,
        *,
        exit: int | None = None,
        running: bool = False,
        age: int = 5 * MINUTE,
        **facts: Any,
    ) -> PodFacts:
        """A pod: `exit=7` for a runner container that ended so, `running=True` for one that runs."""
        if exit is not None:
            container = ContainerFacts(state="terminated", exit_code=exit, finished_at=self.now - SECOND)
        elif running:
            container = ContainerFacts(state="running")
        facts.setdefault("uid", self.uid("pod"))
        return PodFacts(created_at=self.now - age, phase=phase, container=container, **facts)

    def listener(
        self,
        phase: str = "",
        *,
        name: str = LISTENER,
        spec: Any = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        finalizer: bool = True,
        deleting: bool = False,
        pod: PodFacts | None = None,
        created_pod: bool = False,
        scale_set_name: str = "demo",
    ) -> StreamId:
        """AL(on) unless phase="Stopped". The spec is what the test says it is."""
        stream = StreamId(AggregateKind.LISTENER, self.uid("al"))
        self.fold(
            stream,
            listener.ListenerObserved(
                namespace=CONTROLLER_NAMESPACE,
                name=name,
                created_at=self.now - 10 * MINUTE,
                scale_set_namespace=NAMESPACE,
                scale_set_name=scale_set_name,
                spec=self.doc(spec if spec is not None else {}),
                metadata=self.doc({"labels": dict(labels or {}), "annotations": dict(annotations or {})}),
                phase=phase,
                finalizers=(keys.LISTENER_FINALIZER,) if finalizer else (),
                deletion_requested_at=self.now - SECOND if deleting else None,
            ),
        )
        if pod is not None:
            kind = listener.ListenerPodCreated if created_pod else listener.ListenerPodObserved
            self.fold(stream, kind(pod=pod))
        return stream

    def dependent(
        self,
        kind: Kind,
        name: str,
        *,
        namespace: str = NAMESPACE,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        content: Any = None,
        finalizers: tuple[str, ...] = (),
        deleting: bool = False,
        modified_at: Instant | None = None,
        stream: StreamId = CONTROLLER_STREAM,
    ) -> None:
        """A service account, role, binding or secret that exists."""
        self.fold(
            stream,
            DependentObserved(
                kind=kind,
                namespace=namespace,
                name=name,
                uid=self.uid("dep"),
                resource_version=self.rv(),
                metadata=self.doc({"labels": dict(labels or {}), "annotations": dict(annotations or {})}),
                content=self.doc(content) if content is not None else "",
                finalizers=finalizers,
                modified_at=modified_at,
                deletion_requested_at=self.now if deleting else None,
            ),
        )

    # Scripting and looking: event, expect

    def script(
        self, match: str | type[Intent] | Callable[[Intent], bool], *results: Result | Callable[[Intent], Result]
    ) -> None:
        """Say how matching intents end: by key prefix, class or predicate; results in turn, the last one for ever."""
        if isinstance(match, str):
            prefix = match
            matches: Callable[[Intent], bool] = lambda intent: intent.key.startswith(prefix)
        elif isinstance(match, type):
            wanted = match
            matches = lambda intent: isinstance(intent, wanted)
        else:
            matches = match
        self._scripts.append((matches, list(results) if not callable(results[0]) else results[0]))  # type: ignore[arg-type]

    def turn(self, *arrivals: Arrival) -> Turn:
        turn = run_turn(self.world, arrivals, recorded_at=self.now)
        for journaled in turn.events:
            self.events.append(journaled)
            if isinstance(journaled.event, Decided):
                self.decisions.append(journaled.event)
                self.decision_seqs.append(journaled.seq)
        return turn

    def observe(self, stream: StreamId, event: DomainEvent) -> Turn:
        """Something happens, and the rules look once. Nothing is carried out."""
        return self.turn(Arrival(stream=stream, event=event, source=Source.WATCH, resource_version=self.rv()))

    def look(self, stream: StreamId) -> Decided | None:
        """The rules look at one aggregate, once. Nothing is carried out. Returns the decision if there is a new one."""
        turn = self.turn(
            Arrival(stream=CONTROLLER_STREAM, event=TimerFired(due_at=self.now, target=stream), source=Source.TIMER)
        )
        return next((e.event for e in turn.events if isinstance(e.event, Decided) and e.stream == stream), None)

    def drive(self, stream: StreamId, *, only: bool = True, steps: int = 60) -> list[Intent]:
        """Look at one aggregate and carry out what it wants until it wants nothing new. Returns what was carried out.

        With `only` (the default) nobody else's decisions are carried out: the test is about this aggregate.
        """
        start = len(self.done)
        queue = self._wanted(self.turn(self._poke(stream)), stream, only=only)
        while queue:
            steps -= 1
            assert steps > 0, f"does not settle: {[intent.key for intent in self.done[start:]]}"
            seq, index, intent = queue.pop(0)
            queue.extend(self._carry_out(seq, index, intent, stream, only=only))
            if not queue:
                queue.extend(self._wanted(self.turn(self._poke(stream)), stream, only=only))
        return self.done[start:]

    def keys_done(self) -> list[str]:
        return [intent.key for intent in self.done]

    def patch_of(self, intent: Intent) -> Any:
        """The body of a patch or a create."""
        digest = intent.patch if isinstance(intent, PatchObject) else intent.manifest  # type: ignore[union-attr]
        return self.world.documents.get(digest)

    def wake_at(self, stream: StreamId) -> Instant | None:
        answer = self.world.answers.get(stream)
        return answer.wake_at if answer else None

    def last(self, stream: StreamId) -> Decided | None:
        """The latest decision about an aggregate."""
        found = [e.event for e in self.events if e.stream == stream and isinstance(e.event, Decided)]
        return found[-1] if found else None

    def later(self, span: int) -> None:
        self.now += span

    # The hands

    def _poke(self, stream: StreamId) -> Arrival:
        return Arrival(stream=CONTROLLER_STREAM, event=TimerFired(due_at=self.now, target=stream), source=Source.TIMER)

    @staticmethod
    def _wanted(turn: Turn, stream: StreamId, *, only: bool) -> list[tuple[int, int, Intent]]:
        return [
            (journaled.seq, index, intent)
            for journaled in turn.events
            if isinstance(journaled.event, Decided) and (journaled.stream == stream or not only)
            for index, intent in enumerate(journaled.event.intents)
        ]

    def _result(self, intent: Intent) -> Result:
        for matches, results in self._scripts:
            if matches(intent):
                if callable(results):
                    return results(intent)
                return results.pop(0) if len(results) > 1 else results[0]
        return OK

    def _carry_out(
        self, seq: int, index: int, intent: Intent, stream: StreamId, *, only: bool
    ) -> list[tuple[int, int, Intent]]:
        self.done.append(intent)
        wanted: list[tuple[int, int, Intent]] = []
        items = intent.count if isinstance(intent, CreateRunners) else 1
        for item in range(items):
            result = self._result(intent)
            if result.before is not None:
                result.before()
            arrivals = [
                Arrival(stream=target, event=event, source=Source.RESPONSE, resource_version=self.rv())
                for target, event in (self._effect(seq, intent, item, result) if result.outcome is Outcome.OK else ())
            ]
            settled = IntentSettled(
                decision=seq,
                index=index,
                item=item,
                key=intent.key,
                outcome=result.outcome,
                detail=result.detail,
                status=result.status,
                answer=result.answer,
            )
            arrivals.append(Arrival(stream=StreamId(*intent.target), event=settled, source=Source.RESPONSE))
            wanted.extend(self._wanted(self.turn(*arrivals), stream, only=only))
        return wanted

    def _effect(self, seq: int, intent: Intent, item: int, result: Result) -> list[tuple[StreamId, DomainEvent]]:
        if isinstance(intent, PatchObject):
            return self._patch(intent)
        if isinstance(intent, DeleteObject):
            return self._delete(intent)
        if isinstance(intent, CreateRunners):
            manifest = self.world.documents.mapping(intent.manifest)
            name = runner_name(intent.set_name, seq, item)
            return [self._created_runner(intent.namespace, name, manifest, intent.incarnation)]
        if isinstance(intent, CreateObject):
            return self._create(intent)
        if isinstance(intent, WriteSecret | RegisterRunner):
            known = self.world.dependent(Kind.SECRET, intent.namespace, intent.name)
            fact = DependentChanged if known else DependentObserved
            return [
                (
                    StreamId(*intent.target),
                    fact(
                        kind=Kind.SECRET,
                        namespace=intent.namespace,
                        name=intent.name,
                        uid=known.uid if known else self.uid("dep"),
                        resource_version=self.rv(),
                        metadata=intent.manifest,
                        modified_at=self.now,
                    ),
                )
            ]
        assert isinstance(intent, CallService | ReadObject | DeleteLabelled)
        return []

    def _patch(self, intent: PatchObject) -> list[tuple[StreamId, DomainEvent]]:
        patch: Any = self.world.documents.get(intent.patch)
        if intent.kind not in AGGREGATE_OF:
            return self._patch_dependent(intent, patch)
        stream = StreamId(AGGREGATE_OF[intent.kind], intent.uid)
        state: Any = self.world.aggregate(stream)
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
        before = self.world.documents.mapping(state.metadata)
        change = {part: metadata[part] for part in ("labels", "annotations") if part in metadata}
        return self.doc(merge_patch(before, change))

    def _patch_scale_set(self, state: Any, patch: Any) -> Iterable[DomainEvent]:
        metadata = patch.get("metadata", {})
        if "finalizers" in metadata:
            finalizers = tuple(metadata["finalizers"] or ())
            yield scale_set.ScaleSetFinalizersChanged(finalizers=finalizers)
            if state.deleting and not finalizers:
                yield scale_set.ScaleSetGone()
        if (digest := self._patched_metadata(state, patch)) is not None:
            annotations: Any = self.world.documents.mapping(digest).get("annotations") or {}
            text = str(annotations.get(keys.SCALE_SET_ID, "0"))
            yield scale_set.ScaleSetMetadataChanged(metadata=digest, scale_set_id=int(text) if text.isdigit() else 0)
        if "spec" in patch:
            spec = merge_patch(self.world.documents.mapping(state.spec), patch["spec"])
            yield scale_set.ScaleSetSpecChanged(spec=self.doc(spec), generation=state.generation + 1)
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
            before = self.world.documents.mapping(state.runner_spec)
            yield runner_set.RunnerSpecPublished(
                runner_spec=self.doc(merge_patch(before, spec.get("ephemeralRunnerSpec", {}))),
                actionable_revision=spec.get("actionableRevision", state.actionable_revision),
            )
        if "ephemeralRunnerMetadata" in spec:
            value = spec["ephemeralRunnerMetadata"]
            yield runner_set.RunnerMetadataPublished(runner_metadata=self.doc(value) if value is not None else "")
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
        if "ready" in status and status["ready"] != state.ready:
            yield runner.RunnerReadinessChanged(
                ready=status["ready"],
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
            merged = merge_patch(self.world.documents.mapping(state.spec), spec)
            yield listener.ListenerSpecChanged(spec=self.doc(merged))
        if "finalizers" in metadata:
            finalizers = tuple(metadata["finalizers"] or ())
            yield listener.ListenerFinalizersChanged(finalizers=finalizers)
            if state.deleting and not finalizers:
                yield listener.ListenerGone()

    def _patch_dependent(self, intent: PatchObject, patch: Any) -> list[tuple[StreamId, DomainEvent]]:
        target = StreamId(*intent.target)
        if intent.kind is Kind.POD:
            found = self.world.listeners.get(target.uid)
            assert found is not None, "only the metadata of listener pods is patched"
            assert found.pod is not None, "patches a pod that is not there"
            pod = found.pod
            metadata = self.doc(merge_patch(self.world.documents.mapping(pod.metadata), patch.get("metadata", {})))
            fields = {name: getattr(pod, name) for name in pod.__slots__}
            return [(target, listener.ListenerPodChanged(pod=PodFacts(**{**fields, "metadata": metadata})))]
        known = self.world.dependents[DependentKey(intent.kind, intent.namespace, intent.name)]
        metadata = patch.get("metadata", {})
        finalizers = tuple(metadata["finalizers"] or ()) if "finalizers" in metadata else known.finalizers
        content = self.world.documents.mapping(known.content) if known.content else None
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
                    resource_version=self.rv(),
                    metadata=self._patched_metadata(known, patch) or known.metadata,
                    content=self.doc(content) if content is not None else "",
                    finalizers=finalizers,
                    modified_at=self.now,
                    deletion_requested_at=known.deletion_requested_at,
                ),
            )
        ]

    def _delete(self, intent: DeleteObject) -> list[tuple[StreamId, DomainEvent]]:
        target = StreamId(*intent.target)
        if intent.kind is Kind.POD:
            state: Any = self.world.aggregate(target)
            if state is None or state.pod is None or state.pod.uid != intent.uid:
                return []
            gone = runner.RunnerPodGone if target.kind is AggregateKind.RUNNER else listener.ListenerPodGone
            return [(target, gone(pod_uid=intent.uid))]
        if intent.kind in AGGREGATE_OF:
            stream = StreamId(AGGREGATE_OF[intent.kind], intent.uid)
            found: Any = self.world.aggregate(stream)
            if found is None:
                return []
            module, prefix = {
                AggregateKind.SCALE_SET: (scale_set, "ScaleSet"),
                AggregateKind.RUNNER_SET: (runner_set, "RunnerSet"),
                AggregateKind.RUNNER: (runner, "Runner"),
                AggregateKind.LISTENER: (listener, "Listener"),
            }[stream.kind]
            if found.finalizers:
                return [(stream, getattr(module, f"{prefix}DeletionRequested")(deletion_requested_at=self.now))]
            return [(stream, getattr(module, f"{prefix}Gone")())]
        known = self.world.dependent(intent.kind, intent.namespace, intent.name)
        if known is None:
            return []
        facts = {"kind": known.kind, "namespace": known.namespace, "name": known.name, "uid": known.uid}
        if known.finalizers:
            return [
                (
                    target,
                    DependentChanged(
                        **facts,
                        resource_version=self.rv(),
                        metadata=known.metadata,
                        content=known.content,
                        finalizers=known.finalizers,
                        deletion_requested_at=self.now,
                    ),
                )
            ]
        return [(target, DependentGone(**facts))]

    def _create(self, intent: CreateObject) -> list[tuple[StreamId, DomainEvent]]:
        manifest: Any = self.world.documents.get(intent.manifest)
        target = StreamId(*intent.target)
        metadata = manifest.get("metadata", {})
        known = self.doc({part: dict(metadata.get(part) or {}) for part in ("labels", "annotations")})
        spec = manifest.get("spec", {})
        if intent.kind is Kind.RUNNER_SET:
            return [
                (StreamId(AggregateKind.RUNNER_SET, self.uid("ers")), self._new_runner_set(intent, manifest, known))
            ]
        if intent.kind is Kind.LISTENER:
            body = {key: value for key, value in spec.items() if key != "phase"}
            return [
                (
                    StreamId(AggregateKind.LISTENER, self.uid("al")),
                    listener.ListenerCreated(
                        namespace=intent.namespace,
                        name=intent.name,
                        created_at=self.now,
                        scale_set_namespace=spec["autoscalingRunnerSetNamespace"],
                        scale_set_name=spec["autoscalingRunnerSetName"],
                        spec=self.doc(body),
                        metadata=known,
                        phase=spec.get("phase", ""),
                        finalizers=tuple(metadata.get("finalizers") or ()),
                    ),
                )
            ]
        if intent.kind is Kind.POD:
            pod = PodFacts(uid=self.uid("pod"), created_at=self.now, phase="Pending")
            if target.kind is AggregateKind.RUNNER:
                return [(target, runner.RunnerPodCreated(pod=pod))]
            full = PodFacts(uid=pod.uid, created_at=self.now, phase="Pending", metadata=known, spec=self.doc(spec))
            return [(target, listener.ListenerPodCreated(pod=full))]
        content = {part: manifest[part] for part in ("rules", "roleRef", "subjects") if part in manifest}
        return [
            (
                target,
                DependentObserved(
                    kind=intent.kind,
                    namespace=intent.namespace,
                    name=intent.name,
                    uid=self.uid("dep"),
                    resource_version=self.rv(),
                    metadata=known,
                    content=self.doc(content) if content else "",
                    modified_at=self.now,
                ),
            )
        ]

    def _new_runner_set(self, intent: CreateObject, manifest: Any, metadata: str) -> DomainEvent:
        spec = manifest["spec"]
        owner = (manifest["metadata"].get("ownerReferences") or [{}])[0]
        extra = spec.get("ephemeralRunnerMetadata")
        return runner_set.RunnerSetCreated(
            namespace=intent.namespace,
            name=intent.name,
            created_at=self.now,
            owner_uid=owner.get("uid", ""),
            owner_name=owner.get("name", ""),
            metadata=metadata,
            runner_spec=self.doc(spec["ephemeralRunnerSpec"]),
            runner_metadata=self.doc(extra) if extra is not None else "",
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
            StreamId(AggregateKind.RUNNER, self.uid("er")),
            runner.RunnerCreated(
                namespace=namespace,
                name=name,
                created_at=self.now,
                owner_uid=owner.get("uid", ""),
                owner_name=owner.get("name", ""),
                metadata=self.doc({"labels": dict(metadata.get("labels") or {}), "annotations": dict(annotations)}),
                spec=self.doc(manifest["spec"]),
                patch_id=int(annotations.get(keys.PATCH_ID, "0")),
                revision=int(annotations.get(keys.ACTIONABLE_REVISION, "0")),
                incarnation=incarnation,
                finalizers=tuple(metadata.get("finalizers") or ()),
            ),
        )
