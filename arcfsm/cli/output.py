"""Rows as people and programs want them: a table on a terminal, aligned text in a pipe, JSON, CSV."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import orjson
import typer
from rich.console import Console
from rich.table import Table

from arcfsm.domain.instant import format_instant


class RowFormat(StrEnum):
    """How to print rows."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


Row = Mapping[str, Any]
"""Column names to values. Instants stand under names that end in `at`, `since` or `until`."""

_TIMES: Final = ("at", "since", "until")


def print_rows(rows: Sequence[Row], columns: Sequence[str], form: RowFormat, *, nothing: str) -> None:
    """Print rows. `nothing` says in a table what it means that there are none."""
    if form is RowFormat.JSON:
        typer.echo(to_json([{key: _plain(key, value) for key, value in row.items()} for row in rows]))
    elif form is RowFormat.CSV:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_cell(name, row.get(name)) for name in columns] for row in rows)
        typer.echo(out.getvalue(), nl=False)
    elif not rows:
        typer.echo(nothing)
    elif sys.stdout.isatty():
        table = Table(box=None, header_style="bold", pad_edge=False)
        for name in columns:
            table.add_column(name.upper().replace("_", " "), overflow="fold", no_wrap=name in _TIMES)
        for row in rows:
            table.add_row(*(_cell(name, row.get(name)) for name in columns))
        Console().print(table)
    else:
        print_aligned(rows, columns)


def print_blocks(
    rows: Sequence[Row], title: Sequence[str], body: Sequence[str], form: RowFormat, *, nothing: str
) -> None:
    """Print rows whose texts are long: a title line each, and a line per fact. JSON and CSV are as for any rows."""
    if form is not RowFormat.TABLE or not rows:
        print_rows(rows, (*title, *body), form, nothing=nothing)
        return
    width = max(len(name) for name in body)
    for index, row in enumerate(rows):
        if index:
            typer.echo("")
        typer.secho("  ".join(_cell(name, row.get(name)) for name in title), bold=True)
        for name in body:
            typer.echo(f"  {name.replace('_', ' '):<{width}}  {_cell(name, row.get(name))}")


def print_aligned(rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Print rows as text whose columns line up, for pipes and logs."""
    lines = [[name.upper().replace("_", " ") for name in columns]]
    lines += [[_cell(name, row.get(name)) for name in columns] for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(columns))]
    padded = (zip(line, widths, strict=True) for line in lines)
    typer.echo("\n".join("  ".join(cell.ljust(width) for cell, width in line).rstrip() for line in padded))


def to_json(value: Any) -> str:
    """Return indented JSON; what is no JSON by itself is written as text."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()


def _is_time(name: str) -> bool:
    return name.rpartition("_")[2] in _TIMES


def _plain(name: str, value: Any) -> Any:
    return format_instant(value) if _is_time(name) and isinstance(value, int) else value


def _cell(name: str, value: Any) -> str:
    if value is None or value == "":
        return "-"
    if _is_time(name) and isinstance(value, int):
        return format_instant(value)
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value) or "-"
    return str(value)
