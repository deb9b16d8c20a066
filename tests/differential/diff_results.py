"""Random result shapes: columns, groups, aggregates, having, distinct, order, ranks, limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diff_forms import ORDERED
from diff_tree import (
    Aggregate,
    Bm25,
    Clause,
    Column,
    Counted,
    Having,
    Key,
    Nearest,
    Query,
    Record,
    Var,
    Whole,
    Window,
)  # fmt: skip

if TYPE_CHECKING:
    from diff_generator import Generator, Scope


_NEWER = ("stddev", "variance", "median", "percentile", "any", "all", "first", "last", "mode")
_DISTINCT = ("count", "collect", "sum", "avg", "variance", "stddev", "median", "percentile", "min", "max")
_PLACES = ("row_number", "rank", "dense_rank")


class Results:
    """Shapes the result of one match."""

    def __init__(self, generator: Generator, scope: Scope) -> None:
        self.gen = generator
        self.rng = generator.rng
        self.scope = scope

    def shaped(self, clauses: tuple[Clause, ...]) -> Query:
        """The whole query."""
        rng = self.rng
        grouped = rng.random() < 0.4
        columns = self._groups() if grouped else self._columns()
        order, limit = self._order(columns, grouped=grouped), None
        rank = None if grouped else self._rank()
        if rank is not None:
            # A distance takes no name beside it, and both kinds take further keys.
            order = [Key(rank), *(key for key in order[:1] if not isinstance(key.expr, str))]
            limit = rng.choice([0, 1, 2, 3, 3, 5, 8, 8, 13])
        elif rng.random() < 0.35:
            limit = rng.choice([0, 1, 2, 3, 3, 5, 8, 8, 13])
        offset = rng.randint(0, 3) if limit is not None and rng.random() < 0.4 else None
        having = self._having(columns)
        distinct = not grouped and rng.random() < 0.25
        per = self._per(columns, named=grouped or distinct) if limit is not None and rank is None else ()
        return Query(clauses, self.scope.variables, tuple(columns), distinct, having, tuple(order), limit, offset, per)

    def stage(self, clauses: tuple[Clause, ...]) -> Query:
        """A part of a query that another one goes on from: nodes, and values with names."""
        rng = self.rng
        nodes = self.scope.nodes()
        kept = rng.sample(nodes, min(len(nodes), rng.choice([0, 1, 1, 2])))
        columns = [Column(name, Whole(name)) for name in kept]
        grouped = rng.random() < 0.5
        for at in range(rng.randint(0 if kept else 1, 2)):
            found: Any = self.gen.value(self.scope, ("int", "text", "date", "bool"), depth=rng.randint(0, 1))
            if grouped and rng.random() < 0.75:
                counted = found is None or found.family == "bool" or rng.random() < 0.5
                found = Aggregate("count", None) if counted else Aggregate(rng.choice(["min", "max"]), found)
            elif not grouped and rng.random() < 0.15:
                found = self._window(_PLACES) or found
            if found is None:
                found = self.gen.literal("int", param=False)
            columns.append(Column(f"s{at}", found))
        grouped = any(isinstance(column.expr, Aggregate) for column in columns)
        values = [column for column in columns if not isinstance(column.expr, Whole | Window)]
        order = (Key(rng.choice(values).name, rng.random() < 0.5),) if values and rng.random() < 0.4 else ()
        limit = rng.choice([1, 2, 3, 5, 8]) if rng.random() < 0.35 else None
        distinct = not grouped and rng.random() < 0.3
        having = self._having(values) if values else ()
        return Query(
            clauses, self.scope.variables, tuple(columns), distinct, having, order, limit, staged=True
        )  # fmt: skip

    def _per(self, columns: list[Column], *, named: bool) -> tuple[Any, ...]:
        """What limits are of each group of: columns, or where rows are neither grouped nor distinct anything."""
        if self.rng.random() > 0.35:
            return ()
        names = [column.name for column in columns if _has_order(column.expr)]
        if named or self.rng.random() < 0.4:
            return (self.rng.choice(names),) if names else ()
        nodes = self.scope.nodes()
        if nodes and self.rng.random() < 0.4:
            return (Whole(self.rng.choice(nodes)),)
        found = self.gen.value(self.scope, ("int", "text", "bool"), depth=0)
        return () if found is None else (found,)

    def _columns(self) -> list[Column]:
        return [Column(f"r{at}", self._item()) for at in range(self.rng.randint(1, 3))]

    def _item(self) -> Any:
        rng, choice = self.rng, self.rng.random()
        nodes = [*self.scope.nodes(), *self.scope.edges()]
        if nodes and choice < 0.25:
            return Whole(rng.choice(nodes))
        if choice > 0.9 and (window := self._window()) is not None:
            return window
        if 0.8 < choice < 0.86:
            return self.gen.condition(self.scope)  # a condition is a value
        if 0.86 < choice < 0.88:
            inner = self.scope.inner()
            return Counted(self.gen._list(inner, 0, top=False), dict(inner.own))
        persons = self._persons()
        if persons and choice < 0.3:
            return Nearest(rng.choice(persons), (1.0, 0.0))
        if plain := [name for name in persons if not self.scope.variables[name].optional and choice > 0.88]:
            return Bm25(rng.choice(plain), rng.choice(["oak", "elm"]))
        found = self.gen.value(self.scope, (*ORDERED, "texts", "ints", "path", "vector"))
        return found if found is not None else self.gen.literal("int", param=False)

    def _window(self, functions: tuple[str, ...] = ()) -> Window | None:
        """A value of rows in their groups; what it reads is stored, so that nothing can overflow."""
        rng = self.rng
        if any(name.startswith("hidden") for name in self.scope.variables):
            return None  # rows that differ in nothing that has a name have no order
        function = rng.choice(functions or (*_PLACES, "lag", "lead", "sum", "count", "min", "max", "avg"))
        families = ("int",) if function in ("sum", "avg") else ("int", "text", "date")
        arg = None if function in _PLACES else self.gen.value(self.scope, families, depth=0)
        key = self.gen.value(self.scope, ("int", "text", "date", "bool"), depth=0)
        group = self.gen.value(self.scope, ("int", "text", "bool"), depth=0)
        if key is None or (arg is None and function not in _PLACES):
            return None
        per = (group,) if group is not None and rng.random() < 0.6 else ()
        beside = function in ("lag", "lead")
        if not beside and function not in _PLACES and rng.random() < 0.3:
            return Window(function, arg, per, None)
        distance = rng.choice([None, 2, 3]) if beside else None
        return Window(function, arg, per, key, rng.random() < 0.5, distance)

    def _groups(self) -> list[Column]:
        columns: list[Column] = []
        for at in range(self.rng.randint(0, 2)):
            found: Any = self.gen.value(self.scope, (*ORDERED, "texts"), depth=self.rng.randint(0, 1))
            nodes = self.scope.nodes()
            if nodes and (found is None or self.rng.random() < 0.3):
                found = Whole(self.rng.choice(nodes))
            elif self.rng.random() < 0.08:
                found = self.gen.condition(self.scope, depth=0)
            if found is not None:
                columns.append(Column(f"g{at}", found))
        columns += [Column(f"x{at}", self._aggregate()) for at in range(self.rng.randint(1, 3))]
        self.rng.shuffle(columns)
        return columns

    def _aggregate(self) -> Aggregate:
        rng, value, nodes = self.rng, self.gen.value, [*self.scope.nodes(), *self.scope.edges()]
        function = rng.choice(["*", "count", "count", "sum", "avg", "min", "max", "collect", *_NEWER])
        distinct = function in _DISTINCT and rng.random() < 0.35
        arg: Any = None
        match function:
            case "count" if nodes and rng.random() < 0.4:
                arg = Whole(rng.choice(nodes))
            case "count":
                arg = value(self.scope, ORDERED)
            case "sum" | "avg":
                arg = value(self.scope, ("int", "large"), depth=0)
            case "stddev" | "variance" | "median" | "percentile":
                arg = value(self.scope, ("int",))
            case "any" | "all":
                arg = value(self.scope, ("bool",))
            case "collect" | "first" | "last" if nodes and rng.random() < 0.3:
                arg = Whole(rng.choice(nodes)) if rng.random() < 0.6 else self._record(nodes)
                distinct = False
            case "first" | "last" | "mode":
                arg = value(self.scope, ORDERED)
            case "min" | "max":
                arg = value(self.scope, tuple(family for family in ORDERED if family != "bool"))
            case "collect":
                arg = value(self.scope, tuple(family for family in ORDERED if family not in ("float", "single")))
        if arg is None:
            function, distinct = "count", False
        where = self.gen.condition(self.scope, depth=0) if rng.random() < 0.2 else None
        after = rng.choice(["", "", " + 1", " * 0.5"]) if function in ("count", "sum", "variance") else ""
        key = None
        if function in ("collect", "first", "last") and not distinct and rng.random() < 0.35:
            key = value(self.scope, ("int", "text", "date"), depth=0)
        return Aggregate(function, arg, distinct, where, after, key, key is not None and rng.random() < 0.5)

    def _record(self, nodes: list[str]) -> Record:
        value = self.gen.value(self.scope, ("int", "text", "bool", "date", "texts")) or self.gen.literal("int")
        return Record((("one", value), ("two", Whole(self.rng.choice(nodes)))))

    def _having(self, columns: list[Column]) -> tuple[Having, ...]:
        if self.rng.random() > 0.14:
            return ()
        column = self.rng.choice(columns)
        counts = isinstance(column.expr, Aggregate) and column.expr.function == "count"
        if counts:
            return (self.rng.choice([Having(column.name, f"{op} 1", f"{{0}} {op} 1") for op in (">", "<=", "=")]),)
        negated = self.rng.random() < 0.6
        return (
            Having(column.name, f"is {'not ' if negated else ''}null", f"{{0}} IS {'NOT ' if negated else ''}NULL"),
        )

    def _order(self, columns: list[Column], *, grouped: bool) -> list[Key]:
        if self.rng.random() < 0.4:
            return []
        keys = []
        for _ in range(self.rng.randint(1, 2)):
            if grouped or self.rng.random() < 0.4:
                names = [column.name for column in columns if _has_order(column.expr)]
                expr: Any = self.rng.choice(names) if names else None
            elif (nodes := self.scope.nodes()) and self.rng.random() < 0.12:
                expr = Whole(self.rng.choice(nodes))
            else:
                expr = self.gen.value(self.scope, ORDERED, depth=0)
            if expr is not None and expr not in [key.expr for key in keys]:
                keys.append(Key(expr, self.rng.random() < 0.5))
        return keys

    def _rank(self) -> Nearest | Bm25 | None:
        persons = self._persons()
        if not persons or self.rng.random() > 0.12:
            return None
        var = self.rng.choice(persons)
        return Bm25(var, self.rng.choice(["oak", "elm"])) if self.rng.random() < 0.4 else Nearest(var, (1.0, 4.0))

    def _persons(self) -> list[str]:
        plain = Var("node", ("Person",))
        return [name for name in self.scope.nodes() if self.scope.variables[name].types == plain.types]


def _has_order(expr: Any) -> bool:
    if isinstance(expr, Window | Bm25):
        return False  # SQL has no window inside the order of another
    if isinstance(expr, Aggregate):
        return expr.function != "collect" and not isinstance(expr.arg, Record)
    return not isinstance(expr, Nearest) and getattr(expr, "family", "") not in ("texts", "ints", "path", "vector")
