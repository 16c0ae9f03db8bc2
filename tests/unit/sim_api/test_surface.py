"""What other parts of the simulation count on beside the semantics of single requests."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from arcfsm.domain.instant import MINUTE, SECOND
from arcfsm.domain.kinds import RESOURCES, Kind
from arcfsm.sim import api as surface
from arcfsm.sim.api import ApiFailure, ApiRequest, ApiResponse, ApiServer, private_copy
from arcfsm.sim.clock import ManualClock


def server(seed=1, **options):
    clock = ManualClock()
    made = ApiServer(clock, random.Random(seed), **options)
    made.create("namespaces", "", {"metadata": {"name": "n"}})
    return made, clock


def pod(name="p", **metadata):
    spec = {"containers": [{"name": "main", "image": "i:1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def config_map(name="c", **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": {"k": "v"}}


def test_exports_are_exact():
    assert sorted(surface.__all__) == [
        "ApiFailure",
        "ApiRequest",
        "ApiResponse",
        "ApiServer",
        "Interceptor",
        "JSON_PATCH",
        "MERGE_PATCH",
        "OWN_CRDS",
        "STRATEGIC_PATCH",
        "WatchStream",
        "load_crds",
        "private_copy",
    ]


def test_typed_calls_take_resources_and_plurals():
    api, _ = server()
    made = api.create(RESOURCES[Kind.POD], "n", pod())
    assert api.get("pods", "n", "p") is made
    assert [item["kind"] for item in api.list("pods", "n")] == ["Pod"]
    patched = api.patch("pods", "n", "p", {"status": {"phase": "Running"}}, subresource="status")
    assert patched["status"]["phase"] == "Running"
    with pytest.raises(ApiFailure) as refused:
        api.delete("pods", "n", "p", uid="another")
    assert (refused.value.status, refused.value.reason) == (409, "Conflict")
    api.delete("pods", "n", "p", uid=made["metadata"]["uid"])
    assert api.list("pods") == []


def test_a_request_body_is_neither_kept_nor_changed():
    api, _ = server()
    body = pod()
    before = private_copy(body)
    stored = api.create("pods", "n", body)
    assert body == before
    body["spec"]["containers"][0]["image"] = "changed"
    assert stored["spec"]["containers"][0]["image"] == "i:1"
    runner = {"metadata": {"labels": {"a": "b"}}}
    api.patch("pods", "n", "p", runner)
    runner["metadata"]["labels"]["a"] = "changed"
    assert api.get("pods", "n", "p")["metadata"]["labels"] == {"a": "b"}


def test_what_was_handed_out_stays_what_it_was():
    api, _ = server()
    first = api.create("configmaps", "n", config_map())
    shown = private_copy(first)
    api.patch("configmaps", "n", "c", {"data": {"k": "w"}, "metadata": {"labels": {"x": "y"}}})
    assert first == shown


def test_watch_is_polled_and_notifies():
    api, _ = server()
    stream = api.subscribe("configmaps", "n")
    woken = []
    stream.notify = lambda: woken.append(len(woken))
    api.create("configmaps", "n", config_map())
    api.patch("configmaps", "n", "c", {"data": {"k": "w"}})
    api.patch("configmaps", "n", "c", {"data": {"k": "w"}})
    assert woken == [0, 1]
    assert [event["type"] for event in stream.take()] == ["ADDED", "MODIFIED"]
    assert stream.take() == []
    stream.close()
    api.delete("configmaps", "n", "c")
    assert stream.closed
    assert stream.take() == []


def test_watch_ends_on_virtual_time_and_sends_bookmarks():
    api, clock = server()
    query = {"watch": "true", "timeoutSeconds": "90", "allowWatchBookmarks": "true", "resourceVersion": "1"}
    stream = api.watch(ApiRequest("GET", "/api/v1/configmaps", query))
    clock.advance(MINUTE)
    assert [event["type"] for event in stream.take()] == ["BOOKMARK"]
    assert not stream.closed
    clock.advance(30 * SECOND)
    assert stream.closed


def test_restore_goes_back_in_every_way():
    api, _ = server()
    api.create("configmaps", "n", config_map("kept"))
    snapshot = api.snapshot()
    version = api.version
    stream = api.subscribe("configmaps", "n")
    api.create("configmaps", "n", config_map("lost"))
    api.delete("configmaps", "n", "kept")
    api.restore(snapshot)
    assert api.version == version
    assert stream.closed
    assert [item["metadata"]["name"] for item in api.list("configmaps", "n")] == ["kept"]
    uid = api.create("configmaps", "n", config_map("again"))["metadata"]["uid"]
    api.restore(snapshot)
    assert api.create("configmaps", "n", config_map("again"))["metadata"]["uid"] != uid


def test_restore_brings_definitions_back():
    api, _ = server()
    snapshot = api.snapshot()
    api.delete("customresourcedefinitions", "", "ephemeralrunners.actions.github.com")
    path = "/apis/actions.github.com/v1alpha1/namespaces/n/ephemeralrunners"
    assert api.handle(ApiRequest("GET", path)).status == 404
    api.restore(snapshot)
    assert api.handle(ApiRequest("GET", path)).status == 200


def test_compaction_expires_watches_of_cached_kinds_too():
    api, _ = server()
    since = api.version
    api.create("configmaps", "n", config_map())
    api.compact()
    stream = api.subscribe("configmaps", "n", resource_version=since)
    (event,) = stream.take()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    assert stream.closed
    assert not api.subscribe("configmaps", "n", resource_version=api.version).closed


class Fault:
    """Refuses the first request and spoils the answer of the second after it took effect."""

    def __init__(self):
        self.calls = 0

    def before(self, request):
        self.calls += 1
        return ApiResponse(503, {"message": "away"}) if self.calls == 1 else None

    def after(self, request, response):
        return ApiResponse(504, {"message": "lost"}) if self.calls == 2 else response


def test_interceptor_before_and_after_the_effect():
    api, _ = server()
    api.interceptor = Fault()
    for status, there in ((503, False), (504, True)):
        with pytest.raises(ApiFailure) as refused:
            api.create("configmaps", "n", config_map())
        assert refused.value.status == status
        api.interceptor, fault = None, api.interceptor
        assert bool(api.list("configmaps", "n")) is there
        api.interceptor = fault


def test_rights_are_checked_only_when_asked_for():
    free, _ = server()
    assert free.list("pods", "n", user="nobody") == []
    strict, _ = server(rbac=True)
    with pytest.raises(ApiFailure) as refused:
        strict.list("pods", "n", user="system:serviceaccount:n:a")
    assert refused.value.status == 403
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    strict.create("roles", "n", {"metadata": {"name": "r"}, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "a", "namespace": "n"}
    binding = {"metadata": {"name": "b"}, "roleRef": {"kind": "Role", "name": "r"}, "subjects": [subject]}
    strict.create("rolebindings", "n", binding)
    assert strict.list("pods", "n", user="system:serviceaccount:n:a") == []
    strict.delete("roles", "n", "r")
    with pytest.raises(ApiFailure):
        strict.list("pods", "n", user="system:serviceaccount:n:a")


PROGRAM = """
import json, random
from arcfsm.sim.api import ApiServer
from arcfsm.sim.clock import ManualClock
api = ApiServer(ManualClock(), random.Random(5))
api.bootstrap()
api.create("namespaces", "", {"metadata": {"name": "n"}})
for number in range(5):
    labels = {f"k{each}": str(each) for each in range(9)}
    body = {"metadata": {"generateName": "p-", "labels": labels}, "spec": {"containers": [{"name": "a", "image": "i"}]}}
    made = api.create("pods", "n", body)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": made["metadata"]["name"], "uid": made["metadata"]["uid"]}
    for kid in range(3):
        metadata = {"name": f"c{number}-{kid}", "ownerReferences": [owner]}
        api.create("configmaps", "n", {"metadata": metadata})
stream = api.subscribe("configmaps", "n", resource_version=api.version)
for item in api.list("pods", "n"):
    api.delete("pods", "n", item["metadata"]["name"])
api.collect_garbage()
print(json.dumps([api.version, stream.take(), api.list("configmaps", "n")]))
"""


def test_the_same_seed_gives_the_same_bytes_under_any_hash_seed():
    def run(hash_seed):
        root = Path(__file__).parents[3]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)}
        return subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
        ).stdout

    first = run("1")
    assert first == run("2")
    assert len(json.loads(first)[1]) == 15
