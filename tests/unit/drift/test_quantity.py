"""Quantities are exact, and hostile ones are cheap (D2, D6)."""

from __future__ import annotations

import pytest

from arcfsm.domain.drift.quantity import canonical_quantity, nanos

ONE = 10**9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", ONE),
        ("+1", ONE),
        ("-1", -ONE),
        ("1.", ONE),
        (".5", ONE // 2),
        ("1000m", ONE),
        ("1k", 1000 * ONE),
        ("1Ki", 1024 * ONE),
        ("1.5Gi", 3 * 2**29 * ONE),
        ("1e3", 1000 * ONE),
        ("1E3", 1000 * ONE),
        ("1E", 10**18 * ONE),
        ("1e-3", ONE // 1000),
        ("100n", 100),
        ("1u", 1000),
        ("0.0000000001", 1),
        ("-0.0000000001", -1),
        ("9E", 9 * 10**18 * ONE),
        ("100E", (2**63 - 1) * ONE),
        ("1e999999999999", (2**63 - 1) * ONE),
        ("1e-999999999999", 1),
        ("0e999999999999", 0),
        ("0", 0),
        ("00.100", ONE // 10),
    ],
)
def test_D2_a_quantity_is_a_number_of_billionths(text, expected):
    assert nanos(text) == expected


@pytest.mark.parametrize("text", ["", ".", "+", "m", "1 ", "1ki", "1K", "1e", "0x1", "one", "1" * 101, "١"])
def test_D2_what_is_no_quantity_stays_text(text):
    assert nanos(text) is None


def test_D6_one_spelling():
    assert canonical_quantity("1000m") == canonical_quantity(1) == canonical_quantity(1.0) == "1"
    assert canonical_quantity(0.1) == canonical_quantity("100m") == "100000000n"
    assert canonical_quantity("100000000n") == "100000000n"
