"""The writes of a recorded cluster, replayed into the simulated API server, reproduce what its watchers saw.

Each recording holds the audit log of a real API server (writes only) and the watch events one process received. The
writes are sent in the order in which the real server carried them out; per object the same events must follow, in the
same order, with the same generation, deletion marks, finalizers, phases and status. Names stay; uids,
resourceVersions and times are the simulation's own.

Two things are not in the audit log: bindings by the scheduler (a pod is bound right after it was created, as its
events show) and what the garbage collector does (it runs after every write). Secrets were recorded without bodies and
are left out.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from arcfsm.domain.instant import parse_instant
from arcfsm.domain.kinds import RESOURCES, Kind, Resource
from arcfsm.sim.clock import ManualClock
from arcfsm.sim.faults.cluster import JSON_PATCH, MERGE_PATCH, ClusterRequest, resource_path
from arcfsm.sim.faults.host import ClusterHost
from arcfsm.sim.faults.store import simulated_store
from arcfsm.sim.kernel import Kernel

RECORDINGS = Path(__file__).parents[3] / "shared" / "recordings"
CRDS = RECORDINGS.parent / "conformance" / "crds"
SCENARIOS = (
    "controller-restart-mid-scale-up",
    "empty-env-hot-loop",
    "json-log-runner-version-refused",
    "json-log-scale-up-and-drain",
    "pod-lost-while-busy",
    "pod-start-failures",
    "runner-version-refused",
    "scale-set-deleted",
    "scale-set-edits",
    "scale-up-and-drain",
    "spec-update-with-busy-runner",
    "watch-gap",
)
FOLLOWED = (
    Kind.SCALE_SET,
    Kind.RUNNER_SET,
    Kind.RUNNER,
    Kind.LISTENER,
    Kind.POD,
    Kind.SERVICE_ACCOUNT,
    Kind.ROLE,
    Kind.ROLE_BINDING,
)
METHODS = {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
NAMESPACES = Resource("", "v1", "namespaces")


class Recording:
    """One folder of the recordings."""

    def __init__(self, folder):
        self.audit = [json.loads(line) for line in (folder / "audit.jsonl").read_text().splitlines()]
        lines = [json.loads(line) for line in (folder / "watch.jsonl").read_text().splitlines()]
        kinds = {kind.value for kind in FOLLOWED}
        self.events = [
            (line["type"], line["object"])
            for line in lines
            if line["type"] != "BOOKMARK" and line["object"]["kind"] in kinds
        ]
        self.removals = {item["metadata"]["uid"]: version_of(item) for kind, item in self.events if kind == "DELETED"}

    def writes(self):
        """The writes, in the order in which the server carried them out.

        The log is ordered by when answers were sent, which under concurrency is not the same. An answer carries the
        version its write made; a removal's is that of its DELETED event; a refused write comes where the log has it.
        """
        keyed, last = [], 0.0
        for number, entry in enumerate(self.audit):
            if entry["objectRef"]["resource"] == "secrets":
                continue
            version = self._version(entry)
            last = max(last, version or 0.0)
            keyed.append((version or last + 0.5, number, entry))
        return [(version, entry) for version, _, entry in sorted(keyed, key=lambda item: item[:2])]

    def _version(self, entry):
        answer = entry.get("responseObject") or {}
        if entry["responseStatus"].get("code", 500) >= 300:
            return 0
        if answer.get("kind") == "Status":
            return self.removals.get((answer.get("details") or {}).get("uid"), 0)
        metadata = answer.get("metadata") or {}
        gone = metadata.get("deletionTimestamp") and not metadata.get("finalizers")
        if gone and entry["verb"] in {"patch", "update"} and answer["kind"] != "Pod":
            return self.removals.get(metadata["uid"], 0)
        return version_of(answer)

    def gap(self):
        """Where the recorder stopped seeing and where it listed again, as versions; None when it never did."""
        seen, newest = set(), 0
        for index, (kind, item) in enumerate(self.events):
            identity = item["metadata"]["uid"]
            if kind == "ADDED" and identity in seen:
                listed = []
                for kind_after, item_after in self.events[index:]:
                    if kind_after != "ADDED":
                        break
                    listed.append(version_of(item_after))
                return newest, max(listed)
            seen.add(identity)
            newest = max(newest, version_of(item))
        return None


def version_of(item):
    return int(item["metadata"].get("resourceVersion") or 0)


class Replay:
    """A simulated API server that is fed a recording's writes, and a recorder that watches it."""

    def __init__(self):
        self.clock = ManualClock()
        self.kernel = Kernel(1)
        self.host = ClusterHost(self.kernel, simulated_store(self.clock, 1, crds=CRDS), self.clock, lambda *_: None)
        self.events = []
        self.uids = {}
        self.versions = {}
        self.differences = []
        self._subscriptions = []

    def prepare(self, recording):
        """Make the namespaces and their default accounts, which were there before the recording began."""
        names = sorted(
            {item["metadata"]["namespace"] for _, item in recording.events}
            | {entry["objectRef"].get("namespace") for entry in recording.audit}
        )
        for name in names:
            self.host.install(NAMESPACES, "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
            self.host.install(RESOURCES[Kind.SERVICE_ACCOUNT], name, account)

    def open(self):
        """List and watch everything, as the recorder does."""
        for kind in FOLLOWED:
            request = ClusterRequest("GET", resource_path(RESOURCES[kind]), {"watch": "true"})
            self._subscriptions.append(
                self.host.watch(
                    request,
                    "recorder",
                    lambda event: self.events.append((event["type"], event["object"])),
                    lambda: None,
                )
            )

    def _see(self, event):
        self.events.append((event["type"], event["object"]))

    def close(self):
        for subscription in self._subscriptions:
            subscription.close()
        self._subscriptions = []

    def write(self, entry):
        """Send one recorded write, and bind the pod that it may have made."""
        self.clock.move_to(parse_instant(entry["requestReceivedTimestamp"]))
        recorded = entry.get("responseObject") or {}
        answer = self.host.answer(self._request(entry), entry["user"]["username"])
        expected = entry["responseStatus"]["code"]
        what = f"{entry['verb']} {entry['requestURI']}"
        if answer.status != expected:
            self.differences.append(f"{what}: answered {answer.status}, recorded {expected}: {answer.message}")
            return
        if answer.ok and answer.body.get("kind") != "Status":
            self._learn(recorded, answer.body)
            if entry["verb"] == "create" and recorded["kind"] == "Pod":
                self._bind(answer.body)
        self.host.collect_garbage()

    def _request(self, entry):
        method = METHODS[entry["verb"]]
        body = json.loads(json.dumps(entry.get("requestObject")))
        path = entry["requestURI"].partition("?")[0]
        if method == "DELETE":
            body = {**(body or {}), "apiVersion": "v1", "kind": "DeleteOptions"}
        if method == "POST":
            # A generated name is kept, so that objects can be told apart by name.
            body["metadata"].setdefault("name", entry["responseObject"]["metadata"].get("name"))
        self._translate(body)
        content_type = "application/json"
        if method == "PATCH":
            content_type = JSON_PATCH if isinstance(body, list) else MERGE_PATCH
        return ClusterRequest(method, path, body=body, content_type=content_type)

    def _translate(self, value):
        """Put the simulation's uids and versions in the place of those recorded."""
        if isinstance(value, list):
            for item in value:
                self._translate(item)
            return
        if not isinstance(value, dict):
            return
        for key, item in list(value.items()):
            if key == "uid":
                value[key] = self.uids.get(item, item)
            elif key == "resourceVersion" and item:
                value[key] = self.versions.get(item, item)
            elif key == "failures" and isinstance(item, dict):
                value[key] = {self.uids.get(uid, uid): at for uid, at in item.items()}
            else:
                self._translate(item)

    def _learn(self, recorded, simulated):
        self.uids[recorded["metadata"]["uid"]] = simulated["metadata"]["uid"]
        self.versions[recorded["metadata"]["resourceVersion"]] = simulated["metadata"]["resourceVersion"]

    def _bind(self, pod):
        metadata = pod["metadata"]
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": metadata["name"]},
            "target": {"kind": "Node", "name": "node-1"},
        }
        path = resource_path(RESOURCES[Kind.POD], metadata["namespace"], metadata["name"], "binding")
        assert self.host.answer(ClusterRequest("POST", path, body=body), "scheduler").ok


