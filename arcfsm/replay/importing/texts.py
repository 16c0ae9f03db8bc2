"""The JSON texts in a file, one after the other, each with the line it begins at.

Three ways of writing them are read alike: one text a line, texts over many lines as `kubectl -o json` prints them, and
texts back to back on one line. A text that is broken costs itself and nothing else: reading goes on at the next line
that begins an object. A compressed file is unpacked on the way.
"""

from __future__ import annotations

import gzip
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Final, NamedTuple, Protocol

import orjson

from arcfsm.domain.jsonvalue import Json

TEXT_BYTES_MAX: Final = 64 * 1024 * 1024
"""Far above any object that etcd holds and any list of them that fits a response."""
STDIN: Final = "-"

_GZIP: Final = b"\x1f\x8b"
_TOKENS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"?|[{}]')
_BLANK: Final = b" \t\r\n\x1e\x00"

NOT_JSON: Final = "it is not JSON"
CUT_OFF: Final = "the file ends in the middle of it"
CUT_SHORT: Final = "it ends before its closing brace"
TOO_LONG: Final = f"it is longer than {TEXT_BYTES_MAX // 1024 // 1024} MiB"
BAD_ARCHIVE: Final = "the compressed file is damaged from here on"


class Text(NamedTuple):
    """One JSON text, or why it could not be read."""

    line: int
    value: Json
    broken: str = ""


class UnreadableSourceError(Exception):
    """A source can't be read at all. The message names it and says what to do."""


class LineReader(Protocol):
    """What is needed of a file."""

    def readline(self) -> bytes:
        """Return the next line; empty at the end."""
        ...


class SourceFile:
    """A file by name, or standard input for `-`, which is kept in memory so that it can be read twice."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._content: bytes | None = None

    @contextmanager
    def open(self) -> Iterator[LineReader]:
        """Open it from the beginning, unpacked. Raises UnreadableSourceError."""
        try:
            if self.name == STDIN:
                if self._content is None:
                    self._content = sys.stdin.buffer.read()
                with _unpacked(BytesIO(self._content)) as stream:
                    yield stream
                return
            with Path(self.name).open("rb") as file, _unpacked(file) as stream:
                yield stream
        except IsADirectoryError as error:
            raise UnreadableSourceError(f"{self.name} is a directory; name the files in it") from error
        except FileNotFoundError as error:
            raise UnreadableSourceError(f"{self.name} does not exist") from error
        except PermissionError as error:
            raise UnreadableSourceError(f"{self.name} can't be read: permission denied") from error


def read_texts(stream: LineReader) -> Iterator[Text]:
    """Yield the JSON texts of a stream."""
    pending: list[bytes] = []
    begin = depth = size = 0
    number = 0
    for number, line in _lines(stream):
        if isinstance(line, str):
            if pending:
                yield Text(begin, None, CUT_SHORT)
            yield Text(number, None, line)
            return
        if pending and line[:1] != b"{":
            pending.append(line)
            size += len(line)
            depth += _depth(line)
            if depth <= 0 or size > TEXT_BYTES_MAX:
                yield _loaded(begin, b"".join(pending)) if depth <= 0 else Text(begin, None, TOO_LONG)
                pending, depth = [], 0
            continue
        if pending:
            yield Text(begin, None, CUT_SHORT)
            pending, depth = [], 0
        text = line.strip(_BLANK)
        if not text:
            continue
        if text[:1] != b"{":
            yield Text(number, None, NOT_JSON)
            continue
        try:
            yield Text(number, orjson.loads(text))
        except orjson.JSONDecodeError:
            complete, rest = _split(text)
            for part in complete:
                yield _loaded(number, part)
            if rest:
                pending, begin, depth, size = [rest + b"\n"], number, _depth(rest), len(rest)
    if pending:
        yield Text(begin, None, CUT_OFF)


def _lines(stream: LineReader) -> Iterator[tuple[int, bytes | str]]:
    """Yield numbered lines; where the archive they come from is damaged, the reason in place of a line, and end."""
    number = 0
    while True:
        number += 1
        try:
            line = stream.readline()
        except (EOFError, zlib.error, gzip.BadGzipFile):
            yield number, BAD_ARCHIVE
            return
        if not line:
            return
        yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


def _loaded(line: int, text: bytes) -> Text:
    try:
        return Text(line, orjson.loads(text))
    except orjson.JSONDecodeError:
        return Text(line, None, NOT_JSON)


def _depth(line: bytes) -> int:
    """Return by how many braces a line opens more than it closes, strings left out."""
    if b"{" not in line and b"}" not in line:
        return 0
    tokens = _TOKENS.findall(line)
    return tokens.count(b"{") - tokens.count(b"}")


def _split(text: bytes) -> tuple[list[bytes], bytes]:
    """Split texts that stand back to back; return the complete ones and the beginning of one that goes on."""
    complete: list[bytes] = []
    begin = depth = 0
    for token in _TOKENS.finditer(text):
        if token[0] == b"{":
            if depth == 0:
                begin = token.start()
            depth += 1
        elif token[0] == b"}":
            depth -= 1
            if depth == 0:
                complete.append(text[begin : token.end()])
                begin = token.end()
    return complete, text[begin:] if depth > 0 else b""


@contextmanager
def _unpacked(stream: IO[bytes]) -> Iterator[LineReader]:
    head = stream.read(len(_GZIP))
    stream.seek(0)
    if head != _GZIP:
        yield stream
        return
    with gzip.GzipFile(fileobj=stream) as unpacked:
        yield unpacked
