"""The first look at a file: is it what it is said to be, have we read it before, and how was its controller set up."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from arcfsm.domain.jsonvalue import Digest
from arcfsm.replay.importing.adoption import Adoption
from arcfsm.replay.importing.records import OBJECT_WORDS, OtherFormatError, Record, Says, records_of
from arcfsm.replay.importing.texts import LineReader, SourceFile, UnreadableSourceError, read_texts

HINTS: Final = {
    "audit": "it looks like an audit log of the API server, and audit logs can't be imported yet",
}
EXPECTED: Final = (
    'expected lines like {"type": "ADDED", "object": {…}}, as `kubectl get … -w --output-watch-events -o json` prints'
)


@dataclass(frozen=True, slots=True)
class Survey:
    """What is known of a file before it is imported."""

    name: str
    content: Digest
    """SHA-256 of the unpacked content."""
    size: int
    """Bytes of the unpacked content."""


class HashingReader:
    """Reads lines and keeps the digest and the length of everything read."""

    def __init__(self, stream: LineReader) -> None:
        self._stream = stream
        self._hash = hashlib.sha256()
        self.size = 0

    def readline(self) -> bytes:
        """Return the next line; empty at the end."""
        line = self._stream.readline()
        self._hash.update(line)
        self.size += len(line)
        return line

    @property
    def content(self) -> Digest:
        """The digest of everything read so far."""
        return self._hash.hexdigest()


def read_records(stream: LineReader) -> Iterator[Record]:
    """Yield the records of a stream. Raises OtherFormatError."""
    for text in read_texts(stream):
        yield from records_of(text)


def survey(source: SourceFile, adoption: Adoption, advance: Callable[[int], None]) -> Survey:
    """Read a file once. Raises UnreadableSourceError where it holds no watch events at all."""
    name, understood, first, done = source.name, False, None, 0
    with source.open() as stream:
        reader = HashingReader(stream)
        try:
            for record in read_records(reader):
                if record.says in OBJECT_WORDS:
                    understood = True
                    if not adoption.complete:
                        adoption.look(record.object)
                elif record.says in {Says.BOOKMARK, Says.ERROR}:
                    understood = True
                elif first is None:
                    first = record
                advance(reader.size - done)
                done = reader.size
        except OtherFormatError as error:
            raise UnreadableSourceError(f"{name} is no watch stream: {HINTS[str(error)]}") from error
    if not understood:
        where, why = (f"{name}:{first.line}", first.problem) if first else (name, "it is empty")
        raise UnreadableSourceError(f"{where} is no watch stream: {why}; {EXPECTED}")
    return Survey(name=name, content=reader.content, size=reader.size)
