"""`arcfsm audit`: what happened, what was decided, what was missed, what stands still."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from arcfsm.audit import timeline
from arcfsm.audit.agreement import Agreement, Comparison
from arcfsm.audit.naming import UnknownObjectError, find_scale_set, parse_kind
from arcfsm.audit.past import Past
from arcfsm.audit.search import compare_advice, find_stalls
from arcfsm.audit.stalls import Stall
from arcfsm.audit.timeline import Window, names_of
from arcfsm.cli.options import DEFAULT_JOURNAL, JournalOption, ScaleSetOption, SinceOption, UntilOption, parse_time
from arcfsm.cli.output import RowFormat, print_blocks, print_rows
from arcfsm.cli.progress import long_work
from arcfsm.domain.documents import Documents
from arcfsm.domain.instant import Instant, format_span
from arcfsm.domain.kinds import AggregateKind
from arcfsm.domain.world import World
from arcfsm.journal import Journal
from arcfsm.replay.fold import snapshotted
from arcfsm.replay.moments import last_moment

audit_app = typer.Typer(
    no_args_is_help=True,
    help="What happened, what was decided, what was missed, what stands still.",
    rich_markup_mode=None,
)

OutputOption = Annotated[RowFormat, typer.Option("--output", "-o", help="How to print it.")]
KindOption = Annotated[
    list[str] | None,
    typer.Option("--kind", metavar="KIND", help="Only these: scale-set, runner-set, runner, listener; repeatable."),
]
_DIVERGING: Final = (Agreement.NOT_DONE, Agreement.DONE_LATE, Agreement.NOT_ADVISED)


@audit_app.command("transitions")
def transitions_command(
    journal: JournalOption = DEFAULT_JOURNAL,
    scale_set: ScaleSetOption = None,
    kind: KindOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    output: OutputOption = RowFormat.TABLE,
) -> None:
    """List every change of a machine's state, with the event that caused it."""
    with Journal.open(journal, read_only=True) as opened:
        kinds = [_kind(word) for word in kind or ()]
        rows = timeline.transitions(opened, _window(opened, scale_set, since, until), kinds)
    print_rows(rows, ("seq", "at", "object", "from", "to", "event"), output, nothing="no transitions there")


@audit_app.command("decisions")
def decisions_command(
    journal: JournalOption = DEFAULT_JOURNAL,
    scale_set: ScaleSetOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    diverging: Annotated[
        bool, typer.Option("--diverging", help="Only where the recorded controller did otherwise than advised.")
    ] = False,
    output: OutputOption = RowFormat.TABLE,
) -> None:
    """List what was decided and why. On imported journals decisions are advice: nobody carried them out.

    With --diverging, advice is set beside what the recorded controller did: advice that stood and was not followed, and
    deeds that no advice asked for. What can't be seen from outside, such as questions to the service, is left out.
    """
    with Journal.open(journal, read_only=True) as opened:
        window = _window(opened, scale_set, since, until)
        if not diverging:
            rows = timeline.decisions(opened, window)
            columns = ("seq", "at", "object", "rule", "verdict", "reason")
            print_rows(rows, columns, output, nothing="no decisions there")
            return
        with long_work("comparing advice and deeds", opened.head.seq) as progress:
            found = compare_advice(World(Documents(opened.document)), opened.events(), progress=progress)
        rows = _diverging(opened, found, window)
    nothing = "the recorded controller did what arcfsm advises, as far as can be seen"
    print_blocks(rows, ("object", "rule"), ("seq", "since", "until", "advice", "instead"), output, nothing=nothing)


@audit_app.command("effects")
def effects_command(
    journal: JournalOption = DEFAULT_JOURNAL,
    scale_set: ScaleSetOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    output: OutputOption = RowFormat.TABLE,
) -> None:
    """List how intents ended: one line per API call that was made."""
    with Journal.open(journal, read_only=True) as opened:
        rows = timeline.effects(opened, _window(opened, scale_set, since, until))
    columns = ("seq", "at", "object", "intent", "outcome", "detail", "decision")
    print_rows(rows, columns, output, nothing="no effects there: an imported journal holds advice, nobody acted on it")


