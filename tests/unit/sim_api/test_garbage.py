"""The garbage collector follows changes; what is left must be what a look at everything would leave."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from arcfsm.sim.api import ApiServer
from arcfsm.sim.clock import ManualClock

NAMES = [f"c{number}" for number in range(6)]


def server():
    api = ApiServer(ManualClock(), random.Random(1))
    for name in ("n", "m"):
        api.create("namespaces", "", {"metadata": {"name": name}})
    return api


def reference(owner, *, blocks=False):
    metadata = owner["metadata"]
    made = {"apiVersion": "v1", "kind": owner["kind"], "name": metadata["name"], "uid": metadata["uid"]}
    return {**made, "blockOwnerDeletion": True} if blocks else made


def config_map(api, name, *owners, namespace="n", finalizers=(), blocks=False):
    metadata = {"name": name, "ownerReferences": [reference(owner, blocks=blocks) for owner in owners]}
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    return api.create("configmaps", namespace, {"metadata": metadata})


def present(api, namespace="n"):
    return [item["metadata"]["name"] for item in api.list("configmaps", namespace)]


def test_chain_goes_all_the_way():
    api = server()
    first = config_map(api, "a")
    second = config_map(api, "b", first)
    config_map(api, "c", second)
    api.collect_garbage()
    assert present(api) == ["a", "b", "c"]
    api.delete("configmaps", "n", "a")
    api.collect_garbage()
    assert present(api) == []


def test_an_owner_that_is_only_terminating_keeps_its_dependents():
    api = server()
    owner = config_map(api, "a", finalizers=["example.test/f"])
    config_map(api, "b", owner)
    api.delete("configmaps", "n", "a")
    api.collect_garbage()
    assert present(api) == ["a", "b"]
    api.patch("configmaps", "n", "a", {"metadata": {"finalizers": None}})
    api.collect_garbage()
    assert present(api) == []


def test_a_dead_reference_is_dropped_when_another_owner_lives():
    api = server()
    first, second = config_map(api, "a"), config_map(api, "b")
    config_map(api, "c", first, second)
    api.delete("configmaps", "n", "a")
    api.collect_garbage()
    owners = api.get("configmaps", "n", "c")["metadata"]["ownerReferences"]
    assert [owner["name"] for owner in owners] == ["b"]


def test_an_owner_in_another_namespace_does_not_count():
    api = server()
    owner = config_map(api, "a", namespace="m")
    config_map(api, "b", owner)
    api.collect_garbage()
    assert present(api) == []
    assert present(api, "m") == ["a"]


def test_foreground_waits_for_what_blocks():
    api = server()
    owner = config_map(api, "a")
    config_map(api, "b", owner, finalizers=["example.test/f"], blocks=True)
    api.delete("configmaps", "n", "a", propagation="Foreground")
    api.collect_garbage()
    assert present(api) == ["a", "b"]
    assert "deletionTimestamp" in api.get("configmaps", "n", "b")["metadata"]
    api.patch("configmaps", "n", "b", {"metadata": {"finalizers": None}})
    api.collect_garbage()
    assert present(api) == []


def test_a_restored_store_is_collected_like_any_other():
    api = server()
    owner = config_map(api, "a")
    config_map(api, "b", owner)
    snapshot = api.snapshot()
    api.delete("configmaps", "n", "a")
    api.collect_garbage()
    api.restore(snapshot)
    api.collect_garbage()
    assert present(api) == ["a", "b"]
    api.delete("configmaps", "n", "a")
    api.collect_garbage()
    assert present(api) == []


def test_a_namespace_goes_with_what_is_in_it():
    api = server()
    config_map(api, "held", finalizers=["example.test/f"])
    config_map(api, "free")
    api.delete("namespaces", "", "n")
    api.collect_garbage()
    assert present(api) == ["held"]
    api.patch("configmaps", "n", "held", {"metadata": {"finalizers": None}})
    api.collect_garbage()
    assert "n" not in [item["metadata"]["name"] for item in api.list("namespaces")]


steps = st.lists(
    st.tuples(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=2, unique=True), st.booleans()),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(steps=steps)
def test_nothing_is_left_whose_owners_are_all_gone(steps):
    api = server()
    for name, owners, collect in steps:
        here = {item["metadata"]["name"]: item for item in api.list("configmaps", "n")}
        if name in here:
            api.delete("configmaps", "n", name)
        else:
            config_map(api, name, *(here[owner] for owner in owners if owner in here))
        if collect:
            api.collect_garbage()
    api.collect_garbage()
    left = api.list("configmaps", "n")
    uids = {item["metadata"]["uid"] for item in left}
    for item in left:
        owners = item["metadata"].get("ownerReferences")
        assert not owners or {owner["uid"] for owner in owners} <= uids
