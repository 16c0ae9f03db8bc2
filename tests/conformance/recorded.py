"""The shared recordings and their replayer, and a transport that reaches the simulated server without sockets."""

from __future__ import annotations

import importlib.util
import json
import queue
import random
import urllib.parse
from pathlib import Path

import pytest

from arcfsm.domain.instant import SECOND
from arcfsm.sim.api import ApiServer, load_crds
from arcfsm.sim.api.failure import ApiFailure
from arcfsm.sim.api.rbac import Identity
from arcfsm.sim.api.request import ApiResponse
from arcfsm.sim.api.wire import read_request, refusal, write_response
from arcfsm.sim.clock import ManualClock

SHARED = Path(__file__).parents[3] / "shared" / "conformance"
TOKEN = "conformance-token"
ABSENT = "the shared conformance recordings are not here"
CAPABILITIES = {"compact"}
UNSUPPORTED = {"openshift"}


def replayer():
    """Load the shared replayer; skip where it is not there."""
    path = SHARED / "replay.py"
    if not path.exists():
        pytest.skip(ABSENT, allow_module_level=True)
    spec = importlib.util.spec_from_file_location("conformance_replay", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases():
    """Return all recorded cases."""
    return replayer().load_cases([str(SHARED / "cases")])


def needs(case):
    """Which way of running the server a case wants; None when it cannot be run."""
    wanted = set(case.get("requires", []))
    if wanted & UNSUPPORTED:
        return None
    if "gc" in wanted:
        return "gc"
    return "accounts" if "sa-admission" in wanted else "plain"


class InProcess:
    """What the replayer needs of a transport, against a server in this process on virtual time."""

    def __init__(self, replay, mode):
        self.replay = replay
        self.mode = mode
        self.clock = ManualClock()
        crds = load_crds(SHARED / "crds")
        self.api = ApiServer(self.clock, random.Random(1), crds=crds, rbac=True, accounts=mode == "accounts")
        self.api.bootstrap()
        self.api.tokens[TOKEN] = Identity("admin", ("system:masters", "system:authenticated"))

    def read(self, req):
        headers = {key.lower(): value for key, value in (req.get("headers") or {}).items()}
        auth = req.get("auth")
        if auth != "none":
            headers["authorization"] = f"Bearer {'not-a-known-value' if auth == 'bad' else TOKEN}"
        if req.get("as"):
            headers["impersonate-user"] = req["as"]
        raw = b""
        if "text" in req:
            raw = req["text"].encode()
        elif "body" in req:
            raw = json.dumps(req["body"]).encode()
            headers.setdefault("content-type", "application/json")
        query = urllib.parse.urlencode(req.get("query") or {})
        return read_request(self.api, req["method"], req["path"], query, headers, raw)

    def request(self, req):
        try:
            response = self.api.handle(self.read(req))
        except ApiFailure as failure:
            response = refusal(failure)
        if self.mode == "gc":
            self.api.collect_garbage()
        return self.replay.Response(*write_response(response))

    def watch(self, req):
        try:
            opened = self.api.watch(self.read(req))
        except ApiFailure as failure:
            opened = refusal(failure)
        if isinstance(opened, ApiResponse):
            return self.replay.Watch(response=self.replay.Response(*write_response(opened)))
        return Stream(opened, self.clock)

    def control(self, step):
        if step["name"] == "compact":
            self.api.compact(int(step["rv"]), caches=False)


class Stream:
    """An open watch for the replayer; waiting moves virtual time to the end of the stream."""

    response = None

    def __init__(self, stream, clock):
        self.stream = stream
        self.clock = clock
        self.events = []

    def next(self, timeout):
        self.events += self.stream.take()
        if not self.events and self.stream.deadline is not None and timeout > 1:
            self.clock.move_to(self.stream.deadline + SECOND)
            self.events += self.stream.take()
        if self.events:
            return json.loads(write_response(ApiResponse(200, self.events.pop(0)))[2])
        if self.stream.closed:
            return None
        raise queue.Empty

    def close(self):
        self.stream.close()
