"""What the server fills in where a client said nothing, for built-in kinds.

Every function takes an object that was just read through its shape, so that it is nobody else's, and completes it in
place.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any, Final

from arcfsm.sim.api.kinds import RBAC_GROUP
from arcfsm.sim.api.scalars import parse_quantity

Item = dict[str, Any]

_FILE_MODE: Final = 0o644
_TOKEN_SECONDS: Final = 3600
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_DEFAULTS: Final = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}


def complete(item: Item) -> None:
    """Fill in the defaults of an object."""
    step = _STEPS.get(item["kind"])
    if step is not None:
        step(item)


def containers_of(spec: Item) -> Iterator[tuple[str, int, Item]]:
    """Yield the containers of a pod's spec: the list they are in, their position, themselves."""
    for name in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(name) or ()):
            yield name, index, container


def _namespace(item: Item) -> None:
    metadata = item["metadata"]
    if metadata.get("name"):
        metadata["labels"] = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}


def _secret(item: Item) -> None:
    plain = item.pop("stringData", None)
    if plain:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
        item["data"] = {**item.get("data", {}), **encoded}
    item.setdefault("type", "Opaque")


def _binding(item: Item) -> None:
    role = item["roleRef"]
    if not role.get("apiGroup"):
        role["apiGroup"] = RBAC_GROUP
    for subject in item.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in {"User", "Group"}:
            subject["apiGroup"] = RBAC_GROUP


def _limit_range(item: Item) -> None:
    for limit in item["spec"].get("limits") or ():
        if limit.get("type") != "Container":
            continue
        ceiling = {**limit.get("max", {}), **limit.get("default", {})}
        asked = {**limit.get("min", {}), **ceiling, **limit.get("defaultRequest", {})}
        if ceiling:
            limit["default"] = ceiling
        if asked:
            limit["defaultRequest"] = asked


def _pod(item: Item) -> None:
    spec = item["spec"]
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("enableServiceLinks", True)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for name, _, container in containers_of(spec):
        _container(container, host_network=bool(spec.get("hostNetwork")), ephemeral=name == "ephemeralContainers")
    for volume in spec.get("volumes") or ():
        _volume(volume)
    status = item.get("status") or {}
    if status.get("podIP") and not status.get("podIPs"):
        status["podIPs"] = [{"ip": status["podIP"]}]
    elif status.get("podIPs") and not status.get("podIP"):
        status["podIP"] = status["podIPs"][0]["ip"]


def _container(container: Item, *, host_network: bool, ephemeral: bool) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = "Always" if _tag(container.get("image", "")) == "latest" else "IfNotPresent"
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if host_network and not port.get("hostPort"):
            port["hostPort"] = port["containerPort"]
    for variable in container.get("env") or ():
        _field_ref((variable.get("valueFrom") or {}).get("fieldRef"))
    for name in _PROBES:
        probe = container.get(name)
        if probe is not None:
            for key, value in _PROBE_DEFAULTS.items():
                probe.setdefault(key, value)
            _handler(probe)
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict):
            _handler(handler)
    if not ephemeral:
        resources = container["resources"]
        limits = resources.get("limits")
        if limits:
            resources["requests"] = {**limits, **resources.get("requests", {})}


def _tag(image: str) -> str:
    """Return the tag of an image; `latest` when it has neither tag nor digest."""
    if "@" in image:
        return ""
    last = image.rpartition("/")[2]
    return last.partition(":")[2] or "latest"


def _handler(handler: Item) -> None:
    http = handler.get("httpGet")
    if http is not None:
        http.setdefault("path", "/")
        http.setdefault("scheme", "HTTP")
    grpc = handler.get("grpc")
    if grpc is not None and grpc.get("service") is None:
        grpc["service"] = ""


def _field_ref(field: Item | None) -> None:
    if field is not None:
        field.setdefault("apiVersion", "v1")


def _volume(volume: Item) -> None:
    sources = [name for name in volume if name != "name"]
    if not sources:
        volume["emptyDir"] = {}
    for name in ("secret", "configMap", "downwardAPI", "projected"):
        if name in volume:
            volume[name].setdefault("defaultMode", _FILE_MODE)
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    for entry in (volume.get("downwardAPI") or {}).get("items") or ():
        _field_ref(entry.get("fieldRef"))
    for source in (volume.get("projected") or {}).get("sources") or ():
        if "serviceAccountToken" in source:
            source["serviceAccountToken"].setdefault("expirationSeconds", _TOKEN_SECONDS)
        for entry in (source.get("downwardAPI") or {}).get("items") or ():
            _field_ref(entry.get("fieldRef"))


def quality_of_service(spec: Item) -> str:
    """Return the QoS class of a pod."""
    if not any(container.get("resources") for _, _, container in containers_of(spec)):
        return "BestEffort"
    guaranteed = True
    any_set = False
    for _, _, container in containers_of(spec):
        resources = container.get("resources") or {}
        limits = resources.get("limits") or {}
        asked = resources.get("requests") or {}
        for name in ("cpu", "memory"):
            wanted = parse_quantity(asked.get(name, 0)).value
            limit = parse_quantity(limits.get(name, 0)).value
            any_set = any_set or wanted > 0 or limit > 0
            guaranteed = guaranteed and limit > 0 and wanted == limit
    if not any_set:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


_STEPS: Final[dict[str, Callable[[Item], None]]] = {
    "Namespace": _namespace,
    "Secret": _secret,
    "RoleBinding": _binding,
    "ClusterRoleBinding": _binding,
    "LimitRange": _limit_range,
    "Pod": _pod,
}
