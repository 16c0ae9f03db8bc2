"""How much drift comparison costs beside comparisons that know no schema. Ratios of one run; nothing is asserted.

python tests/benchmarks/bench_drift.py
"""

from __future__ import annotations

import copy
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import orjson

from arcfsm.domain.drift import (
    POD_SPEC,
    RUNNER_SPEC,
    deep_derivative,
    deep_equal,
    listener_pod_drift,
    normalize,
    runner_spec_changed,
)
from arcfsm.domain.jsonvalue import canonical, digest

ROUNDS = 7


def container(number):
    return {
        "name": "runner" if number == 0 else f"sidecar-{number}",
        "image": f"ghcr.io/acme/image-{number}:1.2.3",
        "command": ["/bin/sh", "-c", "exec run"],
        "env": [{"name": f"VARIABLE_{index}", "value": str(index)} for index in range(20)]
        + [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "4Gi"}},
        "volumeMounts": [{"name": f"volume-{index}", "mountPath": f"/mnt/{index}"} for index in range(6)],
        "securityContext": {"runAsUser": 1001, "capabilities": {"drop": ["ALL"]}},
        "livenessProbe": {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 10, "timeoutSeconds": 1},
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
    }


def spec():
    """A runner spec of about 6 KB: four containers, as large templates are."""
    return {
        "githubConfigUrl": "https://github.com/acme/repo",
        "githubConfigSecret": "credentials",
        "runnerScaleSetId": 7,
        "metadata": {"labels": {f"label-{index}": "x" for index in range(10)}},
        "spec": {
            "containers": [container(number) for number in range(4)],
            "volumes": [{"name": f"volume-{index}", "emptyDir": {}} for index in range(6)],
            "nodeSelector": {"pool": "runners"},
            "tolerations": [{"key": "runners", "operator": "Exists", "effect": "NoSchedule"}],
        },
    }


def respelled(value):
    """The same spec as another writer leaves it: every list and quantity in another spelling, so nothing is `==`."""
    other = copy.deepcopy(value)
    for one in other["spec"]["containers"]:
        one["args"] = []
        one["resources"]["limits"]["cpu"] = "2000m"
    return other


def naive(a, b):
    """What one writes without a schema: recursion over plain JSON."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(naive(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(naive(one, other) for one, other in zip(a, b, strict=True))
    return a == b


def live_pod(desired):
    pod = copy.deepcopy(desired)
    pod["spec"].update(nodeName="node-1", priority=0, schedulerName="default-scheduler", dnsPolicy="ClusterFirst")
    for one in pod["spec"]["containers"]:
        one["livenessProbe"].update(successThreshold=1, failureThreshold=3)
        one["volumeMounts"].append({"name": "kube-api-access", "readOnly": True})
        one.update(terminationMessagePath="/dev/termination-log", imagePullPolicy="IfNotPresent")
    return pod


def microseconds(function, *arguments):
    """The best of some rounds: the rest is the machine."""
    calls = 200
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(calls):
            function(*arguments)
        best = min(best, (time.perf_counter() - start) / calls)
    return best * 1e6


def main():
    wanted = spec()
    twin, other, changed = copy.deepcopy(wanted), respelled(wanted), copy.deepcopy(wanted)
    changed["spec"]["containers"][3]["image"] = "ghcr.io/acme/image-3:2"
    pod = {"metadata": {}, "spec": wanted["spec"]}
    completed = live_pod(pod)
    assert deep_equal(wanted, other, RUNNER_SPEC)
    assert deep_derivative(pod["spec"], {**completed["spec"], "containers": pod["spec"]["containers"]}, POD_SPEC)
    base = microseconds(naive, wanted, twin)
    print(f"runner spec of {len(canonical(wanted))} bytes; naive deep comparison of equal specs: {base:.1f} us = 1.00")
    rows = [
        ("the same object", microseconds(runner_spec_changed, wanted, wanted)),
        ("an equal copy", microseconds(runner_spec_changed, twin, wanted)),
        ("equal in other spellings (naive says: different)", microseconds(runner_spec_changed, other, wanted)),
        ("one image changed", microseconds(runner_spec_changed, changed, wanted)),
        ("  naive, the same change", microseconds(naive, changed, wanted)),
        ("live listener pod, completed by the server", microseconds(listener_pod_drift, completed, pod)),
        ("normal form", microseconds(normalize, wanted, RUNNER_SPEC)),
        ("  normal form and its digest", microseconds(lambda: digest(normalize(wanted, RUNNER_SPEC)))),
        ("  canonical bytes and their digest", microseconds(lambda: digest(wanted))),
        ("  dump and load with orjson", microseconds(lambda: orjson.loads(orjson.dumps(wanted)))),
        ("  Python ==", microseconds(lambda: wanted == twin)),
    ]
    for name, cost in rows:
        print(f"{name:<52} {cost:8.1f} us  {cost / base:6.2f} x naive")


if __name__ == "__main__":
    main()