@audit_app.command("gaps")
def gaps_command(
    journal: JournalOption = DEFAULT_JOURNAL,
    since: SinceOption = None,
    until: UntilOption = None,
    output: OutputOption = RowFormat.TABLE,
) -> None:
    """List the spans in which events may have been missed."""
    with Journal.open(journal, read_only=True) as opened:
        rows = timeline.gaps(opened, _window(opened, None, since, until))
    print_rows(rows, ("seq", "since", "until", "scope", "reason"), output, nothing="no gaps there")


@audit_app.command("stalls")
def stalls_command(
    journal: JournalOption = DEFAULT_JOURNAL,
    scale_set: ScaleSetOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    output: OutputOption = RowFormat.TABLE,
) -> None:
    """List silent rest states: work exists, nothing can serve it, nothing is scheduled to change that.

    Exit code 1 if there are any. Each has since when, the events that show it, and what would resolve it.
    """
    with Journal.open(journal, read_only=True) as opened:
        window = _window(opened, scale_set, since, until)
        world = _before(opened, window)
        events = opened.events(from_seq=world.head + 1)
        with long_work("looking for stalls", opened.head.seq) as progress:
            found, now = find_stalls(world, events, until=window.until, progress=progress, past=Past(opened))
        wanted = [stall for stall in found if _within(opened, stall, window)]
    rows = [_stall(stall, now) for stall in wanted]
    body = ("since", "lasted", "reason", "resolves", "evidence")
    print_blocks(rows, ("stall", "object"), body, output, nothing="nothing stands still that should not")
    if rows:
        raise typer.Exit(1)


def _before(journal: Journal, window: Window) -> World:
    """Return a world from before the window: of the newest snapshot there, so that not all need be read."""
    documents = Documents(journal.document)
    if window.since is None:
        return World(documents)
    return snapshotted(journal, documents, at_or_before=journal.seq_at(window.since))


def _window(journal: Journal, scale_set: str | None, since: str | None, until: str | None) -> Window:
    """Read the filters. Spans back count from the journal's last moment, so that they mean something on recordings."""
    last = last_moment(journal)
    try:
        uids = tuple(one.stream.uid for one in find_scale_set(journal, scale_set)) if scale_set else ()
    except UnknownObjectError as error:
        raise typer.BadParameter(str(error), param_hint="--scale-set") from error
    return Window(scale_sets=uids, since=_time(since, last), until=_time(until, last))


def _time(text: str | None, last: Instant) -> Instant | None:
    return None if text is None else parse_time(text, now=last)


def _kind(word: str) -> AggregateKind:
    try:
        return parse_kind(word)
    except UnknownObjectError as error:
        raise typer.BadParameter(str(error), param_hint="--kind") from error


def _diverging(journal: Journal, found: list[Comparison], window: Window) -> list[dict[str, Any]]:
    wanted = [
        one
        for one in found
        if one.agreement in _DIVERGING
        and (window.since is None or (one.until or one.since) >= window.since)
        and (window.until is None or one.since <= window.until)
    ]
    names = names_of(journal, [str(one.stream) for one in wanted])
    return [
        {
            "seq": one.seq,
            "since": one.since,
            "until": one.until,
            "object": names[str(one.stream)],
            "rule": one.rule or "-",
            "advice": one.advice,
            "agreement": one.agreement.value,
            "instead": one.deed or "not done",
        }
        for one in wanted
        if not window.scale_sets or one.correlation in window.scale_sets
    ]


def _within(journal: Journal, stall: Stall, window: Window) -> bool:
    if window.since is not None and stall.until is not None and stall.until < window.since:
        return False
    if not window.scale_sets:
        return True
    if stall.stream.uid in window.scale_sets:
        return True
    shown = (next(iter(journal.events(from_seq=seq, to_seq=seq)), None) for seq in stall.evidence)
    return any(one is not None and one.correlation in window.scale_sets for one in shown)


def _stall(stall: Stall, now: Instant) -> dict[str, Any]:
    return {
        "stall": stall.name,
        "object": f"{stall.stream.kind.value} {stall.namespace}/{stall.object_name}",
        "since": stall.since,
        "until": stall.until,
        "lasted": format_span((stall.until or now) - stall.since) + ("" if stall.until else ", still"),
        "reason": stall.reason,
        "resolves": stall.resolves,
        "evidence": list(stall.evidence),
    }
