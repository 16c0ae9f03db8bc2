"""Quantities, times, selectors, JSON faults, schemas: small functions with many cases."""

from __future__ import annotations

import pytest

from arcfsm.sim.api import ApiFailure
from arcfsm.sim.api.kinds import CONFIG_MAPS, PODS
from arcfsm.sim.api.scalars import canonical_quantity, check_base64, read_micro_time, read_time
from arcfsm.sim.api.selectors import parse_selector
from arcfsm.sim.api.shapes import STRUCTS, DecodeFault, Trace, read_object
from arcfsm.sim.api.structural import check, shape
from arcfsm.sim.api.wire_json import JsonFault, read_json


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("512", "512"),
        ("0.5Ki", "512"),
        (1000000, "1M"),
        ("1e3", "1e3"),
        ("1E3", "1e3"),
        ("1e4", "10e3"),
        ("100k", "100k"),
        ("1E", "1E"),
        ("0", "0"),
        ("-1", "-1"),
        ("+2", "2"),
        ("1n", "1n"),
        ("0.0000000001", "1n"),
        ("1.3Ki", "1332"),
    ],
)
def test_quantities(given, canonical):
    assert canonical_quantity(given) == canonical
    assert canonical_quantity(canonical) == canonical


@pytest.mark.parametrize("given", ["", "lots", "1.2.3", "1 Gi", "Gi", ".", "1KiB", True])
def test_no_quantities(given):
    with pytest.raises(ValueError, match="quantities must match"):
        canonical_quantity(given)


def test_times():
    assert read_time("2026-01-02T05:04:05+02:00") == "2026-01-02T03:04:05Z"
    assert read_time("2026-01-02T03:04:05.999Z") == "2026-01-02T03:04:05Z"
    assert read_micro_time("2026-01-02T05:04:05.000006+02:00") == "2026-01-02T03:04:05.000006Z"
    with pytest.raises(ValueError, match='cannot parse "yesterday" as "2006"'):
        read_time("yesterday")
    with pytest.raises(ValueError, match="out of range"):
        read_time("2026-13-02T03:04:05Z")


@pytest.mark.parametrize(("text", "byte"), [("not base64!", 3), ("abc", 0), ("ab=c", 2), ("abcde", 4)])
def test_base64_faults(text, byte):
    with pytest.raises(ValueError, match=f"input byte {byte}$"):
        check_base64(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ('{"a":1', "unexpected end of JSON input"),
        ("nonsense", "invalid character 'o' in literal null (expecting 'u')"),
        ("what", "invalid character 'w' looking for beginning of value"),
        ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("{} {}", "invalid character '{' after top-level value"),
    ],
)
def test_json_faults(text, fault):
    with pytest.raises(JsonFault) as found:
        read_json(text.encode())
    assert str(found.value) == fault


def test_json_numbers_and_repeated_keys():
    value, repeated = read_json(b'{"a":1.0,"b":1e2,"c":9007199254740993,"d":1.5,"e":[{"x":1,"x":2}]}')
    assert value == {"a": 1, "b": 100, "c": 9007199254740993, "d": 1.5, "e": [{"x": 2}]}
    assert [type(value[key]) for key in "abcd"] == [int, int, int, float]
    assert repeated == ["e[0].x"]


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("a=1", True),
        ("a!=2", True),
        ("none!=2", True),
        ("none", False),
        ("!none", True),
        ("a in (1,2),b", True),
        ("a notin (1)", False),
        ("b in ()", True),
        ("a>0", True),
        ("b>0", False),
    ],
)
def test_label_selectors(selector, matches):
    item = {"metadata": {"labels": {"a": "1", "b": ""}}}
    assert parse_selector(CONFIG_MAPS, selector, "").matches(item) is matches


def test_field_selectors():
    item = {"metadata": {"name": "a", "namespace": "n"}, "spec": {"nodeName": "x"}, "status": {}}
    assert parse_selector(PODS, "", "spec.nodeName=x,status.phase=,metadata.name!=b").matches(item)
    for fields in ("metadata.uid=1", "spec.none=1", "metadata.name"):
        with pytest.raises(ApiFailure):
            parse_selector(PODS, "", fields)


def test_shapes_report_unknown_fields_and_wrong_types():
    trace = Trace()
    body = {"spec": {"containers": [{"name": "a", "odd": 1}], "strange": {}}, "more": 1}
    read = read_object(STRUCTS["Pod"], body, trace)
    assert trace.unknown == ["spec.containers[0].odd", "spec.strange", "more"]
    assert read["spec"] == {"containers": [{"name": "a", "resources": {}}]}
    with pytest.raises(DecodeFault, match=r"number 1\.5 into Go struct field PodSpec\.spec\.priority of type int32"):
        read_object(STRUCTS["Pod"], {"spec": {"priority": 1.5}}, Trace())


SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "level": {"type": "integer", "default": 3, "maximum": 5},
        "maybe": {"type": "string", "nullable": True},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "keyed": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}}},
        },
    },
}


def test_structural_shaping():
    unknown = []
    given = {"name": "ab", "level": None, "maybe": None, "map": {"a": "1", "b": None}, "odd": 1}
    assert shape(given, SCHEMA, "", unknown) == {"name": "ab", "level": 3, "maybe": None, "map": {"a": "1"}}
    assert unknown == ["odd"]


@pytest.mark.parametrize(
    ("value", "faults"),
    [
        ({"name": "ab"}, []),
        ({}, ["name"]),
        ({"name": "a"}, ["name"]),
        ({"name": "ab", "level": 9}, ["level"]),
        ({"name": "ab", "level": 1.5}, ["level", "<nil>"]),
        ({"name": "ab", "map": {"a": 1}}, ["map.a"]),
        ({"name": "ab", "keyed": [{"k": "1"}, {"k": "1"}]}, ["keyed[1]"]),
    ],
)
def test_structural_checks(value, faults):
    causes = []
    check(value, SCHEMA, "", "", causes)
    assert [cause.field for cause in causes] == faults
