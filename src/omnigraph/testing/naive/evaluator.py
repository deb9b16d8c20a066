"""A naive evaluator of checked reads over plain dictionaries: try every assignment, keep those that fit all clauses.

It follows the definition of a read word for word and shares no step with the engine: no plan, no Arrow, no index. Only
the analyzer, which defines what a token is, is the engine's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cmp_to_key, partial
from typing import Any, TypeAlias

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.functions import Failure
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import SortKey
from omnigraph.compiler.ir.walk import expressions, rebuild
from omnigraph.compiler.query.checked import (
    Checked,
    CheckedRead,
    Column,
    ExistsMatch,
    PathVar,
    RowVar,
)
from omnigraph.compiler.query.params import ParamValue
from omnigraph.compiler.temporal import Date, DateTime, parse_date, parse_datetime
from omnigraph.compiler.types import PropType
from omnigraph.ids import now_micros
from omnigraph.testing.naive.constraints import Image
from omnigraph.testing.naive.evaluator_match import Matching
from omnigraph.testing.naive.evaluator_truth import all_true
from omnigraph.testing.naive.evaluator_values import Assignment, Entity, Values, compare_total

OutputRow: TypeAlias = dict[str, Any]
Pair: TypeAlias = tuple[Assignment, OutputRow]
REFUSED = r"integer overflow|is not a|does not fit"


def evaluate(
    checked: Checked, catalog: Catalog, image: Image, params: Mapping[str, ParamValue], now: DateTime
) -> list[OutputRow]:
    """The rows of a read, in their total order, with values as JSON prints them."""
    assert isinstance(checked.body, CheckedRead)
    return _Evaluation(checked.body, catalog, image, params, now).rows()


def rows_of(text: str, catalog: Catalog, image: Image) -> list[OutputRow] | None:
    """The rows of a query without parameters, or None when one of its values cannot be computed.

    The engine refuses such a query with a message that matches `REFUSED`.
    """
    try:
        return evaluate(compile_query(text, catalog).checked, catalog, image, {}, DateTime(now_micros() // 1000))
    except Failure:
        return None


class _Evaluation(Matching):
    def __init__(
        self,
        read: CheckedRead,
        catalog: Catalog,
        image: Image,
        params: Mapping[str, ParamValue],
        now: DateTime,
    ) -> None:
        self.read = read
        self.catalog = catalog
        self.image, self.params, self.now = image, params, now
        tables = {key: [_typed(catalog, key, row) for row in rows.values()] for key, rows in image.items()}
        super().__init__(tables, Values(tables, params, now))
        self.values.answer = self.answered
        self.values.window = self.windowed
        self.kept_rows: list[Assignment] = []
        self.matched: list[Assignment] = []
        self.marks = {mark.var: mark for mark in expressions(read) if isinstance(mark, ExistsMatch)}

    def answered(self, var: str, assignment: Assignment) -> Any:
        """What `exists { … }`, or an aggregate over a pattern, says about an assignment."""
        mark = self.marks[var]
        found = self.solutions(mark.clauses, {name: assignment[name] for name in mark.outer})
        if mark.call is None:
            return bool(found)
        ties = list(mark.ties)
        found.sort(key=cmp_to_key(partial(self.compare_ids, ties)))
        return self.values.aggregate(mark.call, found, [])

    def windowed(self, call: ir.WindowCall, row: Assignment) -> Any:
        """The value of a window for one row of the match."""
        value = self.values.value
        own = [value(key, row, []) for key in call.per]
        group = [other for other in self.matched if [value(key, other, []) for key in call.per] == own]
        keys = [SortKey(key.expr, key.descending) for key in call.keys]

        def before(a: Assignment, b: Assignment) -> int:
            found = next((way for key in keys if (way := self.compare_key(key, a, b, []))), 0)
            return found or self.compare_ids(self.ties(), a, b)

        group = sorted(group, key=cmp_to_key(before))
        at = next(place for place, other in enumerate(group) if other is row)
        sorts = [[value(key.expr, other, []) for key in keys] for other in group]
        match call.function:
            case "row_number":
                return at + 1
            case "rank":
                return sorts.index(sorts[at]) + 1
            case "dense_rank":
                return len([place for place in range(at + 1) if sorts.index(sorts[place]) == place])
            case "lag" | "lead":
                other = at - call.offset if call.function == "lag" else at + call.offset
                assert call.arg is not None
                return value(call.arg, group[other], []) if 0 <= other < len(group) else None
        members = group[: at + 1] if keys else group
        folded = ir.AggregateCall(call.function, call.arg, False, call.type, call.where)
        return self.values.aggregate(folded, members, [])

    def rows(self) -> list[OutputRow]:
        return [{name: _json(value) for name, value in row.items()} for row in self.found()]

    def starts(self) -> list[Assignment]:
        """What the match goes on from: one empty row, or the rows of the stage before it."""
        stage = self.read.source
        if stage is None:
            return [{}]
        before = _Evaluation(stage.read, self.catalog, self.image, self.params, self.now)
        rows = before.found()
        return [
            {**{name: before.kept_rows[place][name] for name in stage.keeps}, stage.var: {**row, "_place": place}}
            for place, row in enumerate(rows)
        ]

    def united(self) -> list[OutputRow]:
        """The rows of all parts, then what the union says about all of them."""
        read = self.read
        parts = [_Evaluation(part, self.catalog, self.image, self.params, self.now).found() for part in read.parts]
        out = [{name: self.widened(name, value) for name, value in row.items()} for rows in parts for row in rows]
        if read.distinct:
            out = [row for place, row in enumerate(out) if row not in out[:place]]

        def before(a: OutputRow, b: OutputRow) -> int:
            return next((found for key in read.keys if (found := self.compare_key(key, {"": a}, {"": b}, []))), 0)

        out.sort(key=cmp_to_key(before))
        limit, offset = _count(self.values, read.limit), _count(self.values, read.offset) or 0
        return out[offset:] if limit is None else out[offset : offset + limit]

    def widened(self, name: str, value: Any) -> Any:
        kind = next(column.expr.type for column in self.read.columns if column.name == name)
        whole = isinstance(value, int) and not isinstance(value, bool)
        return float(value) if whole and isinstance(kind, PropType) and kind.scalar == "F64" else value

    def found(self) -> list[OutputRow]:
        """The rows, with values as they are computed."""
        if self.read.parts:
            return self.united()
        read, values = self.read, self.values
        limit = _count(values, read.limit)
        offset = _count(values, read.offset) or 0
        matched = [row for start in self.starts() for row in self.solutions(read.clauses, start)]
        scores: dict[int, float] = {}
        if read.rank is not None:
            arm = None if limit is None else limit + offset
            scores = values.ranking(read.rank, matched, arm)
            matched = [row for place, row in enumerate(matched) if place in scores]
            scores = dict(enumerate(scores[place] for place in sorted(scores)))
        self.matched = matched
        before: Callable[[int, int], int] = lambda a, b: self.compare(matched, scores, a, b)  # noqa: E731
        places = [*range(len(matched))]
        if read.having and not read.grouped:  # what it drops has no place in the order, and may fail there
            places = [place for place in places if self.kept(self.projected(matched[place], matched))]
        order = sorted(places, key=cmp_to_key(before))
        matched = [matched[place] for place in order]
        shown = matched
        if limit is not None and not (read.grouped or read.having or read.distinct or read.per):
            shown = matched[: limit + offset]  # the other rows are not asked for
        pairs = self.grouped(matched) if read.grouped else [(row, self.projected(row, matched)) for row in shown]
        if not read.grouped:
            pairs = [(row, out) for row, out in pairs if self.kept(out)]
        for _, out in pairs:
            for value in out.values():
                if isinstance(value, Failure):
                    raise value
        if read.distinct:
            rows = [out for _, out in pairs]
            pairs = [pair for place, pair in enumerate(pairs) if pair[1] not in rows[:place]]
        pairs = self.limited(pairs, limit, offset)
        self.kept_rows = [row for row, _ in pairs]
        return [out for _, out in pairs]

    def limited(self, pairs: list[Pair], limit: int | None, offset: int) -> list[Pair]:
        """The rows from an offset on, as many as the limit allows, of all rows or of each group of them."""
        if not self.read.per:
            return pairs[offset:] if limit is None else pairs[offset : offset + limit]
        counts: list[list[Any]] = []
        kept: list[Pair] = []
        for row, out in pairs:
            key = [self.values.value(expr, {**row, "": out}, []) for expr in self.read.per]
            known = next((each for each in counts if each[0] == key), None)
            if known is None:
                known = [key, 0]
                counts.append(known)
            if known[1] >= offset and (limit is None or known[1] < offset + limit):
                kept.append((row, out))
            known[1] += 1
        return kept

    def kept(self, row: OutputRow) -> bool:
        shown: Assignment = {"": row}
        return all_true(lambda test=test: self.values.truth(test, shown) for test in self.read.having) is True  # type: ignore[misc]

    # --- match -----------------------------------------------------------------------------------

    # --- order -----------------------------------------------------------------------------------

    def compare(self, rows: list[Assignment], scores: dict[int, float], a: int, b: int) -> int:
        """The total order of match rows: rank, keys, ranked entity, then ids by variable name."""
        read, ties = self.read, self.ties()
        if read.rank is not None:
            best = scores[a] - scores[b] if isinstance(read.rank, ir.Nearest) else scores[b] - scores[a]
            if best:
                return 1 if best > 0 else -1
            ties = [read.rank.var, *(name for name in ties if name != read.rank.var)]
        if not read.grouped:
            for key in read.keys:
                result = self.compare_key(key, rows[a], rows[b], rows)
                if result:
                    return result
        return self.compare_ids(ties, rows[a], rows[b])

    def ties(self) -> list[str]:
        """What completes the order of rows: places in the stage before, ids by names of variables, places in lists."""
        read = self.read
        entities = (name for name, kind in read.variables.items() if not isinstance(kind, PathVar | RowVar))
        kept = () if read.source is None else (read.source.var, *read.source.keeps)
        made = [name for name, kind in read.variables.items() if isinstance(kind, RowVar) and name not in kept]
        named = sorted(name for name in entities if not ir.is_hidden(name) and name not in kept)
        several = (name for name, kind in read.variables.items() if isinstance(kind, PathVar) and kind.several)
        return [*kept[:1], *named, *sorted(name for name in several if name not in kept), *made]

    def compare_ids(self, ties: list[str], left: Assignment, right: Assignment) -> int:
        ids = ((_tie(left[name]), _tie(right[name])) for name in ties)
        return next(((one > other) - (one < other) for one, other in ids if one != other), 0)

    def compare_key(self, key: SortKey, left: Assignment, right: Assignment, rows: list[Assignment]) -> int:
        values = (self.values.value(key.expr, row, rows) for row in (left, right))
        result = compare_total(*values)
        return -result if key.descending else result

    # --- return ----------------------------------------------------------------------------------

    def projected(self, row: Assignment, rows: list[Assignment]) -> OutputRow:
        return {column.name: self.shown(column, row, rows) for column in self.read.columns}

    def shown(self, column: Column, row: Assignment, rows: list[Assignment]) -> Any:
        """What stands in a column; an overflow stands there too until it is known that the row counts."""
        if isinstance(column.expr, ir.Node):
            entity = row[column.expr.var]
            if entity is None:
                return None
            kind = {} if column.expr.fields is None else {"@type": entity["_table"].partition(":")[2]}
            ends = {"src": "from", "dst": "to"} if column.expr.kind == "edge" else {}
            return {
                "id": entity["id"],
                **kind,
                **{ends.get(name, name): entity[name] for name in column.expr.properties},
            }
        try:
            return self.values.value(column.expr, row, rows)
        except Failure as error:
            if self.read.grouped:
                raise
            return error

    def grouped(self, rows: list[Assignment]) -> list[Pair]:
        keys = [column for column in self.read.columns if column.is_key]
        groups: list[tuple[list[Any], list[Assignment]]] = []
        for row in rows:
            key = [self.shown(column, row, rows) for column in keys]
            members = next((members for known, members in groups if known == key), None)
            if members is None:
                groups.append((key, [row]))
            else:
                members.append(row)
        if not keys and not groups:
            groups.append(([], []))
        out = [self.aggregated(members, rows) for _, members in groups]
        kept = [place for place, members in enumerate(groups) if self.kept_group(out[place], members[1], rows)]
        before: Callable[[int, int], int] = lambda a, b: self.compare_groups(groups, out, a, b, rows)  # noqa: E731
        places = sorted(kept, key=cmp_to_key(before))
        by_keys = self.read.rank is None and all(_has_order(column) for column in keys)
        chosen = places if self.read.keys or by_keys else kept
        return [(groups[place][1][0] if groups[place][1] else {}, out[place]) for place in chosen]

    def kept_group(self, row: OutputRow, members: list[Assignment], rows: list[Assignment]) -> bool:
        shown: Assignment = {"": row}
        tests = [self.folded(test, members, rows) for test in self.read.having]
        return all_true(lambda test=test: self.values.truth(test, shown) for test in tests) is True  # type: ignore[misc]

    def folded(self, node: Any, members: list[Assignment], rows: list[Assignment]) -> Any:
        """An expression with its aggregates as the constants that they are for one group."""
        if isinstance(node, ir.AggregateCall):
            value = self.values.aggregate(node, members, rows)
            return ir.Const(tuple(value) if isinstance(value, list) else value, node.type)  # type: ignore[arg-type]
        return rebuild(node, lambda part: self.folded(part, members, rows))

    def aggregated(self, members: list[Assignment], rows: list[Assignment]) -> OutputRow:
        row: OutputRow = {}
        for column in self.read.columns:
            first = members[0] if members else {}
            if isinstance(column.expr, ir.AggregateCall):
                row[column.name] = self.values.aggregate(column.expr, members, rows)
            elif column.is_aggregate:
                try:
                    row[column.name] = self.values.value(self.folded(column.expr, members, rows), first, rows)
                except Failure as error:
                    row[column.name] = error
            else:
                row[column.name] = self.shown(column, first, rows)
        return row

    def compare_groups(self, groups: list[Any], out: list[OutputRow], a: int, b: int, rows: list[Assignment]) -> int:
        left, right = out[a], out[b]
        for key in self.read.keys:
            pair = []
            for place in (a, b):
                members = groups[place][1]
                found = self.values.value(
                    self.folded(key.expr, members, rows), {**(members[0] if members else {}), "": out[place]}, rows
                )
                pair.append(found)
            result = compare_total(*pair)
            if result:
                return -result if key.descending else result
        for column in self.read.columns:
            listed = any(isinstance(row[column.name], list | tuple) for row in (left, right))
            if column.is_key and not listed:
                result = compare_total(left[column.name], right[column.name])
                if result:
                    return result
        return 0


def _has_order(column: Column) -> bool:
    kind = column.expr.type
    return isinstance(kind, ir.NodeObject) or not (kind.list or kind.is_vector or kind.members is not None)


def _tie(entity: Entity | None) -> tuple[Any, ...]:
    if entity is not None and "_place" in entity:
        return (entity["_place"],)
    if entity is not None and "_rank" in entity:
        return (entity["_rank"],)
    return () if entity is None else (entity["id"].encode(), entity["_table"])


def _count(values: Values, expr: ir.Const | ir.Param | None) -> int | None:
    found = None if expr is None else values.value(expr, {}, [])
    assert found is None or isinstance(found, int)
    return found


def _typed(catalog: Catalog, table_key: str, row: Mapping[str, Any]) -> Entity:
    """A row of JSON values with its dates and instants as such."""
    kind, _, name = table_key.partition(":")
    info = catalog.nodes[name] if kind == "node" else catalog.edges[name]
    return dict(_typed_members(info.properties, row), _table=table_key)


def _typed_members(properties: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        kind = properties.get(name)
        if value is not None and kind is not None and not kind.list and kind.scalar == "Date":
            value = parse_date(value)
        elif value is not None and kind is not None and not kind.list and kind.scalar == "DateTime":
            value = parse_datetime(value)
        yield name, value


def _json(value: Any) -> Any:
    if isinstance(value, Date | DateTime):
        return str(value)
    if isinstance(value, dict):
        return {name: _json(member) for name, member in value.items()}
    return [_json(item) for item in value] if isinstance(value, list | tuple) else value
