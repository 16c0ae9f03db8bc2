"""Statements of every append, past what costs a third of it in SQLAlchemy: one prepared text per table and dialect.

The table definition stays the only place that knows columns; this only writes it down once as SQL (measured in
tests/benchmarks/bench_journal.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.engine import Dialect

from arcfsm.domain.jsonvalue import Digest
from arcfsm.journal.tables import DOCUMENTS


def insert_rows(
    connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]], *, known: bool = False, replace: str = ""
) -> None:
    """Insert rows whose values stand in the order of the table's columns.

    Of rows that are there already, `known` skips them and `replace` names the column that gets the new value.
    """
    if rows:
        connection.exec_driver_sql(_statement(connection.dialect, table, known, replace), list(rows))


def set_values(connection: Connection, table: Table, column: str, values: Sequence[tuple[Any, Any]]) -> None:
    """Set one column of the rows that a key names; `values` are pairs of new value and key."""
    if values:
        connection.exec_driver_sql(_update(connection.dialect, table, column), list(values))


def known_documents(connection: Connection, digests: Sequence[Digest]) -> set[Digest]:
    """Return which of these documents are stored."""
    dialect = connection.dialect
    marks = ", ".join([_mark(dialect)] * len(digests))
    query = f"SELECT digest FROM {DOCUMENTS.name} WHERE digest IN ({marks})"  # noqa: S608  # marks only
    return set(connection.exec_driver_sql(query, tuple(digests)).scalars())


def stored_documents(connection: Connection, digests: Sequence[Digest]) -> dict[Digest, str]:
    """Return the content of those of these documents that are stored."""
    marks = ", ".join([_mark(connection.dialect)] * len(digests))
    query = f"SELECT digest, content FROM {DOCUMENTS.name} WHERE digest IN ({marks})"  # noqa: S608  # marks only
    return {row[0]: row[1] for row in connection.exec_driver_sql(query, tuple(digests))}


@cache
def _statement(dialect: Dialect, table: Table, known: bool, replace: str) -> str:  # noqa: FBT001  # a cache key
    quote = dialect.identifier_preparer.quote
    columns = ", ".join(quote(column.name) for column in table.columns)
    values = ", ".join(_mark(dialect) for _ in table.columns)
    again = ""
    if replace:
        key = ", ".join(quote(column.name) for column in table.primary_key)
        again = f" ON CONFLICT ({key}) DO UPDATE SET {quote(replace)} = excluded.{quote(replace)}"
    elif known:
        again = " ON CONFLICT DO NOTHING"
    return f"INSERT INTO {quote(table.name)} ({columns}) VALUES ({values}){again}"  # noqa: S608  # names are our own


@cache
def _update(dialect: Dialect, table: Table, column: str) -> str:
    quote, mark = dialect.identifier_preparer.quote, _mark(dialect)
    (key,) = table.primary_key
    return f"UPDATE {quote(table.name)} SET {quote(column)} = {mark} WHERE {quote(key.name)} = {mark}"  # noqa: S608


def _mark(dialect: Dialect) -> str:
    return "?" if dialect.paramstyle == "qmark" else "%s"
