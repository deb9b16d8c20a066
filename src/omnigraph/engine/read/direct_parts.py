"""What direct reads take from memory: the ids of the start by their hashes, neighbour lists, whole columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from omnigraph.engine.read.columns.entities import SMALL_TABLE, Entities
from omnigraph.engine.read.columns.held import Held
from omnigraph.engine.read.columns.key_index import KeyIndex, KeyPart
from omnigraph.engine.read.columns.key_index_store import KEYS
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.plan.route import Hop
from omnigraph.engine.read.topology.adjacency import Adjacency
from omnigraph.engine.read.topology.topology import TOPOLOGIES, Ends

Touch = Callable[[], object]

# More rows are left to the executor, which takes them in pieces and watches memory and time.
MOST_ROWS = 1 << 14
# Of the calls of a direct read one in so many says that what it uses is in use.
TOUCH_EVERY = 64
BUCKET_BITS = 12  # of hashes, by which keys are found


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
    ends = _ends(run, hop)
    held = run.view.tables.memory.cache(TOPOLOGIES).get(ends.key)
    return None if held is None else held.lists(hop.direction).simple


def column_of(table: Entities, name: str) -> Held | None:
    """All values of a column, if they are in memory; those of a small table are read."""
    return table.whole(name) if table.is_small else table.held_whole(name)


def start_and_hops(run: Run, type_name: str, hops: Iterable[Hop]) -> list[Touch]:
    """What has to be asked for now and then, so that ids and lists do not count as unused."""
    memory = run.view.tables.memory
    keys = partial(memory.cache(KEYS).get, run.entities(f"node:{type_name}").version_key)
    return [keys, *(partial(memory.cache(TOPOLOGIES).get, _ends(run, hop).key) for hop in hops)]


def touch_all(sources: Iterable[Touch]) -> None:
    """Ask for all of it."""
    for source in sources:
        source()


def _ends(run: Run, hop: Hop) -> Ends:
    tails, heads = (run.entities(f"node:{name}") for name in (hop.tail_type, hop.head_type))
    return Ends(run.entities(f"edge:{hop.edge}"), tails, heads)
