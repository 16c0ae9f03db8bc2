"""Objects as an API server would show them, small and mutable, for tests of everything that reads them."""

from __future__ import annotations

import copy
from typing import Any

from arcfsm.domain.instant import Instant, format_instant, parse_instant

NOON = parse_instant("2026-12-01T12:00:00Z")
GROUP = "actions.github.com/v1alpha1"


def owner(kind: str, name: str, uid: str) -> list[dict[str, Any]]:
    return [{"apiVersion": GROUP, "kind": kind, "name": name, "uid": uid, "controller": True}]


class Cluster:
    """Hands out versions as a cluster does; every `write` is one."""

    def __init__(self, version: int = 100, now: Instant = NOON) -> None:
        self.version = version
        self.now = now

    def make(self, kind: str, name: str, *, uid: str = "", api: str = GROUP, namespace: str = "ci", **rest: Any) -> Any:
        obj: dict[str, Any] = {
            "apiVersion": api,
            "kind": kind,
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": uid or f"{kind}-{name}",
                "creationTimestamp": format_instant(self.now // 1_000_000 * 1_000_000),
                "generation": 1,
                **rest.pop("metadata", {}),
            },
            **rest,
        }
        return self.write(obj)

    def write(self, obj: Any, **parts: Any) -> Any:
        """Return the next version of an object; `parts` replace its top-level parts."""
        self.version += 1
        following = copy.deepcopy(obj)
        following.update(copy.deepcopy(parts))
        following["metadata"]["resourceVersion"] = str(self.version)
        return following

    def scale_set(self, name: str = "demo", **spec: Any) -> Any:
        body = {
            "githubConfigUrl": "https://github.com/acme",
            "githubConfigSecret": "credentials",
            "template": {"spec": {"containers": [{"name": "runner", "image": "runner:1"}]}},
            **spec,
        }
        return self.make("AutoscalingRunnerSet", name, spec=body)

    def runner_set(self, name: str = "demo", replicas: int = 0, patch_id: int = 0, **status: Any) -> Any:
        return self.make(
            "EphemeralRunnerSet",
            name,
            metadata={"ownerReferences": owner("AutoscalingRunnerSet", name, f"AutoscalingRunnerSet-{name}")},
            spec={"replicas": replicas, "patchID": patch_id, "ephemeralRunnerSpec": {"runnerScaleSetId": 1}},
            status=status,
        )

    def runner(self, name: str, *, uid: str = "", of: str = "demo", patch_id: int = 1, **status: Any) -> Any:
        return self.make(
            "EphemeralRunner",
            name,
            uid=uid,
            metadata={
                "annotations": {"actions.github.com/patch-id": str(patch_id)},
                "finalizers": ["ephemeralrunner.actions.github.com/finalizer"],
                "ownerReferences": owner("EphemeralRunnerSet", of, f"EphemeralRunnerSet-{of}"),
            },
            spec={"runnerScaleSetId": 1, "spec": {"containers": [{"name": "runner", "image": "runner:1"}]}},
            status=status,
        )

    def listener(self, name: str = "demo-listener", of: str = "demo", image: str = "arc:1") -> Any:
        return self.make(
            "AutoscalingListener",
            name,
            namespace="arc",
            spec={
                "autoscalingRunnerSetName": of,
                "autoscalingRunnerSetNamespace": "ci",
                "ephemeralRunnerSetName": of,
                "image": image,
            },
        )

    def pod(self, of: Any, *, uid: str = "", phase: str = "Pending", state: dict[str, Any] | None = None) -> Any:
        """A pod of a runner or listener; `state` is that of its deciding container."""
        kind, name = of["kind"], of["metadata"]["name"]
        container = "runner" if kind == "EphemeralRunner" else "listener"
        status: dict[str, Any] = {"phase": phase}
        if state is not None:
            status["containerStatuses"] = [{"name": container, "state": state, "restartCount": 0}]
        return self.make(
            "Pod",
            name,
            uid=uid or f"Pod-{name}",
            api="v1",
            namespace=of["metadata"]["namespace"],
            metadata={"ownerReferences": owner(kind, name, of["metadata"]["uid"])},
            spec={"containers": [{"name": container, "image": "runner:1"}]},
            status=status,
        )

    def secret(self, name: str, *, of: Any = None, **metadata: Any) -> Any:
        references = {"ownerReferences": owner(of["kind"], of["metadata"]["name"], of["metadata"]["uid"])} if of else {}
        return self.make(
            "PartialObjectMetadata",
            name,
            uid=f"Secret-{name}",
            api="meta.k8s.io/v1",
            metadata={**references, **metadata},
        )
