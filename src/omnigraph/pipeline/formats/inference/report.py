"""What `infer` found, in words: a few sentences for each input, and the evidence on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow.compute as pc

from omnigraph.display import counted
from omnigraph.pipeline.formats.inference.relations import Found, ends_of

_EXAMPLES = 3
_WIDTH = 24


def report(found: Sequence[Found], edge_of: Mapping[tuple[str, str], str]) -> tuple[str, ...]:
    """What became of each input, its edges, and what was assumed about its cells."""
    return tuple(line for each in found for line in _input(each, edge_of))


def _input(each: Found, edge_of: Mapping[tuple[str, str], str]) -> Iterator[str]:
    table = each.table
    rows = (
        f"the first {table.rows:,} rows were looked at" if table.sampled else counted(table.rows, "row", grouped=True)
    )
    if each.is_edge:
        columns = [column for column in each.references if (table.name, column) in edge_of]
        ends = " to ".join(f"{each.references[column].target.type} ({column})" for column in ends_of(each))
        yield f"{table.shown} ({rows}) → edge type {edge_of[table.name, columns[0]]} from {ends}: {each.why}"
    else:
        yield f"{table.shown} ({rows}) → node type {table.type}, {_named(each)}"
        if len(each.references) > 1:
            yield f"  it is a node type: {each.why}"
    for column, reference in each.references.items():
        name = edge_of.get((table.name, column))
        if name is not None and not each.is_edge:
            yield f"  {column} → edge {name} to {reference.target.type}: {reference.told()}"
        elif name is not None and not reference.whole:
            yield f"  {reference.told()}"
    for composite in each.composites:
        together = " and ".join(composite.columns)
        name = edge_of.get((table.name, together))
        if name is not None:
            yield f"  {together} → edge {name} to {composite.target.type}: {composite.told()}"
    for sentence in table.assumed:
        yield f"  assumed: {sentence}"
    if table.sampled:
        yield "  assumed: properties may be missing in the rows that were not looked at"


def _named(each: Found) -> str:
    if not each.key:
        return "ids are files and lines" if each.by_line else "ids are generated"
    if len(each.key) > 1:
        why = "as declared" if each.key == each.table.declared_key else "no single column is distinct"
        return f"key {', '.join(each.key)} ({why})"
    return f"key {each.key[0]}"


def evidence(found: Sequence[Found], edge_of: Mapping[tuple[str, str], str]) -> tuple[str, ...]:
    """Every column with its type, its gaps, how many values it has, and which references were considered."""
    lines: list[str] = []
    for each in found:
        table = each.table
        lines.append(f"{table.shown}: {counted(table.rows, 'row', grouped=True)}")
        for column, kind in table.kinds.items():
            values = table.columns[column]
            distinct = None if kind.list or kind.dim is not None else _distinct(values)
            values_told = "? values" if distinct is None else counted(distinct, "value", grouped=True)
            gaps = f", {values.null_count:,} missing" if values.null_count else ""
            role = _role(each, column, edge_of)
            lines.append(f"  {column}: {kind}, {values_told}{gaps}{_shown(values, distinct)}{role}")
        lines += [f"  considered: {sentence}" for sentence in each.considered]
    return tuple(lines)


def _distinct(values: object) -> int:
    try:
        return int(pc.count_distinct(values).as_py())
    except Exception:  # Arrow counts no values of nested types
        return 0


def _shown(values: object, distinct: int | None) -> str:
    if distinct is None:
        return ""
    try:
        some = pc.unique(values).drop_null().slice(0, _EXAMPLES).to_pylist()
    except Exception:  # nor does it compare them
        return ""
    more = ", …" if distinct > len(some) else ""
    return f" ({', '.join(_cut(str(value)) for value in some)}{more})" if some else ""


def _cut(text: str) -> str:
    plain = text.replace("\n", " ")
    return plain if len(plain) <= _WIDTH else f"{plain[: _WIDTH - 1]}…"


def _role(each: Found, column: str, edge_of: Mapping[tuple[str, str], str]) -> str:
    roles = ["key"] if column in each.key else []
    name = edge_of.get((each.table.name, column))
    if name is not None:
        roles.append(f"edge {name} ({each.references[column].why})")
    return f" ← {', '.join(roles)}" if roles else ""
