"""What direct reads take from memory: the ids of the start by their hashes, neighbour lists, whole columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from omnigraph.compiler.types import union_members
from omnigraph.engine.read.columns.entities import SMALL_TABLE, Entities
from omnigraph.engine.read.columns.held import Held
from omnigraph.engine.read.columns.key_index import KeyIndex, KeyPart
from omnigraph.engine.read.columns.key_index_store import KEYS
from omnigraph.engine.read.frames.explain import NestedOperator, TableReads, nested_operators
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.plan.plans import Planned
from omnigraph.engine.read.plan.route_start import Hop, Start
from omnigraph.engine.read.topology.adjacency import Adjacency
from omnigraph.engine.read.topology.topology import TOPOLOGIES, Ends

Touch = Callable[[], object]

# More rows are left to the executor, which takes them in pieces and watches memory and time.
MOST_ROWS = 1 << 14
MOST_BYTES = 1 << 20  # of values that are copied; more counts as memory of the query
# Of the calls of a direct read one in so many says that what it uses is in use.
_TOUCH_EVERY = 64
# From this call on columns are read whole for it.
IN_EARNEST = 4
_SAMPLE = 64  # rows that are looked at for how wide they are
BUCKET_BITS = 12  # of hashes, by which keys are found


class DirectForm:
    """What the direct forms of plans have in common: what they stand for, and that they say what they use."""

    __slots__ = ("_calls", "_sources", "ops", "reads")
    nbytes = 0  # of its own, beside what caches hold
    is_partial = False  # whether it could answer more once more is in memory

    def __init__(self, run: Run, planned: Planned, sources: Iterable[Touch]) -> None:
        self._sources, self._calls = tuple(sources), 0
        self.ops: tuple[NestedOperator, ...] = tuple(nested_operators(planned.plan))
        self.reads = tuple(TableReads(read.table, 0, 0) for read in run.reads())

    def made(self, counts: tuple[int, ...]) -> tuple[int, ...]:
        """Rows that a limit is about."""
        return counts

    def _called(self) -> int:
        """How many calls there have been; what is used has to be asked for, so that it does not count as unused."""
        self._calls += 1
        if self._calls % _TOUCH_EVERY == 0:
            for source in self._sources:
                source()
        return self._calls


def keys_of(table: Entities) -> KeyIndex | None:
    """The ids of a table by their hashes, if they are in memory; those of a small one are read."""
    if not table.as_named:
        return None
    if table.row_count > SMALL_TABLE:
        return table.memory.cache(KEYS).get(table.version_key)
    ids = table.whole("id")
    return KeyIndex(KeyPart.of(ids.values, ids.index.rows))


def lists_of(run: Run, hop: Hop) -> Adjacency | None:
    """The neighbour lists of a hop without parallel edges, if they are in memory."""
    lists = edges_of(run, hop)
    return None if lists is None else lists.known_simple


def edges_of(run: Run, hop: Hop) -> Adjacency | None:
    """The neighbour lists of a hop with all edges, if they are in memory."""
    held = run.view.tables.memory.cache(TOPOLOGIES).get(_ends(run, hop).key)
    return None if held is None else held.lists(hop.direction)


def column_of(table: Entities, name: str) -> Held | None:
    """All values of a column, if they are in memory; those of a small table are read."""
    return table.whole(name) if table.is_small else table.held_whole(name)


def hold_columns(table: Entities, names: list[str]) -> None:
    """Read columns whole if they are not and there is room: few rows of each are looked at for how wide they are."""
    missing = [name for name in names if table.held_whole(name) is None]
    if missing:
        some = table.all_rows()[:_SAMPLE]
        width = sum(table.values(name, some).nbytes for name in missing) / max(len(some), 1)
        table.hold(missing, width)


def start_and_hops(run: Run, start: Start, hops: Iterable[Hop]) -> list[Touch]:
    """What has to be asked for now and then, so that ids and lists do not count as unused."""
    memory = run.view.tables.memory
    types = [name for name in union_members(start.type_name) if run.exists(f"node:{name}")]
    keys = [partial(memory.cache(KEYS).get, run.entities(f"node:{name}").version_key) for name in types]
    return [*keys, *(partial(memory.cache(TOPOLOGIES).get, _ends(run, hop).key) for hop in hops)]


def _ends(run: Run, hop: Hop) -> Ends:
    tails, heads = (run.entities(f"node:{name}") for name in (hop.tail_type, hop.head_type))
    return Ends(run.entities(f"edge:{hop.edge}"), tails, heads)
