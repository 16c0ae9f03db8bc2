"""`arcfsm state`: the folded state, at any point in time."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec
import typer
import yaml

from arcfsm.audit.naming import Known, UnknownObjectError, find_objects
from arcfsm.cli.options import DEFAULT_JOURNAL, JournalOption, parse_time
from arcfsm.cli.output import print_aligned, to_json
from arcfsm.domain.documents import Documents
from arcfsm.domain.instant import format_instant
from arcfsm.domain.kinds import AggregateKind, StreamId
from arcfsm.domain.knowledge import Aggregate
from arcfsm.domain.states import Runner, RunnerSet, ScaleSet
from arcfsm.domain.world import World
from arcfsm.journal import Journal
from arcfsm.replay.fold import folded
from arcfsm.replay.moments import last_moment

_DOCUMENTS: Final = ("spec", "metadata", "runner_spec", "runner_metadata")


class StateFormat(StrEnum):
    """How to print a state."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def state_command(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND/NAMESPACE/NAME]", help="One object, whole; without it, all in short.", show_default=False
        ),
    ] = None,
    journal: JournalOption = DEFAULT_JOURNAL,
    at: Annotated[
        str | None, typer.Option("--at", metavar="SEQ|TIME", help="As it was after this event, or at this time.")
    ] = None,
    output: Annotated[StateFormat, typer.Option("--output", "-o", help="How to print it.")] = StateFormat.TABLE,
) -> None:
    """Print what is known, folded from the journal: now, or as it was at an event or a time."""
    with Journal.open(journal, read_only=True) as opened:
        seq = seq_of(opened, at)
        documents = Documents(opened.document)
        if what is None:
            _all(folded(opened, documents, to_seq=seq), output)
            return
        try:
            known = [one for one in find_objects(opened, what) if one.first_seq <= seq]
        except UnknownObjectError as error:
            raise typer.BadParameter(str(error)) from error
        if not known:
            raise typer.BadParameter(f"{what} was not known yet at seq {seq}")
        _one(opened, documents, known[-1], seq, output)


def seq_of(journal: Journal, at: str | None) -> int:
    """Read `--at`: a seq, a time, or nothing for the head. Raises typer.BadParameter."""
    head = journal.head.seq
    if at is None:
        return head
    if at.isdigit():
        if int(at) > head:
            raise typer.BadParameter(f"the journal ends at seq {head}", param_hint="--at")
        return int(at)
    return journal.seq_at(parse_time(at, now=last_moment(journal)))


def _all(world: World, output: StateFormat) -> None:
    aggregates: list[tuple[StreamId, Aggregate]] = [
        (stream, one) for stream in world.streams() if (one := world.aggregate(stream)) is not None and one.present
    ]
    aggregates.sort(key=lambda item: (list(AggregateKind).index(item[0].kind), item[1].namespace, item[1].name))
    if output is StateFormat.TABLE:
        rows = [
            {
                "kind": stream.kind.value,
                "object": f"{one.namespace}/{one.name}",
                "state": one.state,
                "phase": one.phase,
                "detail": _detail(world, one),
            }
            for stream, one in aggregates
        ]
        if rows:
            print_aligned(rows, ("kind", "object", "state", "phase", "detail"))
        else:
            typer.echo("nothing is there")
        typer.echo(f"\nat seq {world.head}, {format_instant(world.now)}")
        return
    _print({"seq": world.head, "at": world.now, "objects": [_plain(world, *item) for item in aggregates]}, output)


def _detail(world: World, one: Aggregate) -> str:
    if isinstance(one, ScaleSet):
        return f"generation {one.generation}, observed {one.observed_generation}"
    if isinstance(one, RunnerSet):
        have = len(world.runners_of(one.uid))
        revision = f"revision {one.actionable_revision}, applied {one.applied_revision}"
        return f"{have} of {one.replicas} runners, patch {one.patch_id}, {revision}"
    if isinstance(one, Runner):
        job = f", job {one.job.job_id}" if one.has_job else ""
        return f"patch {one.patch_id}, revision {one.revision}{job}"
    return f"for {one.scale_set_namespace}/{one.scale_set_name}"


def _one(journal: Journal, documents: Documents, known: Known, seq: int, output: StateFormat) -> None:
    world = folded(journal, documents, to_seq=seq)
    state = world.aggregate(known.stream)
    if state is None:
        # It is gone and forgotten: the last moment at which it was known tells what it was.
        world = folded(journal, documents, to_seq=min(seq, (known.gone_seq or seq) - 1))
        state = world.aggregate(known.stream)
    if state is None:
        raise typer.BadParameter(f"{known.title} left no state")
    found = _plain(world, known.stream, state)
    if known.gone_seq is not None and known.gone_seq <= seq:
        found = {"gone_at_seq": known.gone_seq, **found}
    _print(found, StateFormat.YAML if output is StateFormat.TABLE else output)


def _plain(world: World, stream: StreamId, state: Aggregate) -> dict[str, Any]:
    """Return a state as JSON: documents spelled out, times written."""
    fields: dict[str, Any] = msgspec.to_builtins(state)
    for name in _DOCUMENTS:
        if fields.get(name):
            fields[name] = world.documents.get(fields[name])
    effects = world.effects_of(stream)
    answer = world.answers.get(stream)
    plain = {"kind": stream.kind.value, **fields}
    if effects.in_flight:
        plain["in_flight"] = [flight.key for flight in effects.in_flight]
    if answer is not None:
        plain["latest_decision"] = answer.seq
    return {name: _time(name, value) for name, value in plain.items()}


def _time(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {inner: _time(inner, item) for inner, item in value.items()}
    if isinstance(value, int) and not isinstance(value, bool) and name.endswith(("_at", "_since")) and value:
        return format_instant(value)
    return value


def _print(value: Any, output: StateFormat) -> None:
    if output is StateFormat.JSON:
        typer.echo(to_json(value))
    else:
        typer.echo(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=110), nl=False)
