"""The three kinds of patches, as functions."""

from __future__ import annotations

import pytest

from arcfsm.sim.api import ApiFailure
from arcfsm.sim.api.patching import json_patch, merge_patch
from arcfsm.sim.api.shapes import STRUCTS
from arcfsm.sim.api.strategic import strategic_merge


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": 1}, {"a": None}, {}),
        ({"a": 1}, {"b": {"c": None, "d": 2}}, {"a": 1, "b": {"d": 2}}),
        ({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": "text"}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": 1}, "text", "text"),
    ],
)
def test_merge_patch(target, patch, result):
    assert merge_patch(target, patch) == result


def test_patches_leave_the_target_alone_and_share_the_rest():
    target = {"a": {"b": [1]}, "c": {"d": 1}}
    merged = merge_patch(target, {"c": {"e": 2}})
    edited = json_patch(target, [{"op": "add", "path": "/c/e", "value": 2}])
    assert target == {"a": {"b": [1]}, "c": {"d": 1}}
    assert merged["a"] is target["a"]
    assert edited["a"] is target["a"]


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "add", "path": "/l/-", "value": 9}, {"l": [1, 2, 9], "m": {"k": "v"}}),
        ({"op": "add", "path": "/l/0", "value": 9}, {"l": [9, 1, 2], "m": {"k": "v"}}),
        ({"op": "add", "path": "/l/2", "value": 9}, {"l": [1, 2, 9], "m": {"k": "v"}}),
        ({"op": "remove", "path": "/l/1"}, {"l": [1], "m": {"k": "v"}}),
        ({"op": "replace", "path": "/m/new", "value": 1}, {"l": [1, 2], "m": {"k": "v", "new": 1}}),
        ({"op": "move", "from": "/m/k", "path": "/k"}, {"l": [1, 2], "m": {}, "k": "v"}),
        ({"op": "copy", "from": "/l", "path": "/m/l"}, {"l": [1, 2], "m": {"k": "v", "l": [1, 2]}}),
        ({"op": "test", "path": "/l", "value": [1, 2]}, {"l": [1, 2], "m": {"k": "v"}}),
        ({"op": "add", "path": "/m/a~1b~0c", "value": 1}, {"l": [1, 2], "m": {"k": "v", "a/b~c": 1}}),
    ],
)
def test_json_patch(operation, result):
    assert json_patch({"l": [1, 2], "m": {"k": "v"}}, [operation]) == result


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/l/3", "value": 9},
        {"op": "add", "path": "/l/01", "value": 9},
        {"op": "add", "path": "/none/k", "value": 9},
        {"op": "add", "path": "l", "value": 9},
        {"op": "add", "path": "/l"},
        {"op": "remove", "path": "/m/none"},
        {"op": "remove", "path": ""},
        {"op": "replace", "path": "/l/2", "value": 9},
        {"op": "test", "path": "/l/0", "value": True},
        {"op": "move", "from": "/none", "path": "/k"},
        {"op": "what", "path": "/l"},
        "no operation",
    ],
)
def test_json_patch_refused(operation):
    with pytest.raises(ApiFailure) as refused:
        json_patch({"l": [1, 2], "m": {"k": "v"}}, [operation])
    assert refused.value.status == 422


def containers(*names):
    return [{"name": name, "image": name} for name in names]


@pytest.mark.parametrize(
    ("old", "patched", "order"),
    [
        ("ab", "b", "ab"),
        ("ab", "c", "cab"),
        ("abc", "bn", "abnc"),
        ("ab", "ba", "ba"),
        ("", "ab", "ab"),
    ],
)
def test_strategic_order_of_keyed_lists(old, patched, order):
    target, patch = {"containers": containers(*old)}, {"containers": containers(*patched)}
    merged = strategic_merge(STRUCTS["PodSpec"], target, patch)
    assert "".join(item["name"] for item in merged["containers"]) == order


def test_strategic_directives():
    spec = STRUCTS["PodSpec"]
    target = {"containers": containers("a", "b"), "nodeSelector": {"k": "v"}, "tolerations": [{"key": "x"}]}
    removed = strategic_merge(spec, target, {"containers": [{"name": "a", "$patch": "delete"}]})
    assert removed["containers"] == containers("b")
    replaced = strategic_merge(spec, target, {"containers": [{"$patch": "replace"}, *containers("z")]})
    assert replaced["containers"] == containers("z")
    assert strategic_merge(spec, target, {"nodeSelector": {"$patch": "replace", "n": "w"}})["nodeSelector"] == {
        "n": "w"
    }
    assert strategic_merge(spec, target, {"tolerations": [{"key": "y"}]})["tolerations"] == [{"key": "y"}]
    ordered = strategic_merge(spec, target, {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]})
    assert ordered["containers"] == containers("b", "a")


def test_strategic_sets_of_strings():
    meta = STRUCTS["ObjectMeta"]
    assert strategic_merge(meta, {"finalizers": ["f"]}, {"finalizers": ["g"]}) == {"finalizers": ["g", "f"]}
    assert strategic_merge(meta, {"finalizers": ["f"]}, {"finalizers": ["f"]}) == {"finalizers": ["f"]}
    less = strategic_merge(meta, {"finalizers": ["f", "g"]}, {"$deleteFromPrimitiveList/finalizers": ["f"]})
    assert less == {"finalizers": ["g"]}
