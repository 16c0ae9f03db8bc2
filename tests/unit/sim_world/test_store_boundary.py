"""Between a client and the store there is a wire: neither can change what the other holds."""

from __future__ import annotations

from arcfsm.sim.clock import ManualClock
from arcfsm.sim.faults.cluster import ClusterRequest
from arcfsm.sim.faults.store import simulated_store

PATH = "/api/v1/namespaces/default/configmaps"


def test_a_clients_dicts_and_the_stores_are_not_the_same():
    store = simulated_store(ManualClock(), seed=1)
    store.server.bootstrap()
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
    created = store.handle(ClusterRequest("POST", PATH, body=body), "user")
    assert created.status == 201
    body["data"]["k"] = "changed by the client"
    created.body["data"]["k"] = "changed in the answer"
    assert store.handle(ClusterRequest("GET", f"{PATH}/a"), "user").body["data"] == {"k": "v"}
