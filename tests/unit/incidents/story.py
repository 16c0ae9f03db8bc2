"""A story: the real translator and the real rules, in an obliging world that does what a case scripts.

Nothing here decides. Intents are carried out when they are issued, outcomes come back with the object that the API
returned, and then the watch tells the same once more. Timers fire when they are due. What was done is kept for the
phrases of the case to be checked against (phrases.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from arcfsm.cluster.translator import ObjectTranslator
from arcfsm.domain import keys
from arcfsm.domain.envelope import JournaledEvent, Source
from arcfsm.domain.events.controller import SettingsDeclared
from arcfsm.domain.events.decision import Decided, IntentSettled, Outcome
from arcfsm.domain.instant import MINUTE, SECOND, Instant, Span, format_instant
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
    ServiceCall,
    WriteSecret,
)
from arcfsm.domain.kinds import CONTROLLER_STREAM, Kind, StreamId
from arcfsm.domain.manifests import named
from arcfsm.domain.merge_patch import merge_diff
from arcfsm.domain.names import runner_name
from arcfsm.domain.observation import Change, Observation, Scope
from arcfsm.domain.turn import Arrival, run_turn, timers_due
from arcfsm.domain.world import World
from tests.unit.incidents.case import START, Case, Event, as_it_was, complete, complete_pod, running
from tests.unit.incidents.cluster import Cluster, Key, Object, Refused, key_of
from tests.unit.incidents.replies import SESSION, Reply, Script, call_of

AFTERWARDS = 10 * MINUTE
"""How long a story goes on after the last thing that happens in it: nothing may be left that needs another push."""
TURNS_MAX = 3_000
STARTS_IN = 1 * SECOND
"""From a pod's creation until its container runs."""


@dataclass(frozen=True)
class Did:
    """One intent, and how it ended."""

    at: Instant
    intent: Intent
    outcome: Outcome
    call: str
    """In the words of a case: `create Pod r1`, `RemoveRunner(7)`."""
    body: Any = None
    key: Key | None = None