def histories(events, uids):
    """What was seen per object, in order: everything that must agree."""
    found = {}
    for kind, item in events:
        metadata = item["metadata"]
        uid = uids.get(metadata["uid"], metadata["uid"])
        key = (item["kind"], metadata["namespace"], metadata["name"], uid)
        if metadata["name"] == "default":
            key = (*key[:3], "default")
        found.setdefault(key, []).append(
            {
                "type": kind,
                "generation": metadata.get("generation"),
                "deleting": "deletionTimestamp" in metadata,
                "grace": metadata.get("deletionGracePeriodSeconds"),
                "finalizers": metadata.get("finalizers"),
                "labels": metadata.get("labels"),
                "annotations": metadata.get("annotations"),
                "spec": canonical(item.get("spec"), uids),
                "status": canonical(item.get("status"), uids),
            }
        )
    return found


def canonical(value, uids):
    """A value without times, with uids translated."""
    if isinstance(value, dict):
        return {uids.get(key, key): canonical(item, uids) for key, item in value.items()}
    if isinstance(value, list):
        return [canonical(item, uids) for item in value]
    if isinstance(value, str):
        return uids.get(value, "<time>" if TIME.fullmatch(value) else value)
    return value


def replay(recording):
    run = Replay()
    run.prepare(recording)
    run.open()
    gap = recording.gap()
    stopped = listed = False
    for version, entry in recording.writes():
        if gap and not stopped and version > gap[0]:
            stopped = True
            run.close()
        if gap and not listed and version > gap[1]:
            listed = True
            run.open()
        run.write(entry)
    return run


@pytest.mark.parametrize("name", SCENARIOS)
def test_replayed_writes_reproduce_the_watch(name):
    folder = RECORDINGS / name
    if not folder.is_dir():
        pytest.skip(f"the recordings are not here: {folder} is missing")
    recording = Recording(folder)
    run = replay(recording)
    assert run.differences == []
    expected = histories(recording.events, run.uids)
    found = histories(run.events, {})
    assert sorted(map(str, found)) == sorted(map(str, expected))
    for key, history in expected.items():
        assert found[key] == history, key


def test_every_recording_is_replayed():
    if not RECORDINGS.is_dir():
        pytest.skip(f"the recordings are not here: {RECORDINGS} is missing")
    assert sorted(path.parent.name for path in RECORDINGS.glob("*/audit.jsonl")) == sorted(SCENARIOS)
