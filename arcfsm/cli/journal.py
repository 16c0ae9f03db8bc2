"""`arcfsm journal`: make, upgrade, check and read a journal."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated

import orjson
import typer
from sqlalchemy import func, select

from arcfsm.cli.options import DEFAULT_JOURNAL, JournalOption
from arcfsm.cli.progress import long_work
from arcfsm.domain.documents import Documents
from arcfsm.domain.envelope import JournaledEvent
from arcfsm.domain.instant import format_instant
from arcfsm.domain.world import Transition, World
from arcfsm.journal import Journal, verify
from arcfsm.journal.codec import encode
from arcfsm.journal.projection import Fold
from arcfsm.journal.schema import schema_of
from arcfsm.journal.tables import DECISIONS, DOCUMENTS, EVENTS, GAPS, OBJECTS, SNAPSHOTS, TRANSITIONS
from arcfsm.replay.fold import folded, keep_snapshot

journal_app = typer.Typer(no_args_is_help=True, help="Make, upgrade, check and read a journal.", rich_markup_mode=None)


@journal_app.command("init")
def init(journal: JournalOption = DEFAULT_JOURNAL) -> None:
    """Make an empty journal. One that is there already stays as it is."""
    with Journal.open(journal, create=True) as opened:
        head = opened.head
        typer.echo(f"{opened.where} is ready, {'empty' if head.seq == 0 else f'with {head.seq} events'}")


@journal_app.command("upgrade")
def upgrade(
    journal: JournalOption = DEFAULT_JOURNAL,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Also make transitions, decisions and the other read models anew.")
    ] = False,
) -> None:
    """Bring a journal to this program's schema. Safe to run from several places at once."""
    before = schema_of(journal)
    with Journal.open(journal, create=True) as opened:
        after = schema_of(journal)
        if before == after:
            typer.echo(f"{opened.where} is up to date, at schema {after}")
        else:
            typer.echo(f"{opened.where} went from {f'schema {before}' if before else 'nothing'} to schema {after}")
        if rebuild:
            head = opened.head
            with long_work("rebuilding", head.seq) as step:
                opened.rebuild_projections(_folding(opened, step))
            typer.echo(f"made the read models anew from {head.seq} events")


@journal_app.command("verify")
def verify_command(
    journal: JournalOption = DEFAULT_JOURNAL,
    expect: Annotated[
        str, typer.Option("--expect", metavar="HASH", help="A hash kept elsewhere: it must be in the chain.")
    ] = "",
    projections: Annotated[
        bool, typer.Option("--projections", help="Also fold every event and compare transitions and other read models.")
    ] = False,
) -> None:
    """Check the hash chain, the numbering and every document. Exit code 1 if something is wrong.

    The chain shows any later change, removal, swap or insertion before its newest event. That the newest events are
    still there only a hash kept elsewhere can show: keep the one printed here, and give it back with --expect.
    """
    expect = expect.strip().lower()
    if expect and not re.fullmatch(r"[0-9a-f]{64}", expect):
        raise typer.BadParameter("a hash has 64 hexadecimal digits; `arcfsm journal verify` prints it as the head")
    with Journal.open(journal, read_only=True) as opened:
        head = opened.head
        with long_work("verifying", head.seq) as step:
            found = verify(opened, expect=expect, progress=step)
        difference = ""
        if found.sound and projections:
            with long_work("comparing", head.seq) as step:
                difference = opened.projection_difference(_folding(opened, step))
    if not found.sound:
        place = f" (first bad seq: {found.bad_seq})" if found.bad_seq is not None else ""
        typer.echo(f"NOT SOUND: {found.problem}{place}")
        raise typer.Exit(1)
    typer.echo(f"sound: {found.events} events, {found.documents} documents; head {found.head}")
    if difference:
        typer.echo(f"NOT SOUND: {difference}; the events are, so `arcfsm journal upgrade --rebuild` mends it")
        raise typer.Exit(1)


def _folding(opened: Journal, step: Callable[[int], None]) -> Fold:
    world = World(Documents(opened.document))

    def fold(journaled: JournaledEvent) -> Transition | None:
        step(journaled.seq)
        return world.apply(journaled)

    return fold


@journal_app.command("stats")
def stats(journal: JournalOption = DEFAULT_JOURNAL) -> None:
    """Count what is in a journal, by kind of event."""
    with Journal.open(journal, read_only=True) as opened:
        head = opened.head
        types = opened.rows(
            select(EVENTS.c.type, func.count(), func.sum(func.length(EVENTS.c.payload)))
            .group_by(EVENTS.c.type)
            .order_by(func.count().desc(), EVENTS.c.type)
        )
        span = opened.rows(select(func.min(EVENTS.c.recorded_at), func.max(EVENTS.c.recorded_at)))[0]
        typer.echo(f"journal    {opened.where}")
        typer.echo(f"schema     {schema_of(journal)}")
        typer.echo(f"head       seq {head.seq}, epoch {head.epoch}, hash {head.hash.hex()}")
        if head.seq:
            typer.echo(f"recorded   {format_instant(span[0])} to {format_instant(span[1])}")
        typer.echo(f"size       {opened.size_bytes():,} bytes on disk")
        for table in (DOCUMENTS, OBJECTS, TRANSITIONS, DECISIONS, GAPS, SNAPSHOTS):
            count = opened.rows(select(func.count()).select_from(table))[0][0]
            typer.echo(f"{table.name:<10} {count}")
        if types:
            typer.echo("\nEVENTS   BYTES      TYPE")
        for name, count, payload in types:
            typer.echo(f"{count:<8} {payload:<10} {name}")


@journal_app.command("tail")
def tail(
    journal: JournalOption = DEFAULT_JOURNAL,
    count: Annotated[int, typer.Option("--lines", "-n", min=1, help="How many of the newest events to print.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Print the newest events, oldest first."""
    with Journal.open(journal, read_only=True) as opened:
        for journaled in opened.events(from_seq=max(1, opened.head.seq - count + 1)):
            event = journaled.event
            if as_json:
                line = {
                    "seq": journaled.seq,
                    "at": format_instant(journaled.at),
                    "stream": str(journaled.stream),
                    "type": type(event).__name__,
                    "source": journaled.source,
                    "cause": journaled.cause,
                    "actor": journaled.actor,
                    "payload": orjson.loads(encode(event)),
                }
                typer.echo(orjson.dumps(line).decode())
            else:
                when, stream = format_instant(journaled.at), str(journaled.stream)
                typer.echo(f"{journaled.seq:>7}  {when:<27}  {stream:<48}  {type(event).__name__}  {encode(event)}")


@journal_app.command("snapshot")
def snapshot(journal: JournalOption = DEFAULT_JOURNAL) -> None:
    """Fold the journal and keep the result, so that the next start need not read everything."""
    with Journal.open(journal) as opened:
        world = folded(opened, Documents(opened.document))
        keep_snapshot(opened, world)
        typer.echo(f"kept the folded state at seq {world.head}")
