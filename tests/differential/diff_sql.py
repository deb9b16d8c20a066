"""Translates query trees to SQL for DuckDB, from what the documentation says queries mean.

Nothing here calls the product. A variable is a table alias, or a struct that a lateral join passes on; either way `"v"."p"` is its
property and `"v"."_t"`, `"v"."id"` say which entity it is. Null is smallest in every order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from diff_forms import MODE
from diff_steps import Steps
from diff_tree import (
    Aggregate,
    Alternatives,
    Apply,
    Bind,
    Block,
    Bm25,
    Clause,
    Compare,
    Condition,
    Counted,
    Either,
    Exists,
    In,
    IsNull,
    Key,
    Lit,
    Name,
    Nearest,
    Prop,
    Query,
    Record,
    Same,
    Step,
    Union,
    Unwind,
    Value,
    Var,
    Where,
    Whole,
    Window,
)  # fmt: skip
from diff_world import PROPERTIES, World, shared

_ENDS = {"from": "src", "to": "dst"}
_FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Translator:
    """Translates queries on one world, whose step tables it makes as they are needed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.steps = Steps(world)
        self.ties: list[str] = []
        self.staged = False  # nodes are handed on as they are

    # --- the whole query --------------------------------------------------------------------------

    def query(self, query: Query | Union) -> str:
        """One row per result row, in order; a whole node is its type and id."""
        if isinstance(query, Union):
            return self._union(query)
        return self._limited(query, [f"c{at}" for at in range(len(query.columns))])

    def _limited(self, query: Query, names: list[str]) -> str:
        """The rows of a read in their order; limits are of each group, if it says so."""
        begin, shown = query.offset or 0, ", ".join(names)
        rows = f"SELECT {shown} FROM ({self._read(query)})"
        if not query.per:
            limit = "" if query.limit is None else f" LIMIT {query.limit}"
            return f"{rows} ORDER BY rn{limit} OFFSET {begin}"
        keys = [f"c{_place(query, each)}" if isinstance(each, str) else f"p{at}" for at, each in enumerate(query.per)]
        place = f"row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY rn)"
        return f"{rows} QUALIFY {place} > {begin} AND {place} <= {begin + (query.limit or 0)} ORDER BY rn"

    def _stage(self, query: Query) -> str:
        """The rows of a stage, with its nodes and values under their names."""
        names = [
            f'c{at} AS "{column.expr.var if isinstance(column.expr, Whole) else column.name}"'
            for at, column in enumerate(query.columns)
        ]
        return f"({self._limited(query, [*names, 'rn'])})"

    def _union(self, union: Union) -> str:
        """The rows of each part with their place, since a part has an order of its own."""
        names = [f"c{at}" for at in range(len(union.columns))]
        parts = [
            f"SELECT {', '.join(names)}, {at} AS part, rn FROM ({self._read(part)})"
            for at, part in enumerate(union.parts)
        ]
        rows = " UNION ALL ".join(parts)
        if not union.every:
            keys = ", ".join(names)
            rows = f"SELECT {keys}, min((part, rn)) AS part, 0 AS rn FROM ({rows}) GROUP BY {keys}"
        order = [
            each
            for key in union.order
            for each in _directed([f"c{_place(union, str(key.expr))}"], descending=key.descending)
        ]
        limit = "" if union.limit is None else f" LIMIT {union.limit}"
        offset = "" if union.offset is None else f" OFFSET {union.offset}"
        return f"SELECT {', '.join(names)} FROM ({rows}) ORDER BY {', '.join([*order, 'part', 'rn'])}{limit}{offset}"

    def _read(self, query: Query) -> str:
        """The columns of a read, what its limits are `per`, and `rn`, the place of the row."""
        ranked = [key.expr for key in query.order if isinstance(key.expr, Nearest | Bm25)]
        stage = None if query.first is None else self._stage(query.first)
        self.staged = query.staged
        source, tests = self._solve(query.clauses, query.variables, stage, kept_by(query))
        if ranked:
            tests.append(f"({self._rank(ranked[0])}) IS NOT NULL")
        self.ties = self._row_order(replace(query, order=()))
        parts = {f"c{at}": self._column(column.expr) for at, column in enumerate(query.columns)}
        parts |= {
            f"k{at}": self.value(column.expr.key)
            for at, column in enumerate(query.columns)
            if isinstance(column.expr, Aggregate) and column.expr.key is not None
        }
        parts |= {f"p{at}": self._column(each) for at, each in enumerate(query.per) if not isinstance(each, str)}
        rn = f"row_number() OVER (ORDER BY {', '.join(self._row_order(query)) or '1'}) AS rn"
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        matched = f"SELECT {', '.join([rn, *(f'{sql} AS {name}' for name, sql in parts.items())])} FROM {source}{where}"
        return self._grouped(query, matched) if query.grouped else self._plain(query, matched)

    def _plain(self, query: Query, matched: str) -> str:
        names = [f"c{at}" for at in range(len(query.columns))]
        having = self._having(query, names)
        if not query.distinct:
            return f"SELECT * FROM ({matched}){having}"
        keys = ", ".join(names)
        return f"SELECT {keys}, min(rn) AS rn FROM (SELECT * FROM ({matched}){having}) GROUP BY {keys}"

    def _grouped(self, query: Query, matched: str) -> str:
        keys, outputs = [], []
        for at, column in enumerate(query.columns):
            name = f"c{at}"
            if isinstance(column.expr, Aggregate):
                outputs.append(f"{_fold(column.expr, name)} AS {name}")
            else:
                keys.append(name)
                outputs.append(name)
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        rows = f"SELECT {', '.join(outputs)}, min(rn) AS rn FROM ({matched}){group}"
        modes = [at for at, column in enumerate(query.columns) if getattr(column.expr, "function", "") == "mode"]
        if modes:
            shown = ", ".join(f"{MODE.format(f'c{at}')} AS c{at}" for at in modes)
            rows = f"SELECT * REPLACE ({shown}) FROM ({rows})"
        names = [f"c{at}" for at in range(len(query.columns))]
        order = f"row_number() OVER (ORDER BY {', '.join([*self._group_order(query), 'rn'])}) AS rn"
        return f"SELECT {', '.join(names)}, {order} FROM ({rows}){self._having(query, names)}"

    def _having(self, query: Query, names: list[str]) -> str:
        places = {column.name: name for column, name in zip(query.columns, names, strict=True)}
        tests = [f"({each.sql.format(places[each.column])})" for each in query.having]
        return f" WHERE {' AND '.join(tests)}" if tests else ""

    # --- order ------------------------------------------------------------------------------------

    def _row_order(self, query: Query) -> list[str]:
        """Keys, then the ids of what was matched, by the names of the variables; the ranked one comes first."""
        kept = kept_by(query)
        named = sorted(
            name
            for name, what in query.variables.items()
            if what.kind not in ("path", "paths", "item", "value")
            and not name.startswith("hidden")
            and name not in kept
        )
        several = sorted(name for name, what in query.variables.items() if what.kind == "paths")
        items = [name for name, what in query.variables.items() if what.kind == "item"]
        order: list[str] = []
        first: list[str] = []  # what is ranked comes even before the order of the stage
        for key in query.order if not query.grouped or _ranks(query) else ():
            if isinstance(key.expr, Nearest | Bm25):
                order.append(f"{self._rank(key.expr)} {'ASC' if isinstance(key.expr, Nearest) else 'DESC'}")
                first = [key.expr.var]
                named = [name for name in named if name != key.expr.var]
            else:
                order += _directed(self._key(query, key), descending=key.descending)
        order += [part for name in first for part in _directed(_identity(name))]
        if query.first is not None:
            order.append('"stage"."rn"')
        order += [part for name in named for part in _directed(_identity(name))]
        return [*order, *(f'"{name}"."place"' for name in (*several, *items))]

    def _group_order(self, query: Query) -> list[str]:
        """Keys, then the other columns of the group key in the order of the result; lists have no order of their own."""
        keys = [column.expr for column in query.columns if not isinstance(column.expr, Aggregate)]
        if _ranks(query) or (not query.order and any(map(_is_list, keys))):
            return []
        order: list[str] = []
        used: set[str] = set()
        for key in query.order:
            assert isinstance(key.expr, str)
            used.add(key.expr)
            order += _directed(self._output_key(query, key.expr), descending=key.descending)
        for column in query.columns:
            if column.name not in used and not isinstance(column.expr, Aggregate) and not _is_list(column.expr):
                order += _directed(self._output_key(query, column.name))
        return order

    def _output_key(self, query: Query, name: str) -> list[str]:
        """A result column as something to order by: a node by its id, then by its type."""
        at = next(at for at, column in enumerate(query.columns) if column.name == name)
        whole = isinstance(query.columns[at].expr, Whole)
        return [f"c{at}.id", f"c{at}._t"] if whole else [f"c{at}"]

    def _key(self, query: Query, key: Key) -> list[str]:
        expr = key.expr
        if isinstance(expr, str):
            column = next(column for column in query.columns if column.name == expr)
            return _identity(column.expr.var) if isinstance(column.expr, Whole) else [self._column(column.expr)]
        if isinstance(expr, Whole):
            return _identity(expr.var)
        assert not isinstance(expr, Nearest | Bm25)
        return [self.value(expr)]

    def _rank(self, rank: Nearest | Bm25) -> str:
        if isinstance(rank, Nearest):
            squares = " + ".join(
                f'power(CAST("{rank.var}"."v"[{at}] AS DOUBLE) - {place}, 2)'
                for at, place in enumerate(rank.query, start=1)
            )
            return f"sqrt({squares})"
        return f'(SELECT score FROM {self.steps.scores(rank.word)} AS s WHERE s.id = "{rank.var}"."id")'

    # --- columns ----------------------------------------------------------------------------------

    def _column(self, expr: object) -> str:
        match expr:
            case Whole(var):
                return f'"{var}"' if self.staged else _node(var)
            case Window():
                return self._window(expr)
            case Nearest():
                return self._rank(expr)
            case Record(members):
                return "{" + ", ".join(f"'{name}': {self._column(value)}" for name, value in members) + "}"
            case Compare() | In() | IsNull() | Same() | Either() | Exists():
                return self.condition(expr)
            case Aggregate(arg=arg, where=where):
                value = "1" if arg is None else self._column(arg)
                return value if where is None else f"CASE WHEN {self.condition(where)} THEN {value} END"
            case _:
                return self.value(expr)  # type: ignore[arg-type]

    def _window(self, window: Window) -> str:
        value = "" if window.arg is None else self.value(window.arg)
        value += "" if window.distance is None else f", {window.distance}"
        groups = f"PARTITION BY {', '.join(map(self.value, window.per))} " if window.per else ""
        if window.key is None:
            found = f"{window.function}({value}) OVER ({groups})"
            return f"CAST({found} AS DOUBLE)" if window.function == "sum" else found
        keys = _directed([self.value(window.key)], descending=window.descending)
        order = keys if window.function in ("rank", "dense_rank") else [*keys, *self.ties]
        if window.function in ("row_number", "rank", "dense_rank", "lag", "lead"):
            return f"{window.function}({value}) OVER ({groups}ORDER BY {', '.join(order)})"
        found = f"{window.function}({value}) OVER ({groups}ORDER BY {', '.join(order)} ROWS UNBOUNDED PRECEDING)"
        return f"CAST({found} AS DOUBLE)" if window.function == "sum" else found

    # --- match ------------------------------------------------------------------------------------

    def _solve(
        self, clauses: Iterable[Clause], bound: dict[str, Var], stage: str | None = None, kept: Iterable[str] = ()
    ) -> tuple[str, list[str]]:
        """The tables of a list of clauses, and the tests that a row has to pass."""
        tables: list[str] = [] if stage is None else [f'{stage} AS "stage"']
        tests: list[str] = []
        optionals: list[Block] = []
        known: set[str] = set(kept)
        laterals: list[str] = []
        for clause in clauses:
            match clause:
                case Bind(var, what, inline, new):
                    if new:
                        tables += _table(var, _narrower(what, bound.get(var)), known)
                    else:
                        types = ", ".join(f"'{each}'" for each in what.types)
                        tests.append(f'"{var}"."_t" IN ({types})')
                    tests += [self._inline(var, *each) for each in inline]
                case Step():
                    for end in clause.introduces:
                        tables += _table(end, bound[end], known)
                    if clause.edge_var is not None:
                        tables += _edge_table(clause, known)
                    if clause.path_var is not None:
                        tables.append(f'{self.steps.paths(clause)} AS "{clause.path_var}"')
                    tests.append(self.steps.test(clause))
                case Where(condition):
                    tests.append(self.condition(condition))
                case Unwind(items, name):
                    listed = self.value(items)
                    laterals.append(
                        f'LATERAL (SELECT unnest({listed}) AS item, generate_subscripts({listed}, 1) AS place) AS "{name}"'
                    )
                case Alternatives(branches, binds) if not binds:
                    found = " OR ".join(self._exists(each.clauses, {**bound, **each.binds}) for each in branches)
                    tests.append(f"({found})")
                case Alternatives():
                    laterals.append(self._alternatives(clause, bound))
                    known |= set(clause.binds)
                case Block("not", inner, binds):
                    tests.append(f"NOT {self._exists(inner, {**bound, **binds})}")
                case Block():
                    optionals.append(clause)
        source = " CROSS JOIN ".join(tables) or "(SELECT 1) AS nothing"
        source += "".join(f" CROSS JOIN {each}" for each in laterals)
        for number, block in enumerate(optionals):
            inner, conditions = self._solve(block.clauses, {**bound, **block.binds})
            shown = ", ".join(f'"{var}"' for var in sorted(block.binds))
            where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
            alias = f"o{number}_{'_'.join(sorted(block.binds))}"
            source += f" LEFT JOIN LATERAL (SELECT {shown} FROM {inner}{where}) AS {alias} ON TRUE"
        return source, tests

    def _alternatives(self, either: Alternatives, bound: dict[str, Var]) -> str:
        """What any branch finds, each thing once, as a table that the rows so far are joined with."""
        shown = ", ".join(f'"{var}"' for var in sorted(either.binds))
        parts = []
        for branch in either.branches:
            source, tests = self._solve(branch.clauses, {**bound, **branch.binds})
            parts.append(f"SELECT {shown} FROM {source}{' WHERE ' + ' AND '.join(tests) if tests else ''}")
        return f"LATERAL ({' UNION '.join(parts)}) AS e_{'_'.join(sorted(either.binds))}"

    def _exists(self, clauses: Iterable[Clause], bound: dict[str, Var]) -> str:
        source, tests = self._solve(clauses, bound)
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        return f"EXISTS (SELECT 1 FROM {source}{where})"

    def _inline(self, var: str, name: str, literal: Lit, family: str) -> str:
        owner = Prop(var, name, family)
        if family in ("texts", "ints"):
            return f"COALESCE(list_contains({self.value(owner)}, {literal.sql}), FALSE)"
        return self.condition(Compare("=", owner, literal))

    # --- conditions and values --------------------------------------------------------------------

    def condition(self, condition: Condition) -> str:
        """A condition in three-valued logic."""
        match condition:
            case Compare(op, left, right):
                return self._compare(op, left, right)
            case In(value, items, negated):
                tests = " OR ".join(self._compare("=", value, item) for item in items)
                return f"NOT ({tests})" if negated else f"({tests})"
            case IsNull(str() as var, negated):
                return f'"{var}"."id" IS {"NOT " if negated else ""}NULL'
            case IsNull(value, negated):
                return f"({self.value(value)}) IS {'NOT ' if negated else ''}NULL"  # type: ignore[arg-type]
            case Same(left, right, negated):
                same = f'("{left}"."id" = "{right}"."id" AND "{left}"."_t" = "{right}"."_t")'
                return f"(NOT {same})" if negated else same
            case Either(word, parts):
                return "(" + f" {word.upper()} ".join(f"({self.condition(part)})" for part in parts) + ")"
            case Apply():
                return f"({self.value(condition)})"
            case Exists(clauses, binds):
                return self._exists(clauses, binds)

    def value(self, value: Value) -> str:
        """An expression with the type that its family is stored as."""
        match value:
            case Prop(var, name):
                return f'"{var}"."{_ENDS.get(name, name)}"'
            case Lit(sql=sql) | Name(sql=sql):
                return sql
            case Bm25():
                return f"COALESCE({self._rank(value)}, 0.0::DOUBLE)"
            case Counted(clauses, binds):
                source, tests = self._solve(clauses, binds)
                return f"(SELECT count(*) FROM {source}{' WHERE ' + ' AND '.join(tests) if tests else ''})"
            case Apply(form, args):
                return form.sql.format(*(self.value(arg) for arg in args))

    def _compare(self, op: str, left: Value, right: Value) -> str:
        """Numbers compare by their mathematical value; a constant beside an F32 is rounded as that was."""
        kinds = (_kind(left), _kind(right))
        one, other = self.value(left), self.value(right)
        if "other" in kinds:
            return f"({one} {_sql(op)} {other})"
        if "single" in kinds and (isinstance(left, Lit) or isinstance(right, Lit)):
            return f"(CAST({one} AS FLOAT) {_sql(op)} CAST({other} AS FLOAT))"
        if kinds == ("whole", "whole"):
            return f"(CAST({one} AS HUGEINT) {_sql(op)} CAST({other} AS HUGEINT))"
        if "whole" not in kinds:
            return f"(CAST({one} AS DOUBLE) {_sql(op)} CAST({other} AS DOUBLE))"
        if kinds[0] == "whole":
            return _whole_and_fraction(op, one, other)
        return _whole_and_fraction(_FLIPPED[op], other, one)


