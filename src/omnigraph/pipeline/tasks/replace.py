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
from omnigraph.pipeline.tasks.jobs import Report, Tasks
from omnigraph.pipeline.tasks.key_rows import CheckJob
from omnigraph.pipeline.tasks.key_sets import Part
from omnigraph.storage.lance import parts as scratch
from omnigraph.storage.lance.patch import place_of_ids


@dataclass(frozen=True, slots=True)
class Arranged:
    """Where the rows of one table are now: in parts that replace existing rows, and in parts of new ones.

    For each of the former there is a part with the places of the rows that give way: a number and an address a row.
    """

    table_key: str
    replacing: tuple[str, ...] = ()
    fresh: tuple[str, ...] = ()
    places: tuple[str, ...] = ()

    def __add__(self, other: Arranged) -> Arranged:
        return Arranged(
            self.table_key, self.replacing + other.replacing, self.fresh + other.fresh, self.places + other.places
        )


def arrange(
    job: CheckJob, matched: Collection[str], tasks: Tasks, report: Report | None, share: int
) -> dict[str, Arranged]:
    """The parts of each table; those that are named as having existing ids are taken apart by tasks.

    A task looks up about `share` rows.
    """
    found = {
        key: Arranged(key, fresh=tuple(part.location for part in mine if part.location not in matched))
        for key, mine in job.parts.items()
    }
    groups = [
        group
        for mine in job.parts.values()
        for group in _groups([part for part in mine if part.location in matched], share)
    ]
    for done in tasks.run(lambda group: _taken_apart(job, group), groups, stage="replace", report=report):
        found[done.table_key] += done
    return found


def _groups(mine: Sequence[Part], share: int) -> Iterator[tuple[Part, ...]]:
    """Parts that one task looks up together: what exists is read once for each group."""
    group: list[Part] = []
    for part in mine:
        if group and sum(each.rows for each in group) + part.rows > share:
            yield tuple(group)
            group = []
        group.append(part)
    if group:
        yield tuple(group)


def _taken_apart(job: CheckJob, mine: Sequence[Part]) -> Arranged:
    key = mine[0].table_key
    info = table_types(job.catalog)[key]
    ids = one_array(scratch.joined(job.root, [part.location for part in mine], ["id"])["id"])
    found = place_of_ids(job.view.table(info), ids)
    done, start = Arranged(key), 0
    for part in mine:
        done += _part_taken_apart(job, info, part, found.slice(start, part.rows))
        start += part.rows
    return done


def _part_taken_apart(job: CheckJob, info: TableType, part: Part, places: pa.Table) -> Arranged:
    exists = one_array(places.column(0)).is_valid()
    known = pc.sum(exists).as_py()
    if not known:
        return Arranged(info.table_key, fresh=(part.location,))
    place = f"{part.location.rpartition('/')[0]}-{new_ulid()}/{info.table_key.replace(':', '-')}"
    scratch.write_part(job.root, f"{place}-2", places.filter(exists))
    if known == part.rows:
        return Arranged(info.table_key, (part.location,), (), (f"{place}-2",))
    rows = _rows(job, info, part)
    scratch.write_part(job.root, f"{place}-0", to_stored(info, rows.filter(exists)))
    scratch.write_part(job.root, f"{place}-1", to_stored(info, rows.filter(pc.invert(exists))))
    return Arranged(info.table_key, (f"{place}-0",), (f"{place}-1",), (f"{place}-2",))


def _rows(job: CheckJob, info: TableType, part: Part) -> pa.Table:
    schema = row_schema(info)
    rows = scratch.open_part(job.root, part.location).scan(blobs="cells")
    return pa.Table.from_arrays([rows[field.name].cast(field.type) for field in schema], schema=schema)
