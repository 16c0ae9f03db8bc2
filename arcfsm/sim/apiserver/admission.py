"""Admission: what the default plug-ins of a real server change in, and refuse of, what is written.

Namespaces that end or are not there, priorities, tolerations, limit ranges, pod security, quotas, service accounts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from arcfsm.sim.apiserver.builtin import NAME_LABEL
from arcfsm.sim.apiserver.limits import apply_limits, check_limits
from arcfsm.sim.apiserver.podsecurity import violations
from arcfsm.sim.apiserver.problems import Problem, forbidden, not_found
from arcfsm.sim.apiserver.quota import charge
from arcfsm.sim.apiserver.resources import Resource
from arcfsm.sim.apiserver.store import Store

Body = dict[str, Any]
_CLASSES: Final = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
_DEFAULT_TOLERATIONS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_IMMORTAL: Final = {"default", "kube-system", "kube-public"}


class Admission:
    """The plug-ins, over one store."""

    def __init__(self, store: Store, put: Callable[[str, tuple[str, str], Body], Body]) -> None:
        self._store = store
        self._put = put
        self.service_accounts = False
        self.token_name: Callable[[], str] = lambda: ""

    def admit_create(self, body: Body, resource: Resource, namespace: str) -> None:
        """Change an object that is to be created. Raises Problem."""
        name = body["metadata"].get("name", "")
        if resource.namespaced:
            self._check_namespace(body, resource, namespace, name)
        if resource.kind == "Pod" and not resource.group:
            self._admit_pod(body, namespace)

    def _check_namespace(self, body: Body, resource: Resource, namespace: str, name: str) -> None:
        found = self._store.get("namespaces.", ("", namespace))
        if found is None:
            raise not_found("", "namespaces", namespace)
        deleted = found["metadata"].get("deletionTimestamp")
        if deleted or found.get("status", {}).get("phase") == "Terminating":
            if not name:
                name = body["metadata"].get("generateName", "")
            problem = forbidden(
                resource.group,
                resource.plural,
                name,
                f"unable to create new content in namespace {namespace} because it is being terminated",
            )
            problem.details = {
                **(problem.details or {}),
                "causes": [
                    {
                        "reason": "NamespaceTerminating",
                        "message": f"namespace {namespace} is being terminated",
                        "field": "metadata.namespace",
                    }
                ],
            }
            raise problem

    def _admit_pod(self, body: Body, namespace: str) -> None:
        spec, name = body["spec"], body["metadata"].get("name", "")
        if self.service_accounts:
            self._service_account(body, namespace, name)
        apply_limits(body, [each for _, each in self._store.items("limitranges.", namespace)])
        priority_class = spec.get("priorityClassName", "")
        if priority_class and priority_class not in _CLASSES:
            raise forbidden("", "pods", name, f"no PriorityClass with name {priority_class} was found")
        computed = _CLASSES.get(priority_class, 0)
        given = spec.get("priority")
        if given is not None and given != computed:
            text = (
                f"the integer value of priority ({given}) must not be provided in pod spec; "
                f"priority admission controller computed {computed} from the given PriorityClass name"
            )
            raise forbidden("", "pods", name, text)
        spec["priority"] = computed
        spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
        if runtime := spec.get("runtimeClassName"):
            raise forbidden("", "pods", name, f'pod rejected: RuntimeClass "{runtime}" not found')
        add_tolerations(spec)

    def _service_account(self, body: Body, namespace: str, name: str) -> None:
        spec = body["spec"]
        account_name = spec.get("serviceAccountName") or "default"
        spec["serviceAccountName"] = spec["serviceAccount"] = account_name
        account = self._store.get("serviceaccounts.", (namespace, account_name))
        if account is None:
            text = (
                f"error looking up service account {namespace}/{account_name}: "
                f'serviceaccount "{account_name}" not found'
            )
            raise forbidden("", "pods", name, text)
        mounts = spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken", True))
        if mounts:
            mount_token(spec, self.token_name)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [dict(each) for each in account["imagePullSecrets"]]

    def validate_create(self, body: Body, resource: Resource, namespace: str, *, dry_run: bool) -> None:
        """Refuse an object that is complete, and charge quotas for it. Raises Problem."""
        pod = resource.kind == "Pod" and not resource.group
        if pod:
            check_limits(body, [each for _, each in self._store.items("limitranges.", namespace)])
            self._pod_security(body, namespace)
        if resource.namespaced:
            charge(self._store, self._put, body, resource, namespace, dry_run=dry_run)

    def _pod_security(self, body: Body, namespace: str) -> None:
        found = self._store.get("namespaces.", ("", namespace)) or {}
        labels = found.get("metadata", {}).get("labels") or {}
        level = labels.get("pod-security.kubernetes.io/enforce", "privileged")
        version = labels.get("pod-security.kubernetes.io/enforce-version", "latest")
        if faults := violations(body["spec"], level):
            text = f'violates PodSecurity "{level}:{version}": {", ".join(faults)}'
            raise forbidden("", "pods", body["metadata"]["name"], text)

    def check_delete(self, resource: Resource, name: str) -> None:
        """Refuse to delete the namespaces that must stay. Raises Problem."""
        if resource.kind == "Namespace" and name in _IMMORTAL:
            raise forbidden("", "namespaces", name, "this namespace may not be deleted")

    def admit_update(self, body: Body, resource: Resource) -> None:
        """Change an object that is updated."""
        if resource.kind == "Namespace" and not resource.group:
            meta = body["metadata"]
            meta["labels"] = {**(meta.get("labels") or {}), NAME_LABEL: meta.get("name", "")}


def add_tolerations(spec: Body) -> None:
    """Let a pod stay five minutes on a node that is away, unless it says itself how long."""
    tolerations = list(spec.get("tolerations") or [])
    added = []
    for key in _DEFAULT_TOLERATIONS:
        if not any(
            (each.get("key") == key or not each.get("key")) and each.get("effect", "") in {"", "NoExecute"}
            for each in tolerations
        ):
            added.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
    if added:
        spec["tolerations"] = [*tolerations, *added]


def mount_token(spec: Body, token_name: Callable[[], str]) -> None:
    """Mount the token of the service account into all containers."""
    mount_path = "/var/run/secrets/kubernetes.io/serviceaccount"
    groups = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    lacking = [each for each in groups if not any(m["mountPath"] == mount_path for m in each.get("volumeMounts") or ())]
    if not lacking:
        return
    name = f"kube-api-access-{token_name()}"
    for container in lacking:
        mount = {"name": name, "readOnly": True, "mountPath": mount_path}
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
    sources: list[Body] = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
            }
        },
    ]
    spec["volumes"] = [
        *(spec.get("volumes") or ()),
        {"name": name, "projected": {"sources": sources, "defaultMode": 420}},
    ]


__all__ = ["Admission", "Problem", "add_tolerations"]
