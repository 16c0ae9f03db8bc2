"""`arcfsm why`: the causal chain, told backwards."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from arcfsm.audit.naming import Known, UnknownObjectError, find_objects
from arcfsm.audit.past import Past
from arcfsm.audit.search import find_stalls
from arcfsm.audit.stalls import Stall
from arcfsm.audit.why import Explanation, Held, Link, Step, explain
from arcfsm.cli.options import DEFAULT_JOURNAL, JournalOption
from arcfsm.cli.output import to_json
from arcfsm.cli.state import seq_of
from arcfsm.domain.documents import Documents
from arcfsm.domain.events.decision import Decided
from arcfsm.domain.instant import SECOND, Span, format_instant
from arcfsm.domain.kinds import StreamId
from arcfsm.domain.world import World
from arcfsm.journal import Journal
from arcfsm.replay.fold import snapshotted

FOLD_MAX: Final = 15_000
"""How many events `why` folds to look for stalls; where no snapshot is that near, `audit stalls` is pointed to."""
STILL: Final[Span] = 60 * SECOND
"""A loop that was seen so recently may still go on."""
_INDENT: Final = " " * 6


class WhyFormat(StrEnum):
    """How to print an explanation."""

    TEXT = "text"
    JSON = "json"


def why_command(
    what: Annotated[str, typer.Argument(metavar="KIND/NAMESPACE/NAME", help="The object.", show_default=False)],
    journal: JournalOption = DEFAULT_JOURNAL,
    at: Annotated[
        str | None, typer.Option("--at", metavar="SEQ|TIME", help="As it was after this event, or at this time.")
    ] = None,
    output: Annotated[WhyFormat, typer.Option("--output", "-o", help="How to print it.")] = WhyFormat.TEXT,
) -> None:
    """Tell how an object came to be what it is: what happened to it, and because of what, newest first.

    Every step says whether it was observed or decided by arcfsm, and whether the journal records that one followed from
    the other or it is inferred. Where the cause is unknown, or may lie in a gap, the chain says so.
    """
    with Journal.open(journal, read_only=True) as opened:
        seq = seq_of(opened, at)
        known = _known(opened, what, seq)
        stalls = _stalls(opened, known.stream, seq)
        found = explain(opened, known, seq, stalls or ())
    if output is WhyFormat.JSON:
        typer.echo(to_json(_plain(found)))
        return
    for line in _lines(found):
        typer.echo(line)
    if stalls is None:
        typer.echo("\nno snapshot is near: `arcfsm audit stalls` says whether it is stalled")


def _known(journal: Journal, what: str, seq: int) -> Known:
    try:
        named = find_objects(journal, what)
    except UnknownObjectError as error:
        raise typer.BadParameter(str(error)) from error
    known = [one for one in named if one.first_seq <= seq]
    if not known:
        raise typer.BadParameter(
            f"{what} was not known yet at seq {seq}; it was first seen at seq {named[0].first_seq}"
        )
    return known[-1]


def _stalls(journal: Journal, stream: StreamId, seq: int) -> list[Stall] | None:
    """Return the stalls that hold an object at a seq; None where that would take long to find out."""
    documents = Documents(journal.document)
    # A short journal is folded from its beginning, which knows best since when a stall lasts.
    world = World(documents) if seq <= FOLD_MAX else snapshotted(journal, documents, at_or_before=seq)
    if seq - world.head > FOLD_MAX:
        return None
    events = journal.events(from_seq=world.head + 1, to_seq=seq)
    found, now = find_stalls(world, events, until=None, past=Past(journal), only=stream)
    return [stall for stall in found if stall.stream == stream and now - (stall.until or now) < STILL]


def _lines(found: Explanation) -> Iterator[str]:
    standing = found.standing
    if standing is None:
        yield f"{found.known.title}: known, but nothing has moved it yet"
    else:
        was = f", was {standing.before}" if standing.before not in ("", "unseen") else ""
        yield f"{found.known.title}: {standing.state} since {format_instant(standing.since)}{was}"
    yield ""
    yield from _chain(found.chain, found.known.stream)
    if found.word is not None and isinstance(found.word.event, Decided):
        who = "arcfsm's latest advice" if found.word.event.advisory else "arcfsm's latest decision"
        event = found.word.event
        yield ""
        yield f"{who}, {format_instant(found.word.at)}: {event.rule} {event.verdict.value}: {event.reason}"
    for held in found.held:
        yield ""
        stall = held.stall
        yield f"stalled since {format_instant(stall.since)} ({stall.name}): {stall.reason}"
        yield f"what would resolve it: {stall.resolves}"
        for chain in held.chains:
            yield ""
            yield from _chain(chain, None)


def _chain(chain: tuple[Step, ...], about: StreamId | None) -> Iterator[str]:
    """Yield the lines of a chain. `about` is what the reader has in mind at its start."""
    for step in chain:
        arrow = "  " if step.link is Link.START else "← "
        subject = "" if step.stream == about or step.stream is None else f"{step.stream.kind.value} {step.name}: "
        about = step.stream or about
        time = f"{format_instant(step.at)}  " if step.at is not None else ""
        yield f"{arrow}{time}{subject}{step.text}{_provenance(step)}"
        yield from (f"{_INDENT}{note}" for note in step.notes)


def _provenance(step: Step) -> str:
    if step.seq is None:
        return ""
    how = [step.kind.value if not step.by else f"{step.kind.value}, by {step.by}", f"seq {step.seq}"]
    if step.link is Link.RECORDED:
        how.append("recorded as the cause")
    return f"  [{'; '.join(how)}]"


def _plain(found: Explanation) -> dict[str, Any]:
    standing, word = found.standing, found.word
    said = word.event if word is not None and isinstance(word.event, Decided) else None
    return {
        "object": found.known.title,
        "uid": found.known.stream.uid,
        "seq": found.seq,
        "state": standing.state if standing else None,
        "before": standing.before if standing else None,
        "since": format_instant(standing.since) if standing else None,
        "chain": [_plain_step(step) for step in found.chain],
        "decision": None
        if word is None or said is None
        else {
            "seq": word.seq,
            "at": format_instant(word.at),
            "rule": said.rule,
            "verdict": said.verdict.value,
            "reason": said.reason,
            "advice": said.advisory,
        },
        "stalls": [_plain_held(held) for held in found.held],
    }


def _plain_held(held: Held) -> dict[str, Any]:
    return {
        "stall": held.stall.name,
        "since": format_instant(held.stall.since),
        "reason": held.stall.reason,
        "resolves": held.stall.resolves,
        "evidence": list(held.stall.evidence),
        "chains": [[_plain_step(step) for step in chain] for chain in held.chains],
    }


def _plain_step(step: Step) -> dict[str, Any]:
    return {
        "kind": step.kind.value,
        "link": step.link.value,
        "seq": step.seq,
        "at": format_instant(step.at) if step.at is not None else None,
        "object": f"{step.stream.kind.value} {step.namespace}/{step.name}" if step.stream is not None else None,
        "text": step.text,
        "by": step.by or None,
        "rule": step.rule or None,
        "notes": list(step.notes),
    }
