"""Random query trees over the whole language, well-typed as far as a generator can know."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from diff_forms import NUMBERS, ORDERED, QUERIES, TRUTH_FORMS, VALUE_FORMS
from diff_results import Results
from diff_tree import (
    Aggregate,
    Alternatives,
    Apply,
    Bind,
    Block,
    Bm25,
    Clause,
    Column,
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
    Prop,
    Query,
    Same,
    Step,
    Union,
    Unwind,
    Value,
    Var,
    Way,
    Where,
    Whole,
    Window,
)  # fmt: skip
from diff_world import EDGES, GRADES, NAMED, TEXTS, VALUES, shared

OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
# Families that a query has no literal for.
_UNWRITTEN = ("texts", "ints", "words", "vector")
_DECLARED = {"int": "I64", "float": "F64", "text": "String", "date": "Date", "instant": "DateTime", "bool": "Bool"}


class Scope:
    """Variables by name, and how many tables the match multiplies so far."""

    def __init__(self, names: list[str], variables: dict[str, Var] | None = None, cost: int = 0) -> None:
        self.names = names
        self.variables = dict(variables or {})
        self.own: dict[str, Var] = {}
        self.cost = cost

    def bind(self, name: str, what: Var) -> str:
        self.variables[name] = self.own[name] = what
        self.cost += what.kind in ("node", "edge", "item")
        return name

    def inner(self) -> Scope:
        return Scope(self.names, self.variables, max(self.cost - 1, 1))

    def nodes(self) -> list[str]:
        return [name for name, what in self.variables.items() if what.kind == "node" and not name.startswith("hidden")]

    def edges(self) -> list[str]:
        return [name for name, what in self.variables.items() if what.kind == "edge"]


class Generator:
    """Makes one query after another."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.params = 0
        self.hidden = 0

    def query(self) -> Query | Union:
        """A query; what the compiler refuses is left out by the caller."""
        self.params = self.hidden = 0
        return self._union() if self.rng.random() < 0.06 else self._read()

    def _union(self) -> Union:
        """Reads that return values of the same families."""
        families = [self.rng.choice(["int", "text", "bool", "date"]) for _ in range(self.rng.randint(1, 2))]
        parts = []
        for _ in range(self.rng.randint(2, 3)):
            scope = Scope(self._names())
            clauses = self._list(scope, depth=1, top=True)
            columns = [
                Column(f"r{at}", self.value(scope, (family,)) or self.literal(family, param=False))
                for at, family in enumerate(families)
            ]
            parts.append(Query(clauses, scope.variables, tuple(columns), self.rng.random() < 0.25))
        order = (Key("r0", self.rng.random() < 0.5),) if self.rng.random() < 0.5 else ()
        limit = self.rng.choice([None, None, 0, 2, 5, 9])
        offset = self.rng.randint(0, 3) if self.rng.random() < 0.2 else None
        return Union(tuple(parts), self.rng.random() < 0.4, order, limit, offset)

    def _names(self) -> list[str]:
        names = [f"{letter}{number}" for number in range(9) for letter in "abcdefgh"]
        self.rng.shuffle(names)
        return names

    def _read(self) -> Query:
        scope = Scope(self._names())
        if self.rng.random() < 0.75:
            return Results(self, scope).shaped(self._list(scope, depth=2, top=True))
        first = Results(self, scope).stage(self._list(scope, depth=1, top=True))
        further = Scope(scope.names, handed_on(first, scope), cost=1)
        empty = self.rng.random() < 0.2
        clauses = () if empty else self._list(further, depth=2, top=not further.nodes())
        return replace(Results(self, further).shaped(clauses), first=first)

    # --- lists of clauses -------------------------------------------------------------------------

    def _list(self, scope: Scope, depth: int, *, top: bool) -> tuple[Clause, ...]:
        plain: list[Clause] = []
        if top and self.rng.random() < 0.05:
            plain += self._subtype(scope)
        elif top or self.rng.random() < 0.2:
            plain.append(self._bind(scope) if self.rng.random() < 0.75 else self._step(scope, anchored=False))
        plain += [self._plain(scope) for _ in range(self.rng.choice([0, 1, 1, 2, 3] if top else [1, 1, 2]))]
        if top and self.rng.random() < 0.1 and scope.cost < 4 and (unwound := self._unwind(scope)) is not None:
            plain.append(unwound)
            plain += [Where(self.condition(scope))] if self.rng.random() < 0.5 else []
        blocks: list[Clause] = []
        late: list[Clause] = []
        if not top and (narrowed := self._narrowed(scope)) is not None:
            plain.append(narrowed)
        if depth and self.rng.random() < 0.18:
            plain.append(self._alternatives(scope, depth))
        for _ in range(self.rng.choice([0, 0, 0, 1, 1, 2]) if depth else 0):
            if self.rng.random() < 0.25 and scope.variables:
                # Checked after everything else, so it may stand last; a block above must not have bound anything.
                late.append(Where(self._exists(scope, depth)))
            elif self.rng.random() < 0.5:
                inner = scope.inner()
                clauses = self._list(inner, depth - 1, top=False)
                blocks.append(Block("not", clauses, dict(inner.own)))
            elif (block := self._optional(scope, depth)) is not None:
                blocks.append(block)
                if self.rng.random() < 0.35:
                    late.append(Where(self.condition(scope, only=set(block.binds))))
        return self._interleaved(plain, blocks, late)

    def _subtype(self, scope: Scope) -> list[Clause]:
        """A variable over an interface, then over one of its types: it ranges over that one from the beginning."""
        name = scope.bind(scope.names.pop(), what := Var("node", (self.rng.choice(NAMED),)))
        return [Bind(name, Var("node", NAMED, "Named")), Bind(name, what, self._inline(what), new=False)]

    def _narrowed(self, scope: Scope) -> Clause | None:
        """Inside a block, of which type a node from outside is."""
        united = [name for name in scope.nodes() if scope.variables[name].united and name not in scope.own]
        if not united or self.rng.random() < 0.8:
            return None
        name = self.rng.choice(united)
        return Bind(name, Var("node", (self.rng.choice(scope.variables[name].types),)), new=False)

    def _unwind(self, scope: Scope) -> Unwind | None:
        items = self.value(scope, ("texts", "ints"))
        if items is None:
            return None
        family = "text" if items.family == "texts" else "int"
        return Unwind(items, scope.bind(scope.names.pop(), Var("item", (family,))))

    def _exists(self, scope: Scope, depth: int) -> Condition:
        inner = scope.inner()
        clauses = self._list(inner, depth - 1, top=False)
        found: Condition = Exists(clauses, dict(inner.own))
        if self.rng.random() < 0.35:
            number = self.rng.randint(0, 3)
            few = Lit("int", str(number), f"CAST({number} AS BIGINT)")
            found = Compare(self.rng.choice(OPERATORS), Counted(clauses, dict(inner.own)), few)
        if self.rng.random() < 0.4:
            other = self.condition(scope, depth=0)
            found = Either(
                self.rng.choice(["or", "and"]), (found, other) if self.rng.random() < 0.5 else (other, found)
            )
        return found

    def _alternatives(self, scope: Scope, depth: int) -> Clause:
        """Branches that bind one node of their own under one name, or nothing that is seen outside."""
        persons = [name for name in scope.nodes() if scope.variables[name].types == ("Person",)]
        shared = scope.names.pop() if persons and scope.cost < 4 and self.rng.random() < 0.6 else None
        branches = []
        for _ in range(self.rng.randint(2, 3)):
            inner = scope.inner()
            if shared is None:
                clauses = self._list(inner, depth - 1, top=False)
            else:
                clauses = (self._to_person(inner, self.rng.choice(persons), shared), Where(self.condition(inner)))
            branches.append(Block("", clauses, dict(inner.own)))
        binds = {} if shared is None else {shared: Var("node", ("Person",))}
        if shared is not None:
            scope.bind(shared, binds[shared])
        return Alternatives(tuple(branches), binds)

    def _to_person(self, scope: Scope, start: str, end: str) -> Clause:
        what = Var("node", ("Person",))
        scope.bind(end, what)
        if self.rng.random() < 0.2:
            return Bind(end, what, self._inline(what))
        ways = (Way("Knows", "Person", "Person", against=False),)
        ends = (start, end) if self.rng.random() < 0.5 else (end, start)
        return Step(*ends, ways, self.rng.random() < 0.3, introduces=(end,))

    def _interleaved(self, plain: list[Clause], blocks: list[Clause], late: list[Clause]) -> tuple[Clause, ...]:
        """Blocks may stand anywhere, since they are checked last; a filter on what one binds stands below it."""
        clauses = list(plain)
        at = 0
        for block in blocks:
            if isinstance(block, Block) and block.word == "not":
                clauses.insert(self.rng.randint(0, len(clauses)), block)
            else:
                at = self.rng.randint(min(at + 1, len(clauses)), len(clauses))
                clauses.insert(at, block)
        return (*clauses, *late)

    def _optional(self, scope: Scope, depth: int) -> Block | None:
        inner = scope.inner()
        clauses = self._list(inner, depth - 1, top=False)
        binds = dict(inner.own)
        if not binds:
            return None
        for name, what in binds.items():
            # What a block inside the block binds is bound by both.
            scope.variables[name] = scope.own[name] = Var(what.kind, what.types, what.interface, optional=True)
        return Block("optional", clauses, binds)

    def _plain(self, scope: Scope) -> Clause:
        choice = self.rng.random()
        if choice < 0.52 and scope.cost < 5 and scope.nodes():
            return self._step(scope, anchored=True)
        if choice < 0.65 and scope.cost < 3:
            return self._bind(scope)
        if choice < 0.75 and scope.nodes():
            name = self.rng.choice(scope.nodes())
            what = scope.variables[name]
            return Bind(name, Var("node", what.types, what.interface), self._inline(what), new=False)
        return Where(self.condition(scope)) if scope.variables else self._bind(scope)

    # --- bindings and steps -----------------------------------------------------------------------

    def _bind(self, scope: Scope) -> Bind:
        what = self.rng.choice(
            [Var("node", ("Person",))] * 4
            + [
                Var("node", ("Firm",)),
                Var("node", ("Lone",)),
                Var("node", NAMED, "Named"),
                Var("node", ("Firm", "Person")),
                Var("edge", ("Knows",)),
                Var("edge", ("Owns",)),
                Var("edge", ("Knows", "Works")),
            ]
        )
        return Bind(scope.bind(scope.names.pop(), what), what, self._inline(what))

    def _inline(self, what: Var) -> tuple[tuple[str, Lit, str], ...]:
        if self.rng.random() < 0.85:
            return ()
        options = {
            name: family
            for name, family in shared(what.types, interface=what.interface is not None).items()
            if family in ("int", "float", "text", "bool", "date", "texts", "ints")
        }
        if not options:
            return ()
        name = self.rng.choice(sorted(options))
        family = options[name]
        item = {"texts": "text", "ints": "int"}.get(family, family)
        literal = self._grade() if name == "grade" else self.literal(item)
        return ((name, literal, family),)

    def _step(self, scope: Scope, *, anchored: bool) -> Clause:
        for _ in range(12):
            found = self._try_step(scope, anchored=anchored)
            if found is not None:
                return found
        return self._bind(scope) if not scope.variables else Where(self.condition(scope))

    def _try_step(self, scope: Scope, *, anchored: bool) -> Step | None:
        rng = self.rng
        edges = rng.sample(sorted(EDGES), 1 if rng.random() < 0.7 else rng.randint(2, 3))
        known = scope.nodes() if anchored else []
        left = rng.choice(known) if known and rng.random() < 0.8 else None
        right = rng.choice(known) if known and (left is None or rng.random() < 0.35) else None
        hops = self._hops() if rng.random() < 0.35 else None
        ends = [scope.variables[name].types for name in (left, right) if name is not None]
        if hops is not None and hops[0] == 0 and (edges != ["Knows"] or left == right or set(ends) - {("Person",)}):
            hops = (1, hops[1])  # what a start of another type reaches in no hop is another question
        undirected = edges == ["Knows"] and rng.random() < 0.25
        types = [None if name is None else scope.variables[name].types for name in (left, right)]
        path = rng.random() < 0.15
        if edges != ["Knows"] and hops is None and not path and rng.random() < 0.2:
            # One hop regardless of direction, also between different types.
            both = _both_ways(edges, types[0], types[1])
            return (
                None if both is None else self._finished(scope, (left, right), both, None, undirected=True, path=False)
            )
        chained = len(edges) > 1 and (path if hops is None else hops != (1, 1))
        ways = _oriented(edges, types[0], types[1], chained=chained)
        if ways is None:
            return None
        return self._finished(scope, (left, right), ways, hops, undirected=undirected, path=path)

    def _finished(
        self,
        scope: Scope,
        ends: tuple[str | None, str | None],
        ways: tuple[Way, ...],
        hops: Any,
        *,
        undirected: bool,
        path: bool,
    ) -> Step:
        rng = self.rng
        introduces, named = [], []
        for end, reached in zip(ends, ({way.start for way in ways}, {way.end for way in ways}), strict=True):
            if end is None:
                what = Var("node", tuple(sorted(reached)))
                hidden = (
                    not path
                    and rng.random() < 0.15
                    and (ends != (None, None) or bool(named))
                    and not any(name.startswith("hidden") for name in named)
                )
                self.hidden += hidden
                end = scope.bind(f"hidden{self.hidden}" if hidden else scope.names.pop(), what)
                introduces.append(end)
            named.append(end)
        edge_var = path_var = least = None
        kind = "shortest"
        named_ends = not any(name.startswith("hidden") for name in named)
        if path and named_ends:
            if {way.edge for way in ways} == {"Knows"} and hops is None and named[0] != named[1]:
                kind = rng.choice(["shortest", "all shortest", "shortest 2", "simple", "cheapest", "cheapest 2"])
                hops = (1, 3) if kind == "simple" else None
            several = kind not in ("shortest", "cheapest")
            path_var = scope.bind(scope.names.pop(), Var("paths" if several else "path", (kind,)))
        elif hops in (None, (1, 1)) and rng.random() < 0.3 and scope.cost < 5:
            edge_var = scope.bind(scope.names.pop(), Var("edge", tuple(sorted({way.edge for way in ways}))))
            hops = None
        if edge_var is None and rng.random() < 0.15:
            least = rng.randint(-1, 2)
        return Step(named[0], named[1], ways, undirected, hops, edge_var, path_var, kind, least, tuple(introduces))

    def _hops(self) -> tuple[int, int | None]:
        low = self.rng.randint(0, 3)
        return low, None if self.rng.random() < 0.3 else max(low + self.rng.randint(0, 2), 1)

    # --- conditions -------------------------------------------------------------------------------

    def condition(self, scope: Scope, only: set[str] | None = None, depth: int = 1) -> Condition:
        """A condition on variables in scope; with `only`, one that starts from one of those."""
        rng = self.rng
        choice = rng.random()
        if depth and choice < 0.18:
            return Either(
                rng.choice(["or", "and"]),
                tuple(self.condition(scope, only, depth - 1) for _ in range(rng.randint(2, 3))),
            )
        nodes = [name for name in scope.nodes() if only is None or name in only]
        if nodes and choice < 0.25:
            other = rng.choice(scope.nodes())
            if set(scope.variables[other].types) & set(scope.variables[nodes[0]].types):
                return Same(nodes[0], other, rng.random() < 0.5)
        if len(edges := scope.edges()) > 1 and only is None and choice < 0.27:
            one, other = rng.sample(edges, 2)
            if set(scope.variables[one].types) & set(scope.variables[other].types):
                return Same(one, other, rng.random() < 0.5)
        optional = [name for name in nodes if scope.variables[name].optional]
        if optional and choice < 0.4:
            return IsNull(rng.choice(optional), rng.random() < 0.5)
        persons = [
            name for name in nodes if scope.variables[name].types == ("Person",) and not scope.variables[name].optional
        ]
        if persons and 0.27 < choice < 0.29:
            share = rng.choice([0.0, 0.1, 0.5])
            return Compare(rng.choice(["<", ">"]), Bm25(rng.choice(persons), "oak"), _literal("float", share))
        if choice < 0.55 and (found := self._truth(scope, only)) is not None:
            return found
        left = self.value(scope, ORDERED, only=only)
        if left is None:
            return Compare("=", self.literal("int"), self.literal("int"))
        if choice < 0.65:
            return IsNull(left, rng.random() < 0.5)
        family = "text" if left.family == "words" else left.family
        if choice < 0.75 and family in ("int", "large", "float", "text", "single"):
            kinds = ("int", "float") if family == "single" else (family,)
            return In(
                left,
                tuple(self.literal(rng.choice(kinds), param=False) for _ in range(rng.randint(1, 3))),
                rng.random() < 0.4,
            )
        partners = NUMBERS if family in NUMBERS else ("text", "words") if family == "text" else (family,)
        right = self.value(scope, partners) if rng.random() < 0.4 else None
        return Compare(
            rng.choice(OPERATORS),
            left,
            right or self.literal(rng.choice([each for each in partners if each not in ("single", "words")])),
        )

    def _truth(self, scope: Scope, only: set[str] | None) -> Condition | None:
        form = self.rng.choice(TRUTH_FORMS)
        args: list[Value] = []
        for at, family in enumerate(form.args):
            if family == "query":
                args.append(_text(self.rng.choice(QUERIES)))
            elif (found := self.value(scope, (family,), only=only if at == 0 else None)) is not None:
                args.append(found)
            elif family in ("text", "int") and at:
                args.append(self.literal(family))
            else:
                return None
        return Apply(form, tuple(args))

    # --- values -----------------------------------------------------------------------------------

    def value(
        self, scope: Scope, families: tuple[str, ...], *, only: set[str] | None = None, depth: int = 1
    ) -> Value | None:
        """A property of one of the families, or something computed; None when there is none in scope."""
        options = [
            value
            for value in properties(scope)
            if value.family in families and (only is None or getattr(value, "var", None) in only)
        ]
        if (
            "text" in families
            and only is None
            and self.rng.random() < 0.03
            and (entities := scope.nodes() + scope.edges())
        ):
            name = self.rng.choice(entities)
            word, column = self.rng.choice([("id", "id"), ("type", "_t")])
            return Name(f"{word}(${name})", "text", f'"{name}"."{column}"')
        forms = [form for form in VALUE_FORMS if form.result in families]
        if depth and forms and self.rng.random() < 0.25:
            form = self.rng.choice(forms)
            args = [self._argument(scope, family, only if at == 0 else None) for at, family in enumerate(form.args)]
            if None not in args and any(isinstance(arg, Prop | Name) for arg in args):
                return Apply(form, tuple(arg for arg in args if arg is not None))
        return self.rng.choice(options) if options else None

    def _argument(self, scope: Scope, family: str, only: set[str] | None) -> Value | None:
        if only is None and family not in _UNWRITTEN and self.rng.random() < 0.4:
            return self.literal(self.rng.choice(["int", "float", "large"]) if family == "number" else family)
        return self.value(scope, NUMBERS if family == "number" else (family,), only=only, depth=0)

    def literal(self, family: str, *, param: bool = True) -> Lit:
        """A constant, sometimes as a parameter."""
        value = self.rng.choice(TEXTS) if family == "text" else self.rng.choice(VALUES[family])
        found = _literal(family, value)
        declared = ("I64" if value < 2**63 else "U64") if family == "large" else _DECLARED[family]
        if param and self.rng.random() < 0.2:
            self.params += 1
            default = self.rng.random() < 0.4
            return Lit(found.family, found.text, found.sql, f"x{self.params}", value, declared, default)
        return found

    def _grade(self) -> Lit:
        return _text(self.rng.choice(GRADES))


