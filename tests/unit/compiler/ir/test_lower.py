"""Properties of checking and planning: only CompileError for any tree, and clause order never changes the meaning."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.compiler.catalog import Catalog as CompiledCatalog
from omnigraph.compiler.catalog import compile_schema
from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.diagnostics import TypeCheckError
from omnigraph.compiler.ir import ops
from omnigraph.compiler.ir.format import format_condition, format_plan
from omnigraph.compiler.ir.lower import lower
from omnigraph.compiler.ir.optimize import optimize
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.ir.walk import variables
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.descriptor import describe
from omnigraph.compiler.query.typecheck import check_query
from omnigraph.compiler.source import Source
from omnigraph.compiler.types import BASE_SCALARS, PropType
from omnigraph.testing.graphs.huts import SCHEMA
from omnigraph.testing.strategies import queries
from tests.thoroughness import examples

TYPE_NAMES = ["Hut", "Warden", "X"]


@st.composite
def property_types(draw: st.DrawFn) -> PropType:
    nullable = draw(st.booleans())
    kind = draw(st.sampled_from([*BASE_SCALARS, "enum", "Vector", "list"]))
    if kind == "enum":
        return PropType("String", nullable=nullable, enum=("a", "b"))
    if kind == "Vector":
        return PropType("Vector", nullable=nullable, dim=draw(st.integers(1, 3)))
    if kind == "list":
        return PropType(draw(st.sampled_from(["String", "I32", "F64"])), list=True, nullable=nullable)
    return PropType(kind, nullable=nullable)


@st.composite
def catalogs(draw: st.DrawFn) -> Catalog:
    names = queries.names().filter(lambda name: name not in ("id", "from", "to"))
    properties = st.dictionaries(names, property_types(), max_size=12)
    nodes = {name: NodeType(name, draw(properties)) for name in TYPE_NAMES}
    edges: dict[str, EdgeType] = {}
    for name in draw(st.sets(queries.names(), max_size=12)):
        ends = draw(st.tuples(st.sampled_from(TYPE_NAMES), st.sampled_from(TYPE_NAMES)))
        edges[name] = EdgeType(name, draw(properties), from_type=ends[0], to_type=ends[1])
    return Catalog(nodes, edges, {})


def reads_over(catalog: Catalog) -> st.SearchStrategy[ast.Query]:
    """Queries whose first clauses bind every name that the rest may use, so that checking gets past them."""

    def bound(query: ast.Query, types: dict[str, str]) -> ast.Query:
        if not isinstance(query.body, ast.Read):
            return query
        bindings = tuple(ast.Binding(name, kind) for name, kind in types.items())
        read = query.body
        body = replace(read, clauses=(*bindings, *read.clauses))
        params = {param.name: ast.Param(param.name, param.type) for param in query.params if param.name not in types}
        return ast.Query(query.name, tuple(params.values()), body)

    types = st.dictionaries(queries.names(), st.sampled_from(TYPE_NAMES), max_size=20)
    return st.builds(bound, queries.queries(), types)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_checking_any_tree_gives_a_plan_or_a_type_error(data: st.DataObject) -> None:
    catalog = data.draw(catalogs())
    query = data.draw(queries.queries() | reads_over(catalog))
    try:
        checked = check_query(query, catalog, Source(""))
    except TypeCheckError:
        return
    describe(checked).to_json()
    plan = lower(checked)
    assert format_plan(optimize(plan))


# --- clause order ----------------------------------------------------------------------------

# The bindings come first, in any order; every other clause resolves wherever it stands after them.
BINDINGS = ["$a: Hut", "$b: Hut { alt: 3 }", "$w: Warden"]
CLAUSES = [
    '$a: Hut { name: "x" }',
    "$a path $b",
    "$b path{1,3} $c",
    "$c path $a",
    "$a $e:path $d $e.minutes > 5",
    "$w guards $a",
    "$b guards $v",
    "$a.alt > 1 and $a.open = true",
    "$a.alt < $b.alt",
    "$w.name = $a.name",
    "$b.alt in [1, 2] or $b.grade is null",
    "not { $a.alt = 5 }",
    "not { $x guards $a $x.age > 30 }",
    "not { $a path $y not { $y path $b } }",
    "$a != $b",
    'search($a.name, "rest")',
    "optional { $o guards $b } $o.age is null",
    "optional { $b path $k $k.alt > $a.alt }",
    "shortest $p: $a path{1,} $b",
    "$a path|guards{1,2} $m",
]


@cache
def huts() -> CompiledCatalog:
    return compile_schema(SCHEMA)


def meaning(match: tuple[ops.MatchOp, ...]) -> object:
    """Everything a pipeline asserts, without its order."""
    facts: list[str] = []
    for op in match:
        match op:
            case ops.NodeScan():
                facts += [f"{op.var}: {op.type_name}", *map(format_condition, (*op.predicates, *op.joins))]
            case ops.Expand():
                facts += [f"{op.target}: {op.target_type}", repr(op.link)]
                facts += map(format_condition, (*op.predicates, *op.edge_predicates))
            case ops.ExpandTest():
                facts += [repr(op.link), *map(format_condition, op.edge_predicates)]
            case ops.Filter():
                facts.append(format_condition(op.condition))
            case ops.AntiJoin():
                facts.append(f"not {op.outer} {meaning(op.ops)}")
            case ops.LeftJoin():
                facts.append(f"perhaps {op.outer} {op.binds} {meaning(op.ops)}")
            case ops.ShortestPath():
                facts.append(f"{op.var}: shortest {op.link!r}")
    return sorted(facts)


def planned(clauses: list[str]) -> ReadPlan:
    text = f"query q() {{ match {{ {' '.join(clauses)} }} return {{ $a.code }} }}"
    plan = compile_query(Source(text), huts()).plan
    assert isinstance(plan, ReadPlan)
    return plan


def clause_lists() -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(CLAUSES), min_size=2, max_size=9, unique=True)


@settings(max_examples=examples(150), deadline=None)
@given(clause_lists(), st.permutations(BINDINGS), st.randoms(use_true_random=False))
def test_clause_order_never_changes_the_meaning(clauses: list[str], bindings: list[str], random: Random) -> None:
    shuffled = list(clauses)
    random.shuffle(shuffled)

    first, second = planned([*BINDINGS, *clauses]), planned([*bindings, *shuffled])

    assert meaning(first.match) == meaning(second.match)
    assert first.result == second.result


@settings(max_examples=examples(100), deadline=None)
@given(clause_lists())
def test_an_optimised_pipeline_reads_only_what_it_bound_before(clauses: list[str]) -> None:
    plan = planned([*BINDINGS, *clauses])

    bound: set[str] = set()
    for op in plan.match:
        match op:
            case ops.NodeScan(var):
                assert var not in bound
                bound.add(var)
            case ops.Expand(link, source):
                assert source in bound
                assert op.target not in bound
                bound |= {op.target} | ({link.edge_var} if link.edge_var else set())
            case ops.ExpandTest(link):
                assert {link.tail, link.head} <= bound
                bound |= {link.edge_var} if link.edge_var else set()
            case ops.AntiJoin(_, outer):
                assert set(outer) <= bound
            case ops.LeftJoin(_, outer, binds):
                assert set(outer) <= bound
                bound |= set(binds)
            case ops.ShortestPath(link):
                assert {link.tail, link.head} <= bound
            case ops.Filter(condition):
                assert variables(condition) <= bound
    assert {name for op in plan.result if isinstance(op, ops.Sort) for name in op.ties} == bound
