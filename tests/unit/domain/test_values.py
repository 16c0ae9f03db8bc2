"""Instants, spans, JSON values, streams: the small change of the domain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcfsm.domain.instant import DAY, HOUR, MINUTE, SECOND, format_instant, format_span, parse_instant
from arcfsm.domain.jsonvalue import canonical, digest, integer_at, list_at, object_at, objects_at, strings_at, text_at
from arcfsm.domain.kinds import AggregateKind, StreamId


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2026-12-01T05:46:35Z", "2026-12-01T05:46:35Z"),
        ("2026-12-01T05:46:35.207843Z", "2026-12-01T05:46:35.207843Z"),
        ("2026-12-01T06:46:35+01:00", "2026-12-01T05:46:35Z"),
        ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"),
    ],
)
def test_an_instant_reads_and_writes_rfc_3339(text, written):
    assert format_instant(parse_instant(text)) == written


@pytest.mark.parametrize("text", ["", "yesterday", "2026-12-01T05:46:35", "2026-13-01T00:00:00Z"])
def test_what_is_no_instant_is_refused(text):
    with pytest.raises(ValueError):
        parse_instant(text)


@given(st.integers(min_value=0, max_value=4_000_000_000 * SECOND))
def test_every_instant_survives_the_round_trip(instant):
    assert parse_instant(format_instant(instant)) == instant


@pytest.mark.parametrize(
    ("span", "written"),
    [
        (0, "0s"),
        (10_000, "0.01s"),
        (42 * SECOND + 100_000, "42.1s"),
        (3 * MINUTE + 5 * SECOND, "3m05s"),
        (2 * HOUR + 10 * MINUTE, "2h10m"),
        (3 * DAY + 4 * HOUR, "3d04h"),
        (-SECOND, "-1s"),
    ],
)
def test_a_span_is_written_the_way_people_say_it(span, written):
    assert format_span(span) == written


def test_the_canonical_form_ignores_the_order_of_keys_and_only_that():
    assert canonical({"b": 1, "a": [2, {"d": None, "c": "ü"}]}) == '{"a":[2,{"c":"ü","d":null}],"b":1}'.encode()
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 2, "b": 1})


def test_reading_a_path_gives_the_zero_value_where_something_is_missing_or_of_another_shape():
    value = {"a": {"b": "text", "n": 3, "t": True, "l": [1, {"x": "y"}], "m": {"k": "v", "bad": 1}}}
    assert text_at(value, "a", "b") == "text"
    assert text_at(value, "a", "n") == text_at(value, "x", "y") == ""
    assert integer_at(value, "a", "n") == 3
    assert integer_at(value, "a", "t") == 0, "a boolean is not a number"
    assert list_at(value, "a", "l") == [1, {"x": "y"}]
    assert list_at(value, "a", "b") == ()
    assert objects_at(value, "a", "l") == ({"x": "y"},)
    assert strings_at(value, "a", "m") == {"k": "v"}
    assert object_at(value, "a", "b", "c") == {}


def test_a_stream_is_read_as_it_is_written():
    stream = StreamId(AggregateKind.RUNNER, "5a751c65")
    assert StreamId.parse(str(stream)) == stream
    for text in ("", "runner", "runner/", "rumour/1"):
        with pytest.raises(ValueError):
            StreamId.parse(text)
