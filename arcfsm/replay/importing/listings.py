"""Which lines are a list: what a source says when it begins, and when it begins anew after it was blind.

A watch starts with a list whose items look like creations. Between them and true creations these signs decide:

- The first lines of a source, as long as they say ADDED and follow one another fast, are its list.
- A known object is ADDED again in a newer version: no watch does that unless it began anew. The same version again
  counts too if the line was received anew, at least a second after the object was last heard of (otherwise the line is
  only doubled), or, where lines have no times, if everything known of that kind came again.
- With such an object the whole run of ADDED lines around it is a list, and so are further ones close by that are known
  or were created a while before, even if lines of other kinds' watches stand between them.

What a list covers is told from its items: a kind in a namespace counts as listed if one of its objects came again or is
older than the list. Kinds that did not come are not covered: nothing is concluded about them.

A list in which every known object has an older version than known means that the cluster counts anew (B40).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from arcfsm.domain.instant import SECOND, Instant, Span
from arcfsm.domain.jsonvalue import JsonObject, text_at
from arcfsm.domain.observation import Identity, RefusedError, Scope
from arcfsm.replay.importing.records import Says
from arcfsm.replay.importing.tracks import LIST_GAP_MAX, Line

AGED: Final[Span] = 2 * SECOND
"""An object that was ADDED so long after its creation was not created just now; times are full seconds."""
DOUBLED: Final[Span] = 1 * SECOND
"""The same version of an object again within this time is a doubled line, of two recorders say."""


class Step(NamedTuple):
    """Lines that are one turn: a single one, or a whole list."""

    lines: tuple[Line, ...]
    listed: bool = False
    relist: bool = False
    """The source was blind before: what it does not hold is gone."""
    scopes: frozenset[Scope] = frozenset()
    """What the list covers."""
    new_epoch: bool = False


class Known(Protocol):
    """What is known of the objects at the time a run of lines is judged."""

    def identify(self, obj: JsonObject) -> Identity | None:
        """Return which object this is. Raises RefusedError."""
        ...

    def all_of(self, scope: Scope) -> frozenset[str]:
        """Return the uids of the known objects of a scope."""
        ...

    @property
    def now(self) -> Instant:
        """The latest time of the journal."""
        ...


class _Item(NamedTuple):
    line: Line
    identity: Identity

    @property
    def known(self) -> bool:
        return self.identity.known_version != ""

    @property
    def aged(self) -> bool:
        created = self.identity.created_at
        return created is not None and self.line.at - created >= AGED

    @property
    def order(self) -> int:
        """1 newer than known, 0 the same, -1 older; 0 where that can't be told."""
        version, known = self.identity.version, self.identity.known_version
        if not (version.isdigit() and known.isdigit()):
            return int(version != known)
        return (int(version) > int(known)) - (int(version) < int(known))


def steps(lines: Iterator[Line], known: Known) -> Iterator[Step]:
    """Group lines into steps. Every step must have been taken before the next one is asked for."""
    ahead: deque[Line] = deque()
    heard: dict[str, Instant] = {}

    def take() -> Line | None:
        return ahead.popleft() if ahead else next(lines, None)

    while (line := take()) is not None:
        if not _may_be_listed(line):
            _note(line, heard)
            yield Step((line,))
            continue
        run = [line]
        while (line := take()) is not None and _may_be_listed(line) and _close(run[-1], line):
            run.append(line)
        if line is not None:
            ahead.appendleft(line)
        found = _judge(run, known, heard)
        for one in run:
            _note(one, heard)
        if found is None:
            for one in run:
                yield Step((one,))
        elif run[0].timed:
            yield _extended(run, found, known, heard, ahead, lines)
        else:
            yield found


def _extended(
    run: list[Line], found: Step, known: Known, heard: dict[str, Instant], ahead: deque[Line], lines: Iterator[Line]
) -> Step:
    """Take in what follows a list closely, up to its last item; lines of other watches may stand between."""
    listed, scopes = list(run), set(found.scopes)
    tail: list[Line] = []
    while True:
        line = ahead.popleft() if ahead else next(lines, None)
        if line is None:
            break
        if line.at - listed[-1].at > LIST_GAP_MAX:
            tail.append(line)
            break
        item = _item(line, known) if _may_be_listed(line) else None
        if item is None or not (line.opening or item.aged or (item.known and _again(item, heard))):
            tail.append(line)
            continue
        listed += [*tail, line]
        tail = []
        scopes.add(item.identity.scope)
    ahead.extendleft(reversed(tail))
    for one in listed[len(run) :]:
        _note(one, heard)
    return found._replace(lines=tuple(listed), scopes=frozenset(scopes))


def _judge(run: list[Line], known: Known, heard: dict[str, Instant]) -> Step | None:
    """Return the step that a run of ADDED lines is if it is a list."""
    items = [item for line in run if (item := _item(line, known)) is not None]
    before = [item for item in items if item.known]
    opening, failed = any(line.opening for line in run), any(line.after_error for line in run)
    plain = Step(tuple(run), listed=True) if opening else None
    if run[-1].at < known.now:
        return plain
    relist = Step(tuple(run), listed=True, relist=True, scopes=_scopes(items))
    if before and all(item.order < 0 for item in before) and (opening or _many(run)):
        return relist._replace(new_epoch=True)
    again = [item for item in before if _again(item, heard)]
    if failed or any(opening or _certain(item, items, known) for item in again):
        return relist
    replaced = opening and not before and any(known.all_of(scope) for scope in relist.scopes)
    return relist if replaced else plain


def _scopes(items: list[_Item]) -> frozenset[Scope]:
    return frozenset(item.identity.scope for item in items if item.known or item.aged)


def _many(run: list[Line]) -> bool:
    return len(run) > 1 and run[0].timed


def _again(item: _Item, heard: dict[str, Instant]) -> bool:
    """Return whether a known object came again in earnest, not by a doubled or a late line."""
    if item.order != 0:
        return item.order > 0
    last = heard.get(item.identity.uid)
    if last is None:
        return item.line.opening
    return not item.line.timed or item.line.at - last >= DOUBLED


def _certain(item: _Item, items: list[_Item], known: Known) -> bool:
    """Return whether one object that came again proves a list: by its version, its time, or because all came."""
    if item.order > 0 or item.line.timed:
        return True
    scope = item.identity.scope
    came = {one.identity.uid for one in items if one.identity.scope == scope}
    return len(came) > 1 and known.all_of(scope) <= came


def _item(line: Line, known: Known) -> _Item | None:
    try:
        identity = known.identify(line.record.object)
    except RefusedError:
        return None
    return None if identity is None else _Item(line, identity)


def _may_be_listed(line: Line) -> bool:
    return line.record.says is Says.ADDED or (line.record.says is Says.BARE and line.opening)


def _close(before: Line, after: Line) -> bool:
    return not after.timed or after.at - before.at <= LIST_GAP_MAX


def _note(line: Line, heard: dict[str, Instant]) -> None:
    uid = text_at(line.record.object, "metadata", "uid")
    if line.record.says is Says.DELETED:
        heard.pop(uid, None)
    elif uid:
        heard[uid] = line.at
