"""`arcfsm import`: a journal from what people have."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any, Final

import typer
from pydantic import ValidationError

from arcfsm.cli.options import DEFAULT_JOURNAL, InputFiles, JournalOption, RefusedError, parse_time
from arcfsm.domain.instant import Instant, format_instant
from arcfsm.samples import sample_names, sample_path

_SAMPLES: Final = ", ".join(sample_names())
SHOWN_MAX: Final = 10
"""Refused lines and gaps that the summary names; all of them are in the journal."""


class ImportFormat(StrEnum):
    """What can be imported."""

    WATCH = "watch"
    AUDIT = "audit"
    LOG = "log"
    DUMP = "dump"


def import_command(
    files: InputFiles = None,
    format_: Annotated[ImportFormat, typer.Option("--format", help="What the files are.")] = ImportFormat.WATCH,
    journal: JournalOption = DEFAULT_JOURNAL,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="TIME", help="Go on until this time; default is the time of the last line."),
    ] = None,
    controller_namespace: Annotated[
        str | None,
        typer.Option("--controller-namespace", metavar="NS", help="Where the listeners live; default: as recorded."),
    ] = None,
    listener_image: Annotated[
        str | None,
        typer.Option(
            "--listener-image", metavar="IMAGE", help="The controller's listener image; default: as recorded."
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Another setting of the recorded controller; repeatable."),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option("--sample", metavar="NAME", help=f"A recorded incident that ships with arcfsm: {_SAMPLES}."),
    ] = None,
    batch_events: Annotated[int, typer.Option("--batch-events", min=1, hidden=True)] = 500,
) -> None:
    """Read recorded watch streams and journal what they say.

    Reads JSON lines {"received", "type", "object"}, raw watch lines {"type", "object"}, what `kubectl get … -w
    --output-watch-events -o json` prints, and the same compressed with gzip. Several files are read as one stream,
    ordered by time. Files that were imported before add nothing.
    """
    if format_ is not ImportFormat.WATCH:
        raise typer.BadParameter(f"--format {format_} is not supported yet; supported is: watch")
    overrides = _overrides(setting or [], controller_namespace, listener_image)
    until = parse_time(as_of, now=time.time_ns() // 1000) if as_of is not None else None
    names = [str(file) for file in files or ()]
    if sample is not None:
        if sample not in sample_names():
            raise typer.BadParameter(f"there is no sample {sample!r}; there is: {_SAMPLES}", param_hint="--sample")
        names.append(str(sample_path(sample)))
    if not names:
        raise typer.BadParameter(f"name a file, or try --sample {sample_names()[0]}", param_hint="FILE")
    import_files(names, journal, overrides, until, batch_events)


def import_files(
    names: list[str],
    url: str,
    overrides: Mapping[str, Any] | None = None,
    until: Instant | None = None,
    batch_events: int = 500,
) -> None:
    """Import files into a journal and print what was done. Raises RefusedError and JournalError."""
    from arcfsm import __version__
    from arcfsm.cluster.redaction import redact_text
    from arcfsm.cluster.translator import ObjectTranslator
    from arcfsm.domain.documents import Documents
    from arcfsm.journal import Journal
    from arcfsm.replay.fold import folded
    from arcfsm.replay.importing import (
        Adoption,
        Importer,
        Plan,
        SourceFile,
        UnreadableSourceError,
        contents_known,
        patient_collector,
        survey,
    )

    adoption = Adoption(dict(overrides or {}), clean=redact_text)
    sources = [SourceFile(name) for name in dict.fromkeys(names)]
    try:
        with _progress("looking at the files", None) as advance, patient_collector():
            surveyed = [(source, survey(source, adoption, advance)) for source in sources]
    except UnreadableSourceError as error:
        raise RefusedError(str(error)) from error
    with Journal.open(url, create=True) as journal:
        known = contents_known(journal)
        for _, found in surveyed:
            if found.content in known:
                typer.echo(f"{found.name} was imported before; it adds nothing")
        surveyed = [(source, found) for source, found in surveyed if found.content not in known]
        if not surveyed:
            return
        world = folded(journal, Documents(journal.document))
        if until is not None and until < world.now:
            typer.echo(f"arcfsm: --as-of lies before the journal's end ({format_instant(world.now)})", err=True)
        epoch = journal.claim_epoch("import")
        size = sum(found.size for _, found in surveyed)
        with _progress("importing", size) as advance, patient_collector():
            importer = Importer(
                world,
                ObjectTranslator(),
                write=lambda batch: journal.append(batch, world.documents.get),
                clock=lambda: time.time_ns() // 1000,
                advance=advance,
            )
            tally = importer.run(
                Plan(
                    files=surveyed,
                    format=ImportFormat.WATCH,
                    adoption=adoption,
                    rules_version=__version__,
                    as_of=until,
                    batch_events=batch_events,
                    epoch=epoch,
                )
            )
        if until is not None and until < world.now:
            typer.echo(
                f"arcfsm: --as-of lies before the last line ({format_instant(world.now)}); it has no effect", err=True
            )
        _summarise(tally, journal.where)


def _overrides(settings: list[str], namespace: str | None, image: str | None) -> dict[str, Any]:
    from arcfsm.domain.settings import ControllerSettings

    found: dict[str, Any] = {}
    for text in settings:
        key, separator, value = text.partition("=")
        if not separator or key not in ControllerSettings.model_fields:
            names = ", ".join(sorted(ControllerSettings.model_fields))
            raise typer.BadParameter(f"--set {text}: write KEY=VALUE, where KEY is one of {names}")
        try:
            found[key] = getattr(ControllerSettings.model_validate_strings({key: value}), key)
        except ValidationError as error:
            raise typer.BadParameter(f"--set {text}: {error.errors()[0]['msg']}") from error
    if namespace is not None:
        found["controller_namespace"] = namespace
    if image is not None:
        found["listener_image"] = image
    return found


def _summarise(tally: Any, where: str) -> None:
    rows = [
        ("lines read", tally.lines, f"{tally.observations} of objects, {tally.bookmarks} bookmarks"),
        ("events journaled", tally.events, f"{tally.decisions} of them decisions (advice: nobody acts on them)"),
        ("without a trace", tally.ignored, _counts(tally.noise)),
        ("refused", len(tally.refused), ""),
        ("gaps", len(tally.gaps), ""),
    ]
    typer.echo(f"imported into {where}")
    for name, count, details in rows:
        typer.echo(f"  {name:<17}{count:>9}" + (f"   {details}" if details else ""))
    for refused in tally.refused[:SHOWN_MAX]:
        typer.echo(f"arcfsm: {refused.where}: {refused.reason}", err=True)
    for gap in tally.gaps[:SHOWN_MAX]:
        typer.echo(f"arcfsm: gap {_span(gap.since, gap.until)} in {gap.scope}: {gap.reason}", err=True)
    hidden = max(0, len(tally.refused) - SHOWN_MAX) + max(0, len(tally.gaps) - SHOWN_MAX)
    if hidden:
        typer.echo(f"arcfsm: {hidden} more; `arcfsm audit gaps` and `arcfsm journal tail` show them", err=True)


def _counts(noise: dict[str, int]) -> str:
    ranked = sorted(noise.items(), key=lambda item: (-item[1], item[0]))
    named = ", ".join(f"{count} {reason}" for reason, count in ranked[:SHOWN_MAX])
    return named + (f", and {len(ranked) - SHOWN_MAX} more reasons" if len(ranked) > SHOWN_MAX else "")


def _span(since: Instant | None, until: Instant | None) -> str:
    return f"{format_instant(since) if since else 'unknown'} – {format_instant(until) if until else 'open'}"


@contextmanager
def _progress(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show progress on a terminal; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda _bytes: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=total)
        yield lambda done: progress.advance(task, done)
