"""Merging the obvious way: three dictionaries, one entity at a time."""

from __future__ import annotations

import json
from dataclasses import dataclass

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.testing.naive.constraints import Image, Row, violations

_KIND_OF_CODE = {"W012": "UniqueViolation", "W013": "OrphanEdge", "W014": "CardinalityViolation"}


@dataclass(frozen=True, slots=True)
class NaiveMerge:
    """The merged image, or why there is none: contradicting rows, or kinds of broken constraints."""

    image: Image
    rows: frozenset[tuple[str, str, str]] = frozenset()
    constraints: frozenset[str] = frozenset()

    @property
    def conflicts(self) -> bool:
        return bool(self.rows or self.constraints)


def merge_images(catalog: Catalog, base: Image, ours: Image, theirs: Image) -> NaiveMerge:
    """Ours with everything that theirs changed since the base."""
    merged: Image = {key: {} for key in ours}
    found: set[tuple[str, str, str]] = set()
    for key in ours:
        for entity in {*base[key], *ours[key], *theirs[key]}:
            sides = base[key].get(entity), ours[key].get(entity), theirs[key].get(entity)
            kind, row = _merged(*sides)
            if kind is not None:
                found.add((key, entity, kind))
            elif row is not None:
                merged[key][entity] = row
    if found:
        return NaiveMerge(ours, rows=frozenset(found))
    kinds = {_KIND_OF_CODE.get(code, "ValueConstraintViolation") for code in violations(catalog, ours, merged)}
    return NaiveMerge(ours, constraints=frozenset(kinds)) if kinds else NaiveMerge(merged)


def _merged(base: Row | None, ours: Row | None, theirs: Row | None) -> tuple[str | None, Row | None]:
    if _same(ours, theirs) or _same(theirs, base):
        return None, ours
    if _same(ours, base):
        return None, theirs
    if base is None:
        return "DivergentInsert", None
    if ours is None or theirs is None:
        return "DeleteVsUpdate", None
    return "DivergentUpdate", None


def _same(one: Row | None, other: Row | None) -> bool:
    # As text: Python takes 0 for 0.0, and 0.0 for -0.0.
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
