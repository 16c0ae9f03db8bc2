"""Many rows at once, past what costs a third of an append in SQLAlchemy: one prepared text per table and dialect.

The table definition stays the only place that knows columns; this only writes it down once as SQL (measured in
tests/benchmarks/bench_journal.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.engine import Dialect


def insert_rows(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]], *, known: bool = False) -> None:
    """Insert rows whose values stand in the order of the table's columns; with `known`, skip those that are there."""
    if rows:
        connection.exec_driver_sql(_statement(connection.dialect, table, known=known), list(rows))


@cache
def _statement(dialect: Dialect, table: Table, *, known: bool) -> str:
    quote = dialect.identifier_preparer.quote
    columns = ", ".join(quote(column.name) for column in table.columns)
    mark = "?" if dialect.paramstyle == "qmark" else "%s"
    values = ", ".join(mark for _ in table.columns)
    skip = " ON CONFLICT DO NOTHING" if known else ""
    return f"INSERT INTO {quote(table.name)} ({columns}) VALUES ({values}){skip}"  # noqa: S608  # names are our own
