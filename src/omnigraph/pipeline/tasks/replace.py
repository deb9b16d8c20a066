"""Parts of a merge in which some ids exist already: tasks write them again, apart from those that are new.

A table takes over whole files. Rows that replace others keep the row ids of those, and lance numbers only the rows that
have none, so the two kinds cannot share a file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.values.arrow import TableType, row_schema, table_types, to_stored
from omnigraph.engine.values.rowset import one_array
from omnigraph.ids import new_ulid
from omnigraph.pipeline.tasks.committed import PartitionRows
from omnigraph.pipeline.tasks.jobs import Report, Tasks
from omnigraph.pipeline.tasks.key_rows import CheckJob, KeyRows
from omnigraph.pipeline.tasks.key_sets import Part
from omnigraph.storage.lance import parts as scratch


@dataclass(frozen=True, slots=True)
class Arranged:
    """Where the rows of one table are now: in parts that replace existing rows, and in parts of new ones."""

    table_key: str
    replacing: tuple[str, ...] = ()
    fresh: tuple[str, ...] = ()

    def __add__(self, other: Arranged) -> Arranged:
        return Arranged(self.table_key, self.replacing + other.replacing, self.fresh + other.fresh)


def arrange(job: CheckJob, matched: Collection[str], tasks: Tasks, report: Report | None) -> dict[str, Arranged]:
    """The parts of each table; those that are named as having existing ids are taken apart by tasks."""
    found = {
        key: Arranged(key, fresh=tuple(part.location for part in mine if part.location not in matched))
        for key, mine in job.parts.items()
    }
    groups = [
        group
        for mine in job.parts.values()
        for group in _shares([part for part in mine if part.location in matched], tasks.cores)
    ]
    for done in tasks.run(lambda group: _taken_apart(job, group), groups, stage="replace", report=report):
        found[done.table_key] += done
    return found


def _shares(mine: Sequence[Part], cores: int) -> Iterator[tuple[Part, ...]]:
    """One group per core: what exists is looked up once for all parts of a group."""
    size = -(-len(mine) // cores) or 1
    for start in range(0, len(mine), size):
        yield tuple(mine[start : start + size])


def _taken_apart(job: CheckJob, mine: Sequence[Part]) -> Arranged:
    key = mine[0].table_key
    info = table_types(job.catalog)[key]
    ids = [one_array(scratch.open_part(job.root, part.location).scan(["id"])["id"]) for part in mine]
    present = PartitionRows(KeyRows(job, 0, 1), 0).present(key, pa.concat_arrays(ids))
    done = Arranged(key)
    for part, own in zip(mine, ids, strict=True):
        done += _part_taken_apart(job, info, part, pc.is_in(own, value_set=present))
    return done


def _part_taken_apart(job: CheckJob, info: TableType, part: Part, exists: pa.Array) -> Arranged:
    known = pc.sum(exists).as_py()
    if not known:
        return Arranged(info.table_key, fresh=(part.location,))
    if known == part.rows:
        return Arranged(info.table_key, replacing=(part.location,))
    rows = _rows(job, info, part)
    place = f"{part.location.rpartition('/')[0]}-{new_ulid()}/{info.table_key.replace(':', '-')}"
    scratch.write_part(job.root, f"{place}-0", to_stored(info, rows.filter(exists)))
    scratch.write_part(job.root, f"{place}-1", to_stored(info, rows.filter(pc.invert(exists))))
    return Arranged(info.table_key, replacing=(f"{place}-0",), fresh=(f"{place}-1",))


def _rows(job: CheckJob, info: TableType, part: Part) -> pa.Table:
    schema = row_schema(info)
    rows = scratch.open_part(job.root, part.location).scan(blobs="cells")
    return pa.Table.from_arrays([rows[field.name].cast(field.type) for field in schema], schema=schema)
