"""What a server fills into a pod: the defaults of its containers, probes, volumes and of the pod itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from arcfsm.sim.apiserver.quantity import parse

Body = dict[str, Any]
_VOLUME_SOURCES: Final = ("secret", "configMap", "projected", "downwardAPI")


def containers(spec: Body) -> Iterator[Body]:
    """Yield all containers of a pod."""
    for name in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(name) or ()


def default_pod(body: Body) -> None:
    """Fill in the defaults of a pod, in place."""
    spec = body["spec"]
    for container in containers(spec):
        _default_container(container, host_network=bool(spec.get("hostNetwork")))
    for volume in spec.get("volumes") or ():
        _default_volume(volume)
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("enableServiceLinks", True)
    for each in spec.get("topologySpreadConstraints") or ():
        each.setdefault("nodeAffinityPolicy", "Honor")
        each.setdefault("nodeTaintsPolicy", "Ignore")
    status = body["status"]
    if status.get("podIP") and not status.get("podIPs"):
        status["podIPs"] = [{"ip": status["podIP"]}]
    elif status.get("podIPs"):
        status["podIP"] = status["podIPs"][0]["ip"]


def _default_container(container: Body, *, host_network: bool) -> None:
    resources = container["resources"]
    limits = resources.get("limits")
    if limits:
        requests = dict(resources.get("requests") or {})
        for name, value in limits.items():
            requests.setdefault(name, value)
        resources["requests"] = requests
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if host_network:
            port.setdefault("hostPort", port["containerPort"])
    for env in container.get("env") or ():
        source = env.get("valueFrom") or {}
        if "fieldRef" in source:
            source["fieldRef"].setdefault("apiVersion", "v1")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if name in container:
            _default_probe(container[name])
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict) and "httpGet" in hook:
            hook["httpGet"].setdefault("path", "/")
            hook["httpGet"].setdefault("scheme", "HTTP")


def pull_policy(image: str) -> str:
    """Return when an image is pulled unless said otherwise: always, when its tag is latest."""
    if "@" in image:
        return "IfNotPresent"
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if not tag or tag == "latest" else "IfNotPresent"


def _default_probe(probe: Body) -> None:
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)
    if "httpGet" in probe:
        probe["httpGet"].setdefault("path", "/")
        probe["httpGet"].setdefault("scheme", "HTTP")
    if "grpc" in probe:
        probe["grpc"].setdefault("service", "")


def _default_volume(volume: Body) -> None:
    if len(volume) == 1:
        volume["emptyDir"] = {}
    for name in _VOLUME_SOURCES:
        if name in volume:
            volume[name].setdefault("defaultMode", 420)
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    for item in (volume.get("downwardAPI") or {}).get("items") or ():
        if "fieldRef" in item:
            item["fieldRef"].setdefault("apiVersion", "v1")
    for source in (volume.get("projected") or {}).get("sources") or ():
        if "serviceAccountToken" in source:
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
        for item in (source.get("downwardAPI") or {}).get("items") or ():
            if "fieldRef" in item:
                item["fieldRef"].setdefault("apiVersion", "v1")
    if "ephemeral" in volume:
        claim = volume["ephemeral"].get("volumeClaimTemplate")
        if claim:
            claim["spec"].setdefault("volumeMode", "Filesystem")
    if "image" in volume:
        volume["image"].setdefault("pullPolicy", pull_policy(volume["image"].get("reference", "")))


def quality_class(spec: Body) -> str:
    """Return the quality-of-service class that follows from requests and limits."""
    requests: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    guaranteed = True
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        own = container.get("resources") or {}
        found = set()
        for name, value in (own.get("requests") or {}).items():
            if name in {"cpu", "memory"} and parse(value) > 0:
                requests[name] = requests.get(name, 0) + parse(value)
        for name, value in (own.get("limits") or {}).items():
            if name in {"cpu", "memory"} and parse(value) > 0:
                found.add(name)
                limits[name] = limits.get(name, 0) + parse(value)
        guaranteed = guaranteed and found == {"cpu", "memory"}
    if not requests and not limits:
        return "BestEffort"
    if guaranteed and requests == limits:
        return "Guaranteed"
    return "Burstable"
