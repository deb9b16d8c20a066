"""Stores of several tables: Excel workbooks, SQLite and DuckDB files, and databases that SQLAlchemy reaches by URL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from omnigraph.errors import BadRequest, NotFound
from omnigraph.storage.base.clouds import is_remote

_BATCH_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns of a table that hold the key of another."""

    columns: tuple[str, ...]
    table: str
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredTable:
    """One table of a store, and what the store declares about it."""

    name: str
    key: tuple[str, ...] = ()
    references: tuple[ForeignKey, ...] = field(default=())


def stored_tables(path: str, format: str) -> list[StoredTable]:
    """The tables of a store, by name; sheets of a workbook in their order."""
    if format in ("sqlite", "duckdb") and is_remote(path):
        raise BadRequest(f"'{path}' is a database, which is read from a disk; copy it to one first")
    match format:
        case "excel":
            with _workbook(path) as book:
                return [StoredTable(sheet.title) for sheet in book.worksheets if sheet.max_row > 1]
        case "sqlite":
            return _sqlite_tables(path)
        case "duckdb":
            return _duckdb_tables(path)
        case _:
            return _database_tables(path)


def store_pieces(path: str, format: str, table: str | None) -> Iterator[pa.Table]:
    """The rows of one table, a batch at a time; without a name, of the only one."""
    names = [each.name for each in stored_tables(path, format)]
    if table is None:
        if len(names) != 1:
            raise BadRequest(f"'{path}' has {len(names)} tables; name one of them: table: {_listed(names)}")
        table = names[0]
    elif table not in names:
        raise NotFound(f"'{path}' has no table '{table}' (it has {_listed(names)})")
    match format:
        case "excel":
            yield from _sheet(path, table)
        case "sqlite":
            yield from _sqlite_rows(path, table)
        case "duckdb":
            yield from _duckdb_rows(path, table)
        case _:
            yield from _database_rows(path, table)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _from_rows(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Rows of Python values as columns; a column of mixed kinds becomes text."""
    return pa.table({name: column_of([row[at] for row in rows]) for at, name in enumerate(names)})


def column_of(values: Sequence[Any]) -> pa.Array:
    """One column; where the values are not all of one kind they are texts."""
    kinds = {type(value) for value in values if value is not None}
    try:
        if bool in kinds and len(kinds) > 1:
            raise pa.ArrowInvalid("booleans beside other values")
        if kinds == {int, float}:
            return pa.array([None if value is None else float(value) for value in values], pa.float64())
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if value is None else as_text(value) for value in values], pa.utf8())


def as_text(value: Any) -> str:
    """A value of any kind as a cell of a text file would have it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict | list):
        import json

        return json.dumps(value, ensure_ascii=False)
    return str(value)


# --- Excel ---------------------------------------------------------------------------------------


@contextmanager
def _workbook(path: str) -> Iterator[Any]:
    try:
        import openpyxl
    except ImportError as error:
        raise BadRequest("reading Excel files needs openpyxl: pip install 'omnigraph[excel]'") from error
    from omnigraph.engine.intake.inputs.files import open_input

    with open_input(path) as file:
        try:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        except Exception as error:  # whatever a damaged archive leads to
            raise BadRequest(f"'{path}' is not an Excel workbook: {error}") from error
        with closing(book):
            yield book


def _sheet(path: str, table: str) -> Iterator[pa.Table]:
    with _workbook(path) as book:
        rows = book[table].iter_rows(values_only=True)
        head = next((row for row in rows if any(value is not None for value in row)), None)
        if head is None:
            return
        names = [f"column {at}" if value is None else str(value) for at, value in enumerate(head, 1)]
        held = [row for row in rows if any(value is not None for value in row)]
        if held:
            yield _from_rows(names, held)


# --- SQLite --------------------------------------------------------------------------------------


