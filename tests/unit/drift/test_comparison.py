"""Equality, derivation and normal form, value by value (D1–D9)."""

from __future__ import annotations

import pytest

from arcfsm.domain.drift import POD_SPEC, RUNNER_SPEC, deep_derivative, deep_equal, difference, normalize, shortfall
from arcfsm.domain.drift.schema import INT_OR_STRING, PLAIN, QUANTITY, STRINGS, TIME, VERBATIM, MapOf, Pointer, struct


def pod(**spec):
    return {"containers": [{"name": "runner", **spec}]}


EQUAL = [
    ("D3 empty list", pod(env=[]), pod()),
    ("D3 null list", pod(env=None), pod(env=[])),
    ("D3 empty map", {"nodeSelector": {}}, {}),
    ("D3 null inside", {"tolerations": [{"key": None}]}, {"tolerations": [{"key": ""}]}),
    ("D5 empty string", {"containers": [{"ports": [{"protocol": ""}]}]}, {"containers": [{"ports": [{}]}]}),
    ("D5 zero and false", {"hostNetwork": False, "hostPID": None}, {}),
    ("D5 value struct", pod(resources={}), pod()),
    ("D5 value struct of zeros", pod(resources={"limits": {}, "claims": []}), pod()),
    ("D2 milli", pod(resources={"limits": {"cpu": "1000m"}}), pod(resources={"limits": {"cpu": "1"}})),
    ("D2 number", pod(resources={"limits": {"cpu": 1}}), pod(resources={"limits": {"cpu": "1"}})),
    ("D2 binary", pod(resources={"requests": {"memory": "1Gi"}}), pod(resources={"requests": {"memory": "1024Mi"}})),
    ("D2 pod level", {"resources": {"limits": {"cpu": "0.5"}}}, {"resources": {"limits": {"cpu": "500m"}}}),
    ("D2 overhead", {"overhead": {"cpu": "1e3m"}}, {"overhead": {"cpu": "1e3m"}}),
    (
        "D15 sizeLimit",
        {"volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Ki"}}]},
        {"volumes": [{"name": "v", "emptyDir": {"sizeLimit": 1024}}]},
    ),
    (
        "D15 missing divisor is zero",
        pod(env=[{"name": "a", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}}]),
        pod(env=[{"name": "a", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}]),
    ),
    ("D2 a 1 and a 1.0", {"terminationGracePeriodSeconds": 1}, {"terminationGracePeriodSeconds": 1.0}),
]
DIFFERENT = [
    ("D3 order", pod(args=["a", "b"]), pod(args=["b", "a"]), "/containers/0/args/0"),
    ("D3 length", pod(args=["a"]), pod(args=["a", "b"]), "/containers/0/args/1"),
    ("D3 key with empty value", {"nodeSelector": {"a": ""}}, {"nodeSelector": {}}, "/nodeSelector/a"),
    ("D4 false pointer", {"automountServiceAccountToken": False}, {}, "/automountServiceAccountToken"),
    ("D4 zero pointer", {"terminationGracePeriodSeconds": 0}, {}, "/terminationGracePeriodSeconds"),
    ("D4 empty struct", pod(securityContext={}), pod(), "/containers/0/securityContext"),
    ("D4 emptyDir", {"volumes": [{"name": "v", "emptyDir": {}}]}, {"volumes": [{"name": "v"}]}, "/volumes/0/emptyDir"),
    ("D4 pod resources", {"resources": {}}, {}, "/resources"),
    ("D4 container restartPolicy", pod(restartPolicy=""), pod(), "/containers/0/restartPolicy"),
    (
        "D6 int or string",
        pod(livenessProbe={"httpGet": {"port": 8080}}),
        pod(livenessProbe={"httpGet": {"port": "8080"}}),
        "/containers/0/livenessProbe/httpGet/port",
    ),
    (
        "D15 a cpu elsewhere is text",
        pod(env=[{"name": "cpu", "value": "1000m"}]),
        pod(env=[{"name": "cpu", "value": "1"}]),
        "/containers/0/env/0/value",
    ),
    ("escaped path", {"nodeSelector": {"a/b~c": "1"}}, {"nodeSelector": {"a/b~c": "2"}}, "/nodeSelector/a~1b~0c"),
]


@pytest.mark.parametrize(("a", "b"), [case[1:] for case in EQUAL], ids=[case[0] for case in EQUAL])
def test_D1_to_D6_equal(a, b):
    assert deep_equal(a, b, POD_SPEC)
    assert deep_equal(b, a, POD_SPEC)
    assert normalize(a, POD_SPEC) == normalize(b, POD_SPEC)
    assert deep_derivative(a, b, POD_SPEC)


