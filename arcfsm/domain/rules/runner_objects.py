"""A runner as its children are built from it, and what is known of them."""

from __future__ import annotations

from typing import Final

from arcfsm.domain import keys
from arcfsm.domain.intents import CreateObject, RegisterRunner
from arcfsm.domain.jsonvalue import Digest, JsonObject, integer_at, objects_at, text_at
from arcfsm.domain.kinds import Kind
from arcfsm.domain.manifests import jit_secret, runner_pod, subject
from arcfsm.domain.rules.rule import Look
from arcfsm.domain.states import Dependent, Runner

_NOWHERE: Final[JsonObject] = {}


def secret_of(look: Look[Runner]) -> Dependent | None:
    """Return what is known of the Secret that holds the registration."""
    one = look.subject
    return look.world.dependent(Kind.SECRET, one.namespace, one.name)


def registration(look: Look[Runner]) -> RegisterRunner:
    """Register on the service and keep what it answers in the Secret."""
    one = look.subject
    return RegisterRunner(
        target=look.stream,
        namespace=one.namespace,
        name=one.name,
        scale_set_id=scale_set_id_of(look),
        work_folder=text_at(_runner_container(look, one.spec), "workingDir"),
        manifest=look.intern(jit_secret(_object(look), look.settings)),
    )


def pod_creation(look: Look[Runner]) -> CreateObject:
    """Create the pod (M8)."""
    one = look.subject
    manifest = look.intern(runner_pod(_object(look), look.settings))
    return CreateObject(target=look.stream, kind=Kind.POD, namespace=one.namespace, name=one.name, manifest=manifest)


def scale_set_id_of(look: Look[Runner]) -> int:
    """Return the scale set that the runner was made for."""
    return integer_at(look.document(look.subject.spec), "runnerScaleSetId")


def runs_hooks(look: Look[Runner]) -> bool:
    """Whether the runner starts further pods for its job: the container `runner` says so, no other one."""
    spec = look.subject.spec
    return look.recall(
        ("hooks", spec),
        lambda: any(
            text_at(entry, "name") == keys.CONTAINER_HOOKS_ENV
            for entry in objects_at(_runner_container(look, spec), "env")
        ),
    )


def _runner_container(look: Look[Runner], spec: Digest) -> JsonObject:
    containers = objects_at(look.document(spec), "spec", "containers")
    return next((one for one in containers if text_at(one, "name") == keys.RUNNER_CONTAINER), _NOWHERE)


def _object(look: Look[Runner]) -> JsonObject:
    one = look.subject
    return subject(
        kind=Kind.RUNNER,
        namespace=one.namespace,
        name=one.name,
        uid=one.uid,
        metadata=look.document(one.metadata),
        spec=look.document(one.spec),
    )