def _whole_and_fraction(op: str, whole: str, fraction: str) -> str:
    """An integer and a double without rounding either: the integer meets the floor or the ceiling."""
    number, double = f"CAST({whole} AS HUGEINT)", f"CAST({fraction} AS DOUBLE)"
    floor, ceiling = f"CAST(floor({double}) AS HUGEINT)", f"CAST(ceil({double}) AS HUGEINT)"
    tests = {
        "=": f"{number} = {floor} AND {double} = floor({double})",
        "!=": f"{number} <> {floor} OR {double} <> floor({double})",
        "<": f"{number} < {ceiling}",
        ">=": f"{number} >= {ceiling}",
        "<=": f"{number} <= {floor}",
        ">": f"{number} > {floor}",
    }
    return f"CASE WHEN {whole} IS NULL OR {fraction} IS NULL THEN NULL ELSE {tests[op]} END"


def _kind(value: Value) -> str:
    family = value.family
    if family in ("int", "large"):
        return "whole"
    return {"float": "double", "single": "single"}.get(family, "other")


def _sql(op: str) -> str:
    return "<>" if op == "!=" else op


def _directed(parts: Iterable[str], *, descending: bool = False) -> list[str]:
    return [f"{part} {'DESC NULLS LAST' if descending else 'ASC NULLS FIRST'}" for part in parts]


