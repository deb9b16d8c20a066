"""Which searches can be answered in one go: the texts of one type that fit some words best, and values of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Limit, NodeScan, Output, Project, Rank, Sort, SortKey
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.engine.read.frames.unions import is_union
from omnigraph.engine.read.plan.route_start import constant


@dataclass(frozen=True, slots=True)
class Asked:
    """What one call of such a search asks for: the rows from `begin` to `end` of the order by relevance."""

    words: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Search:
    """The nodes of a type in the order of relevance to some words, from an offset up to a limit."""

    table_key: str
    call: ir.Bm25
    limit: ir.Const | ir.Param
    offset: ir.Const | ir.Param | None
    outputs: tuple[tuple[str, ir.Property | ir.Score], ...]

    def asked(self, values: Mapping[str, Any]) -> Asked | None:
        """What these values ask for; None where they are null or wrong, which the executor has to say."""
        words, limit = constant(self.call.query, values), constant(self.limit, values)
        offset = 0 if self.offset is None else constant(self.offset, values)
        if not isinstance(words, str) or not isinstance(limit, int) or not isinstance(offset, int):
            return None
        return Asked(words, offset, offset + limit) if limit >= 0 and offset >= 0 else None


def search_of(plan: ReadPlan) -> Search | None:
    """The search that a plan is; None when it is anything else."""
    match plan.match, plan.result:
        case (
            (NodeScan(predicates=(), joins=()) as scan,),
            (
                Rank(ir.Bm25() as call),
                Sort((SortKey(ir.Score(), True),), ties),
                Project(columns),
                Limit(limit, offset, ()),
            ),
        ) if (scan.var,) == (call.var,) == ties and limit is not None and not is_union(scan.table_key):
            outputs = _outputs(columns, scan.var)
            return None if outputs is None else Search(scan.table_key, call, limit, offset, outputs)
    return None


def _outputs(columns: tuple[Output, ...], var: str) -> tuple[tuple[str, ir.Property | ir.Score], ...] | None:
    found: list[tuple[str, ir.Property | ir.Score]] = []
    for each in columns:
        match each.expr:
            case ir.Property(var=of) if of == var:
                found.append((each.name, each.expr))
            case ir.Score():
                found.append((each.name, each.expr))
            case _:
                return None
    return tuple(found)