def handed_on(stage: Query, scope: Scope) -> dict[str, Var]:
    """The nodes that a stage hands on, and its values."""
    return {
        column.name: scope.variables[column.expr.var]
        if isinstance(column.expr, Whole)
        else Var("value", (_family(column.expr),))
        for column in stage.columns
    }


def _family(expr: Any) -> str:
    if isinstance(expr, Window):
        return "int"
    if not isinstance(expr, Aggregate):
        return "text" if expr.family == "words" else str(expr.family)
    return "int" if expr.function == "count" else _family(expr.arg)


def properties(scope: Scope) -> list[Prop | Name]:
    """Every property that can be read in scope, and every name."""
    found: list[Prop | Name] = []
    for name, what in scope.variables.items():
        if name.startswith("hidden"):
            continue
        if what.kind in ("item", "value"):
            place = f'"{name}"."item"' if what.kind == "item" else f'"stage"."{name}"'
            found.append(Name(name, what.types[0], place))
            continue
        if what.kind in ("path", "paths"):
            (kind,) = what.types
            found.append(Prop(name, "length", "int"))
            if kind.startswith("cheapest"):
                found.append(Prop(name, "cost", "float"))
            if kind != "cheapest":
                found.append(Prop(name, "nodes", "path"))
            if what.kind == "paths":
                found += [Prop(name, "edges", "path"), Prop(name, "nodes.n", "ints"), Prop(name, "nodes.name", "texts")]
            continue
        if what.kind == "edge":
            found += [Prop(name, "from", "text"), Prop(name, "to", "text")]
        readable = shared(what.types, interface=what.interface is not None)
        found += [Prop(name, each, family) for each, family in readable.items()]
        found.append(Prop(name, "id", "text"))
    return found