@dataclass
class Story:
    """One run of one case."""

    case: Case
    latency: Span = 0
    """How long every call takes; meanwhile the world goes on without knowing what comes of it."""
    world: World = field(default_factory=World)
    did: list[Did] = field(default_factory=list)
    journal: list[JournaledEvent] = field(default_factory=list)
    moot: list[str] = field(default_factory=list)
    """Events of the case about objects that were gone by then."""
    turns: int = 0

    def __post_init__(self) -> None:
        self.cluster = Cluster(START)
        self.translator = ObjectTranslator()
        self.script = Script(self.case.events)
        self._told: dict[Key, Object] = {}
        self._ids = 100
        self._lost: set[int] = set()
        self._later: list[tuple[Instant, Callable[[], None]]] = []

    @property
    def now(self) -> Instant:
        return self.cluster.now

    @property
    def decisions(self) -> list[tuple[JournaledEvent, Decided]]:
        return [(one, one.event) for one in self.journal if isinstance(one.event, Decided)]

    def run(self) -> Story:
        """Tell it from the beginning until some time after its end."""
        for obj in complete(self.case):
            self.cluster.place(obj)
        self._told = {key_of(obj): deepcopy(obj) for obj in self.case.initial}
        self._turn(self._opening())
        self._settle()
        for event in self.case.events:
            self._until(START + round(event["t"] * SECOND))
            self._happen(event)
            self._settle()
        self._until(self.now + AFTERWARDS)
        return self

    # What the case says

    def _happen(self, event: Event) -> None:
        if "object" in event:
            self._tell(event["type"], event["object"])
        elif event.get("svc", "").startswith(SESSION):
            self._try_sessions()
        elif "relist" in event:
            self._relist(event["relist"])
        elif "listener" in event:
            self._hear(event)
        else:
            assert "clock" in event or "svc" in event or "api" in event, f"an event that nobody understands: {event}"

    def _tell(self, change: str, obj: Object) -> None:
        """Somebody else changed an object: what differs from what the case said of it before is done to ours."""
        if obj["kind"] not in set(Kind):
            return
        key = key_of(obj)
        before = self._told.get(key) or as_it_was(obj)
        self._told[key] = deepcopy(obj)
        stored = self.cluster.get(key)
        uid = obj["metadata"].get("uid")
        if stored is not None and uid and stored["metadata"]["uid"] != uid and change == "ADDED":
            self.cluster.change(key, {"metadata": {"finalizers": None}})
            self.cluster.delete(key)
            stored = None
        if change == "DELETED":
            if stored is not None:
                self.cluster.change(key, {"metadata": {"finalizers": None}})
                self.cluster.delete(key, grace=0)
        elif stored is not None and (change == "MODIFIED" or before != obj):
            patch = merge_diff(_content(before), _content(obj))
            if obj["kind"] == Kind.POD and obj["metadata"].get("deletionTimestamp"):
                self.cluster.stuck.add(stored["metadata"]["uid"])
            self.cluster.change(key, patch)
        elif stored is None and change == "ADDED":
            made = deepcopy(obj)
            if made["kind"] == Kind.POD:
                complete_pod(made, self.cluster.objects, self.case.settings)
            self.cluster.create(made)
        elif stored is None:
            self.moot.append(f"{change} {obj['kind']} {obj['metadata']['name']}")

    def _try_sessions(self) -> None:
        """Every listener that runs asks for its session now; one that is refused ends with exit code 1."""
        for pod in self.cluster.of(Kind.POD):
            if _container(pod) == "listener" and _state(pod) == "running":
                self._ask_for_session(pod)

    def _ask_for_session(self, pod: Object) -> None:
        reply = self.script.reply(SESSION, self.now)
        if reply is None or reply.outcome is Outcome.OK:
            return
        if reply.outcome is Outcome.NOT_FOUND:
            listener = self.cluster.get((Kind.LISTENER, pod["metadata"]["namespace"], pod["metadata"]["name"]))
            lost = (listener or {}).get("spec", {}).get("runnerScaleSetId", 0)
            if lost in self._known_ids():
                return
            self._lost.add(lost)
        ended = {"exitCode": 1, "reason": "Error", "finishedAt": format_instant(self.now)}
        status = {"phase": "Failed", "containerStatuses": [{"name": "listener", "state": {"terminated": ended}}]}
        self.cluster.change(key_of(pod), {"status": status})

    def _known_ids(self) -> set[int]:
        """Ids that the service gave out in this story: those are not lost."""
        return {d.body["id"] for d in self.did if d.call == "CreateScaleSet" and isinstance(d.body, dict)}

    def _relist(self, objects: Any) -> None:
        """A new list: what it does not hold is gone, and nobody saw it go."""
        listed = [deepcopy(one) for one in objects] if isinstance(objects, list) else None
        if listed is not None:
            kinds = {one["kind"] for one in listed} or {Kind.RUNNER}
            names = {key_of(one) for one in listed}
            for key in [key for key in self.cluster.objects if key[0] in kinds and key not in names]:
                del self.cluster.objects[key]
            for one in listed:
                self._tell("MODIFIED" if key_of(one) in self.cluster.objects else "ADDED", one)
        self.cluster.unseen.clear()
        self.translator.restart_versions(self.world)
        self._turn(self._list())

    def _hear(self, event: Event) -> None:
        """What a listener does when it hears of jobs (P3, P5)."""
        told = event["listener"]
        message = told if isinstance(told, dict) else {**event, "messageType": str(told)}
        kind = str(message.get("messageType", message.get("type", "")))
        runner = message.get("runnerName", message.get("runner", ""))
        if kind == "JobStarted" and runner:
            namespace = next((key[1] for key in self.cluster.objects if key[0] is Kind.RUNNER and key[2] == runner), "")
            job = {"jobId": message.get("jobId", "j-1"), "phase": "Running"}
            if self.cluster.get((Kind.RUNNER, namespace, runner)):
                self.cluster.change((Kind.RUNNER, namespace, runner), {"status": job})
        statistics = message.get("statistics", {})
        if "totalAssignedJobs" in statistics:
            for one in self.cluster.of(Kind.LISTENER):
                spec = one["spec"]
                floor, cap = spec.get("minRunners", 0), spec.get("maxRunners", 2**31 - 1)
                key = (Kind.RUNNER_SET, spec["autoscalingRunnerSetNamespace"], spec["ephemeralRunnerSetName"])
                found = self.cluster.get(key)
                if found is not None:
                    wish = {"replicas": min(floor + statistics["totalAssignedJobs"], cap)}
                    self.cluster.change(key, {"spec": {**wish, "patchID": found["spec"].get("patchID", 0) + 1}})
        known = {"JobStarted", "JobCompleted", "JobAssigned", "JobAvailable"}
        assert kind in known or statistics, f"a word of a listener that nobody understands: {told}"

    # Time

    def _until(self, moment: Instant) -> None:
        while (due := self._next_due(moment)) is not None:
            self.cluster.now = max(self.now, due)
            for one in [one for one in self._later if one[0] <= self.now]:
                self._later.remove(one)
                one[1]()
            if timers := timers_due(self.world, self.now):
                self._turn(iter(timers))
            self._settle()
        self.cluster.now = max(self.now, moment)

    def _next_due(self, moment: Instant) -> Instant | None:
        timers = timers_due(self.world, moment)
        moments = [at for at, _ in self._later if at <= moment]
        if timers:
            moments.append(timers[0].observed_at or self.now)
        return min(moments, default=None)

    def _start(self, key: Key, uid: str) -> None:
        pod = self.cluster.get(key)
        if pod is None or pod["metadata"]["uid"] != uid or pod["metadata"].get("deletionTimestamp"):
            return
        container = _container(pod)
        started = self.cluster.change(key, {"status": running(container, since=self.now)})
        if container == "listener":
            self._ask_for_session(started)

    # Turns

    def _opening(self) -> Iterator[Arrival]:
        declared = SettingsDeclared(settings=self.case.settings, advisory=False, rules_version="incidents")
        yield Arrival(stream=CONTROLLER_STREAM, event=declared, source=Source.OPERATOR)
        yield from self._list()

    def _list(self) -> Iterator[Arrival]:
        """Everything that is there, and what is not: known before anything is decided."""
        for obj in list(self.cluster.objects.values()):
            yield from self._seen(Change.ADDED, obj, Source.LIST, listed=True)
        scopes = {Scope(key[0], key[1]) for key in self.cluster.objects} | {
            Scope(kind, namespace) for kind in Kind for namespace in ("runners", "arc")
        }
        listed = {obj["metadata"]["uid"] for obj in self.cluster.objects.values()}
        yield from self.translator.missing(self.world, sorted(scopes), listed)

    def _seen(self, change: Change, obj: Object, source: Source, *, listed: bool = False) -> tuple[Arrival, ...]:
        observation = Observation(change=change, object=deepcopy(obj), source=source, at=self.now, listed=listed)
        return self.translator.translate(self.world, observation).arrivals

    def _turn(self, arrivals: Iterator[Arrival]) -> None:
        self.turns += 1
        assert self.turns < TURNS_MAX, f"{self.case.id} goes in circles: {[d.call for d in self.did[-12:]]}"
        turn = run_turn(self.world, arrivals, recorded_at=self.now)
        self.journal.extend(turn.events)
        for journaled in turn.events:
            if isinstance(journaled.event, Decided):
                for index, intent in enumerate(journaled.event.intents):
                    carry_out = partial(self._carry_out, journaled.seq, index, intent)
                    if self.latency:
                        self._later.append((self.now + self.latency, carry_out))
                    else:
                        carry_out()

    def _settle(self) -> None:
        while self.cluster.unseen:
            told = self.cluster.unseen.pop(0)
            self._turn(iter(self._seen(Change(told.type), told.object, Source.WATCH)))
            pod = told.object
            if told.type == "ADDED" and pod["kind"] == Kind.POD and "status" not in pod:
                start = partial(self._start, key_of(pod), pod["metadata"]["uid"])
                self._later.append((self.now + STARTS_IN, start))

    def _carry_out(self, seq: int, index: int, intent: Intent) -> None:
        for item in range(intent.count if isinstance(intent, CreateRunners) else 1):
            call, key, body = self._describe(seq, item, intent)
            try:
                reply, objects = self._execute(intent, call, key, body)
            except Refused as refusal:
                outcomes = {404: Outcome.NOT_FOUND, 409: Outcome.CONFLICT}
                outcome = Outcome.ALREADY_EXISTS if "AlreadyExists" in str(refusal) else outcomes[refusal.code]
                reply, objects = Reply(outcome, str(refusal), refusal.code), []
            told = body if not isinstance(intent, CallService) else dict(reply.answer)
            self.did.append(Did(self.now, intent, reply.outcome, call, told, key))
            settled = IntentSettled(
                decision=seq,
                index=index,
                item=item,
                key=intent.key,
                outcome=reply.outcome,
                status=reply.status,
                detail=reply.detail,
                answer=reply.answer,
            )
            self._turn(self._outcome(seq, StreamId(*intent.target), settled, objects))

    def _outcome(self, seq: int, stream: StreamId, settled: IntentSettled, objects: list[Object]) -> Iterator[Arrival]:
        for obj in objects:
            change = Change.ADDED if settled.key.startswith("create") else Change.MODIFIED
            for arrival in self._seen(change, obj, Source.RESPONSE):
                yield Arrival(
                    stream=arrival.stream,
                    event=arrival.event,
                    source=arrival.source,
                    observed_at=arrival.observed_at,
                    resource_version=arrival.resource_version,
                    cause=seq,
                )
        yield Arrival(stream=stream, event=settled, source=Source.RESPONSE, cause=seq)

    # Carrying out

    def _describe(self, seq: int, item: int, intent: Intent) -> tuple[str, Key | None, Any]:
        documents = self.world.documents
        if isinstance(intent, CreateRunners):
            name = runner_name(intent.set_name, seq, item, intent.salt)
            key = (Kind.RUNNER, intent.namespace, name)
            return f"create {Kind.RUNNER} {name}", key, named(documents.mapping(intent.manifest), name)
        if isinstance(intent, CallService):
            return call_of(intent), None, None
        if isinstance(intent, RegisterRunner):
            return call_of(intent), (Kind.SECRET, intent.namespace, intent.name), documents.get(intent.manifest)
        if isinstance(intent, DeleteLabelled):
            return f"delete {intent.kind} {intent.label}={intent.value}", None, None
        if isinstance(intent, WriteSecret):
            return f"write Secret {intent.name}", (Kind.SECRET, intent.namespace, intent.name), None
        key = (intent.kind, intent.namespace, intent.name)
        verbs = {CreateObject: "create", PatchObject: "patch", DeleteObject: "delete", ReadObject: "get"}
        body: Any = None
        if isinstance(intent, CreateObject):
            body = documents.get(intent.manifest)
        elif isinstance(intent, PatchObject):
            body = documents.get(intent.patch)
        return f"{verbs[type(intent)]} {intent.kind} {intent.name}", key, body

    def _execute(self, intent: Intent, call: str, key: Key | None, body: Any) -> tuple[Reply, list[Object]]:
        scripted = self.script.reply(call, self.now)
        if scripted is not None and scripted.outcome is not Outcome.OK:
            return scripted, []
        if isinstance(intent, CallService):
            return self._serve(intent, scripted), []
        if isinstance(intent, DeleteLabelled):
            for one in self.cluster.of(intent.kind):
                if (one["metadata"].get("labels") or {}).get(intent.label) == intent.value:
                    self.cluster.delete(key_of(one))
            return Reply(Outcome.OK), []
        assert key is not None
        if isinstance(intent, CreateObject | CreateRunners):
            return Reply(Outcome.OK), [self.cluster.create(body)]
        if isinstance(intent, PatchObject):
            locked = {"subresource": intent.subresource, "version": intent.resource_version, "uid": intent.uid}
            return Reply(Outcome.OK), [self.cluster.patch(key, body, **locked)]
        if isinstance(intent, DeleteObject):
            self.cluster.delete(key, uid=intent.uid, grace=intent.grace_period_s)
            return Reply(Outcome.OK), []
        if isinstance(intent, ReadObject):
            found = self.cluster.get(key)
            return Reply(Outcome.OK if found else Outcome.NOT_FOUND), [found] if found else []
        answer: dict[str, Any] = {}
        if isinstance(intent, RegisterRunner):
            self._ids += 1
            answer["runner_id"] = scripted.answer.get("runner_id", self._ids) if scripted else self._ids
        secret = self.cluster.get(key) or self.cluster.create(self.world.documents.mapping(intent.manifest))
        if isinstance(intent, WriteSecret):
            answer["resource_version"] = secret["metadata"]["resourceVersion"]
        return Reply(Outcome.OK, answer=answer), [secret]

    def _serve(self, intent: CallService, scripted: Reply | None) -> Reply:
        """The service obliges: what is asked for is there, was made or is let go."""
        answer = dict(scripted.answer) if scripted is not None else {}
        if intent.call is ServiceCall.REGISTER_SCALE_SET:
            self._ids += 1
            answer.setdefault("id", self._ids)
            answer.setdefault("name", intent.arguments["name"])
            answer.setdefault("group", intent.arguments.get("group") or "Default")
        elif intent.call is ServiceCall.UPDATE_SCALE_SET:
            answer.setdefault("name", intent.arguments.get("name", ""))
            answer.setdefault("group", intent.arguments.get("group", ""))
        elif intent.call is ServiceCall.RECALL_REGISTRATION:
            runner = self.cluster.get((Kind.RUNNER, intent.namespace, str(intent.arguments["name"])))
            answer["runner_id"] = (runner or {}).get("status", {}).get("runnerId", 0)
        elif intent.call is ServiceCall.GET_SCALE_SET and intent.arguments["id"] in self._lost:
            return Reply(Outcome.NOT_FOUND, "404 RunnerScaleSetNotFoundException", 404)
        elif intent.call is ServiceCall.FIND_RUNNER and not answer:
            return Reply(Outcome.NOT_FOUND, "no such runner", 404)
        return Reply(Outcome.OK, answer=answer)


def _content(obj: Object) -> Object:
    """An object without what the API server counts."""
    metadata = {k: v for k, v in obj["metadata"].items() if k not in ("resourceVersion", "uid", "creationTimestamp")}
    return {**{part: obj[part] for part in obj if part not in ("metadata", "apiVersion", "kind")}, "metadata": metadata}


def _container(pod: Object) -> str:
    names = {one["name"] for one in pod.get("spec", {}).get("containers", ())}
    return keys.LISTENER_CONTAINER if keys.LISTENER_CONTAINER in names else keys.RUNNER_CONTAINER


def _state(pod: Object) -> str:
    for one in pod.get("status", {}).get("containerStatuses") or ():
        if one["name"] == _container(pod):
            return next(iter(one.get("state") or {"": None}))
    return ""
