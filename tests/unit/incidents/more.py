"""Further incidents in the format of the cases, for those that have no case of their own."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tests.unit.incidents.case import Case, _case

GROUP = "actions.github.com/v1alpha1"
BIRTH = "2026-01-01T00:00:00Z"
LISTENER = "set-x-1a2b-listener"


def owner(kind: str, name: str, uid: str) -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": GROUP,
            "kind": kind,
            "name": name,
            "uid": uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def scale_set(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": GROUP,
        "kind": "AutoscalingRunnerSet",
        "metadata": {
            "name": "set-x",
            "namespace": "runners",
            "uid": "u-ars",
            "resourceVersion": "10",
            "creationTimestamp": BIRTH,
            "labels": {"app.kubernetes.io/version": "0.14.2"},
            "annotations": {
                "runner-scale-set-id": "4",
                "actions.github.com/runner-group-name": "Default",
                "actions.github.com/runner-scale-set-name": "set-x",
            },
            "finalizers": ["autoscalingrunnerset.actions.github.com/finalizer"],
        },
        "spec": {
            "githubConfigUrl": "https://github.example/acme/app",
            "githubConfigSecret": "cred",
            "runnerScaleSetName": "set-x",
            "minRunners": 0,
            "maxRunners": 5,
            "template": {"spec": {"containers": [{"name": "runner", "image": "runner:1"}]}},
            **spec,
        },
        "status": {"phase": "Running"},
    }


def runner_set(replicas: int, patch: int, name: str = "set-x-aaaaa", **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": GROUP,
        "kind": "EphemeralRunnerSet",
        "metadata": {
            "name": name,
            "namespace": "runners",
            "uid": f"u-{name}",
            "resourceVersion": "11",
            "creationTimestamp": BIRTH,
            "finalizers": ["ephemeralrunnerset.actions.github.com/finalizer"],
            "ownerReferences": owner("AutoscalingRunnerSet", "set-x", "u-ars"),
        },
        "spec": {"ephemeralRunnerSpec": {"runnerScaleSetId": 4}, "replicas": replicas, "patchID": patch},
        "status": {"phase": "Running", **status},
    }


def runner(name: str, runner_id: int, *, of: str = "set-x-aaaaa", **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": GROUP,
        "kind": "EphemeralRunner",
        "metadata": {
            "name": name,
            "namespace": "runners",
            "uid": f"u-{name}",
            "resourceVersion": "20",
            "creationTimestamp": BIRTH,
            "annotations": {"actions.github.com/patch-id": "1"},
            "finalizers": [
                "ephemeralrunner.actions.github.com/finalizer",
                "ephemeralrunner.actions.github.com/runner-registration-finalizer",
            ],
            "ownerReferences": owner("EphemeralRunnerSet", of, f"u-{of}"),
        },
        "spec": {"runnerScaleSetId": 4},
        "status": {"phase": "Running", "ready": True, "runnerId": runner_id, "runnerName": name, **status},
    }


def listener(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": GROUP,
        "kind": "AutoscalingListener",
        "metadata": {
            "name": LISTENER,
            "namespace": "arc",
            "uid": "u-al",
            "resourceVersion": "12",
            "creationTimestamp": BIRTH,
            "finalizers": ["autoscalinglistener.actions.github.com/finalizer"],
        },
        "spec": {
            "autoscalingRunnerSetName": "set-x",
            "autoscalingRunnerSetNamespace": "runners",
            "ephemeralRunnerSetName": "set-x-aaaaa",
            "runnerScaleSetId": 4,
            "minRunners": 0,
            "maxRunners": 5,
            **spec,
        },
    }


def pod(name: str, namespace: str = "runners", *, metadata: Any = None, **status: Any) -> dict[str, Any]:
    container = "runner" if namespace == "runners" else "listener"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"p-{name}",
            "resourceVersion": "30",
            "creationTimestamp": BIRTH,
            **(metadata or {}),
        },
        "spec": {"containers": [{"name": container}]},
        "status": status,
    }


def deleted(obj: dict[str, Any]) -> dict[str, Any]:
    gone = deepcopy(obj)
    gone["metadata"]["deletionTimestamp"] = BIRTH
    return gone


def labelled(obj: dict[str, Any], **labels: str) -> dict[str, Any]:
    changed = deepcopy(obj)
    changed["metadata"]["labels"] = labels
    return changed


def watch(t: int, change: str, obj: dict[str, Any]) -> dict[str, Any]:
    return {"t": t, "type": change, "object": obj}


def ended(name: str, code: int, **metadata: Any) -> dict[str, Any]:
    state = {"terminated": {"exitCode": code, "finishedAt": "2026-01-01T00:00:09Z"}}
    return pod(
        name,
        phase="Failed" if code else "Succeeded",
        containerStatuses=[{"name": "runner", "state": state}],
        metadata=metadata,
    )


def case(name: str, covers: list[str], initial: list[Any], events: list[Any], **told: Any) -> Case:
    raw = {"id": name, "covers": covers, "initial": initial, "events": events, "expect": [], "forbid": [], **told}
    return _case(raw, name)


REST = [scale_set(), runner_set(0, 1), listener()]
BUSY = {"jobId": "j-1", "workflowRunId": 100}
ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": LISTENER, "namespace": "runners", "creationTimestamp": BIRTH},
}
FORBIDDEN = "401 credentials missing"

MORE = [
    case(
        "template-changed-after-refusal",
        ["A2"],
        [scale_set(), runner_set(1, 1), runner("r1", 7), listener(), pod("r1", phase="Running")],
        [
            watch(5, "MODIFIED", ended("r1", 7)),
            watch(
                60,
                "MODIFIED",
                scale_set(template={"spec": {"containers": [{"name": "runner", "image": "runner:2"}]}}),
            ),
        ],
        expect=["ARS phase Outdated", "ARS.status.phase=Running", "ERS.spec.actionableRevision=1"],
        forbid=["DeleteScaleSet", "ERS deleted"],
    ),
    case(
        "one-stuck-delete-blocks-nobody",
        ["A3"],
        [deleted(scale_set())],
        [{"t": 1, "svc": "DeleteScaleSet(4)", "reply": "timeout"}, {"t": 120, "clock": True}],
        expect=["DeleteScaleSet"],
        forbid=["unbounded listener restarts"],
    ),
    case(
        "listener-names-a-set-that-is-gone",
        ["A12"],
        [scale_set(), runner_set(0, 1, name="set-new"), listener(ephemeralRunnerSetName="set-old")],
        [{"t": 5, "clock": True}],
        expect=["AL rebuilt", "AL.spec.ephemeralRunnerSetName=set-new"],
        forbid=["create ERS"],
    ),
    case(
        "session-conflict",
        ["A17", "A19"],
        REST,
        [
            {"t": 1, "svc": "CreateSession", "reply": "409 conflict"},
            {"t": 300, "svc": "CreateSession", "reply": 200},
            {"t": 900, "clock": True},
        ],
        expect=["at most one open session", "create listener pod after delete"],
        forbid=["unbounded listener restarts", "CreateScaleSet", "wait without timer"],
    ),
    case(
        "another-tool-labels-the-listener",
        ["A20"],
        REST,
        [watch(30 * n, "MODIFIED", labelled(listener(), tracking=f"app-{n}")) for n in range(1, 9)],
        expect=["ListenerDriftNotConverging recorded"],
        forbid=["unbounded listener restarts"],
    ),
    case(
        "role-pruned-by-another",
        ["A21"],
        REST,
        [watch(10, "DELETED", ROLE)],
        expect=["create Role"],
        forbid=["delete listener pod"],
    ),
    case(
        "controller-upgrade",
        ["A23"],
        [scale_set(), runner_set(0, 1), listener(image="listener:0")],
        [{"t": 5, "clock": True}],
        expect=["AL.spec.image=listener:1"],
    ),
    case(
        "idle-pod-vanishes",
        ["A27"],
        [scale_set(), runner_set(1, 1), runner("r1", 7), listener()],
        [watch(5, "DELETED", pod("r1", phase="Running"))],
        expect=["delete ER r1", "RunnerPodLost recorded", "1 usable runner exist"],
        forbid=["create Pod r1"],
    ),
    case(
        "failed-ones-go-when-nothing-is-wanted",
        ["A35"],
        [scale_set(), runner_set(0, 0), runner("r1", 7, phase="Failed", ready=False), listener()],
        [{"t": 400, "clock": True}],
        expect=["slot freed"],
    ),
    case(
        "eviction-storm",
        ["A38"],
        [scale_set(), runner_set(5, 1), *(runner(f"r{n}", n) for n in range(1, 6)), listener()],
        [
            watch(5, "MODIFIED", pod(f"r{n}", phase="Failed", reason="Evicted", containerStatuses=[]))
            for n in range(1, 6)
        ],
        expect=["5 usable runners exist", "5 POD creates"],
        forbid=["ER Failed", "creates"],
    ),
    case(
        "readiness-is-not-the-phase",
        ["A43"],
        [scale_set(), runner_set(1, 1), runner("r1", 7, phase="Pending", ready=False), listener()],
        [
            watch(
                5,
                "MODIFIED",
                pod(
                    "r1",
                    phase="Running",
                    conditions=[{"type": "Ready", "status": "False"}],
                    containerStatuses=[{"name": "runner", "state": {"running": {}}}],
                ),
            )
        ],
        expect=["ER.status.ready=false"],
    ),
    case(
        "credentials-go-first",
        ["A45", "A49"],
        [deleted(scale_set())],
        [{"t": 1, "svc": "DeleteScaleSet(4)", "reply": FORBIDDEN}, {"t": 1200, "clock": True}],
        expect=["CredentialsRefused recorded", "RegistrationAbandoned recorded", "ARS counters are 0"],
        forbid=["delete ARS"],
    ),
    case(
        "uninstall-after-an-edit",
        ["A47"],
        [deleted(scale_set(maxRunners=9)), deleted(runner_set(0, 0)), deleted(runner("r1", 7))],
        [{"t": 60, "clock": True}],
        expect=["RemoveRunner(7)", "DeleteScaleSet(4)"],
        forbid=["CreateScaleSet", "create ERS", "create AL"],
    ),
    case(
        "runner-on-a-dead-node",
        ["A48"],
        [scale_set(), runner_set(1, 1), runner("r1", 7), listener()],
        [
            watch(
                5,
                "MODIFIED",
                pod(
                    "r1",
                    phase="Running",
                    containerStatuses=[{"name": "runner", "state": {"running": {}}}],
                    metadata={"deletionTimestamp": "2026-01-01T00:00:35Z", "deletionGracePeriodSeconds": 30},
                ),
            ),
            {"t": 900, "clock": True},
        ],
        expect=["PodStuck recorded", "delete ER r1", "slot freed", "1 usable runner exist"],
    ),
    case(
        "idle-or-just-assigned",
        ["A51", "A53", "A58"],
        [scale_set(), runner_set(1, 0), runner("r1", 1), runner("r2", 2, **BUSY), listener()],
        [{"t": 5, "svc": "RemoveRunner(1)", "reply": "JobStillRunning"}, {"t": 60, "clock": True}],
        forbid=["delete ER"],
    ),
    case(
        "quota-for-too-long",
        ["A57"],
        [scale_set(), runner_set(1, 1), runner("r1", 7, phase="Pending", ready=False), listener()],
        [
            {"t": 1, "api": "create Pod r1", "reply": {"code": 403, "message": "exceeded quota: q"}},
            {"t": 700, "clock": True},
        ],
        expect=["delete ER r1", "1 usable runner exist"],
        forbid=["ER Failed"],
    ),
    case(
        "restored-from-a-backup",
        ["A64"],
        [scale_set(), runner_set(2, 1), runner("r1", 7, **BUSY), runner("r2", 8), listener()],
        [{"t": 10, "relist": [runner("r1", 7, **BUSY)]}],
        expect=["r1 handled"],
        forbid=["delete ER r1", "crash"],
    ),
]
