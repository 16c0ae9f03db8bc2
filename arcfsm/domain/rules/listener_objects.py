"""A listener as its children are built from it, recalled by what it was made of, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from arcfsm.domain.jsonvalue import JsonObject
from arcfsm.domain.kinds import Kind
from arcfsm.domain.manifests import listener_pod, subject
from arcfsm.domain.names import listener_config_secret_name, listener_proxy_secret_name
from arcfsm.domain.rules.rule import Look
from arcfsm.domain.settings import ControllerSettings
from arcfsm.domain.states import Dependent, Listener

Builder: TypeAlias = Callable[[JsonObject, ControllerSettings], JsonObject]


def listener_object(look: Look[Listener]) -> JsonObject:
    """Return the listener as manifests are built from it."""
    one = look.subject
    return subject(
        kind=Kind.LISTENER,
        namespace=one.namespace,
        name=one.name,
        uid=one.uid,
        metadata=look.document(one.metadata),
        spec=look.document(one.spec),
    )


def wanted(look: Look[Listener], build: Builder) -> JsonObject:
    """Return a child as it should be."""
    one = look.subject
    return look.recall(
        ("listener child", build.__name__, one.uid, one.spec, one.metadata),
        lambda: build(listener_object(look), look.settings),
    )


def wanted_pod(look: Look[Listener]) -> JsonObject:
    """Return the pod as it should be, reading the config Secret as it is now (L15). Raises Unbuildable."""
    one, config = look.subject, config_secret_of(look)
    version = config.resource_version if config is not None else ""
    return look.recall(
        ("listener pod", one.uid, one.spec, one.metadata, version),
        lambda: listener_pod(listener_object(look), look.settings, version),
    )


def config_secret_of(look: Look[Listener]) -> Dependent | None:
    """Return what is known of the Secret with config.json."""
    one = look.subject
    return look.world.dependent(Kind.SECRET, one.namespace, listener_config_secret_name(one.name))


def proxy_secret_of(look: Look[Listener]) -> Dependent | None:
    """Return what is known of the Secret with the proxy URLs."""
    one = look.subject
    return look.world.dependent(Kind.SECRET, one.namespace, listener_proxy_secret_name(one.name))
