"""How people name objects: `runner/NAMESPACE/NAME`, `EphemeralRunner/…`, `ephemeralrunners/…`, and what they mean."""

from __future__ import annotations

import difflib
from typing import Any, Final, NamedTuple

from sqlalchemy import select

from arcfsm.domain.kinds import KIND_OF, RESOURCES, AggregateKind, StreamId
from arcfsm.journal import Journal
from arcfsm.journal.tables import OBJECTS

SUGGESTIONS_MAX: Final = 3


class UnknownObjectError(Exception):
    """The journal knows no such object; the message says which ones come near."""


class Known(NamedTuple):
    """An object that the journal knows."""

    stream: StreamId
    namespace: str
    name: str
    correlation: str
    first_seq: int
    gone_seq: int | None

    @property
    def title(self) -> str:
        """How people call it."""
        return f"{self.stream.kind.value} {self.namespace}/{self.name}"


def _words() -> dict[str, AggregateKind]:
    words = {}
    for aggregate, kind in KIND_OF.items():
        plural = RESOURCES[kind].plural
        for word in (aggregate.value, aggregate.value + "s", aggregate.value.replace("-", ""), kind, plural):
            words[word.lower()] = aggregate
    return words


KIND_WORDS: Final = _words()
"""Every word for a kind, in lower case."""
_POD_WORDS: Final = ("pod", "pods")


def parse_kind(word: str) -> AggregateKind:
    """Read a word for a kind. Raises UnknownObjectError."""
    found = KIND_WORDS.get(word.lower())
    if found is None:
        listed = ", ".join(kind.value for kind in KIND_OF)
        raise UnknownObjectError(f"{word!r} is no kind of object; use one of {listed}")
    return found


def find_objects(journal: Journal, text: str) -> list[Known]:
    """Return the objects that `KIND/NAMESPACE/NAME` has named over time, oldest first. Raises UnknownObjectError."""
    kind_word, _, rest = text.partition("/")
    namespace, _, name = rest.partition("/")
    if not namespace or not name:
        raise UnknownObjectError(
            f"{text!r} is not KIND/NAMESPACE/NAME, such as runner/ci-runners/ci-linux-runner-x2k9p"
        )
    if kind_word.lower() in _POD_WORDS:
        return _owners_of_pod(journal, namespace, name)
    kind = parse_kind(kind_word)
    query = (
        select(OBJECTS).where(OBJECTS.c.name == name, OBJECTS.c.namespace == namespace).order_by(OBJECTS.c.first_seq)
    )
    found = [one for one in map(_known, journal.rows(query)) if one.stream.kind is kind]
    if not found:
        raise UnknownObjectError(
            f"the journal knows no {kind.value} {namespace}/{name}{_near(journal, kind, namespace, name)}"
        )
    return found


def _owners_of_pod(journal: Journal, namespace: str, name: str) -> list[Known]:
    """A pod is told about with its owner, whose name it has."""
    for kind in (AggregateKind.RUNNER, AggregateKind.LISTENER):
        try:
            return find_objects(journal, f"{kind.value}/{namespace}/{name}")
        except UnknownObjectError:
            continue
    raise UnknownObjectError(f"the journal knows no runner or listener with a pod {namespace}/{name}")


def find_scale_set(journal: Journal, text: str) -> list[Known]:
    """Return the scale sets that `NAMESPACE/NAME` has named over time. Raises UnknownObjectError."""
    return find_objects(journal, f"{AggregateKind.SCALE_SET.value}/{text}")


def _near(journal: Journal, kind: AggregateKind, namespace: str, name: str) -> str:
    query = select(OBJECTS).where(OBJECTS.c.stream.startswith(f"{kind.value}/")).order_by(OBJECTS.c.first_seq.desc())
    names = [f"{one.namespace}/{one.name}" for one in map(_known, journal.rows(query.limit(10_000)))]
    close = difflib.get_close_matches(f"{namespace}/{name}", dict.fromkeys(names), n=SUGGESTIONS_MAX, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _known(row: Any) -> Known:
    return Known(StreamId.parse(row.stream), row.namespace, row.name, row.correlation, row.first_seq, row.gone_seq)
