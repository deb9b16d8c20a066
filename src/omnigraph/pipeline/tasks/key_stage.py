"""The driver's side of partitioned keys: how many partitions a load needs, and tasks that make those still missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.engine.values.arrow import table_types
from omnigraph.engine.values.load_profile import Report
from omnigraph.engine.views.table_tasks import grouped
from omnigraph.pipeline.tasks.buckets import partitions_for
from omnigraph.pipeline.tasks.checks import largest, touched_edges
from omnigraph.pipeline.tasks.jobs import Tasks
from omnigraph.pipeline.tasks.key_rows import CheckJob, explicit
from omnigraph.pipeline.tasks.key_sets import (
    CommittedKeys,
    Part,
    has_bounds,
    keyed_part,
    unique_groups,
    write_committed_keys,
)
from omnigraph.pipeline.tasks.stage_driver import Tuning
from omnigraph.storage.lance.parts import load_directory
from omnigraph.storage.lance.tables import open_table

Place = tuple[str, tuple[str, ...]]
"""A table, and the columns by which its rows are partitioned."""


@dataclass(slots=True)
class KeyStage:
    """Partitions the keys of one load; what was partitioned for one version of a table is not read again."""

    load_id: str
    tasks: Tasks
    tuning: Tuning
    report: Report | None = None
    _committed: dict[tuple[Place, str | None, int, int], tuple[str, ...]] = field(default_factory=dict)

    def partitioned(self, job: CheckJob) -> CheckJob:
        """The job with everything that its checks read in partitions; unchanged while the rows are few."""
        staged = [part for mine in job.parts.values() for part in mine]
        if sum(part.rows for part in staged) <= self.tuning.smallest:
            return job
        most = max(largest(job, key) for key in {*job.parts, *(key for key, _ in needed(job))})
        # Partitions are made while rows are staged, by a guess of their number; where it was far too low, again.
        made = max(part.partitions for part in staged)
        partitions = max(made, partitions_for(most, self.tuning.smallest if made < 2 else self.tuning.bucket_rows))
        job = replace(job, partitions=partitions, held_rows=self.tuning.bucket_rows)
        return self._with_committed(replace(job, parts=self._keyed(job)))

    def _keyed(self, job: CheckJob) -> dict[str, tuple[Part, ...]]:
        lacking = [part for mine in job.parts.values() for part in mine if part.partitions != job.partitions]
        root, catalog, mode, partitions = job.root, job.catalog, job.mode, job.partitions

        def key(parts: tuple[Part, ...]) -> list[Part]:
            return [keyed_part(root, catalog, mode, part, partitions) for part in parts]

        groups = list(grouped([(part, part.rows) for part in lacking], self.tuning.bucket_rows))
        done = self.tasks.run(key, groups, stage="keys", report=self.report, counts={"rows": _rows})
        known = {part.location: part for found in done for part in found}
        return {name: tuple(known.get(part.location, part) for part in mine) for name, mine in job.parts.items()}

    def _with_committed(self, job: CheckJob) -> CheckJob:
        wanted: list[tuple[Place, CommittedKeys]] = []
        places: dict[Place, tuple[Place, str | None, int, int]] = {}
        for place in needed(job):
            table = job.view.find(table_types(job.catalog)[place[0]])
            if table is None or not table.row_count:
                continue
            places[place] = (place, table.ref, table.version, job.partitions)
            if places[place] not in self._committed:
                rows = open_table(table.address(job.root), table.version).fragment_rows()
                keys = job.key_set(*place)
                groups = grouped(rows.items(), self.tuning.bucket_rows)
                wanted += [(place, CommittedKeys(keys, group)) for group in groups]
        for key in places.values():
            self._committed.setdefault(key, ())
        for (place, _), (_, found) in zip(wanted, self._write(job, [keys for _, keys in wanted]), strict=True):
            self._committed[places[place]] += tuple(found)
        return replace(job, committed={place: self._committed[key] for place, key in places.items()})

    def _write(self, job: CheckJob, wanted: Sequence[CommittedKeys]) -> list[tuple[int, list[str]]]:
        """Partition the keys of committed rows: how many they are, and where they are now."""
        place, batch = f"{load_directory(self.load_id)}/committed", self.tuning.bucket_rows
        bare = replace(job, parts={})

        def write(keys: CommittedKeys) -> tuple[int, list[str]]:
            table = bare.view.table(table_types(bare.catalog)[keys.keys.table_key])
            places = write_committed_keys(f"{place}/{keys.keys.number}", table, keys, bare.partitions, batch)
            return table.count_rows(fragments=keys.fragments), places

        return self.tasks.run(write, wanted, stage="keys", report=self.report, counts={"rows": itemgetter(0)})


def _rows(mine: Sequence[Part]) -> int:
    return sum(part.rows for part in mine)


def needed(job: CheckJob) -> list[Place]:
    """Which committed rows the checks of a load compare with, and by which columns."""
    found: dict[Place, None] = {}
    for key, mine in job.parts.items():
        if not job.replaces:
            found |= dict.fromkeys([(key, ("id",))] if explicit(mine) else [])
            found |= dict.fromkeys((key, group) for group in unique_groups(table_types(job.catalog)[key]))
    for edge in touched_edges(job):
        found |= dict.fromkeys(_of_edges(job, edge))
    return list(found)


def _of_edges(job: CheckJob, edge: EdgeType) -> Iterator[Place]:
    nodes = [f"node:{name}" for name in (edge.from_type, edge.to_type)]
    replaced = [key for key in nodes if key in job.parts and job.replaces]
    if edge.table_key in job.parts:
        yield from ((key, ("id",)) for key in nodes if key not in replaced)
        if has_bounds(edge):
            yield (edge.table_key, ("src",))
            yield from ((key, ("id",)) for key in replaced)
    elif replaced:
        yield from ((key, ("id",)) for key in replaced)
        yield (edge.table_key, ("src",))
        yield (edge.table_key, ("dst",))


def check_rows(parts: Mapping[str, Sequence[Part]], tasks: Tasks, tuning: Tuning) -> int:
    """How many rows one check should have: no more than it may hold, and few enough for every core to have some."""
    rows = sum(part.rows for mine in parts.values() for part in mine)
    return min(tuning.bucket_rows, max(tuning.smallest, -(-rows // (2 * tasks.cores))))