def _oriented(edges: list[str], left: Any, right: Any, *, chained: bool) -> tuple[Way, ...] | None:
    ways = [(_chained if chained else _alone)(edge, left, right) for edge in edges]
    if any(way is None for way in ways):
        return None
    found = tuple(way for way in ways if way is not None)
    starts = left is None or any(way.start in left for way in found)
    return found if starts and (right is None or any(way.end in right for way in found)) else None


def _both_ways(edges: list[str], left: Any, right: Any) -> tuple[Way, ...] | None:
    """Each edge in the directions that fit the ends."""
    found: list[Way] = []
    for edge in edges:
        source, target = EDGES[edge]
        turned = [] if source == target else [Way(edge, target, source, True)]
        fitting = [
            way
            for way in (Way(edge, source, target, False), *turned)
            if (left is None or way.start in left) and (right is None or way.end in right)
        ]
        if not fitting:
            return None
        found += fitting
    return tuple(found)


def _alone(edge: str, left: Any, right: Any) -> Way | None:
    """The first direction that fits both ends; between nodes of one type, left is the source."""
    source, target = EDGES[edge]
    for way in (Way(edge, source, target, False), Way(edge, target, source, True)):
        if (
            (left is None or way.start in left)
            and (right is None or way.end in right)
            and not (way.against and source == target)
        ):
            return way
    return None


