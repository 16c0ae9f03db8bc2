"""Values with a text form of their own: quantities, times, base64.

Each reads what a client wrote and gives it back the way the server does, or refuses with the server's own words. Plain
functions over text; the bounds of what is accepted are the wire's.
"""

from __future__ import annotations

import base64
import binascii
import re
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, Decimal
from typing import Any, Final, NamedTuple

QUANTITY_PATTERN: Final = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_QUANTITY: Final = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?([eE][+-]?\d+|[KMGTPE]i|[numkMGTPE]?)")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_TIME: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)")
TIME_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
MICRO_TIME_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"
MICRO_DIGITS: Final = 6
_BASE64: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


class Quantity(NamedTuple):
    """A parsed quantity: its value and the family of suffixes it is written in."""

    value: Decimal
    style: str
    """`decimal`, `binary` or `exponent`."""

    def __str__(self) -> str:
        return _write(self.value, self.style)


def parse_quantity(value: Any) -> Quantity:
    """Read a quantity. Raises ValueError with the server's words."""
    text = str(value)
    match = _QUANTITY.fullmatch(text)
    if isinstance(value, bool) or match is None or not (match[2] or match[3]):
        raise ValueError(f"quantities must match the regular expression '{QUANTITY_PATTERN}'")
    sign, whole, fraction, suffix = match.groups()
    number = Decimal(f"{sign}{whole or '0'}.{fraction or '0'}")
    if suffix in _BINARY:
        return Quantity(number * (1 << _BINARY[suffix]), "binary")
    if suffix and suffix[0] in "eE" and len(suffix) > 1:
        return Quantity(number.scaleb(int(suffix[1:])), "exponent")
    return Quantity(number.scaleb(_DECIMAL[suffix]), "decimal")


def canonical_quantity(value: Any) -> str:
    """Write a quantity the way the server does. Raises ValueError with the server's words."""
    return str(parse_quantity(value))


def _write(value: Decimal, style: str) -> str:
    if value == 0:
        return "0"
    if style == "binary" and abs(value) >= 1024:
        amount = int(value.to_integral_value(ROUND_CEILING))
        for suffix, bits in reversed(_BINARY.items()):
            if amount % (1 << bits) == 0:
                return f"{amount >> bits}{suffix}"
        return str(amount)
    # Nothing is finer than a billionth: the rest is rounded up.
    units = int((value * 10**9).to_integral_value(ROUND_CEILING))
    exponent = -9
    while exponent < 18 and units % 1000 == 0:
        units //= 1000
        exponent += 3
    if style == "exponent":
        return f"{units}e{exponent}" if exponent else str(units)
    return f"{units}{_DECIMAL_SUFFIX[exponent]}"


def read_time(text: str) -> str:
    """Read a time and write it in UTC and whole seconds. Raises ValueError with the server's words."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(_parse_error(text, TIME_LAYOUT, micro=False))
    return _in_utc(match).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_micro_time(text: str) -> str:
    """Read a time with exactly six decimals and write it in UTC. Raises ValueError with the server's words."""
    match = _TIME.fullmatch(text)
    fraction = match[7] if match is not None else None
    if match is None or fraction is None or len(fraction) != MICRO_DIGITS + 1:
        raise ValueError(_parse_error(text, MICRO_TIME_LAYOUT, micro=True))
    return _in_utc(match).strftime("%Y-%m-%dT%H:%M:%S") + f"{fraction}Z"


def _in_utc(match: re.Match[str]) -> datetime:
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as error:
        layout = MICRO_TIME_LAYOUT if match[7] else TIME_LAYOUT
        what = "month" if not 1 <= month <= 12 else "day" if hour < 24 else "hour"
        raise ValueError(f'parsing time "{match[0]}" as "{layout}": {what} out of range') from error
    zone = match[8]
    if zone == "Z":
        return moment
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
    return moment - offset if zone[0] == "+" else moment + offset


def _parse_error(text: str, layout: str, *, micro: bool) -> str:
    """Tell where reading stopped and what the layout has there."""
    rest = text
    steps: list[tuple[str, str]] = [
        (r"\d{4}", "2006"), ("-", "-"), (r"\d\d", "01"), ("-", "-"), (r"\d\d", "02"), ("T", "T"),
        (r"\d\d", "15"), (":", ":"), (r"\d\d", "04"), (":", ":"), (r"\d\d", "05"),
    ]  # fmt: skip
    if micro:
        steps.append((r"\.\d{6}", ".000000"))
    elif fraction := re.match(r".*T\d\d:\d\d:\d\d(\.\d+)", text):
        steps.append((re.escape(fraction[1]), fraction[1]))
    steps.append((r"(Z|[+-]\d\d:\d\d)", "Z07:00"))
    for pattern, element in steps:
        found = re.match(pattern, rest)
        if found is None:
            return f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{element}"'
        rest = rest[found.end() :]
    return f'parsing time "{text}": extra text: "{rest}"'


def check_base64(text: str) -> bytes:
    """Decode base64. Raises ValueError with the server's words."""
    stripped = text.replace("\n", "").replace("\r", "")
    try:
        return base64.b64decode(stripped, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"illegal base64 data at input byte {_first_bad(stripped)}") from error


def _first_bad(text: str) -> int:
    body = text.rstrip("=")
    for index, character in enumerate(body):
        if character not in _BASE64:
            return index
    return len(body) if len(text) > len(body) else len(text) - len(text) % 4
