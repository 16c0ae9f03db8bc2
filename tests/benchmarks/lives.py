"""Watch lines of one scale set that serves job after job: what a journal of a living cluster consists of.

The recording `scale-up-and-drain` holds six lives of runners, from creation to the last trace. It is told again and
again as later lives of other runners of the same set; what comes before the first runner is told once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from arcfsm.domain.instant import MINUTE, format_instant, parse_instant

RECORDING = Path(__file__).parents[2].parent / "shared" / "recordings" / "scale-up-and-drain" / "watch.jsonl"
RECORDED_LIVES = 6
"""Runners that live in the recording."""
WISHES = 7
"""Patch ids that it goes through."""

_UID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_VERSION = re.compile(rb'"resourceVersion":"(\d+)"')
_NAME = re.compile(rb"ci-linux-runner-([a-z0-9]{5})")
_WISH = re.compile(rb'("patchID":|"actions.github.com/patch-id":")([1-9]\d*)')
_VERSIONS = 10_000
_LETTERS = b"bcdfghjklmnpqrstvwxz2456789"


def lives(times: int) -> Iterator[bytes]:
    """Yield the lines of `times` times six lives."""
    lines = RECORDING.read_bytes().splitlines(keepends=True)
    begin = next(number for number, line in enumerate(lines) if b'"patchID":1' in line)
    known = set(_UID.findall(b"".join(lines[:begin])))
    yield from lines[:begin]
    for again in range(times):
        for line in lines[begin:]:
            yield _told(line, again, known) if again else line


def _told(line: bytes, again: int, known: set[bytes]) -> bytes:
    line = _UID.sub(lambda found: found[0] if found[0] in known else b"%08x%b" % (again, found[0][8:]), line)
    line = _VERSION.sub(lambda found: b'"resourceVersion":"%d"' % (int(found[1]) + again * _VERSIONS), line)
    line = _NAME.sub(lambda found: b"ci-linux-runner-" + _suffix(found[1], again), line)
    line = _WISH.sub(lambda found: found[1] + b"%d" % (int(found[2]) + again * WISHES), line)
    received = line[13 : line.index(b'"', 13)].decode()
    later = format_instant(parse_instant(received) + again * MINUTE)
    return line.replace(received.encode(), later.encode(), 1)


def _suffix(told: bytes, again: int) -> bytes:
    letters = []
    for _ in range(3):
        again, rest = divmod(again, len(_LETTERS))
        letters.append(_LETTERS[rest])
    return told[:2] + bytes(letters)
