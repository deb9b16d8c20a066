"""Rows of a read in the five formats: table, kv, csv, jsonl and json."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omnigraph.cli.terminal.output import compact, pretty

_SMALLEST_WIDTH = 8


@dataclass(frozen=True, slots=True)
class Envelope:
    """The answer of a read: its rows and what they were read from."""

    query_name: str
    branch: str | None
    snapshot: str | None
    columns: Sequence[str]
    rows: Sequence[Any]
    commit_id: str | None = None

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


@dataclass(frozen=True, slots=True)
class Layout:
    """How wide a table column may get and what happens to longer cells."""

    max_width: int = 80
    wraps: bool = False


def render(envelope: Envelope, format: str, layout: Layout) -> str:
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


def _table(envelope: Envelope, layout: Layout) -> str:
    columns = _columns(envelope)
    if not columns:
        return f"{_headline(envelope)}\n(no rows)\n"
    rows = [[cell.replace("\n", "\\n") for cell in cells] for cells in _cells(envelope, columns)]
    widths = [_width(name, [row[place] for row in rows], layout) for place, name in enumerate(columns)]
    lines = [_headline(envelope), _joined(columns, widths), "-+-".join("-" * width for width in widths)]
    for row in rows:
        lines += _physical_lines(row, widths, layout)
    return "\n".join(lines) + "\n"


def _width(name: str, cells: Sequence[str], layout: Layout) -> int:
    widest = max([len(name), *(min(len(cell), layout.max_width) for cell in cells)])
    return min(widest, max(layout.max_width, _SMALLEST_WIDTH))


def _physical_lines(row: Sequence[str], widths: Sequence[int], layout: Layout) -> Iterator[str]:
    if not layout.wraps:
        cut = [cell if len(cell) <= width else cell[: width - 1] + "…" for cell, width in zip(row, widths, strict=True)]
        yield _joined(cut, widths)
        return
    chunks = [
        [cell[start : start + width] for start in range(0, len(cell), width)] or [""]
        for cell, width in zip(row, widths, strict=True)
    ]
    for number in range(max(map(len, chunks))):
        yield _joined([parts[number] if number < len(parts) else "" for parts in chunks], widths)


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    return " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))


def _headline(envelope: Envelope) -> str:
    if envelope.snapshot is not None:
        place = f"snapshot {envelope.snapshot}"
    else:
        place = f"branch {envelope.branch}" if envelope.branch is not None else "target"
    return f"{len(envelope.rows)} rows from {place} via {envelope.query_name}"


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