@contextmanager
def _sqlite(path: str) -> Iterator[Any]:
    import sqlite3

    if not Path(path).is_file():
        raise NotFound(f"there is no file '{path}'")
    try:
        with closing(sqlite3.connect(f"file:{quote(str(Path(path).resolve()))}?mode=ro", uri=True)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise BadRequest(f"'{path}' cannot be read as SQLite: {error}") from error


def _sqlite_tables(path: str) -> list[StoredTable]:
    with _sqlite(path) as db:
        named = "select name from sqlite_master where type = 'table' and substr(name, 1, 7) != 'sqlite_' order by name"
        names = [name for (name,) in db.execute(named)]
        keys = {name: _sqlite_key(db, name) for name in names}
        return [StoredTable(name, keys[name], tuple(_sqlite_references(db, name, keys))) for name in names]


def _sqlite_key(db: Any, name: str) -> tuple[str, ...]:
    found = [(at, column) for _, column, _, _, _, at in db.execute(f"pragma table_info({_quoted(name)})") if at]
    return tuple(column for _, column in sorted(found))


def _sqlite_references(db: Any, name: str, keys: dict[str, tuple[str, ...]]) -> Iterator[ForeignKey]:
    grouped: dict[int, list[Any]] = {}
    for row in db.execute(f"pragma foreign_key_list({_quoted(name)})"):
        grouped.setdefault(row[0], []).append(row)
    for rows in grouped.values():
        ordered = sorted(rows, key=lambda row: row[1])
        target = ordered[0][2]
        targets = tuple(row[4] for row in ordered) if ordered[0][4] is not None else keys.get(target, ())
        yield ForeignKey(tuple(row[3] for row in ordered), target, targets)


def _sqlite_rows(path: str, table: str) -> Iterator[pa.Table]:
    with _sqlite(path) as db:
        cursor = db.execute(f"select * from {_quoted(table)}")
        names = [each[0] for each in cursor.description]
        while rows := cursor.fetchmany(_BATCH_ROWS):
            yield _from_rows(names, rows)


# --- DuckDB --------------------------------------------------------------------------------------


@contextmanager
def _duckdb(path: str) -> Iterator[Any]:
    try:
        import duckdb
    except ImportError as error:
        raise BadRequest("reading DuckDB files needs duckdb: pip install 'omnigraph[databases]'") from error
    if not Path(path).is_file():
        raise NotFound(f"there is no file '{path}'")
    try:
        with closing(duckdb.connect(path, read_only=True)) as connection:
            yield connection
    except duckdb.Error as error:
        raise BadRequest(f"'{path}' cannot be read as DuckDB: {error}") from error


def _duckdb_tables(path: str) -> list[StoredTable]:
    with _duckdb(path) as db:
        names = [row[0] for row in db.execute("select table_name from duckdb_tables() order by table_name").fetchall()]
        rules = db.execute(
            "select table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names"
            " from duckdb_constraints() where constraint_type in ('PRIMARY KEY', 'FOREIGN KEY')"
        ).fetchall()
    keys = {name: tuple(columns) for name, kind, columns, _, _ in rules if kind == "PRIMARY KEY"}
    found: dict[str, list[ForeignKey]] = {}
    for name, kind, columns, target, targets in rules:
        if kind == "FOREIGN KEY":
            found.setdefault(name, []).append(ForeignKey(tuple(columns), target, tuple(targets)))
    return [StoredTable(name, keys.get(name, ()), tuple(found.get(name, ()))) for name in names]


def _duckdb_rows(path: str, table: str) -> Iterator[pa.Table]:
    with _duckdb(path) as db:
        reader = db.sql(f"select * from {_quoted(table)}").to_arrow_reader(_BATCH_ROWS)
        for batch in reader:
            yield pa.Table.from_batches([batch])


# --- databases by URL ----------------------------------------------------------------------------


@contextmanager
def _engine(url: str) -> Iterator[Any]:
    try:
        import sqlalchemy
    except ImportError as error:
        raise BadRequest("reading a database needs SQLAlchemy: pip install 'omnigraph[databases]'") from error
    try:
        engine = sqlalchemy.create_engine(url)
    except Exception as error:  # also a driver that is not installed
        raise BadRequest(f"the database '{shown_url(url)}' cannot be used: {error}") from error
    try:
        yield engine
    except sqlalchemy.exc.SQLAlchemyError as error:
        told = str(getattr(error, "orig", None) or error).partition("\n")[0]
        raise BadRequest(f"the database '{shown_url(url)}' cannot be read: {told}") from error
    finally:
        engine.dispose()


def shown_url(url: str) -> str:
    """A URL without its password."""
    scheme, mark, rest = url.partition("://")
    account, at, place = rest.rpartition("@")
    user = account.partition(":")[0]
    return f"{scheme}{mark}{user}{at}{place}" if at else url


def _database_tables(url: str) -> list[StoredTable]:
    with _engine(url) as engine:
        import sqlalchemy

        seen = sqlalchemy.inspect(engine)
        found = []
        for name in sorted(seen.get_table_names()):
            references = [
                ForeignKey(tuple(each["constrained_columns"]), each["referred_table"], tuple(each["referred_columns"]))
                for each in seen.get_foreign_keys(name)
            ]
            key = tuple(seen.get_pk_constraint(name).get("constrained_columns") or ())
            found.append(StoredTable(name, key, tuple(references)))
        return found


def _database_rows(url: str, table: str) -> Iterator[pa.Table]:
    with _engine(url) as engine, engine.connect().execution_options(stream_results=True) as connection:
        import sqlalchemy

        shape = sqlalchemy.Table(table, sqlalchemy.MetaData(), autoload_with=engine)
        answer = connection.execute(sqlalchemy.select(shape))
        names = list(answer.keys())
        while rows := answer.fetchmany(_BATCH_ROWS):
            yield _from_rows(names, rows)
