"""A laboratory for rules: a world built by hand in the notation of rules.md Part 7, and hands that carry intents out.

The hands (`hands.py`) do to the folded world what a cluster and the Actions service would; every intent is settled
with the outcome that the test scripted (ok by default) and folded back as events. Everything that was carried out is
recorded in order, so a test says what was written and that nothing else was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from arcfsm.domain import keys
from arcfsm.domain.envelope import JournaledEvent, Source
from arcfsm.domain.events import DomainEvent, listener, runner, runner_set, scale_set
from arcfsm.domain.events.controller import SettingsDeclared, TimerFired
from arcfsm.domain.events.decision import Decided, IntentSettled, Outcome
from arcfsm.domain.events.dependent import DependentObserved
from arcfsm.domain.facts import ContainerFacts, Job, PodFacts, PodFailure
from arcfsm.domain.instant import MINUTE, SECOND, Instant, parse_instant
from arcfsm.domain.intents import (
    CreateRunners,
    Intent,
    PatchObject,
)
from arcfsm.domain.kinds import CONTROLLER_STREAM, AggregateKind, Kind, StreamId
from arcfsm.domain.settings import ControllerSettings
from arcfsm.domain.turn import Arrival, Turn, run_turn
from arcfsm.domain.world import World
from tests.unit.rules.hands import Hands

NOON = parse_instant("2026-12-01T12:00:00Z")
NAMESPACE = "arc-runners"
CONTROLLER_NAMESPACE = "arc-systems"
URL = "https://github.com/acme/repo"
LISTENER = "demo-5f5c4d65-listener"
TEMPLATE = {"spec": {"containers": [{"name": "runner", "image": "runner:1"}]}}


@dataclass
class Result:
    """How a scripted intent ends."""

    outcome: Outcome = Outcome.OK
    answer: dict[str, Any] = field(default_factory=dict)
    detail: str = ""
    status: int = 0
    before: Callable[[], None] | None = None
    """What somebody else does just before the intent is carried out."""
    vain: bool = False
    """It succeeds and changes nothing: what was wanted was there already."""


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
        self._scripts: list[tuple[Any, Any]] = []
        self.hands = Hands(self)
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
        self._scripts.append((match, list(results) if not callable(results[0]) else results[0]))

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

    # Carrying out

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
        for match, results in self._scripts:
            if _matches(match, intent):
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
            happens = result.outcome is Outcome.OK and not result.vain
            facts = self.hands.effect(seq, intent, item) if happens else []
            arrivals = [
                Arrival(stream=target, event=event, source=Source.RESPONSE, resource_version=self.rv())
                for target, event in facts
            ]
            settled = IntentSettled(
                decision=seq,
                index=index,
                item=item,
                key=intent.key,
                outcome=result.outcome,
                detail=result.detail,
                status=result.status,
                answer=result.answer or self.hands.answer(intent, facts),
            )
            arrivals.append(Arrival(stream=StreamId(*intent.target), event=settled, source=Source.RESPONSE))
            wanted.extend(self._wanted(self.turn(*arrivals), stream, only=only))
        return wanted


def _matches(match: Any, intent: Intent) -> bool:
    if isinstance(match, str):
        return intent.key.startswith(match)
    return isinstance(intent, match) if isinstance(match, type) else bool(match(intent))
