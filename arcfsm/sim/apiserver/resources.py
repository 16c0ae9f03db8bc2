"""The resources that are served: where they are, what they can do, and what each kind adds to the common rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from arcfsm.sim.apiserver import builtin, poddefaults, pods
from arcfsm.sim.apiserver.metadata import path_segment_errors, subdomain_errors
from arcfsm.sim.apiserver.problems import Cause
from arcfsm.sim.apiserver.selectors import at
from arcfsm.sim.apiserver.structural import Schema

Body = dict[str, Any]
Prepare = Callable[[Body], None]
PrepareUpdate = Callable[[Body, Body], None]
Validate = Callable[[Body], list[Cause]]
ValidateUpdate = Callable[[Body, Body], list[Cause]]
FieldReader = Callable[[Body], str]
_NAME_FIELDS: Final[dict[str, FieldReader]] = {
    "metadata.name": at("metadata", "name"),
    "metadata.namespace": at("metadata", "namespace"),
}
ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
RBAC: Final = "rbac.authorization.k8s.io"


def _nothing(*_: Body) -> None:
    return None


def _no_causes(*_: Body) -> list[Cause]:
    return []


@dataclass
class Resource:
    """One resource of the API and the rules of its kind. A schema makes it a custom one, a struct a built-in one."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    struct: str = ""
    schema: Schema | None = None
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    create_on_update: bool = False
    unconditional_update: bool = True
    returns_deleted: bool = False
    graceful: bool = False
    generation: bool = False
    verbs: tuple[str, ...] = ALL_VERBS
    fields: Mapping[str, FieldReader] = field(default_factory=lambda: _NAME_FIELDS)
    name_errors: Callable[[str], list[str]] = subdomain_errors
    columns: list[Body] = field(default_factory=list)
    table_name: str = ""
    list_kind: str = ""
    default: Prepare = _nothing
    prepare_create: Prepare = _nothing
    prepare_update: PrepareUpdate = _nothing
    prepare_status: PrepareUpdate = _nothing
    validate: Validate = _no_causes
    validate_update: ValidateUpdate = _no_causes
    validate_status: ValidateUpdate = _no_causes
    scale: Body | None = None

    @property
    def custom(self) -> bool:
        """Whether a CustomResourceDefinition made it."""
        return self.schema is not None

    @property
    def api_version(self) -> str:
        """The apiVersion of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def table(self) -> str:
        """The name of its table in the store."""
        return self.table_name or f"{self.plural}.{self.group}"

    @property
    def singular(self) -> str:
        """Its name for one."""
        return self.kind.lower()


def _core() -> list[Resource]:
    event_fields = {
        **_NAME_FIELDS,
        **{
            f"involvedObject.{name}": at("involvedObject", name)
            for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
        },
        "reason": at("reason"),
        "reportingComponent": lambda body: body.get("reportingComponent") or at("source", "component")(body),
        "source": lambda body: at("source", "component")(body) or body.get("reportingComponent", ""),
        "type": at("type"),
    }
    return [
        Resource(
            "", "v1", "Namespace", "namespaces", namespaced=False, struct="Namespace", short_names=("ns",),
            subresources=("status", "finalize"), verbs=tuple(v for v in ALL_VERBS if v != "deletecollection"),
            fields={"metadata.name": at("metadata", "name"), "status.phase": at("status", "phase"), "name": at("metadata", "name")},
            default=builtin.default_namespace, prepare_create=builtin.create_namespace,
            prepare_update=builtin.update_namespace, prepare_status=builtin.update_namespace_status,
            name_errors=builtin.namespace_name_errors,
        ),
        Resource(
            "", "v1", "Pod", "pods", struct="Pod", short_names=("po",), categories=("all",),
            subresources=("status", "binding"), returns_deleted=True, graceful=True, generation=True,
            fields={
                **_NAME_FIELDS,
                "spec.nodeName": at("spec", "nodeName"), "spec.restartPolicy": at("spec", "restartPolicy"),
                "spec.schedulerName": at("spec", "schedulerName"),
                "spec.serviceAccountName": at("spec", "serviceAccountName"),
                "spec.hostNetwork": lambda body: "true" if body["spec"].get("hostNetwork") else "false",
                "status.phase": at("status", "phase"), "status.podIP": at("status", "podIP"),
                "status.podIPs": at("status", "podIP"), "status.nominatedNodeName": at("status", "nominatedNodeName"),
            },
            default=poddefaults.default_pod, prepare_create=pods.create_pod, prepare_update=pods.update_pod,
            prepare_status=pods.update_status, validate=pods.validate_pod, validate_update=pods.validate_update,
            validate_status=pods.validate_status,
        ),
        Resource(
            "", "v1", "Secret", "secrets", struct="Secret", default=builtin.default_secret,
            validate=builtin.validate_secret, validate_update=builtin.validate_secret_update,
            fields={**_NAME_FIELDS, "type": at("type")},
        ),
        Resource(
            "", "v1", "ConfigMap", "configmaps", struct="ConfigMap", short_names=("cm",),
            validate=builtin.validate_config_map, validate_update=builtin.validate_config_map_update,
        ),
        Resource(
            "", "v1", "ServiceAccount", "serviceaccounts", struct="ServiceAccount", short_names=("sa",),
            returns_deleted=True, subresources=("token",),
        ),
        Resource(
            "", "v1", "Event", "events", struct="Event", short_names=("ev",), create_on_update=True,
            fields=event_fields, table_name="events", validate=builtin.validate_event,
        ),
        Resource(
            "events.k8s.io", "v1", "Event", "events", struct="NewEvent", short_names=("ev",), create_on_update=True,
            table_name="events", validate=builtin.validate_new_event,
            fields={
                **_NAME_FIELDS,
                **{
                    f"regarding.{name}": at("involvedObject", name)
                    for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
                },
                "reason": at("reason"), "type": at("type"), "reportingController": at("reportingComponent"),
            },
        ),
        Resource(
            "", "v1", "ResourceQuota", "resourcequotas", struct="ResourceQuota", short_names=("quota",),
            subresources=("status",), prepare_create=builtin.drop_status, prepare_update=builtin.keep_status,
            prepare_status=builtin.keep_spec,
        ),
        Resource(
            "", "v1", "LimitRange", "limitranges", struct="LimitRange", short_names=("limits",),
            default=builtin.default_limit_range,
        ),
        Resource(
            "", "v1", "Node", "nodes", namespaced=False, struct="Node", short_names=("no",), subresources=("status",),
            prepare_update=builtin.keep_status, prepare_status=builtin.keep_spec,
            fields={"metadata.name": at("metadata", "name"), "spec.unschedulable": at("spec", "unschedulable")},
        ),
        Resource(
            RBAC, "v1", "Role", "roles", struct="Role", create_on_update=True, validate=builtin.validate_role,
            name_errors=path_segment_errors,
        ),
        Resource(
            RBAC, "v1", "RoleBinding", "rolebindings", struct="RoleBinding", create_on_update=True,
            default=builtin.default_binding, validate=builtin.validate_binding,
            validate_update=builtin.validate_binding_update, name_errors=path_segment_errors,
        ),
        Resource(
            RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False, struct="ClusterRole", create_on_update=True,
            validate=builtin.validate_cluster_role, name_errors=path_segment_errors,
        ),
        Resource(
            RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False, struct="ClusterRoleBinding",
            create_on_update=True, default=builtin.default_binding, validate=builtin.validate_binding,
            validate_update=builtin.validate_binding_update, name_errors=path_segment_errors,
        ),
        Resource(
            "coordination.k8s.io", "v1", "Lease", "leases", struct="Lease", create_on_update=True,
            unconditional_update=False, validate=builtin.validate_lease,
        ),
        Resource(
            "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False,
            struct="CustomResourceDefinition", short_names=("crd", "crds"), subresources=("status",), generation=True,
            unconditional_update=False, prepare_create=builtin.create_definition,
            prepare_update=builtin.update_definition, prepare_status=builtin.keep_spec,
            validate=builtin.validate_definition, validate_update=builtin.validate_definition_update,
            fields={"metadata.name": at("metadata", "name")},
        ),
    ]  # fmt: skip


CORE_RESOURCES: Final = _core()
CUSTOM_FIELDS: Final = _NAME_FIELDS


def custom_resources(definition: Body) -> list[Resource]:
    """Return the resources that a CustomResourceDefinition serves, one a version."""
    spec = definition["spec"]
    names = spec["names"]
    found = []
    for version in spec.get("versions") or []:
        if not version.get("served"):
            continue
        raw = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        subresources = version.get("subresources") or {}
        found.append(
            Resource(
                spec["group"],
                version["name"],
                names["kind"],
                names["plural"],
                namespaced=spec.get("scope") == "Namespaced",
                schema=Schema.compile(raw),
                short_names=tuple(names.get("shortNames") or ()),
                categories=tuple(names.get("categories") or ()),
                subresources=tuple(name for name in ("status", "scale") if name in subresources),
                scale=subresources.get("scale"),
                unconditional_update=False,
                generation=True,
                columns=version.get("additionalPrinterColumns") or [],
                list_kind=names.get("listKind") or f"{names['kind']}List",
            )
        )
    return found
