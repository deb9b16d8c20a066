"""Loads: decoded records and a mode in, one validated write set out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.engine.intake.records import Decoded, TypeRows
from omnigraph.engine.intake.violations import raise_first
from omnigraph.engine.values.arrow import to_stored
from omnigraph.engine.values.result import LoadMode
from omnigraph.engine.write.change_set import CommittedView, TableChange
from omnigraph.engine.write.reads import Reads
from omnigraph.engine.write.validate import validate
from omnigraph.storage.intent.writeset import Overwrite, Step, StrictInsert, TableWrite, Upsert, WriteSet


@dataclass(frozen=True, slots=True)
class LoadCounts:
    """Entities written per type, by name."""

    nodes: Mapping[str, int]
    edges: Mapping[str, int]

    @property
    def total_entities(self) -> int:
        return sum(self.nodes.values()) + sum(self.edges.values())


@dataclass(frozen=True, slots=True)
class PreparedLoad:
    """A load that may be committed: what to write and what to report."""

    write_set: WriteSet
    counts: LoadCounts


def prepare_load(
    decoded: Decoded,
    mode: LoadMode,
    catalog: Catalog,
    view: CommittedView,
    *,
    actor_id: str | None = None,
    reads: Reads | None = None,
) -> PreparedLoad:
    """Validate decoded records against a pinned view and say what to write; the first violation is raised.

    `reads` is where the view notes what is asked of it.

    Ids that the input left out were generated while decoding, so preparing the same records again on a newer view
    keeps them. An empty input still publishes a commit, which touches no type.
    """
    raise_first(list(decoded.violations))
    changes = {key: _change(rows, mode) for key, rows in decoded.types.items() if rows.rows.num_rows}
    validate(changes, catalog, view)
    tables = tuple(TableWrite(key, (_step(change, mode),)) for key, change in sorted(changes.items()))
    write_set = WriteSet(
        writer_kind="Load",
        tables=tables,
        actor_id=actor_id,
        reads=None if reads is None else reads.footprint(),
        lineage_only=not tables,
    )
    return PreparedLoad(write_set, _counts(changes))


def _change(rows: TypeRows, mode: LoadMode) -> TableChange:
    return TableChange(
        rows.info,
        (rows.rows,),
        replaced=mode == "overwrite",
        new=mode == "append",
        distinct=mode not in ("merge", "patch"),
        places=rows.places,
    )


def _step(change: TableChange, mode: LoadMode) -> Step:
    rows = to_stored(change.info, change.final)
    match mode:
        case "append":
            return StrictInsert(rows)
        case "merge" | "patch":
            return Upsert(rows)
        case "overwrite":
            return Overwrite(rows)


def _counts(changes: Mapping[str, TableChange]) -> LoadCounts:
    counts = {key: change.final.num_rows for key, change in sorted(changes.items())}
    return LoadCounts(
        {key.removeprefix("node:"): count for key, count in counts.items() if key.startswith("node:")},
        {key.removeprefix("edge:"): count for key, count in counts.items() if key.startswith("edge:")},
    )
