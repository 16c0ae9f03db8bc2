"""The kinds the server serves: where they live, what may be done to them, and which habits of theirs differ.

Real kinds differ in small ways that clients feel: whether a PUT needs a resourceVersion, whether it creates what is
not there, what a DELETE answers, which fields select. All such differences are data here, so the verbs are written
once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from arcfsm.sim.api.shapes import STRUCTS, Struct

if TYPE_CHECKING:
    from arcfsm.sim.api.structural import Schema

RBAC_GROUP: Final = "rbac.authorization.k8s.io"
COMMON_FIELDS: Final = ("metadata.name", "metadata.namespace")
OBJECT_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True)
class PrinterColumn:
    """One column of the table that `kubectl get` shows of a custom resource."""

    name: str
    type: str
    path: tuple[str, ...]
    description: str = ""
    format: str = ""
    priority: int = 0


@dataclass(frozen=True, eq=False)
class ResourceType:
    """One resource as it is served under one group and version."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    singular: str = ""
    list_kind: str = ""
    verbs: tuple[str, ...] = OBJECT_VERBS
    subresources: tuple[str, ...] = ()
    struct: Struct | None = None
    """The shape of a built-in kind; None for custom resources."""
    schema: Schema | None = None
    """The schema of a custom resource; None for built-in kinds."""
    columns: tuple[PrinterColumn, ...] = ()
    fields: tuple[str, ...] = ()
    """Fields that select, beside name and namespace."""
    converts_fields: bool = False
    """Whether the kind has a list of its own of fields that select; an unknown field is refused with another text."""
    unconditional: bool = False
    """Whether a PUT without resourceVersion overwrites."""
    creates_on_update: bool = False
    """Whether a PUT creates what is not there."""
    counts_generations: bool = False
    returns_deleted: bool = False
    """Whether DELETE answers with the object rather than with a Status."""
    cached: bool = True
    """Whether reads and watches go through a watch cache."""
    storage: str = ""
    """The table the objects are in, where another resource shares it."""
    zero_spec: Mapping[str, Any] = field(default_factory=dict)

    @property
    def custom(self) -> bool:
        """Whether this is a custom resource."""
        return self.struct is None

    @property
    def table(self) -> str:
        """The name of the table the objects are in."""
        return self.storage or (f"{self.plural}.{self.group}" if self.group else self.plural)

    @property
    def api_version(self) -> str:
        """The `apiVersion` of objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def names_list(self) -> str:
        """The kind of lists."""
        return self.list_kind or f"{self.kind}List"

    def registry_key(self, namespace: str, name: str) -> str:
        """The key under which the real server would store an object; some refusals show it."""
        place = f"{self.group}/{self.plural}" if self.custom else self.plural
        return f"/registry/{place}/{namespace}/{name}" if namespace else f"/registry/{place}/{name}"


def _core(plural: str, kind: str, **habits: Any) -> ResourceType:
    habits.setdefault("unconditional", True)
    return ResourceType("", "v1", plural, kind, struct=STRUCTS[kind], **habits)


def _rbac(plural: str, kind: str, *, namespaced: bool) -> ResourceType:
    return ResourceType(
        RBAC_GROUP, "v1", plural, kind, struct=STRUCTS[kind], namespaced=namespaced, unconditional=True,
        creates_on_update=True,
    )  # fmt: skip


_EVENT_FIELDS: Final = (
    "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
    "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
    "reportingComponent", "source", "type",
)  # fmt: skip
_WITHOUT_COLLECTION_DELETE: Final = tuple(verb for verb in OBJECT_VERBS if verb != "deletecollection")

NAMESPACES: Final = _core(
    "namespaces", "Namespace", namespaced=False, short_names=("ns",), subresources=("status", "finalize"),
    fields=("status.phase",), converts_fields=True, verbs=_WITHOUT_COLLECTION_DELETE,
)  # fmt: skip
PODS: Final = _core(
    "pods", "Pod", short_names=("po",), subresources=("status", "binding", "eviction"),
    fields=(
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
    ),
    converts_fields=True, counts_generations=True, returns_deleted=True,
)  # fmt: skip
SECRETS: Final = _core("secrets", "Secret", fields=("type",), converts_fields=True)
CONFIG_MAPS: Final = _core("configmaps", "ConfigMap", short_names=("cm",))
SERVICE_ACCOUNTS: Final = _core("serviceaccounts", "ServiceAccount", short_names=("sa",), returns_deleted=True)
EVENTS: Final = _core(
    "events", "Event", short_names=("ev",), fields=_EVENT_FIELDS, converts_fields=True, creates_on_update=True,
    cached=False,
)  # fmt: skip
QUOTAS: Final = _core("resourcequotas", "ResourceQuota", short_names=("quota",), subresources=("status",),
                      returns_deleted=True)  # fmt: skip
LIMIT_RANGES: Final = _core("limitranges", "LimitRange", short_names=("limits",), creates_on_update=True)
NODES: Final = _core("nodes", "Node", namespaced=False, short_names=("no",), subresources=("status",),
                     fields=("spec.unschedulable",), converts_fields=True)  # fmt: skip
ROLES: Final = _rbac("roles", "Role", namespaced=True)
ROLE_BINDINGS: Final = _rbac("rolebindings", "RoleBinding", namespaced=True)
CLUSTER_ROLES: Final = _rbac("clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS: Final = _rbac("clusterrolebindings", "ClusterRoleBinding", namespaced=False)
LEASES: Final = ResourceType(
    "coordination.k8s.io", "v1", "leases", "Lease", struct=STRUCTS["Lease"], creates_on_update=True
)
NEW_EVENTS: Final = ResourceType(
    "events.k8s.io", "v1", "events", "Event", struct=STRUCTS["Event"], short_names=("ev",), storage="events",
    unconditional=True, creates_on_update=True, cached=False, converts_fields=True,
)  # fmt: skip
CRDS: Final = ResourceType(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False,
    short_names=("crd", "crds"), subresources=("status",), unconditional=False, counts_generations=True,
)  # fmt: skip
"""Their bodies are kept as they come, so they are custom resources without a schema."""

BUILT_IN: Final[tuple[ResourceType, ...]] = (
    NAMESPACES, PODS, SECRETS, CONFIG_MAPS, SERVICE_ACCOUNTS, EVENTS, QUOTAS, LIMIT_RANGES, NODES, ROLES,
    ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, LEASES, NEW_EVENTS, CRDS,
)  # fmt: skip
VIRTUAL: Final[dict[tuple[str, str, str], str]] = {
    ("authorization.k8s.io", "v1", "selfsubjectaccessreviews"): "SelfSubjectAccessReview",
    ("authorization.k8s.io", "v1", "subjectaccessreviews"): "SubjectAccessReview",
    ("authentication.k8s.io", "v1", "tokenreviews"): "TokenReview",
    ("authentication.k8s.io", "v1", "selfsubjectreviews"): "SelfSubjectReview",
}
"""Resources that are answered and never stored."""


class Catalogue:
    """All resources that are served now. Custom resources come and go."""

    def __init__(self, resources: Iterable[ResourceType] = BUILT_IN) -> None:
        self._served: dict[tuple[str, str, str], ResourceType] = {}
        self._by_plural: dict[str, ResourceType] = {}
        for resource in resources:
            self.serve(resource)

    def serve(self, resource: ResourceType) -> None:
        """Serve a resource, in place of an earlier one of that name."""
        self._served[resource.group, resource.version, resource.plural] = resource
        if resource is not NEW_EVENTS:
            self._by_plural[resource.plural] = resource

    def withdraw(self, resource: ResourceType) -> None:
        """Stop serving a resource."""
        self._served.pop((resource.group, resource.version, resource.plural), None)
        self._by_plural.pop(resource.plural, None)

    def find(self, group: str, version: str, plural: str) -> ResourceType | None:
        """Return a resource, if it is served."""
        return self._served.get((group, version, plural))

    def by_plural(self, plural: str) -> ResourceType:
        """Return the resource of a plural name, of whatever group. Raises KeyError."""
        return self._by_plural[plural]

    def by_kind(self, api_version: str, kind: str) -> ResourceType | None:
        """Return the resource of a kind, if it is served."""
        for resource in self._served.values():
            if resource.kind == kind and resource.api_version == api_version:
                return resource
        return None

    def everything(self) -> list[ResourceType]:
        """Return all resources, in the order in which they were first served."""
        return list(self._served.values())

    def built_in_group(self, group: str) -> bool:
        """Whether a group belongs to the server itself, which words its refusals differently."""
        return any(resource.group == group for resource in BUILT_IN) or any(key[0] == group for key in VIRTUAL)
