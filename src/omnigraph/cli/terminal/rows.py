"""Rows of a read in the five formats: table, kv, csv, jsonl and json."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from omnigraph.cli.terminal.output import compact, pretty
from omnigraph.compiler.query import UNNAMED
from omnigraph.display import counted
from omnigraph.engine.values.text_table import TextColumn, TextLayout, text_table, value_column


@dataclass(frozen=True, slots=True)
class Envelope:
    """The answer of a read: its rows and what they were read from."""

    query_name: str
    branch: str | None
    snapshot: str | None
    columns: Sequence[str]
    rows: Sequence[Any]
    commit_id: str | None = None
    row_count: int | None = None  # of all rows, where only the first are shown

    def first(self, count: int) -> Envelope:
        """At most so many rows, told apart from a whole answer."""
        if len(self.rows) <= count:
            return self
        return replace(self, rows=self.rows[:count], row_count=len(self.rows))

    def target(self) -> dict[str, str | None]:
        """Where the rows come from, as JSON."""
        return {"branch": self.branch, "snapshot": self.snapshot}

    def to_json(self) -> dict[str, Any]:
        """The document of `--json`; absent columns and an unknown commit are left out."""
        columns = {"columns": list(self.columns)} if self.columns else {}
        commit = {"graph_commit_id": self.commit_id} if self.commit_id is not None else {}
        return {
            "query_name": self.query_name,
            "target": self.target(),
            "row_count": len(self.rows),
            **columns,
            "rows": list(self.rows),
            **commit,
        }


def render(envelope: Envelope, format: str, layout: TextLayout) -> str:
    """The answer in a format, ended by one newline."""
    if format == "table":
        return _table(envelope, layout)
    return _RENDERERS[format](envelope)


def _json(envelope: Envelope) -> str:
    return pretty(envelope.to_json()) + "\n"


def metadata(envelope: Envelope, format: str) -> str | None:
    """What is said beside the rows, on one line, by a format that has no place for it among them."""
    if format != "jsonl":
        return None
    head = {"kind": "metadata", "query_name": envelope.query_name, "target": envelope.target()}
    return compact({**head, "row_count": len(envelope.rows)})


def _jsonl(envelope: Envelope) -> str:
    return "".join(f"{compact(each)}\n" for each in _objects(envelope))


def _csv(envelope: Envelope) -> str:
    columns = _columns(envelope)
    lines = [columns, *_cells(envelope, columns)]
    return "".join(",".join(map(_quoted, cells)) + "\n" for cells in lines)


def _kv(envelope: Envelope) -> str:
    columns = _columns(envelope)
    blocks = [
        "\n".join([f"row {number}", *(f"{name}: {cell}" for name, cell in zip(columns, cells, strict=True))])
        for number, cells in enumerate(_cells(envelope, columns), start=1)
    ]
    return "\n".join([_headline(envelope), "\n\n".join(blocks) or "(no rows)"]) + "\n"


def _table(envelope: Envelope, layout: TextLayout) -> str:
    columns = _columns(envelope)
    if not columns:
        return f"{_headline(envelope)}\n(no rows)\n"
    return "\n".join([_headline(envelope), *text_table(_text_columns(envelope, columns), layout)]) + "\n"


def _text_columns(envelope: Envelope, names: Sequence[str]) -> list[TextColumn]:
    rows = list(_objects(envelope))
    values = ([row.get(name) for row in rows] for name in names)
    return [value_column(name, found, list(map(cell_text, found))) for name, found in zip(names, values, strict=True)]


def _headline(envelope: Envelope) -> str:
    if envelope.snapshot is not None:
        place = f"snapshot {envelope.snapshot}"
    else:
        place = f"branch {envelope.branch}" if envelope.branch is not None else "target"
    found = counted(len(envelope.rows) if envelope.row_count is None else envelope.row_count, "row")
    shown = "" if envelope.row_count is None else f", the first {len(envelope.rows)} shown"
    return f"{found} from {place}{via(envelope.query_name)}{shown}"


def via(query_name: str) -> str:
    """Which query an answer comes from; a body alone has no name to tell.

    >>> via("friends"), via("unnamed")
    (' via friends', '')
    """
    return "" if query_name == UNNAMED else f" via {query_name}"


def _objects(envelope: Envelope) -> Iterator[Mapping[str, Any]]:
    for row in envelope.rows:
        yield row if isinstance(row, dict) else {"value": row}


def _columns(envelope: Envelope) -> list[str]:
    if envelope.columns:
        return list(envelope.columns)
    return sorted({name for row in _objects(envelope) for name in row})


def _cells(envelope: Envelope, columns: Sequence[str]) -> Iterator[list[str]]:
    for row in _objects(envelope):
        yield [cell_text(row.get(name)) for name in columns]


def cell_text(value: Any) -> str:
    """A value as one cell: text as it is, everything else as compact JSON."""
    return value if isinstance(value, str) else compact(value)


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(each in cell for each in ',"\n\r') else cell


_RENDERERS: Mapping[str, Callable[[Envelope], str]] = {"json": _json, "jsonl": _jsonl, "csv": _csv, "kv": _kv}
