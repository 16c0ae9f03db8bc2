"""Listeners and their pods for the tests of listener rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from arcfsm.domain import keys
from arcfsm.domain.events.dependent import DependentChanged
from arcfsm.domain.events.listener import ListenerPodObserved, ListenerPodStarted, ListenerPodTerminated
from arcfsm.domain.facts import ContainerFacts, PodFacts
from arcfsm.domain.kinds import Kind, StreamId
from arcfsm.domain.manifests import listener_pod, role, role_binding, service_account, subject
from arcfsm.domain.states import Dependent, DependentKey, Listener
from tests.unit.rules.harness import CONTROLLER_NAMESPACE, LISTENER, NAMESPACE, Lab, Result
from tests.unit.rules.scenes import Scene, scene

CONFIG = f"{LISTENER}-config"
PROXY = f"{LISTENER}-proxy"
WRITE_CONFIG = f"write Secret {CONTROLLER_NAMESPACE}/{CONFIG}"
WRITE_PROXY = f"write Secret {CONTROLLER_NAMESPACE}/{PROXY}"
CREATE_POD = f"create Pod {LISTENER}"
DELETE_POD = f"delete Pod {LISTENER}"
SAME = Result(vain=True)
"""The effect found that what is there already says what it should."""


def up(lab: Lab, **scale_set: Any) -> Scene:
    """A listener that we made, whose pod runs; nothing else is on record."""
    found = scene(lab, **scale_set)
    lab.drive(found.al)
    lab.fold(found.al, ListenerPodStarted(pod=running(listener_of(lab, found.al).pod)))
    lab.drive(found.al)
    lab.done.clear()
    return found


def adopted(lab: Lab, *, stamp: str | None = None, change: Any = None, al: Any = None, **scale_set: Any) -> Scene:
    """A listener with everything it needs, made by another controller; its pod may differ by `change(pod)`."""
    found = scene(lab, al=al, **scale_set)
    owner = listener_object(lab, found.al)
    children(lab, found.al)
    pod: Any = listener_pod(owner, lab.world.settings, "")
    if change is not None:
        pod = change(pod)
    annotations = {**pod["metadata"].get("annotations", {})}
    if stamp is not None:
        annotations[keys.LISTENER_CONFIG_VERSION] = stamp
    facts = PodFacts(
        uid=lab.uid("pod"),
        created_at=lab.now,
        phase="Running",
        container=ContainerFacts(state="running"),
        metadata=lab.doc({"labels": pod["metadata"]["labels"], "annotations": annotations}),
        spec=lab.doc(pod["spec"]),
    )
    lab.fold(found.al, ListenerPodObserved(pod=facts))
    return found


def children(lab: Lab, al: StreamId, *, proxy: bool = False) -> None:
    """Account, Role, binding and config Secret of a listener, as they should be."""
    owner = listener_object(lab, al)
    for kind, build, namespace in (
        (Kind.SERVICE_ACCOUNT, service_account, CONTROLLER_NAMESPACE),
        (Kind.ROLE, role, NAMESPACE),
        (Kind.ROLE_BINDING, role_binding, NAMESPACE),
    ):
        manifest: Any = build(owner, lab.world.settings)
        lab.dependent(
            kind,
            LISTENER,
            namespace=namespace,
            labels=manifest["metadata"].get("labels"),
            content={"rules": manifest["rules"]} if "rules" in manifest else None,
            stream=al,
        )
    for name in (CONFIG, PROXY) if proxy else (CONFIG,):
        lab.dependent(Kind.SECRET, name, namespace=CONTROLLER_NAMESPACE, stream=al, modified_at=lab.now)


def listener_of(lab: Lab, al: StreamId) -> Listener:
    return lab.world.listeners[al.uid]


def listener_object(lab: Lab, al: StreamId) -> Any:
    one, mapping = lab.world.listeners[al.uid], lab.world.documents.mapping
    return subject(
        kind=Kind.LISTENER,
        namespace=one.namespace,
        name=one.name,
        uid=one.uid,
        metadata=mapping(one.metadata),
        spec=mapping(one.spec),
    )


def running(pod: PodFacts) -> PodFacts:
    return replace(pod, phase="Running", container=ContainerFacts(state="running"))


def start(lab: Lab, al: StreamId) -> None:
    """The kubelet starts the pod."""
    lab.fold(al, ListenerPodStarted(pod=running(listener_of(lab, al).pod)))


def end(lab: Lab, al: StreamId, code: int, *, ago: int = 0, **facts: Any) -> None:
    """The listener process ends, so long ago."""
    container = ContainerFacts(state="terminated", exit_code=code, finished_at=lab.now - ago)
    lab.fold(al, ListenerPodTerminated(pod=replace(listener_of(lab, al).pod, container=container, **facts)))


def edit_secret(lab: Lab, al: StreamId, name: str, *, namespace: str = CONTROLLER_NAMESPACE, **changes: Any) -> None:
    """Somebody writes a Secret: its version moves, its content is not seen."""
    known: Dependent = lab.world.dependents[DependentKey(Kind.SECRET, namespace, name)]
    facts = {field: getattr(known, field) for field in known.__struct_fields__}
    version = {"resource_version": lab.rv(), "modified_at": lab.now}
    lab.fold(al, DependentChanged(**{**facts, **version, **changes}))
