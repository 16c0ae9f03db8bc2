"""Events are stored once and served by two groups, for writing too."""

from __future__ import annotations

import random

import pytest

from arcfsm.sim.api import MERGE_PATCH, ApiRequest, ApiServer
from arcfsm.sim.clock import ManualClock

CORE = "/api/v1/namespaces/n/events"
NEW = "/apis/events.k8s.io/v1/namespaces/n/events"


@pytest.fixture
def api():
    made = ApiServer(ManualClock(), random.Random(1))
    made.create("namespaces", "", {"metadata": {"name": "n"}})
    return made


def old_event():
    about = {"kind": "Pod", "namespace": "n", "name": "p"}
    return {"metadata": {"name": "e"}, "involvedObject": about, "reason": "R", "message": "m", "type": "Normal"}


def test_one_event_two_views(api):
    created = api.handle(ApiRequest("POST", CORE, body=old_event())).body
    seen = api.handle(ApiRequest("GET", f"{NEW}/e")).body
    assert (seen["note"], seen["regarding"]) == (created["message"], created["involvedObject"])
    assert seen["apiVersion"] == "events.k8s.io/v1"
    listed = api.handle(ApiRequest("GET", NEW)).body
    assert (listed["kind"], listed["items"][0]["note"]) == ("EventList", "m")
    stream = api.watch(ApiRequest("GET", NEW, {"watch": "true"}))
    assert [event["object"]["note"] for event in stream.take()] == ["m"]


def test_patch_through_the_new_group(api):
    api.handle(ApiRequest("POST", CORE, body=old_event()))
    patch = {"note": "changed", "deprecatedCount": 2}
    done = api.handle(ApiRequest("PATCH", f"{NEW}/e", body=patch, content_type=MERGE_PATCH))
    assert (done.status, done.warnings) == (200, ())
    kept = api.handle(ApiRequest("GET", f"{CORE}/e")).body
    assert (kept["message"], kept["count"], kept["apiVersion"]) == ("changed", 2, "v1")


def test_finalize_empties_a_namespace_only_of_its_finalizers(api):
    api.delete("namespaces", "", "n")
    held = api.get("namespaces", "", "n")
    assert held["status"]["phase"] == "Terminating"
    body = {"metadata": {"name": "n"}, "spec": {"finalizers": []}}
    assert api.handle(ApiRequest("PUT", "/api/v1/namespaces/n/finalize", body=body)).status == 200
    assert api.handle(ApiRequest("GET", "/api/v1/namespaces/n")).status == 404


def test_what_nobody_can_serve_is_refused_before_it_takes_effect(api):
    request = ApiRequest("POST", CORE, body=old_event(), accept="text/html")
    assert api.handle(request).status == 406
    assert api.handle(ApiRequest("GET", f"{CORE}/e")).status == 404
