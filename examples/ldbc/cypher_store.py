"""The generated network in kuzu or Ladybug: one table of messages, as their Cypher likes best."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from draws import Tables

_NODES = {
    "Person": "number INT64 PRIMARY KEY, firstName STRING, lastName STRING, gender STRING, birthday DATE, "
    "browserUsed STRING, locationIP STRING, creationDate TIMESTAMP, email STRING[], speaks STRING[]",
    "Message": "number INT64 PRIMARY KEY, comment BOOL, creationDate TIMESTAMP, content STRING, length INT32, "
    "imageFile STRING, language STRING",
    "Forum": "number INT64 PRIMARY KEY, title STRING, creationDate TIMESTAMP",
    **dict.fromkeys(
        ("Tag", "TagClass", "City", "Country", "University", "Company"), "number INT64 PRIMARY KEY, name STRING"
    ),
}
# Name, ends, further columns, the tables it is made of.
_EDGES = {
    "Knows": ("Person", "Person", "creationDate TIMESTAMP", ("Knows",)),
    "HasInterest": ("Person", "Tag", "", ("HasInterest",)),
    "LivesIn": ("Person", "City", "", ("LivesIn",)),
    "StudyAt": ("Person", "University", "classYear INT32", ("StudyAt",)),
    "WorkAt": ("Person", "Company", "workFrom INT32", ("WorkAt",)),
    "Likes": ("Person", "Message", "creationDate TIMESTAMP", ("LikesPost", "LikesComment")),
    "HasModerator": ("Forum", "Person", "", ("HasModerator",)),
    "HasMember": ("Forum", "Person", "joinDate TIMESTAMP", ("HasMember",)),
    "ContainerOf": ("Forum", "Message", "", ("ContainerOf",)),
    "HasCreator": ("Message", "Person", "", ("PostCreator", "CommentCreator")),
    "MessageCountry": ("Message", "Country", "", ("PostCountry", "CommentCountry")),
    "HasTag": ("Message", "Tag", "", ("PostTag", "CommentTag")),
    "ReplyOf": ("Message", "Message", "", ("ReplyOfPost", "ReplyOfComment")),
    "HasType": ("Tag", "TagClass", "", ("HasType",)),
    "SubclassOf": ("TagClass", "TagClass", "", ("SubclassOf",)),
    "PartOfCountry": ("City", "Country", "", ("PartOfCountry",)),
    "UniversityCity": ("University", "City", "", ("UniversityCity",)),
    "CompanyCountry": ("Company", "Country", "", ("CompanyCountry",)),
}


def load_cypher(tables: Tables, connection: Any, folder: Path) -> None:
    """Everything that the Cypher texts ask about, by way of Parquet files."""
    given = {**tables, "Message": _messages(tables)}
    for name, columns in _NODES.items():
        connection.execute(f"CREATE NODE TABLE {name}({columns})")
        wanted = [column.strip().split()[0] for column in columns.split(",")]
        _copy(connection, name, given[name].select(wanted), folder)
    for name, (tail, head, more, parts) in _EDGES.items():
        connection.execute(f"CREATE REL TABLE {name}(FROM {tail} TO {head}{', ' if more else ''}{more})")
        _copy(connection, name, pa.concat_tables([tables[part] for part in parts]), folder)


def _copy(connection: Any, name: str, table: pa.Table, folder: Path) -> None:
    path = folder / f"{name}.parquet"
    fields = [pa.field(f.name, pa.timestamp("us") if pa.types.is_timestamp(f.type) else f.type) for f in table.schema]
    pq.write_table(table.cast(pa.schema(fields)), path)
    connection.execute(f"COPY {name} FROM '{path}'")


def _messages(tables: Tables) -> pa.Table:
    posts, comments = tables["Post"], tables["Comment"]
    nothing = pa.nulls(comments.num_rows, pa.string())
    comments = comments.append_column("imageFile", nothing).append_column("language", nothing)
    parts = [
        part.append_column("comment", pa.array([flag] * part.num_rows))
        for part, flag in ((posts, False), (comments, True))
    ]
    return pa.concat_tables([part.select(sorted(part.column_names)) for part in parts])