def _chained(edge: str, left: Any, right: Any) -> Way:
    """As it would be alone, from the ends that are bound; one that touches neither keeps its own direction."""
    if left is not None and right is not None and (alone := _alone(edge, left, right)) is not None:
        return alone
    source, target = EDGES[edge]
    forward, against = Way(edge, source, target, False), Way(edge, target, source, True)
    for types, fits, turned in ((left, source, target), (right, target, source)):
        if types is not None and fits in types:
            return forward
        if types is not None and turned in types:
            return against
    return forward


def _text(value: str) -> Lit:
    return Lit("text", '"' + value + '"', "'" + value.replace("'", "''") + "'", value=value)


def _literal(family: str, value: Any) -> Lit:
    match family:
        case "text":
            return _text(value)
        case "bool":
            return Lit(family, str(value).lower(), str(value).upper())
        case "date":
            return Lit(family, f'date("{value}")', f"DATE '{value}'")
        case "instant":
            return Lit(family, f'datetime("{value}")', f"TIMESTAMP '{value.removesuffix('Z')}'")
        case "float":
            return Lit(family, f"{value:.1f}", f"CAST({value!r} AS DOUBLE)")
        case _:
            return Lit(
                family, str(value), f"CAST({value} AS HUGEINT)" if family == "large" else f"CAST({value} AS BIGINT)"
            )
