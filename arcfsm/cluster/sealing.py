"""What stands behind the markers of redacted values, in the memory of one process and nowhere else.

Rules see specs without their credentials, and what they want written holds the markers (see redaction.py). When an
effect writes it, every marker becomes the value again that was seen behind it: a runner's pod gets the password that
its scale set's template holds, while the journal never had it. What was not seen since the process started is not
known; whoever needs it reads the objects again first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from arcfsm.cluster.redaction import MARKER, marker, redact, redact_pairs
from arcfsm.domain.jsonvalue import Json, JsonObject, object_at

_MARKERS: Final = re.compile(rf"{MARKER}[0-9a-f]{{16}}")
KEPT_MAX: Final = 50_000
"""Values kept; the oldest go first."""


class UnknownValueError(LookupError):
    """A marker whose value was not seen by this process."""


class SealedValues:
    """Values by marker. Its repr shows none."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}

    def learn(self, raw: Json, redacted: Json) -> None:
        """Learn the values of an object from its two forms."""
        if isinstance(raw, str) and isinstance(redacted, str):
            if MARKER in redacted:
                self._learn_text(raw, redacted)
        elif isinstance(raw, Mapping) and isinstance(redacted, Mapping):
            for key, value in redacted.items():
                self.learn(raw.get(key), value)
        elif isinstance(raw, Sequence) and isinstance(redacted, Sequence) and not isinstance(raw, str):
            for one, other in zip(raw, redacted, strict=False):
                self.learn(one, other)

    def learn_object(self, obj: JsonObject) -> None:
        """Learn the values of a whole object as the API shows it."""
        self.learn(obj.get("spec"), redact(obj.get("spec")))
        for part in ("labels", "annotations"):
            pairs = object_at(obj, "metadata", part)
            self.learn(pairs, redact_pairs(pairs))

    def reveal(self, value: Json) -> Json:
        """Return JSON with every marker replaced by its value. Inside effects only; raises UnknownValueError."""
        if isinstance(value, str):
            return _MARKERS.sub(self._value, value) if MARKER in value else value
        if isinstance(value, Mapping):
            return {key: self.reveal(item) for key, item in value.items()}
        if isinstance(value, Sequence):
            return [self.reveal(item) for item in value]
        return value

    def _value(self, found: re.Match[str]) -> str:
        try:
            return self._values[found[0]]
        except KeyError:
            raise UnknownValueError(f"the value behind {found[0]} was not seen since this process started") from None

    def _learn_text(self, raw: str, redacted: str) -> None:
        if _MARKERS.fullmatch(redacted):
            self._keep(redacted, raw)
            return
        names, position, pattern = list[str](), 0, list[str]()
        for found in _MARKERS.finditer(redacted):
            pattern += [re.escape(redacted[position : found.start()]), "(.*?)"]
            names.append(found[0])
            position = found.end()
        pattern.append(re.escape(redacted[position:]))
        matched = re.fullmatch("".join(pattern), raw, re.DOTALL)
        for name, value in zip(names, matched.groups() if matched is not None else (), strict=False):
            if marker(value) == name:
                self._keep(name, value)

    def _keep(self, name: str, value: str) -> None:
        if name not in self._values and len(self._values) >= KEPT_MAX:
            del self._values[next(iter(self._values))]
        self._values[name] = value
