"""How columnar files are written: which formats there are, by suffix or by name, and what a CSV file leaves open."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from omnigraph.engine.intake.columns.cells import PLAIN_CELLS, Cells
from omnigraph.errors import BadRequest

SUFFIXES: dict[str, tuple[str, ...]] = {
    "parquet": (".parquet",),
    "csv": (".csv", ".tsv"),
    "orc": (".orc",),
    "json": (".json", ".jsonl", ".ndjson"),
    "lance": (".lance",),
    "excel": (".xlsx", ".xlsm"),
    "sqlite": (".sqlite", ".sqlite3", ".db"),
    "duckdb": (".duckdb",),
}
# What holds several tables, one of which a source names.
STORES = frozenset({"excel", "sqlite", "duckdb", "database"})
_PACKED = (".gz", ".zst", ".bz2", ".lz4")


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a file; without a format its name decides.

    `delimiter` is for CSV, tab by default where the name ends in .tsv. A file without a header has its column `names`
    here, and `skip_rows` lines before the table are passed over. `table` is one of several in a store, the first by
    default. `cells` says how values are written where they are not what JSON would have.
    """

    format: str | None = None
    delimiter: str | None = None
    names: tuple[str, ...] | None = None
    encoding: str | None = None
    skip_rows: int = 0
    table: str | None = None
    cells: Cells = PLAIN_CELLS

    def __post_init__(self) -> None:
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise BadRequest(f"a delimiter is one character, and '{self.delimiter}' is not")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError as error:
                raise BadRequest(f"unknown encoding '{self.encoding}' (such as utf-8, utf-16 or cp1252)") from error

    @property
    def begins_plainly(self) -> bool:
        """Whether a text file is UTF-8 and has nothing before its header or first row."""
        return self.encoding is None and not self.skip_rows

    def of(self, path: str) -> str:
        """The format of a file."""
        return self.format or format_of(path)

    def separator(self, path: str) -> str:
        """The character between the cells of a CSV file."""
        return self.delimiter or ("\t" if _unpacked(path).endswith(".tsv") else ",")


BY_NAME = Form()


def format_of(path: str) -> str:
    """The format that a file name implies; anything unknown is taken for CSV."""
    plain = _unpacked(path)
    return next((name for name, endings in SUFFIXES.items() if plain.endswith(endings)), "csv")


def _unpacked(path: str) -> str:
    path = path.rstrip("/")
    return next((path[: -len(end)] for end in _PACKED if path.endswith(end)), path)
