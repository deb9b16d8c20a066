"""Columns of a grouped read: what is folded, what groups, and what is computed from both afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, cast

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Aggregate, Output
from omnigraph.compiler.ir.walk import expressions, rebuild
from omnigraph.compiler.query.checked import CheckedRead

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Groups:
    """`aggregate` computes the group keys and every aggregate; `outputs` are the result columns in terms of those."""

    aggregate: Aggregate
    outputs: tuple[Output, ...]
    known: dict[ir.Expr, ir.Column]
    named: dict[str, ir.Expr]

    @classmethod
    def of(cls, read: CheckedRead, columns: tuple[Output, ...]) -> Groups:
        """The groups of a read whose columns are these."""
        known: dict[ir.Expr, ir.Column] = {}
        folded: list[Output] = []
        for column, output in zip(read.columns, columns, strict=True):
            if column.is_key or isinstance(output.expr, ir.AggregateCall):
                folded.append(output)
                known.setdefault(output.expr, ir.Column(output.name, output.expr.type))
        everything = (*(output.expr for output in columns), *read.having, *(key.expr for key in read.keys))
        for part in (part for node in everything for part in expressions(node)):
            if isinstance(part, ir.AggregateCall) and part not in known:
                known[part] = ir.Column(f"#{len(known)}", part.type)  # no column of a query has such a name
                folded.append(Output(known[part].name, part))
        shown = tuple(Output(output.name, _inlined(output.expr, known, {})) for output in columns)
        named = {
            output.name: each.expr
            for output, each in zip(columns, shown, strict=True)
            if each.expr != ir.Column(output.name, output.expr.type)
        }
        return cls(Aggregate(tuple(folded)), shown, known, named)

    @property
    def are_plain(self) -> bool:
        """Whether every result column is a key or an aggregate as it stands."""
        return not self.named and len(self.aggregate.columns) == len(self.outputs)

    def inlined(self, node: _T) -> _T:
        """A condition or sort key in terms of what the aggregate puts out."""
        return cast("_T", _inlined(node, self.known, self.named))


def _inlined(node: Any, known: dict[ir.Expr, ir.Column], named: dict[str, ir.Expr]) -> Any:
    if isinstance(node, ir.Column):
        return named.get(node.name, node)
    found = known.get(node) if isinstance(node, _VALUES) else None
    return found if found is not None else rebuild(node, lambda part: _inlined(part, known, named))


_VALUES = (
    ir.Property,
    ir.Node,
    ir.Param,
    ir.Arithmetic,
    ir.Function,
    ir.Record,
    ir.Choice,
    ir.AggregateCall,
    *ir.CONDITIONS,
)
