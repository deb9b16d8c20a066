"""Parts of a merge in which some ids exist already: tasks write them again, apart from those that are new.

A table takes over whole files. Rows that replace others keep the row ids of those, and lance numbers only the rows that
have none, so the two kinds cannot share a file. What the commit has to know of replaced rows is in files too: their row
ids as Lance stores them, and for each fragment the set of its rows that give way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.values.arrow import TableType, row_schema, table_types, to_stored
from omnigraph.engine.values.load_profile import Report
from omnigraph.engine.values.rowset import one_array
from omnigraph.ids import new_ulid
from omnigraph.pipeline.tasks.jobs import Tasks
from omnigraph.pipeline.tasks.key_rows import CheckJob
from omnigraph.pipeline.tasks.key_sets import Part
from omnigraph.storage.base.layout import Root
from omnigraph.storage.lance import parts as scratch
from omnigraph.storage.lance.patch import place_of_ids, succession
from omnigraph.storage.lance.withdrawal import FRAGMENT, row_sets, united

# Sets of so many fragments with a million rows each take 8 MiB at most.
_SET_FRAGMENTS = 64


@dataclass(frozen=True, slots=True)
class Arranged:
    """Where the rows of one table are now: in parts that replace existing rows, and in parts of new ones.

    For each of the former there is a part with the row ids that it takes over (`numbers`). The `replaced` rows that
    give way are in parts of sets (`withdrawn`).
    """

    table_key: str
    replacing: tuple[str, ...] = ()
    fresh: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    replaced: int = 0

    def __add__(self, other: Arranged) -> Arranged:
        return Arranged(
            self.table_key,
            self.replacing + other.replacing,
            self.fresh + other.fresh,
            self.numbers + other.numbers,
            self.withdrawn + other.withdrawn,
            self.replaced + other.replaced,
        )


@dataclass(frozen=True, slots=True)
class _Sets:
    """Parts of sets, and the fragments whose sets one task joins."""

    table_key: str
    locations: tuple[str, ...]
    low: int
    high: int


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
    bare = replace(job, parts={})
    counts = {"rows": attrgetter("replaced")}
    for done in tasks.run(
        lambda group: _taken_apart(bare, group), groups, stage="replace", report=report, counts=counts
    ):
        found[done.table_key] += done
    scattered = [sets for each in found.values() for sets in _scattered(bare, each)]
    places = tasks.run(lambda sets: _joined(bare.root, sets), scattered, stage="replace", report=report)
    joined: dict[str, tuple[str, ...]] = {}
    for sets, place in zip(scattered, places, strict=True):
        joined[sets.table_key] = (*joined.get(sets.table_key, ()), place)
    return {key: replace(each, withdrawn=joined.get(key, each.withdrawn)) for key, each in found.items()}


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


def _scattered(job: CheckJob, arranged: Arranged) -> Iterator[_Sets]:
    """The sets of a table in which several tasks have found rows, perhaps of the same fragments."""
    if len(arranged.withdrawn) < 2:
        return
    fragments = sorted(job.view.table(table_types(job.catalog)[arranged.table_key]).fragment_ids())
    for at in range(0, len(fragments), _SET_FRAGMENTS):
        mine = fragments[at : at + _SET_FRAGMENTS]
        yield _Sets(arranged.table_key, arranged.withdrawn, mine[0], mine[-1])


def _joined(root: Root, sets: _Sets) -> str:
    wanted = f"{FRAGMENT} >= {sets.low} AND {FRAGMENT} <= {sets.high}"
    place = f"{sets.locations[0]}-{new_ulid()}"
    scratch.write_part(
        root, place, united(scratch.open_part(root, each).scan(filter=wanted) for each in sets.locations)
    )
    return place


def _taken_apart(job: CheckJob, mine: Sequence[Part]) -> Arranged:
    key = mine[0].table_key
    info = table_types(job.catalog)[key]
    ids = one_array(scratch.joined(job.root, [part.location for part in mine], ["id"])["id"])
    found = place_of_ids(job.view.table(info), ids)
    done, start = Arranged(key), 0
    for part in mine:
        done += _part_taken_apart(job, info, part, found.slice(start, part.rows))
        start += part.rows
    if not done.replaced:
        return done
    place = f"{_place(mine[0])}-3"
    scratch.write_part(job.root, place, row_sets(found["address"].drop_null().to_numpy()))
    return replace(done, withdrawn=(place,))


def _part_taken_apart(job: CheckJob, info: TableType, part: Part, places: pa.Table) -> Arranged:
    exists = one_array(places["row_id"]).is_valid()
    known = pc.sum(exists).as_py()
    if not known:
        return Arranged(info.table_key, fresh=(part.location,))
    place, replacing = _place(part), part.location
    fresh: tuple[str, ...] = ()
    if known < part.rows:
        rows, replacing, fresh = _rows(job, info, part), f"{place}-0", (f"{place}-1",)
        scratch.write_part(job.root, replacing, to_stored(info, rows.filter(exists)))
        scratch.write_part(job.root, fresh[-1], to_stored(info, rows.filter(pc.invert(exists))))
    sizes = scratch.open_part(job.root, replacing).fragment_rows()
    row_ids, created = (places[name].drop_null().to_numpy() for name in ("row_id", "created"))
    scratch.write_part(job.root, f"{place}-2", succession(row_ids, created, (sizes[at] for at in sorted(sizes))))
    return Arranged(info.table_key, (replacing,), fresh, (f"{place}-2",), replaced=known)


def _place(part: Part) -> str:
    """The beginning of the names of parts that an attempt writes for what is in another."""
    return f"{part.location.rpartition('/')[0]}-{new_ulid()}/{part.table_key.replace(':', '-')}"


def _rows(job: CheckJob, info: TableType, part: Part) -> pa.Table:
    schema = row_schema(info)
    rows = scratch.open_part(job.root, part.location).scan(blobs="cells")
    return pa.Table.from_arrays([rows[field.name].cast(field.type) for field in schema], schema=schema)
