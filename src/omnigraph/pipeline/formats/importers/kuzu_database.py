"""A kuzu database: its node and relationship tables through kuzu's own Arrow results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph.errors import BadRequest, NotFound
from omnigraph.pipeline.formats.importers.bundle import Bundle, Links, Nodes, attribute, bundle

_CHUNK = 1 << 17


def read_kuzu(sources: Sequence[str]) -> Bundle:
    """Every table of one database; primary keys become keys."""
    if len(sources) != 1:
        raise BadRequest("a kuzu import takes one database")
    try:
        import kuzu  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise BadRequest("importing a kuzu database needs kuzu; install it with: pip install kuzu") from error
    if not Path(sources[0]).exists():
        raise NotFound(f"there is no kuzu database '{sources[0]}'")
    try:
        connection = kuzu.Connection(kuzu.Database(sources[0], read_only=True))
        return _read(connection)
    except RuntimeError as error:
        raise BadRequest(f"kuzu cannot read '{sources[0]}': {error}") from error


def _read(connection: Any) -> Bundle:
    tables = _rows(connection, "CALL show_tables() RETURN name, type")
    keys = {table["name"]: _primary_key(connection, table["name"]) for table in tables if table["type"] == "NODE"}
    nodes = [Nodes(name, _nodes(connection, name, key), key if key != "id" else None) for name, key in keys.items()]
    links = [
        Links(table["name"], pa.concat_tables(_links(connection, table["name"], keys), promote_options="permissive"))
        for table in tables
        if table["type"] == "REL"
    ]
    return bundle(nodes, [link for link in links if link.rows.num_rows])


def _primary_key(connection: Any, table: str) -> str:
    info = _rows(connection, f"CALL table_info({_text(table)}) RETURN *")
    return next(str(row["name"]) for row in info if row["primary key"])


def _nodes(connection: Any, table: str, key: str) -> pa.Table:
    info = [row["name"] for row in _rows(connection, f"CALL table_info({_text(table)}) RETURN *")]
    names = [name for name in info if name != "id" or key != "id"]
    wanted = [f"CAST(n.{_name(key)}, 'STRING')", *(f"n.{_name(name)}" for name in names)]
    rows = _arrow(connection, f"MATCH (n:{_name(table)}) RETURN {_numbered(wanted)}")
    return rows.rename_columns(["id", *map(attribute, names)])


def _links(connection: Any, table: str, keys: dict[str, str]) -> list[pa.Table]:
    info = _rows(connection, f"CALL table_info({_text(table)}) RETURN *")
    names = [row["name"] for row in info]
    found = []
    for row in _rows(connection, f"CALL show_connection({_text(table)}) RETURN *"):
        tail, head = row["source table name"], row["destination table name"]
        ends = [f"CAST({end}.{_name(keys[owner])}, 'STRING')" for end, owner in (("a", tail), ("b", head))]
        pattern = f"(a:{_name(tail)})-[r:{_name(table)}]->(b:{_name(head)})"
        rows = _arrow(
            connection, f"MATCH {pattern} RETURN {_numbered([*ends, *(f'r.{_name(name)}' for name in names)])}"
        )
        rows = rows.rename_columns(["from", "to", *map(attribute, names)])
        for end, label in (("from_label", tail), ("to_label", head)):
            rows = rows.append_column(end, pa.array([label] * rows.num_rows, pa.utf8()))
        found.append(rows)
    return found


def _arrow(connection: Any, query: str) -> pa.Table:
    return connection.execute(query).get_as_arrow(_CHUNK)


def _rows(connection: Any, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _arrow(connection, query).to_pylist()
    return found


def _numbered(values: Sequence[str]) -> str:
    """Values under names that cannot be equal; what they are called is known by their place."""
    return ", ".join(f"{value} AS c{at}" for at, value in enumerate(values))


def _name(text: str) -> str:
    return f"`{text}`"


def _text(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"
