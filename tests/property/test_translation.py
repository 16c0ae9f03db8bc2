"""Translation and fold agree: what was told once is known, however the object looks and in whatever order it came."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from arcfsm.cluster.translator import ObjectTranslator
from arcfsm.domain.envelope import JournaledEvent, Source
from arcfsm.domain.observation import Change, Observation, RefusedError
from arcfsm.domain.snapshot import freeze
from arcfsm.domain.world import World
from tests.unit.cluster.objects import NOON, Cluster

SECRET = "ghp_" + "s3cr3tS3cr3tS3cr3tS3cr3tS3cr3tS3cr3t"


def fold(world: World, arrivals: Any) -> list[JournaledEvent]:
    """Fold arrivals without asking the rules."""
    folded = []
    for arrival in arrivals:
        journaled = JournaledEvent(
            seq=world.head + 1,
            turn=world.head + 1,
            stream=arrival.stream,
            version=world.versions.get(arrival.stream, 0) + 1,
            event=arrival.event,
            recorded_at=NOON,
            observed_at=arrival.observed_at,
            source=arrival.source,
            resource_version=arrival.resource_version,
        )
        world.apply(journaled)
        folded.append(journaled)
    return folded


def tell(
    world: World, translator: ObjectTranslator, obj: Any, change: Change = Change.MODIFIED
) -> list[JournaledEvent]:
    seen = Observation(change=change, object=obj, source=Source.WATCH, at=NOON)
    return fold(world, translator.translate(world, seen).arrivals)


def scene() -> list[Any]:
    """One of everything."""
    cluster = Cluster()
    scale_set, runner_set = cluster.scale_set(), cluster.runner_set(replicas=2, patch_id=1, phase="Running")
    listener = cluster.listener()
    runner = cluster.runner("r1", phase="Running", ready=True, runnerId=4, failures={"p": "2026-12-01T12:00:00Z"})
    role = cluster.make(
        "Role",
        "demo-listener",
        api="rbac.authorization.k8s.io/v1",
        metadata={"labels": {"auto-scaling-listener-name": "demo-listener", "auto-scaling-listener-namespace": "arc"}},
        rules=[{"verbs": ["patch"]}],
    )
    return [
        scale_set,
        runner_set,
        listener,
        runner,
        role,
        cluster.secret("credentials"),
        cluster.secret("r1", of=runner),
        cluster.pod(runner, phase="Running", state={"running": {"startedAt": "2026-12-01T12:00:00Z"}}),
        cluster.pod(listener, phase="Running", state={"terminated": {"exitCode": 1}}),
    ]


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at] if at else []
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        found += paths(child, (*at, key))
    return found


SCENE = scene()
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-(2**63), max_value=2**63),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "7", "-1", "Running", "Failed", "true", "2026-12-01T12:00:05Z", "not a time", SECRET]),
    st.sampled_from([[], {}, [{}], {"x": "y"}, [None], {"terminated": {"exitCode": "7"}}, {"p": True, "q": False}]),
)
KEYS = st.sampled_from(
    ["deletionTimestamp", "finalizers", "labels", "annotations", "status", "spec", "phase", "replicas", "patchID"]
)


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """An object of the scene in which a few values are something else."""
    obj = copy.deepcopy(draw(st.sampled_from(SCENE)))
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(paths(obj)))
        if path[-1] in {"kind", "apiVersion", "uid", "resourceVersion"}:
            continue
        parent = obj
        for key in path[:-1]:
            parent = parent[key]
        action = draw(st.sampled_from(["replace", "add"]))
        if action == "add" and isinstance(parent[path[-1]], dict):
            parent[path[-1]][draw(KEYS)] = copy.deepcopy(draw(VALUES))
        else:
            parent[path[-1]] = copy.deepcopy(draw(VALUES))
    if isinstance(obj["metadata"], dict):
        obj["metadata"]["resourceVersion"] = "1000"
    return obj


@settings(max_examples=400, deadline=None)
@given(obj=mutated(), before=st.lists(st.sampled_from(SCENE), max_size=4))
def test_what_was_told_once_is_known(obj, before):
    """Whatever an object looks like, after its events are folded the same object is no news. Nothing else is raised."""
    world = World()
    translator = ObjectTranslator()
    for one in before:
        tell(world, translator, one)
    try:
        folded = tell(world, translator, obj)
    except RefusedError:
        return
    fresh = ObjectTranslator()
    fresh.restart_versions(world)
    assert tell(world, fresh, obj) == []
    told = "".join(one.event.model_dump_json() for one in folded)
    documents = "".join(str(world.documents.get(digest)) for one in folded for digest in one.event.documents())
    assert SECRET not in told + documents


@settings(max_examples=100, deadline=None)
@given(order=st.permutations(SCENE))
def test_order_between_objects_does_not_matter(order):
    """In whatever order the objects come, the same is known of them in the end."""

    def known(objects: Any) -> Any:
        world, translator = World(), ObjectTranslator()
        for one in objects:
            tell(world, translator, one, Change.ADDED)
        return {
            "pods": (world.runners["EphemeralRunner-r1"].pod, world.listeners["AutoscalingListener-demo-listener"].pod),
            "dependents": sorted(world.dependents),
            "states": (
                world.scale_sets["AutoscalingRunnerSet-demo"].state,
                world.runner_sets["EphemeralRunnerSet-demo"].state,
                world.runners["EphemeralRunner-r1"].state,
                world.listeners["AutoscalingListener-demo-listener"].state,
            ),
        }

    assert known(order) == known(SCENE)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_doubled_and_late_words_change_nothing(data):
    """Versions of a set, told with repeats and stragglers, leave the world as told in order."""
    cluster = Cluster()
    first = cluster.runner_set()
    versions = [first]
    for replicas in data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=6)):
        spec = {**first["spec"], "replicas": replicas, "patchID": len(versions)}
        versions.append(cluster.write(versions[-1], spec=spec))
    straight, noisy = (World(), ObjectTranslator()), (World(), ObjectTranslator())
    for index, version in enumerate(versions):
        tell(*straight, version)
        tell(*noisy, version)
        for late in data.draw(st.lists(st.integers(0, index), max_size=3)):
            tell(*noisy, versions[late])
    assert freeze(straight[0]) == freeze(noisy[0])
