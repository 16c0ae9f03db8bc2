"""Kubernetes quantities (`500m`, `1Gi`, `1e3`) as exact integers of a billionth (D2, D6).

A quantity has a precision of 1n and a largest value of 2**63-1; what is finer is rounded up, what is larger is cut
off, as the API does. Nothing here expands an exponent: a hostile `1e999999999` costs as much as `1`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_NANO_DIGITS: Final = 9
_NANO: Final = 10**_NANO_DIGITS
_LARGEST: Final = (2**63 - 1) * _NANO
_DIGITS_MAX: Final = 100
"""Longer numbers are not quantities that anybody wrote on purpose; they are compared as text."""
_EXPONENT_MAX: Final = 200
"""Beyond it every non-zero number of `_DIGITS_MAX` digits is cut off or rounded to 1n."""

_FORM: Final = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d{1,100})?", re.ASCII)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}


@lru_cache(maxsize=4096)
def nanos(text: str) -> int | None:
    """Return a quantity in billionths, or None for text that is no quantity."""
    form = _FORM.fullmatch(text)
    if form is None:
        return None
    sign, whole, fraction, suffix = form.group(1), form.group(2), form.group(3) or "", form.group(4) or ""
    if not whole + fraction or len(whole) + len(fraction) > _DIGITS_MAX:
        return None
    number = int(whole + fraction)
    power = _NANO_DIGITS - len(fraction)
    if suffix in _BINARY:
        number *= _BINARY[suffix]
    elif suffix in _DECIMAL:
        power += _DECIMAL[suffix]
    else:
        power += max(-_EXPONENT_MAX, min(_EXPONENT_MAX, int(suffix[1:])))
    scale: int = 10 ** abs(power)
    magnitude = min(number * scale if power >= 0 else -(-number // scale), _LARGEST)
    return -magnitude if sign == "-" else magnitude


def canonical_quantity(value: str | float) -> str | None:
    """Return the one spelling of a quantity: whole units where it has no fraction, else billionths.

    JSON numbers are quantities too. Returns None for what is no quantity.
    """
    found = nanos(value if isinstance(value, str) else repr(value))
    if found is None:
        return None
    return f"{found}n" if found % _NANO else str(found // _NANO)
