"""Credentials kept out of the journal and brought back where they are written: the engine's port for both."""

from __future__ import annotations

from arcfsm.cluster.redaction import redact_text
from arcfsm.cluster.sealing import SealedValues
from arcfsm.domain.jsonvalue import Json, JsonObject


class Concealer:
    """Hides what redaction finds, and reveals what this process has seen."""

    def __init__(self, sealed: SealedValues) -> None:
        self._sealed = sealed

    def clean(self, text: str) -> str:
        """Return a text with every credential in it replaced by its marker."""
        return redact_text(text)

    def reveal(self, value: Json) -> Json:
        """Return JSON with its markers replaced. Raises UnknownValueError, a LookupError."""
        return self._sealed.reveal(value)

    def learn(self, obj: JsonObject) -> None:
        """Learn the values of an object as the API shows it."""
        self._sealed.learn_object(obj)