def _identity(var: str) -> list[str]:
    return [f'"{var}"."id"', f'"{var}"."_t"']


def _node(var: str) -> str:
    return f"""CASE WHEN "{var}"."id" IS NULL THEN NULL ELSE {{'_t': "{var}"."_t", 'id': "{var}"."id"}} END"""


def _place(query: Query | Union, name: str) -> int:
    return next(at for at, column in enumerate(query.columns) if column.name == name)


def kept_by(query: Query) -> list[str]:
    """The variables that a query has from the stage before."""
    found = () if query.first is None else query.first.columns
    return [column.expr.var for column in found if isinstance(column.expr, Whole)]


def _ranks(query: Query) -> bool:
    return any(isinstance(key.expr, Nearest | Bm25) for key in query.order)


def _is_list(expr: object) -> bool:
    return getattr(expr, "family", "") in ("texts", "ints", "vector", "path")


def _fold(call: Aggregate, name: str) -> str:
    """Nulls are skipped; a sum is exact for integers and a double in the end; lists follow the order of the rows."""
    return f"({_folded(call, name)}{call.after.replace('0.5', '0.5::DOUBLE')})"


def _folded(call: Aggregate, name: str) -> str:
    word = "DISTINCT " if call.distinct else ""
    double = f"CAST({name} AS DOUBLE)"
    key = f"{_directed([f'k{name[1:]}'], descending=call.descending)[0]}, " if call.key is not None else ""
    listed = f"(list({name} ORDER BY {key}rn) FILTER ({name} IS NOT NULL))"
    match call.function:
        case "count" if call.arg is None and call.where is None:
            return "count(*)"
        case "count":
            return f"count({word}{name})"
        case "sum":
            return f"CAST(sum({word}{name}) AS DOUBLE)"
        case "avg":
            return f"(CAST(sum({word}{name}) AS DOUBLE) / NULLIF(count({word}{name}), 0))"
        case "collect":
            return f"COALESCE({listed}, [])"
        case "first" | "last":
            return f"{listed}[{1 if call.function == 'first' else -1}]"
        case "stddev" | "variance":
            return f"{'stddev_samp' if call.function == 'stddev' else 'var_samp'}({word}{double})"
        case "median" | "percentile":
            return f"quantile_cont({word}{double}, {0.5 if call.function == 'median' else 0.25})"
        case "mode":
            return listed  # and of that the item that comes most often
        case "any" | "all":
            return f"{'bool_or' if call.function == 'any' else 'bool_and'}({name})"
        case function:
            return f"{function}({name})"


