"""The generated network in a graph and in DuckDB, and parameters for the queries."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from draws import Tables

import omnigraph as og

HERE = Path(__file__).parent
QUERIES = {
    **{f"is{at}": "short" for at in range(1, 8)},
    **{f"ic{at}": "complex" for at in range(1, 15)},
    **{f"bi{at}": "bi" for at in range(1, 21)},
}

_DERIVED = """
CREATE TABLE friend AS SELECT "from" AS a, "to" AS b, creationDate FROM Knows
  UNION ALL SELECT "to", "from", creationDate FROM Knows;
CREATE TABLE message AS
  SELECT number, false AS comment, creationDate, content, length, imageFile, language, NULL::BIGINT AS parent,
    creator."to" AS creator, country."to" AS country, number AS root, container."from" AS forum
  FROM Post JOIN PostCreator creator ON creator."from" = number JOIN PostCountry country ON country."from" = number
  JOIN ContainerOf container ON container."to" = number;
INSERT INTO message
  WITH RECURSIVE parents AS (
    SELECT "from" AS number, "to" AS parent FROM ReplyOfPost UNION ALL SELECT "from", "to" FROM ReplyOfComment
  ), roots AS (
    SELECT "from" AS number, "to" AS root FROM ReplyOfPost
    UNION ALL
    SELECT below."from", roots.root FROM ReplyOfComment below JOIN roots ON below."to" = roots.number
  )
  SELECT c.number, true, c.creationDate, c.content, c.length, NULL, NULL, parents.parent, creator."to", country."to",
    roots.root, post.forum
  FROM Comment c JOIN CommentCreator creator ON creator."from" = c.number
  JOIN CommentCountry country ON country."from" = c.number JOIN parents ON parents.number = c.number
  JOIN roots ON roots.number = c.number JOIN message post ON post.number = roots.root;
CREATE TABLE message_tag AS SELECT "from" AS message, "to" AS tag FROM PostTag
  UNION ALL SELECT "from", "to" FROM CommentTag;
CREATE TABLE likes AS SELECT "from" AS person, "to" AS message, creationDate FROM LikesPost
  UNION ALL SELECT "from", "to", creationDate FROM LikesComment;
CREATE TABLE lives AS SELECT l."from" AS person, l."to" AS city, c."to" AS country
  FROM LivesIn l JOIN PartOfCountry c ON c."from" = l."to";
"""


def load_graph(tables: Tables, place: Path) -> Any:
    """A graph with everything, one commit for each table."""
    graph = og.init(place, schema=HERE / "schema.pg")
    nodes = {name: table for name, table in tables.items() if "from" not in table.column_names}
    for name, table in nodes.items():
        graph.load(table, type=name, runner="inline")
    for name, table in tables.items():
        if name not in nodes:
            graph.load(table, edge=name, runner="inline")
    return graph


def load_duckdb(tables: Tables, connection: duckdb.DuckDBPyConnection) -> None:
    """The same in tables; messages, likes and tags of both kinds of messages are put together."""
    for name, table in tables.items():
        connection.register("given", _without_zone(table))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        connection.unregister("given")
    connection.execute(_DERIVED)


def _without_zone(table: pa.Table) -> pa.Table:
    fields = [pa.field(f.name, pa.timestamp("ms") if pa.types.is_timestamp(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(fields))


@cache
def query_text(name: str) -> str:
    """The text of the file that a query is in."""
    return (HERE / f"{QUERIES[name]}.gq").read_text(encoding="utf-8")


def sql_text(name: str) -> str:
    """The same question in SQL."""
    return _parts("sql", name)[name]


def cypher_text(name: str) -> str | None:
    """The same in Cypher, where it is asked there as well."""
    return _parts("cypher", name).get(name)


@cache
def _parts(language: str, name: str) -> dict[str, str]:
    text = (HERE / language / f"{QUERIES[name]}.{language}").read_text(encoding="utf-8")
    return dict(part.split("\n", 1) for part in f"\n{text}".split("\n-- ")[1:])


def plain(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows in a form that compares across engines."""
    return [tuple(map(_plain, row)) for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(timespec="milliseconds")
    if isinstance(value, float):
        return int(value) if value == int(value) else round(value, 7)
    return [_plain(item) for item in value] if isinstance(value, list) else value
