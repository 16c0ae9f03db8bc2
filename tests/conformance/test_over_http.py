"""A sample of the recordings over real HTTPS, through the replayer's own transport: the face adds and loses nothing."""

from __future__ import annotations

import threading

import pytest

from arcfsm.sim.api import load_crds
from arcfsm.sim.api.serving import Service
from tests.conformance.deviations import listed
from tests.conformance.recorded import SHARED, cases, replayer

SAMPLE = (
    "admission/quota-compute",
    "create/field-validation-warn",
    "create/malformed-json",
    "create/yaml-body",
    "errors/data-too-large",
    "errors/forbidden-verbs",
    "errors/too-large-for-etcd",
    "errors/unknown-paths",
    "errors/unsupported-media-type",
    "lease/watch",
    "output/partial-watch",
    "output/yaml",
    "patch/json-failures",
    "read/continue-expired",
    "read/label-selector-sets",
    "watch/all-namespaces",
    "watch/from-past-rv",
    "watch/gone-after-compaction",
    "watch/invalid-selectors",
    "watch/send-initial-events",
    "watch/timeout",
    "watch/two-watches",
)
COLLECTED = ("gc/foreground", "gc/namespace-deletion-blocked", "gc/orphan")
BY_NAME = {case["name"]: case for case in cases()}


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "gc"])
def served(request):
    service = Service(crds=load_crds(SHARED / "crds"), collects=request.param, control_port=0, seed=1)
    started = threading.Event()
    thread = threading.Thread(target=service.run, args=(started.set,), daemon=True)
    thread.start()
    assert started.wait(20)
    yield service, request.param
    service.stop()
    thread.join(20)
    assert not thread.is_alive()


def tidy(transport_class):
    """The replayer leaves sockets of watches to the collector of its own process; here they are closed."""

    class Tidy(transport_class):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            self.sockets = []

        def _connect(self):
            conn = super()._connect()
            connect = conn.connect

            def remembered():
                connect()
                self.sockets.append(conn.sock)

            conn.connect = remembered
            return conn

        def close_watches(self):
            for each in self.sockets:
                each.close()

    return Tidy


@pytest.mark.parametrize("name", [*SAMPLE, *COLLECTED])
def test_sample(name, served):
    service, collects = served
    if collects is not (name in COLLECTED):
        pytest.skip("belongs to the other server")
    replay = replayer()
    transport = tidy(replay.HttpTransport)(service.url, service.token, control_url=service.control_url, settle=0)
    try:
        problems = replay.Runner(transport, BY_NAME[name], f"http-{SAMPLE.index(name) if not collects else 0}").run()
    finally:
        transport.close()
        transport.close_watches()
    assert problems == []
    assert name not in listed()
