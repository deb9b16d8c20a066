"""Tunable numbers of an opened graph: its memory, and the write protocol, safe for several writers by default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from omnigraph.cores import thread_count
from omnigraph.display import DisplayedOptions
from omnigraph.memory.sizes import parse_bytes

Writers = Literal["multi_process", "single_process"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Settings(DisplayedOptions):
    """How much memory a graph may keep, how long writers wait, how often they try again, and when they tidy up."""

    # Bytes, or text such as "2GiB". None: OMNIGRAPH_MEMORY, else half of what the process may use.
    memory: int | str | None = None
    # What this machine's disk may hold of graphs on object stores, so that it is fetched once; 0 keeps nothing.
    # None: OMNIGRAPH_CACHE_BYTES, else 16 GiB.
    cache: int | str | None = None
    # Whether a commit on a disk waits until the disk has it, so that a power cut does not take it.
    # None: OMNIGRAPH_SYNC, else it does.
    sync: bool | None = None
    # Threads that one query may use for long work. None: OMNIGRAPH_THREADS, else one for each core that the process may
    # use.
    threads: int | None = None
    # What one task of a bulk load may hold of the rows it stages or checks; a machine runs a task per core.
    task_memory: int | str = 1 << 30
    writers: Writers = "multi_process"
    lease_ttl_ms: int = 30_000
    lease_skew_ms: int = 10_000
    writer_wait_ms: int = 10_000
    # A compaction is known from foreign work by the mark set after it; a live process may take this long to set it.
    mark_wait_ms: int = 5_000
    control_ttl_ms: int = 900_000
    retire_grace_ms: int = 900_000
    publisher_retry_budget: int = 5
    # How often a write is computed on a head that moved, and how long it may take altogether, waiting included. The
    # time outlasts the lease of a writer that stopped in the way, so that it is resolved rather than refused.
    reprepare_budget: int = 32
    reprepare_seconds: float = 60.0
    neutralize_attempts: int = 8
    # Writes that wait for their turn on a branch are published in that of another, at most so many commits by one
    # version of the manifest; 1 publishes each by itself.
    commits_together: int = 16
    # Commit time grows with the fragments of `__manifest` and of the written tables, so a writer folds them
    # once this many have piled up; 0 turns the automatic compaction off.
    manifest_compact_fragments: int = 12
    table_compact_fragments: int = 16
    # Every version file of `__manifest` repeats the history, so once twice this many have piled up all but the newest
    # ones go; 0 keeps them.
    manifest_keep_versions: int = 64
    # How long a commit stays readable that no branch and no tag needs, such as "90d"; older ones go by themselves, once
    # that many versions of the manifest have come, and as many versions of each table stay whatever their age.
    # None: OMNIGRAPH_HISTORY, else everything stays until `cleanup`.
    history: str | None = None
    history_versions: int = 256
    # Two versions of a table that have to be compared from end to end are compared by Spark, where it is installed,
    # from this many rows in both together; and a table of so many is indexed by Spark, where a session runs, and its
    # topology is built in pieces.
    distribute_rows: int = 20_000_000

    def __post_init__(self) -> None:
        if self.memory is not None:
            parse_bytes(self.memory, name="memory")
        if self.cache is not None:
            parse_bytes(self.cache, name="cache")
        parse_bytes(self.task_memory, name="task_memory")
        if self.threads is not None:
            thread_count(self.threads)

    @property
    def task_bytes(self) -> int:
        """`task_memory` in bytes."""
        return parse_bytes(self.task_memory, name="task_memory")

    @property
    def cache_bytes(self) -> int | None:
        """`cache` in bytes."""
        return None if self.cache is None else parse_bytes(self.cache, name="cache")


DEFAULTS = Settings()
