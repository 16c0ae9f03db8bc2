"""The kinds of objects and aggregates, and how a stream is named."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from arcfsm.domain import keys


class Kind(StrEnum):
    """Kubernetes kinds that arcfsm reads or writes."""

    SCALE_SET = "AutoscalingRunnerSet"
    RUNNER_SET = "EphemeralRunnerSet"
    RUNNER = "EphemeralRunner"
    LISTENER = "AutoscalingListener"
    POD = "Pod"
    SECRET = "Secret"
    CONFIG_MAP = "ConfigMap"
    SERVICE_ACCOUNT = "ServiceAccount"
    ROLE = "Role"
    ROLE_BINDING = "RoleBinding"


class AggregateKind(StrEnum):
    """The four aggregates, and the journal's own stream. The value is the first part of a stream name."""

    SCALE_SET = "scale-set"
    RUNNER_SET = "runner-set"
    RUNNER = "runner"
    LISTENER = "listener"
    CONTROLLER = "controller"


class Resource(NamedTuple):
    """Where the API serves a kind."""

    group: str
    version: str
    plural: str

    @property
    def api_version(self) -> str:
        """The `apiVersion` of objects of this kind."""
        return f"{self.group}/{self.version}" if self.group else self.version


RESOURCES: Final[dict[Kind, Resource]] = {
    Kind.SCALE_SET: Resource(keys.GROUP, keys.VERSION, "autoscalingrunnersets"),
    Kind.RUNNER_SET: Resource(keys.GROUP, keys.VERSION, "ephemeralrunnersets"),
    Kind.RUNNER: Resource(keys.GROUP, keys.VERSION, "ephemeralrunners"),
    Kind.LISTENER: Resource(keys.GROUP, keys.VERSION, "autoscalinglisteners"),
    Kind.POD: Resource("", "v1", "pods"),
    Kind.SECRET: Resource("", "v1", "secrets"),
    Kind.CONFIG_MAP: Resource("", "v1", "configmaps"),
    Kind.SERVICE_ACCOUNT: Resource("", "v1", "serviceaccounts"),
    Kind.ROLE: Resource("rbac.authorization.k8s.io", "v1", "roles"),
    Kind.ROLE_BINDING: Resource("rbac.authorization.k8s.io", "v1", "rolebindings"),
}

TELLING_ORDER: Final[dict[Kind, int]] = {
    kind: rank
    for rank, kind in enumerate(
        (
            Kind.SCALE_SET,
            Kind.LISTENER,
            Kind.SERVICE_ACCOUNT,
            Kind.ROLE,
            Kind.ROLE_BINDING,
            Kind.SECRET,
            Kind.CONFIG_MAP,
            Kind.RUNNER_SET,
            Kind.RUNNER,
            Kind.POD,
        )
    )
}
"""The order in which the items of a list are told: owners before what they own, accounts and Secrets before pods."""

AGGREGATE_OF: Final[dict[Kind, AggregateKind]] = {
    Kind.SCALE_SET: AggregateKind.SCALE_SET,
    Kind.RUNNER_SET: AggregateKind.RUNNER_SET,
    Kind.RUNNER: AggregateKind.RUNNER,
    Kind.LISTENER: AggregateKind.LISTENER,
}
KIND_OF: Final[dict[AggregateKind, Kind]] = {aggregate: kind for kind, aggregate in AGGREGATE_OF.items()}


class StreamId(NamedTuple):
    """The identity of an aggregate: its kind and its uid. Written as `runner/<uid>`."""

    kind: AggregateKind
    uid: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.uid}"

    @classmethod
    def parse(cls, text: str) -> StreamId:
        """Read what `str` wrote. Raises ValueError for an unknown kind or a missing uid."""
        kind, separator, uid = text.partition("/")
        if not separator or not uid:
            raise ValueError(f"{text!r} is not a stream; expected KIND/UID")
        return cls(AggregateKind(kind), uid)


@lru_cache(maxsize=65_536)
def stream_of(kind: AggregateKind, uid: str) -> StreamId:
    """Return a stream that is named again and again, an owner's: making one costs more than finding it."""
    return StreamId(kind, uid)


CONTROLLER_STREAM: Final = StreamId(AggregateKind.CONTROLLER, "arcfsm")
"""Facts about the controller and its sources themselves: settings, gaps, sources read."""
