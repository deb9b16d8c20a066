"""Hypothesis strategies for reads that mean something: well-typed queries on the schema of `read_graphs`."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.compile import compile_query, compile_schema
from omnigraph.compiler.diagnostics import TypeCheckError
from omnigraph.testing.strategies.read_graphs import SCHEMA
from omnigraph.testing.strategies.read_returns import grouped_return, plain_return, rank_key
from omnigraph.testing.strategies.read_scope import LITERALS, Scope, ants_in, fresh, operand, other_operand, text_test
from omnigraph.testing.strategies.read_steps import mixed_traversal, traversal


def queries(*, searching: bool = False) -> st.SearchStrategy[str]:
    """One read over the schema above; with `searching`, mostly one that ranks.

    The few that do not fit the schema, such as a step between the wrong types, are left out.
    """
    return _texts(searching=searching).filter(_compiles)


def _compiles(text: str) -> bool:
    try:
        compile_query(text, _catalog())
    except TypeCheckError:
        return False
    return True


@cache
def _catalog() -> Catalog:
    return compile_schema(SCHEMA)


@st.composite
def _texts(draw: DrawFn, *, searching: bool = False) -> str:
    if not searching and draw(st.integers(0, 9)) == 0:
        return _union(draw)
    scope = Scope()
    clauses = [_first(draw, scope)]
    clauses += [_clause(draw, scope, depth=1) for _ in range(draw(st.integers(0, 3)))]
    stages = ""
    for _ in range(draw(st.sampled_from([0, 0, 0, 0, 1, 1, 2]))):
        text, after = _stage(draw, scope)
        stages += f"match {{ {' '.join(clauses)} }} {text} " if clauses else f"{text} "
        scope = after
        clauses = [] if scope.nodes and draw(st.integers(0, 2)) == 0 else [_joining(draw, scope)]
        clauses += [_clause(draw, scope, depth=1) for _ in range(draw(st.integers(0, 1)) if clauses else 0)]
    order, tail = "", ""
    returned, keys = draw(st.sampled_from([plain_return, grouped_return]))(draw, scope)
    rank = rank_key(draw, scope) if "count(" not in returned and (searching or draw(st.integers(0, 4)) == 0) else None
    if rank is not None:
        more = [] if rank.startswith("nearest") else keys[:1]
        order = f"order {{ {', '.join([rank, *more])} }}"
        tail = f"limit {draw(st.integers(0, 6))}"
    elif bool(keys) and draw(st.booleans()):
        order = f"order {{ {', '.join(keys)} }}"
    if not tail and draw(st.integers(0, 2)) == 0:
        tail = f"limit {draw(st.integers(0, 6))}"
        if draw(st.integers(0, 2)) == 0:
            tail += f" per {draw(st.sampled_from(_per_keys(scope, returned)))}"
        tail += f" offset {draw(st.integers(0, 3))}" if draw(st.booleans()) else ""
    pattern = f"match {{ {' '.join(clauses)} }}" if clauses else ""
    return f"query q() {{ {stages}{pattern} return {returned} {order} {tail} }}"


def _per_keys(scope: Scope, returned: str) -> list[str]:
    """What a limit may be per: a column that is returned, or something else of the rows."""
    first = returned.removeprefix("distinct ").split(" as ")[1].partition(",")[0].split(" ")[0]
    return [first, *(f"${var}" for var in sorted(scope.whole()))]


def _joining(draw: DrawFn, scope: Scope) -> str:
    """The first clause after a stage: from a node that it kept, or anything."""
    if any(kind in ("Ant", "Bee") for kind in scope.nodes.values()) and draw(st.booleans()):
        return traversal(draw, scope, anchored=True)
    return _first(draw, scope)


def _stage(draw: DrawFn, scope: Scope) -> tuple[str, Scope]:
    """A `with`, and what is in scope after it."""
    kept = draw(st.lists(st.sampled_from(sorted(scope.whole().items())), max_size=2, unique=True))
    items, columns = [f"${var}" for var, _ in kept], {}
    for _ in range(draw(st.integers(0 if items else 1, 2))):
        value, family = operand(draw, scope)
        columns[name := f"v{next(scope.names)}"] = family
        items.append(f"{value} as {name}")
    if draw(st.integers(0, 2)) == 0:
        columns[name := f"v{next(scope.names)}"] = "number"
        items.append(f"count(*) as {name}")
    word = "distinct " if draw(st.integers(0, 4)) == 0 else ""
    text = f"with {word}{{ {', '.join(draw(st.permutations(items)))} }}"
    keys = [*columns, *(f"${var}" for var, _ in kept)]
    if columns and draw(st.integers(0, 4)) == 0:
        text += f" having {{ {draw(st.sampled_from(sorted(columns)))} is not null }}"
    if draw(st.booleans()):
        text += f" order {{ {draw(st.sampled_from(keys))} {draw(st.sampled_from(['', 'desc']))} }}"
    if draw(st.integers(0, 2)) == 0:
        text += f" limit {draw(st.integers(1, 4))}"
        text += f" per {draw(st.sampled_from(keys))}" if draw(st.booleans()) else ""
    nodes = {var: kind for var, kind in kept if var in scope.nodes}
    maybe = {var: kind for var, kind in kept if var in scope.maybe}
    return text, Scope(nodes, {}, len(kept), scope.names, maybe, columns)


def _union(draw: DrawFn) -> str:
    """Two or three reads with the same columns."""
    kinds = draw(st.lists(st.sampled_from(["number", "text", "number"]), min_size=1, max_size=2))
    parts = []
    for _ in range(draw(st.integers(2, 3))):
        scope = Scope()
        clauses = [_first(draw, scope), *(_clause(draw, scope, depth=1) for _ in range(draw(st.integers(0, 1))))]
        items = [f"{_of_family(draw, scope, kind)} as c{at}" for at, kind in enumerate(kinds)]
        word = draw(st.sampled_from(["", "distinct "]))
        parts.append(f"match {{ {' '.join(clauses)} }} return {word}{{ {', '.join(items)} }}")
    text = draw(st.sampled_from([" union ", " union all "])).join(parts)
    if draw(st.booleans()):
        text += f" order {{ c0 {draw(st.sampled_from(['', 'desc']))} }}"
    if draw(st.booleans()):
        text += f" limit {draw(st.integers(0, 6))}"
    return f"query q() {{ {text} }}"


def _of_family(draw: DrawFn, scope: Scope, family: str) -> str:
    for _ in range(4):
        found, kind = operand(draw, scope)
        if kind == family:
            return found
    return draw(st.sampled_from(LITERALS[family]))


def _first(draw: DrawFn, scope: Scope) -> str:
    if draw(st.integers(0, 4)) == 0:
        return traversal(draw, scope, anchored=False)
    return _binding(draw, scope)


def _clause(draw: DrawFn, scope: Scope, depth: int) -> str:
    kinds = ["traversal", "traversal", "mixed", "filter", "filter", "rebind", "text"]
    kinds += ["not", "not", "optional", "optional", "exists", "either", "unwind"] if depth > 0 else []
    kinds += ["binding", "edges"] if scope.cost < 2 else []
    match draw(st.sampled_from(kinds)):
        case "mixed" if scope.cost < 3:
            return mixed_traversal(draw, scope)
        case "optional":
            return _optional(draw, scope, depth)
        case "unwind" if ants := ants_in(scope):
            name = f"u{next(scope.names)}"
            listed = [f"${draw(st.sampled_from(ants))}.tags", '["b", "a", "b"]', 'split("a b", " ")']
            found = f"unwind {draw(st.sampled_from(listed))} as {name}"
            scope.columns[name] = "text"
            return found
        case "exists":
            return _exists(draw, scope, depth)
        case "either":
            return _either(draw, scope, depth)
        case "traversal" if scope.cost < 4:
            return traversal(draw, scope, anchored=True)
        case "binding":
            return _binding(draw, scope)
        case "edges":
            return _edge_binding(draw, scope)
        case "rebind":
            var = draw(st.sampled_from(sorted(scope.nodes)))
            kind = scope.nodes[var]
            if kind in ("Named", "Ant|Bee") and draw(st.booleans()):
                kind = draw(st.sampled_from(["Ant", "Bee", "Named", "Ant|Bee"]))
            return f"${var}: {kind} {_inline(draw, kind)}"
        case "not":
            return _negation(draw, scope, depth)
        case "text" if scope.whole():
            return text_test(draw, scope)
        case _:
            return _condition(draw, scope, depth=1)


def _binding(draw: DrawFn, scope: Scope) -> str:
    kind = draw(st.sampled_from(["Ant", "Ant", "Ant", "Bee", "Named", "Ant|Bee"]))
    var = fresh(scope)
    scope.nodes[var] = kind
    scope.cost += 1
    return f"${var}: {kind} {_inline(draw, kind)}"


def _edge_binding(draw: DrawFn, scope: Scope) -> str:
    """Edges by themselves, or once more some that a step binds."""
    bound = sorted(var for var, kind in scope.edges.items() if kind in ("Walks", "Meets"))
    if bool(bound) and draw(st.booleans()):
        var = draw(st.sampled_from(bound))
        return f"${var}: {scope.edges[var]}"
    kind = draw(st.sampled_from(["Walks", "Meets", "Feeds", "Walks|Meets"]))
    var = fresh(scope, "e")
    scope.edges[var] = "Mixed" if "|" in kind else kind
    scope.cost += 1
    inline = draw(st.sampled_from(["", '{ s: "a" }', '{ from: "a1" }'])) if kind == "Walks" else ""
    return f"${var}: {kind} {inline}"


def _inline(draw: DrawFn, kind: str) -> str:
    if draw(st.integers(0, 2)):
        return ""
    options = {"s": LITERALS["text"][:3]}
    if kind in ("Ant", "Bee"):
        options |= {"n": LITERALS["number"][:5]}
    if kind == "Ant":
        options |= {"b": LITERALS["bool"], "tags": ['"a"', '"ab"'], "d": LITERALS["date"]}
    name = draw(st.sampled_from(sorted(options)))
    return f"{{ {name}: {draw(st.sampled_from(options[name]))} }}"


def _optional(draw: DrawFn, scope: Scope, depth: int) -> str:
    """A block that binds something; what it binds is in scope afterwards, except as an end of further steps."""
    inner = scope.block()
    step = mixed_traversal if draw(st.integers(0, 2)) == 0 else traversal
    clauses = [step(draw, inner) if step is mixed_traversal else traversal(draw, inner, anchored=True)]
    clauses += [_clause(draw, inner, depth - 1) for _ in range(draw(st.integers(0, 1)))]
    new = {var: kind for var, kind in inner.all().items() if var not in scope.all()}
    if not new:
        return _condition(draw, scope, depth=1)
    scope.maybe |= new
    return f"optional {{ {' '.join(clauses)} }}"


def _exists(draw: DrawFn, scope: Scope, depth: int) -> str:
    """A condition with a pattern of its own, whether it has solutions or how many, alone or among others."""
    inside = _inside(draw, scope.block(), depth)
    counted = draw(st.sampled_from(["= 1", ">= 2", "< 3", "= 0"]))
    found = draw(st.sampled_from([f"exists {{ {inside} }}", f"count(* match {{ {inside} }}) {counted}"]))
    other = _condition(draw, scope, depth=0)
    return draw(st.sampled_from(["{0}", "not {0}", "({0} or {1})", "({1} and not {0})"])).format(found, other)


def _either(draw: DrawFn, scope: Scope, depth: int) -> str:
    """Alternatives that bind one further node, or none; what else they bind is theirs."""
    known = sorted(var for var, kind in scope.nodes.items() if kind == "Ant")
    if known and scope.cost < 3 and draw(st.booleans()):
        start, end = draw(st.sampled_from(known)), fresh(scope)
        steps = [f"${start} walks ${end}", f"${end} walks ${start}", f"${start} meets $_ ${end}: Ant", f"${end}: Ant"]
        chosen = draw(st.lists(st.sampled_from(steps), min_size=2, max_size=3))
        inner = Scope({**scope.block().nodes, end: "Ant"}, scope.block().edges, 3, scope.names)
        branches = [f"{step} {_condition(draw, inner, depth=0)}" for step in chosen]
        scope.nodes[end] = "Ant"
        scope.cost += 1
    else:
        branches = [_inside(draw, scope.block(), depth) for _ in range(draw(st.integers(2, 3)))]
    return "either " + " or ".join(f"{{ {branch} }}" for branch in branches)


def _inside(draw: DrawFn, inner: Scope, depth: int) -> str:
    step = draw(st.booleans())
    clauses = [traversal(draw, inner, anchored=True) if step else _condition(draw, inner, depth=1)]
    clauses += [_clause(draw, inner, depth - 1) for _ in range(draw(st.integers(0, 1)))]
    return " ".join(clauses)


def _negation(draw: DrawFn, scope: Scope, depth: int) -> str:
    inner = scope.block()
    clauses: list[str] = []
    match draw(st.integers(0, 5)):
        case 0:
            clauses.append(_negation(draw, inner, depth - 1))
        case 1 if inner.cost < 4:
            # Something that has to do with nothing outside, except in the block inside: `for all`.
            clauses += [_binding(draw, inner), _negation(draw, inner, depth - 1)]
        case 2 | 3:
            clauses.append(traversal(draw, inner, anchored=True))
        case _:
            clauses.append(_condition(draw, scope, depth=1))
    clauses += [_clause(draw, inner, depth - 1) for _ in range(draw(st.integers(0, 1 + (depth > 0))))]
    return f"not {{ {' '.join(clauses)} }}"


def _condition(draw: DrawFn, scope: Scope, depth: int) -> str:
    if draw(st.integers(0, 9)) == 0:
        return f"not ({_condition(draw, scope, 0)})"
    if depth and draw(st.integers(0, 4)) == 0:
        word = draw(st.sampled_from([" or ", " and "]))
        return word.join(_condition(draw, scope, depth - 1) for _ in range(2))
    nodes = scope.whole().items()
    pairs = [f"${a} {{op}} ${b}" for a, kind in nodes for b, other in nodes if {kind, other} != {"Ant", "Bee"}]
    edges = [(var, kind) for var, kind in scope.things().items() if var not in scope.whole()]
    pairs += [f"${a} {{op}} ${b}" for a, kind in edges for b, other in edges if kind == other]
    if len(pairs) > 1 and draw(st.integers(0, 6)) == 0:
        return draw(st.sampled_from(pairs)).format(op=draw(st.sampled_from(["=", "!="])))
    maybe = sorted(var for var in scope.maybe if var in scope.whole())
    if maybe and draw(st.integers(0, 3)) == 0:
        return f"${draw(st.sampled_from(maybe))} is {draw(st.sampled_from(['null', 'not null']))}"
    left, family = operand(draw, scope)
    match draw(st.sampled_from(["compare", "compare", "compare", "null", "in", "text", "list"])):
        case "null":
            return f"{left} is {draw(st.sampled_from(['null', 'not null']))}"
        case "in" if family in ("number", "large", "text"):
            items = draw(st.lists(st.sampled_from(LITERALS[family]), min_size=1, max_size=3))
            return f"{left} {draw(st.sampled_from(['in', 'not in']))} [{', '.join(items)}]"
        case "text" if family == "text":
            return f"{left} {draw(st.sampled_from(['contains', 'starts_with']))} {other_operand(draw, scope, family)}"
        case "list" if ants := ants_in(scope):
            return f"${draw(st.sampled_from(ants))}.tags contains {other_operand(draw, scope, 'text')}"
        case _:
            if family == "number" and draw(st.integers(0, 4)) == 0:
                low, high = draw(st.sampled_from(["-1", "0", "0.5"])), draw(st.sampled_from(["1", "2", "3"]))
                return f"({low} <= {left} < {high})"
            op = draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">="]))
            return f"{left} {op} {other_operand(draw, scope, family)}"
