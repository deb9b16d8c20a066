"""Values around a table commit: the staged transaction, what became of it, and what an index should be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from omnigraph.errors import OmnigraphError
from omnigraph.ids import new_ulid
from omnigraph.storage.base.layout import Address
from omnigraph.storage.lance.checksums import Checksums
from omnigraph.storage.lance.handle import TableHandle
from omnigraph.storage.lance.row_versions import RowVersions


@dataclass(frozen=True, slots=True)
class Draft:
    """A change whose data files are written; it becomes a transaction on any version that has the same rows of its ids.

    `places` are the rows that it replaces or removes, as found in one version; `replacing` are the row ids of those
    that the first rows of its fragments take over, in their order.
    """

    fragments: tuple[str, ...] = ()
    places: Any = field(default=None, repr=False)
    replacing: np.ndarray | None = field(default=None, repr=False)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit: no row to write and none that could be removed."""
        return not self.fragments and (self.places is None or not self.places.count)


@dataclass(slots=True)
class Staged:
    """A transaction that is written but not committed; set `uuid` and `properties` before committing it."""

    address: Address
    base_version: int
    transaction: Any = field(repr=False)
    target: Any = field(repr=False)  # the dataset it was staged on, or the URI of one to be created
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    created: RowVersions | None = field(default=None, repr=False)  # when the rows were created that first ones replace
    uuid: str = field(default_factory=lambda: f"omnigraph-{new_ulid()}")
    properties: dict[str, str] = field(default_factory=dict)
    checksums: Checksums = field(default_factory=dict, repr=False)  # of the files that it adds

    @property
    def slot(self) -> int:
        """The only version at which this transaction may land."""
        return self.base_version + 1


@dataclass(frozen=True, slots=True)
class Carry:
    """Add fragments under the row ids that they name; the version before has withdrawn the rows of these ids."""

    fragments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Date:
    """Say of the fragments just carried in which versions their first rows were created; the others are new."""

    fragments: int
    created: RowVersions


@dataclass(frozen=True, slots=True)
class Landed:
    """The commit is durable at `version`; `exact` says that it is in its slot under its uuid."""

    version: int
    exact: bool
    handle: TableHandle  # the dataset at `version`


@dataclass(frozen=True, slots=True)
class Refused:
    """Lance refused the commit; it had and will have no effect."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """The commit may or may not have landed, or may land later; look for its uuid."""

    cause: OmnigraphError


CommitOutcome = Landed | Refused | Unknown


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """One index to build: lance's index type and its parameters.

    With `fragments`, only these are indexed and the index keeps what it has; without, it is built anew over all.
    `segments` are what workers have built of it on the version it is staged on, see `tables.join_segments`.
    """

    column: str
    index_type: str
    name: str
    metric: str = "L2"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    fragments: tuple[int, ...] | None = None
    segments: tuple[Any, ...] = field(default=(), repr=False)