@pytest.mark.parametrize(("a", "b", "path"), [case[1:] for case in DIFFERENT], ids=[case[0] for case in DIFFERENT])
def test_D1_to_D6_different_and_the_path_is_named(a, b, path):
    assert difference(a, b, POD_SPEC) == path
    assert difference(b, a, POD_SPEC) == path
    assert normalize(a, POD_SPEC) != normalize(b, POD_SPEC)


def test_the_path_does_not_depend_on_the_order_of_keys():
    a, b = {"hostNetwork": True, "hostIPC": True, "dnsPolicy": "x"}, {}
    backwards = dict(reversed(a.items()))
    assert difference(a, b, POD_SPEC) == difference(backwards, b, POD_SPEC) == "/dnsPolicy"


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        ("2026-12-01T12:00:00Z", "2026-12-01T13:00:00+01:00", True),
        ("2026-12-01T12:00:00Z", "2026-12-01T12:00:00.75Z", True),
        ("2026-12-01T12:00:00Z", "2026-12-01T12:00:01Z", False),
        (None, "0001-01-01T00:00:00Z", True),
        (None, "1970-01-01T00:00:00Z", False),
        ("soon", "soon", True),
        ("soon", "later", False),
    ],
)
def test_D2_times_are_instants_of_a_second(a, b, equal):
    assert deep_equal(a, b, TIME) is equal
    assert (normalize(a, TIME) == normalize(b, TIME)) is equal


def test_D2_creation_timestamp_null_of_a_template_is_absent():
    assert deep_equal({"metadata": {"creationTimestamp": None}, "spec": {}}, {}, RUNNER_SPEC)


@pytest.mark.parametrize(
    ("desired", "live", "schema"),
    [
        ("", "anything", PLAIN),
        (None, "anything", PLAIN),
        ([], [1], PLAIN),
        (None, {"a": 1}, Pointer(PLAIN)),
        ("", "anything", Pointer(PLAIN)),
        ({}, {"a": "1"}, STRINGS),
        ({"a": ""}, {"a": "1", "b": "2"}, STRINGS),
        (["a"], ["a", "b"], PLAIN),
        ({"a": "1"}, {"a": "1000m"}, MapOf(QUANTITY)),
        ("", "http", INT_OR_STRING),
        ({"text": ""}, {"text": "x", "more": "y"}, struct()),
    ],
)
def test_D7_to_D9_unset_on_the_desired_side_matches(desired, live, schema):
    assert shortfall(desired, live, schema) is None


@pytest.mark.parametrize(
    ("desired", "live", "schema", "path"),
    [
        ({}, {"count": 5}, struct(), "/count"),
        ({"flag": False}, {"flag": True}, struct(), "/flag"),
        (None, "1", QUANTITY, ""),
        (0, 5, Pointer(PLAIN), ""),
        ("", None, Pointer(PLAIN), ""),
        ({"a": ""}, {}, STRINGS, "/a"),
        ({"a": "0"}, {}, MapOf(QUANTITY), "/a"),
        (["a", "b"], ["a"], PLAIN, "/1"),
        (["a"], ["injected", "a"], PLAIN, "/0"),
        (None, 8080, INT_OR_STRING, ""),
        (None, "http", INT_OR_STRING, ""),
        ("", 8080, INT_OR_STRING, ""),
        ({"inner": {}}, {"inner": {"count": 1}}, struct(), "/inner/count"),
    ],
)
def test_D7_to_D9_what_has_no_unset_state_is_compared(desired, live, schema, path):
    assert shortfall(desired, live, schema) == path


def test_verbatim_values_are_compared_as_they_are():
    assert not deep_equal({"f:a": {}}, {}, VERBATIM)
    assert deep_equal({"f:a": {}}, {"f:a": {}}, VERBATIM)


@pytest.mark.parametrize("odd", [[], {}, "x", 5, True, ["x"], {"x": 1}])
@pytest.mark.parametrize("schema", [POD_SPEC, STRINGS, QUANTITY, TIME, INT_OR_STRING, Pointer(PLAIN)])
def test_values_that_do_not_fit_their_schema_are_compared_nevertheless(odd, schema):
    assert deep_equal(odd, odd, schema)
    assert deep_equal(odd, {"other": ["y"]}, schema) is False
    assert normalize(normalize(odd, schema), schema) == normalize(odd, schema)
