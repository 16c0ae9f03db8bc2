"""Runners and their pods for the tests of runner rules."""

from __future__ import annotations

from typing import Any

from arcfsm.domain import keys
from arcfsm.domain.events.decision import Outcome
from arcfsm.domain.events.runner import RunnerCreated, RunnerDeletionRequested
from arcfsm.domain.intents import CallService, ServiceCall
from arcfsm.domain.kinds import AggregateKind, StreamId
from arcfsm.domain.states import Runner
from tests.unit.rules.harness import NAMESPACE, TEMPLATE, URL, Lab, Result

BOTH = (keys.RUNNER_FINALIZER, keys.REGISTRATION_FINALIZER)
NO_FINALIZERS = 'patch ER a {"metadata":{"finalizers":[]}}'


def new_runner(lab: Lab, name: str = "a", *, finalizers: tuple[str, ...] = BOTH, spec: Any = None) -> StreamId:
    """A runner whose creation we saw: all that happened to it is known."""
    stream = StreamId(AggregateKind.RUNNER, lab.uid("er"))
    body = spec or {"githubConfigUrl": URL, "githubConfigSecret": "cred", "runnerScaleSetId": 7, **TEMPLATE}
    lab.fold(
        stream,
        RunnerCreated(
            namespace=NAMESPACE,
            name=name,
            created_at=lab.now,
            owner_uid="ers-0",
            owner_name="demo",
            metadata=lab.doc({"labels": {}, "annotations": {}}),
            spec=lab.doc(body),
            finalizers=finalizers,
        ),
    )
    return stream


def runner_of(lab: Lab, stream: StreamId) -> Runner:
    return lab.world.runners[stream.uid]


def delete_runner(lab: Lab, stream: StreamId) -> None:
    """Somebody deletes it."""
    lab.fold(stream, RunnerDeletionRequested(deletion_requested_at=lab.now))


def answers(**answer: Any) -> Result:
    return Result(Outcome.OK, answer=answer)


def foreign(runner_id: int) -> Result:
    """A runner of that name in another scale set."""
    return answers(runner_id=runner_id, scale_set_id=8)


def service(lab: Lab, call: ServiceCall, *results: Result) -> None:
    """Script the answers to one kind of question."""
    lab.script(lambda intent: isinstance(intent, CallService) and intent.call is call, *results)
