"""Quantities: amounts with a suffix, exact, and written in the canonical form of a Kubernetes server."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import Final

_PATTERN: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d+)?")
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL: Final = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_POWERS: Final = {suffix: power for power, suffix in _DECIMAL.items()}


@lru_cache(maxsize=4096)
def parse(text: str) -> Decimal:
    """Return the amount. Raises ValueError."""
    found = _PATTERN.fullmatch(text)
    if not found:
        raise ValueError(text)
    number, suffix = Decimal(found[1]), found[2] or ""
    if suffix in _BINARY and suffix:
        return number * (Decimal(1024) ** _BINARY.index(suffix))
    if suffix in _POWERS:
        return number.scaleb(_POWERS[suffix])
    return number.scaleb(int(suffix[1:]))


def canonical(value: str | float) -> str:
    """Return a quantity in canonical form, in the family of suffixes it was written in. Raises ValueError."""
    return _canonical(value if isinstance(value, str) else format(Decimal(str(value)), "f"))


@lru_cache(maxsize=4096)
def _canonical(text: str) -> str:
    amount = parse(text)
    found = _PATTERN.fullmatch(text)
    suffix = (found[2] if found else "") or ""
    if suffix in _BINARY and suffix:
        return show(amount, binary=True)
    if suffix[:1] in {"e", "E"} and len(suffix) > 1:
        return show(amount, exponent=True)
    return show(amount)


def show(amount: Decimal, *, binary: bool = False, exponent: bool = False) -> str:
    """Return an amount in canonical form."""
    amount = amount.quantize(Decimal("1E-9"), rounding=ROUND_CEILING)
    if amount == 0:
        return "0"
    if binary and abs(amount) >= 1024 and amount == amount.to_integral_value():
        whole, power = int(amount), 0
        while whole % 1024 == 0 and power < len(_BINARY) - 1:
            whole, power = whole // 1024, power + 1
        return f"{whole}{_BINARY[power]}"
    sign, digits, raw = amount.normalize().as_tuple()
    power = int(raw)
    number = int("".join(map(str, digits)))
    while power % 3 or power < -9:
        number, power = number * 10, power - 1
    while power > 18:
        number, power = number * 1000, power - 3
    shown = f"{'-' if sign else ''}{number}"
    if exponent:
        return f"{shown}e{power}" if power else shown
    return f"{shown}{_DECIMAL[power]}"
