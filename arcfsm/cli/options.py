"""Options that several commands share, and how times on the command line are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from arcfsm.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant, Span, parse_instant


class RefusedError(typer.TyperException):
    """What was asked for can't be done; the message says which, where and why. Leaves with exit code 2."""

    exit_code = 2


DEFAULT_JOURNAL: Final = "sqlite:///arcfsm.db"

JournalOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--journal",
        metavar="URL",
        envvar="ARCFSM_JOURNAL",
        help="The journal: sqlite:///FILE or postgresql://USER@HOST/DATABASE.",
        show_default=True,
    ),
]
SinceOption: TypeAlias = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="From this time on: RFC 3339, or a span back such as -2h.")
]
UntilOption: TypeAlias = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Up to this time: RFC 3339, or a span back such as -5m.")
]
ScaleSetOption: TypeAlias = Annotated[
    str | None, typer.Option("--scale-set", metavar="NS/NAME", help="Only what belongs to this scale set.")
]
InputFiles: TypeAlias = Annotated[
    list[Path] | None,
    typer.Argument(metavar="FILE...", help="Files to read; - is standard input.", show_default=False),
]

_BACK: Final = re.compile(r"-(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
_UNITS: Final[tuple[Span, ...]] = (DAY, HOUR, MINUTE, SECOND)


def parse_time(text: str, *, now: Instant) -> Instant:
    """Read a time as people type it: RFC 3339, or a span back from `now` such as `-2h` or `-1d12h`.

    Raises typer.BadParameter for anything else.
    """
    if (back := _BACK.fullmatch(text)) and any(back.groups()):
        return now - sum(int(count or 0) * unit for count, unit in zip(back.groups(), _UNITS, strict=True))
    try:
        return parse_instant(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a time: write 2026-01-31T12:00:00Z or -2h") from error