def _table(var: str, what: Var, known: set[str]) -> list[str]:
    if var in known:
        return []
    known.add(var)
    if not what.united:
        return [f'{what.types[0]} AS "{var}"']
    ends = ["src", "dst"] if what.kind == "edge" else []
    columns = ", ".join(
        ["_t", "id", *ends, *(f'"{name}"' for name in shared(what.types, interface=what.interface is not None))]
    )
    parts = " UNION ALL ".join(f"SELECT {columns} FROM {name}" for name in what.types)
    return [f'({parts}) AS "{var}"']


def _narrower(what: Var, known: Var | None) -> Var:
    """What a variable ranges over in the end, if another clause says more about it."""
    return known if known is not None and set(known.types) < set(what.types) else what


def _edge_table(step: Step, known: set[str]) -> list[str]:
    assert step.edge_var is not None
    edges = list(dict.fromkeys(way.edge for way in step.ways))
    names = [name for name in PROPERTIES[edges[0]] if all(name in PROPERTIES[edge] for edge in edges)]
    columns = ", ".join(["_t", "id", "src", "dst", *(f'"{name}"' for name in names)])
    known.add(step.edge_var)
    return [f'({" UNION ALL ".join(f"SELECT {columns} FROM {edge}" for edge in edges)}) AS "{step.edge_var}"']
