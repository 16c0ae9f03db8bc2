"""`arcfsm replay`: decide again what was decided, and compare."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from pydantic import ValidationError

from arcfsm.cli.options import DEFAULT_JOURNAL, JournalOption
from arcfsm.cli.output import RowFormat, print_rows
from arcfsm.cli.progress import long_work
from arcfsm.domain.documents import Documents
from arcfsm.domain.events.decision import Decided
from arcfsm.domain.settings import ControllerSettings
from arcfsm.domain.world import World
from arcfsm.journal import Journal
from arcfsm.replay.fold import folded
from arcfsm.replay.rederivation import Difference, altered, rederive

COLUMNS = ("seq", "at", "object", "recorded", "now")


def replay_command(
    journal: JournalOption = DEFAULT_JOURNAL,
    from_seq: Annotated[int, typer.Option("--from", metavar="SEQ", min=1, help="Compare from this event on.")] = 1,
    to_seq: Annotated[int | None, typer.Option("--to", metavar="SEQ", min=1, help="Compare up to this event.")] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Exit with 1 if this program would have decided anything otherwise.")
    ] = False,
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            "--what-if", metavar="KEY=VALUE", help="Decide under another setting; repeatable. See docs/settings.md."
        ),
    ] = None,
    output: Annotated[
        RowFormat, typer.Option("--output", "-o", help="How to print the differences.")
    ] = RowFormat.TABLE,
) -> None:
    """Send the recorded observations through the rules again and compare every decision, byte for byte.

    Without options it says where this program decides otherwise than the one that wrote the journal. With --what-if it
    says which decisions another setting would have changed.
    """
    changes = _changes(what_if or [])
    with Journal.open(journal, read_only=True) as opened:
        start = _turn_start(opened, from_seq)
        documents = Documents(opened.document, opened.documents)
        world = folded(opened, documents, to_seq=start - 1) if start > 1 else World(documents)
        if changes:
            world.settings = altered(world.settings, changes)
        head = opened.head.seq
        with long_work("deciding again", min(head, to_seq or head)) as progress:
            events = opened.events(from_seq=start, to_seq=to_seq)
            found = rederive(world, events, what_if=changes, progress=progress)
        rows = [_row(world, difference) for difference in found.differences]
    compared = f"{found.decisions} decisions over {found.events} events"
    if output is not RowFormat.TABLE or rows:
        print_rows(rows, COLUMNS, output, nothing="")
    if output is RowFormat.TABLE:
        if rows:
            typer.echo(f"{len(rows)} of {compared} differ")
        else:
            typer.echo(f"the same: {compared}")
    if rows and verify:
        raise typer.Exit(1)


def _turn_start(journal: Journal, seq: int) -> int:
    """Return where the turn of an event begins: rules look at whole turns."""
    return next((journaled.turn for journaled in journal.events(from_seq=seq, to_seq=seq)), seq)


def _changes(texts: list[str]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator:
            raise typer.BadParameter(f"{text!r} is not KEY=VALUE", param_hint="--what-if")
        if name not in ControllerSettings.model_fields:
            raise typer.BadParameter(f"there is no setting {name!r}; see docs/settings.md", param_hint="--what-if")
        repeated = str(ControllerSettings.model_fields[name].annotation).startswith("tuple")
        changes[name] = tuple(part for part in value.split(",") if part) if repeated else value
    try:
        altered(ControllerSettings(), changes)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise typer.BadParameter(f"{problem['loc'][0]}: {problem['msg']}", param_hint="--what-if") from error
    return changes


def _row(world: World, difference: Difference) -> dict[str, Any]:
    known = world.aggregate(difference.stream)
    name = f"{known.namespace}/{known.name}" if known else difference.stream.uid
    return {
        "seq": difference.seq,
        "at": difference.at,
        "object": f"{difference.stream.kind.value} {name}",
        "recorded": _said(difference.recorded),
        "now": _said(difference.derived),
    }


def _said(decided: Decided | None) -> str:
    if decided is None:
        return "no new decision"
    return f"{decided.rule} {decided.verdict.value}: {decided.reason}"
