"""Properties of drift: an equivalence, its normal form, and a derivation that forgives what others append."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arcfsm.domain.drift import (
    LISTENER_SPEC,
    POD_SPEC,
    RUNNER_SET_SPEC,
    deep_derivative,
    deep_equal,
    difference,
    normal_digest,
    normalize,
    shortfall,
)
from arcfsm.domain.drift.quantity import nanos
from arcfsm.domain.drift.schema import (
    INT_OR_STRING,
    PLAIN,
    QUANTITY,
    STRINGS,
    TIME,
    Leaf,
    ListOf,
    MapOf,
    Pointer,
    Struct,
)
from arcfsm.domain.names import ALPHABET, runner_name

# Schemas are deep and the machine may be busy: how long an example takes says nothing.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
few = settings(unhurried, max_examples=8)
SCHEMAS = st.sampled_from([POD_SPEC, LISTENER_SPEC, RUNNER_SET_SPEC, STRINGS, Pointer(POD_SPEC)])
WORDS = st.sampled_from(["", "a", "b", "name", "image:1"])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), WORDS)
ANY_JSON = st.recursive(
    st.one_of(SCALARS, st.floats(-2, 2)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=8,
)
QUANTITIES = st.sampled_from(
    [None, "0", "1", 1, "1000m", "1Gi", "1024Mi", "1e3", "0.5", 0.5, "500m", "2", "1k", "100n"]
)
TIMES = st.sampled_from([None, "0001-01-01T00:00:00Z", "2026-12-01T12:00:00Z", "2026-12-01T13:00:00+01:00", "x"])
PORTS = st.sampled_from([None, 0, 80, "80", "", "http"])
LEAVES = {Leaf.QUANTITY: QUANTITIES, Leaf.TIME: TIMES, Leaf.INT_OR_STRING: PORTS, Leaf.VERBATIM: ANY_JSON}


@st.composite
def typed(draw, schema, depth=0):
    """A value of a schema: some of the fields it names, some that it does not."""
    if isinstance(schema, Pointer):
        return None if draw(st.booleans()) else draw(typed(schema.to, depth))
    if isinstance(schema, Struct):
        if depth > 6 or draw(st.integers(0, 5)) == 0:
            return draw(st.sampled_from([None, {}]))
        named = draw(st.lists(st.sampled_from(sorted(schema.fields)), max_size=3, unique=True)) if schema.fields else []
        value = {name: draw(typed(schema.fields[name], depth + 1)) for name in named}
        plain = {name: item for name, item in draw(st.dictionaries(WORDS, SCALARS, max_size=2)).items() if name}
        return {**{name: item for name, item in plain.items() if name not in schema.fields}, **value}
    if isinstance(schema, ListOf):
        items = st.lists(typed(schema.item, depth + 1), max_size=2 if depth < 6 else 0)
        return draw(st.one_of(st.none(), items))
    if isinstance(schema, MapOf):
        return draw(st.one_of(st.none(), st.dictionaries(WORDS, typed(schema.value, depth + 1), max_size=2)))
    return draw(LEAVES.get(schema, SCALARS))


@st.composite
def disguised(draw, value, schema):
    """The same value as somebody else might have written it: other spellings, other ways to say nothing."""
    if isinstance(schema, Pointer):
        return value if value is None else draw(disguised(value if value is not None else {}, schema.to))
    if isinstance(schema, Struct) and (value is None or isinstance(value, dict)):
        result = {name: draw(disguised(item, schema.fields.get(name, PLAIN))) for name, item in (value or {}).items()}
        for name in draw(st.lists(st.sampled_from(sorted(schema.fields) or ["x"]), max_size=2)):
            result.setdefault(name, draw(nothing(schema.fields.get(name, PLAIN))))
        for name in [name for name, item in result.items() if item is None and draw(st.booleans())]:
            del result[name]
        return dict(draw(st.permutations(list(result.items()))))
    if isinstance(schema, ListOf) and isinstance(value, list):
        return [draw(disguised(item, schema.item)) for item in value] or draw(nothing(schema))
    if isinstance(schema, MapOf) and isinstance(value, dict):
        return {key: draw(disguised(item, schema.value)) for key, item in value.items()} or draw(nothing(schema))
    if schema is QUANTITY:
        found = nanos(value if isinstance(value, str) else repr(value)) if value is not None else 0
        return draw(st.sampled_from([value, f"{found}n"]))
    return value


def nothing(schema):
    """The ways to write the zero of a type."""
    if isinstance(schema, Pointer):
        return st.none()
    if isinstance(schema, Struct):
        return st.sampled_from([None, {}])
    if isinstance(schema, ListOf):
        return st.sampled_from([None, []])
    if isinstance(schema, MapOf):
        return st.sampled_from([None, {}])
    return st.sampled_from(
        {QUANTITY: [None, 0, "0", "0Gi"], TIME: [None, "0001-01-01T00:00:00Z"], INT_OR_STRING: [None, 0]}.get(
            schema, [None, "", 0, False]
        )
    )


PAIRS = SCHEMAS.flatmap(lambda schema: st.tuples(st.just(schema), typed(schema), typed(schema)))
DISGUISES = SCHEMAS.flatmap(
    lambda schema: typed(schema).flatmap(
        lambda value: st.tuples(st.just(schema), st.just(value), disguised(value, schema))
    )
)
ODD_PAIRS = st.tuples(SCHEMAS, ANY_JSON, ANY_JSON)
ALL_PAIRS = st.one_of(PAIRS, ODD_PAIRS, DISGUISES)


@unhurried
@given(ALL_PAIRS)
def test_equality_is_reflexive_and_derivation_too(case):
    schema, value, _ = case
    twin = copy.deepcopy(value)
    assert difference(value, twin, schema) is None
    assert shortfall(value, twin, schema) is None


@unhurried
@given(ALL_PAIRS)
def test_equality_is_symmetric_and_names_the_same_path(case):
    schema, a, b = case
    assert difference(a, b, schema) == difference(b, a, schema)


@unhurried
@given(ALL_PAIRS)
def test_the_normal_form_is_idempotent(case):
    schema, value, _ = case
    once = normalize(value, schema)
    assert normalize(once, schema) == once


@unhurried
@given(ALL_PAIRS)
def test_values_are_equal_exactly_where_their_normal_forms_are(case):
    schema, a, b = case
    assert deep_equal(a, b, schema) == (normalize(a, schema) == normalize(b, schema))


@unhurried
@given(DISGUISES)
def test_other_ways_to_say_the_same_are_equal(case):
    schema, value, other = case
    assert difference(value, other, schema) is None
    assert normal_digest(value, schema) == normal_digest(other, schema)
    assert shortfall(value, other, schema) is None
    assert shortfall(other, value, schema) is None


@unhurried
@given(PAIRS)
def test_what_is_equal_also_derives(case):
    schema, a, b = case
    if deep_equal(a, b, schema):
        assert deep_derivative(a, b, schema)


@unhurried
@given(PAIRS)
def test_comparing_changes_nothing(case):
    schema, a, b = case
    before = copy.deepcopy((a, b))
    difference(a, b, schema), shortfall(a, b, schema), normalize(a, schema)
    assert (a, b) == before


@st.composite
def appended(draw, value, schema):
    """What a server and its admission may add to a live object: list items at the end, keys of maps, set pointers."""
    if isinstance(schema, Pointer):
        return draw(typed(schema.to, 5)) if value is None else draw(appended(value, schema.to))
    if isinstance(schema, Struct):
        live = {name: draw(appended(item, schema.fields.get(name, PLAIN))) for name, item in (value or {}).items()}
        for name in draw(st.lists(st.sampled_from(sorted(schema.fields) or ["x"]), max_size=2)):
            live.setdefault(name, draw(appended(None, schema.fields.get(name, PLAIN))))
        return live
    if isinstance(schema, ListOf):
        return [draw(appended(item, schema.item)) for item in value or []] + draw(
            st.lists(typed(schema.item, 5), max_size=1)
        )
    if isinstance(schema, MapOf):
        live = {key: draw(appended(item, schema.value)) for key, item in (value or {}).items()}
        return {**draw(st.dictionaries(st.sampled_from(["new", "newer"]), typed(schema.value), max_size=1)), **live}
    return draw(st.text(max_size=3)) if schema is PLAIN and value in ("", None) and value is not False else value


@unhurried
@given(typed(POD_SPEC).flatmap(lambda value: st.tuples(st.just(value), appended(value, POD_SPEC))))
def test_what_is_appended_to_a_live_object_is_never_a_shortfall(case):
    desired, live = case
    assert shortfall(desired, live, POD_SPEC) is None


@unhurried
@given(st.integers(-(10**12), 10**12), st.sampled_from(["n", "u", "m", "", "k", "M", "Ki", "Mi"]))
def test_quantities_are_what_arithmetic_says(number, suffix):
    factor = {"n": 1, "u": 10**3, "m": 10**6, "": 10**9, "k": 10**12, "M": 10**15, "Ki": 2**10 * 10**9}
    expected = number * factor.get(suffix, 2**20 * 10**9)
    largest = (2**63 - 1) * 10**9
    assert nanos(f"{number}{suffix}") == max(-largest, min(largest, expected))
    assert deep_equal(f"{number}{suffix}", f"{nanos(f'{number}{suffix}')}n", QUANTITY)


@unhurried
@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)),  # noqa: DTZ001 - made aware below
    st.integers(-12 * 60, 12 * 60),
)
def test_a_time_is_the_same_in_every_zone(moment, minutes):
    there = moment.replace(tzinfo=UTC).astimezone(timezone(timedelta(minutes=minutes)))
    whole = moment.replace(microsecond=0)
    assert deep_equal(f"{whole.isoformat()}Z", there.isoformat(), TIME)
    assert not deep_equal(f"{whole.isoformat()}Z", f"{(whole + timedelta(seconds=1)).isoformat()}Z", TIME)


@few
@given(st.integers(0, 2**40))
def test_runner_names_of_decisions_in_a_row_do_not_collide(first):
    names = {runner_name("set", first + seq, index, first) for seq in range(1000) for index in range(100)}
    assert len(names) == 100_000


@few
@given(st.integers(0, 2**40), st.sampled_from([(1, 100_000), (100, 1000), (5_000, 20), (100_000, 1)]))
def test_runner_names_do_not_collide_in_windows_of_any_shape(first, window):
    seqs, indexes = window
    names = {runner_name("s", first + seq, index, first) for seq in range(seqs) for index in range(indexes)}
    assert len(names) == seqs * indexes


def test_runner_names_are_well_spread():
    suffixes = [runner_name("s", seq, index, 7)[-5:] for seq in range(500, 600) for index in range(100)]
    for position in range(5):
        counts = [sum(suffix[position] == letter for suffix in suffixes) for letter in ALPHABET]
        assert min(counts) > len(suffixes) / len(ALPHABET) * 0.7
        assert max(counts) < len(suffixes) / len(ALPHABET) * 1.3
    for one, other in pairwise(suffixes):
        assert sum(a != b for a, b in zip(one, other, strict=True)) >= 3
