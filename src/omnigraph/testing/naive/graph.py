"""A naive in-memory graph with branches, commits and time travel, for tests to compare the engine with.

Every commit keeps its whole image. Nothing here is fast; everything here should be plainly right.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.testing.naive import image as images
from omnigraph.testing.naive.constraints import Image, Row, table_types
from omnigraph.testing.naive.image import Outcome, Placeholders, Record, Refused, Statement
from omnigraph.testing.naive.merge import NaiveMerge, merge_images

_STRUCTURAL = frozenset({"id", "from", "to", "src", "dst"})


@dataclass(frozen=True, slots=True)
class ModelCommit:
    """One commit and everything the graph held right after it."""

    id: str
    parent: str | None
    actor: str | None
    image: Image
    merged: str | None = None


@dataclass(slots=True)
class ModelBranch:
    """Commits oldest first; the part inherited from the source branch comes first."""

    commits: list[ModelCommit]
    source: str | None = None

    @property
    def head(self) -> ModelCommit:
        return self.commits[-1]


@dataclass(slots=True)
class ModelGraph:
    """The whole graph; every branch has the schema that it was made with, or got since.

    `catalog` is that of main, `own` those of other branches.
    """

    catalog: Catalog
    branches: dict[str, ModelBranch] = field(default_factory=dict)
    own: dict[str, Catalog] = field(default_factory=dict)
    mint: Placeholders = field(default_factory=Placeholders)

    @classmethod
    def born(cls, catalog: Catalog, genesis: str) -> ModelGraph:
        """A fresh graph with its first commit."""
        commit = ModelCommit(genesis, None, None, images.empty_image(catalog))
        return cls(catalog, {"main": ModelBranch([commit])})

    # --- writing ---------------------------------------------------------------------------------

    def mutate(self, branch: str, statements: Sequence[Statement]) -> Outcome:
        """What a mutation would do; `record` makes it a commit."""
        return images.mutate(self.catalog_of(branch), self.image(branch), statements, self.mint)

    def load(self, branch: str, mode: str, records: Sequence[Record]) -> Outcome:
        """What a load would do; `record` makes it a commit."""
        return images.load(self.catalog_of(branch), self.image(branch), mode, records, self.mint)

    def record(
        self, branch: str, commit_id: str, image: Image, actor: str | None = None, *, merged: str | None = None
    ) -> None:
        """Append the commit that the engine reported, with placeholders already replaced."""
        line = self._live(branch)
        line.commits.append(ModelCommit(commit_id, line.head.id, actor, image, merged))

    # --- merging ---------------------------------------------------------------------------------

    def bases(self, source: str, target: str) -> dict[str, ModelCommit]:
        """The commits that both heads descend from with the least total distance; any of them may be the base."""
        known = {commit.id: commit for name in (source, target) for commit in self._live(name).commits}
        left, right = (_distances(known, self._live(name).head.id) for name in (source, target))
        shared = {name: left[name] + right[name] for name in left.keys() & right.keys() & known.keys()}
        return {name: known[name] for name, sum_ in shared.items() if sum_ == min(shared.values())}

    def merge(self, source: str, target: str, base: ModelCommit, catalog: Catalog | None = None) -> NaiveMerge:
        """What merging would give, with one of the possible bases; `catalog` has what both sides have."""
        combined = catalog if catalog is not None else self.catalog_of(target)
        sides = (base.image, self.image(target), self.image(source))
        return merge_images(combined, *(project(image, combined) for image in sides))

    def accept(self, branch: str, catalog: Catalog) -> None:
        """Give a branch another schema."""
        if branch == "main":
            self.catalog = catalog
        else:
            self.own[branch] = catalog

    def catalog_of(self, branch: str) -> Catalog:
        """The schema of a branch."""
        return self.own.get(branch, self.catalog)

    # --- branches --------------------------------------------------------------------------------

    def create_branch(self, name: str, source: str) -> None:
        """Fork a branch at the source's head."""
        taken = self.branches
        if name in taken or any(other.startswith(f"{name}/") or name.startswith(f"{other}/") for other in taken):
            raise Refused("conflict")
        self.branches[name] = ModelBranch(list(self._live(source).commits), source)
        self.own[name] = self.catalog_of(source)

    def delete_branch(self, name: str) -> None:
        """Remove a branch that no other branch came from; its name is free at once."""
        self._live(name)
        if any(other.source == name for other in self.branches.values()):
            raise Refused("conflict")
        del self.branches[name]
        del self.own[name]

    # --- reading ---------------------------------------------------------------------------------

    def image(self, branch: str) -> Image:
        return self._live(branch).head.image

    def chain(self, branch: str) -> list[str]:
        """Commit ids, newest first."""
        return [commit.id for commit in reversed(self._live(branch).commits)]

    def commits(self) -> Iterator[tuple[str, ModelCommit]]:
        """Every commit that some live branch knows, with that branch."""
        for name, branch in self.branches.items():
            for commit in branch.commits:
                yield name, commit

    def get(self, branch: str, type_name: str, entity_id: str) -> Row | None:
        kind = images.type_named(self.catalog_of(branch), type_name)
        return self.image(branch)[kind.table_key].get(entity_id)

    def _live(self, name: str) -> ModelBranch:
        if name not in self.branches:
            raise Refused("branch_not_found")
        return self.branches[name]


def _distances(known: Mapping[str, ModelCommit], head: str) -> dict[str, int]:
    """How many parents away each ancestor of a commit is, over both kinds of parents."""
    found = {head: 0}
    front = [head]
    while front:
        name = front.pop(0)
        commit = known.get(name)
        for parent in () if commit is None else (commit.parent, commit.merged):
            if parent is not None and parent not in found:
                found[parent] = found[name] + 1
                front.append(parent)
    return found


def project(image: Image, catalog: Catalog) -> Image:
    """An image as another schema shows it: dropped properties are hidden, added ones are null."""
    kinds = table_types(catalog)
    return {
        kind.table_key: {name: _shown(row, kind.properties) for name, row in image[kind.table_key].items()}
        for kind in kinds
    }


def _shown(row: Row, properties: Iterable[str]) -> Row:
    structural = {name: value for name, value in row.items() if name in _STRUCTURAL}
    return {**structural, **{name: row.get(name) for name in properties}}


def adopt_ids(expected: Image, found: Image) -> Image:
    """The expected image with each placeholder id replaced by the id of an equal new row that the engine reported."""
    return {key: _adopted(rows, found[key]) for key, rows in expected.items()}


def _adopted(expected: Mapping[str, Row], found: Mapping[str, Row]) -> dict[str, Row]:
    fresh: dict[str, list[str]] = {}
    for entity_id, row in found.items():
        if entity_id not in expected:
            fresh.setdefault(_content(row), []).append(entity_id)
    adopted: dict[str, Row] = {}
    for entity_id, row in expected.items():
        twins = fresh.get(_content(row), [])
        name = twins.pop() if Placeholders.is_one(entity_id) and twins else entity_id
        adopted[name] = {**row, "id": name}
    return adopted


def _content(row: Row) -> str:
    data: dict[str, Any] = {name: value for name, value in row.items() if name != "id"}
    return json.dumps(data, sort_keys=True)
