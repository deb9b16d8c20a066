"""Hypothesis strategies for reads that mean something: small random graphs of one schema, well-typed queries on it."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.compile import compile_query, compile_schema
from omnigraph.compiler.diagnostics import TypeCheckError
from omnigraph.testing.naive.constraints import Image
from omnigraph.testing.naive.image import Record, empty_image
from omnigraph.testing.strategies.read_returns import grouped_return, plain_return, rank_key
from omnigraph.testing.strategies.read_scope import LITERALS, Scope, ants_in, fresh, operand, other_operand, text_test

SCHEMA = """
interface Named { s: String? }
node Ant implements Named {
  k: String @key  n: I32?  m: I64?  f: F64?  s: String?  b: Bool?  d: Date?  at: DateTime?  tags: [String]?
  v: Vector(2)?  x: String?
}
node Bee implements Named { k: String @key  n: I64?  s: String?  g: F32? }
edge Walks: Ant -> Ant { w: I32?  s: String? }
edge Meets: Ant -> Bee { w: F64? }
edge Feeds: Bee -> Ant { s: String? }
"""

_NUMBERS = st.none() | st.integers(-2, 3)
_LARGE = st.none() | st.sampled_from([0, 1, -7, 2**53 + 1, 2**62, 2**63 - 1, -(2**63)])
_FLOATS = st.none() | st.sampled_from([-1.5, 0.0, 0.5, 2.0, 3.0])
_TEXTS = st.none() | st.sampled_from(["", "a", "b", "ab", "ä", "B"])
_WORDS = st.none() | st.sampled_from(
    ["", "the", "stone hut", "stones", "old huts, old stone", "Hütte am Stein", "rest"]
)
_DATES = st.none() | st.sampled_from(["1969-12-31", "2020-02-29", "2024-01-01"])
_INSTANTS = st.none() | st.sampled_from(["2020-02-29T00:00:00.000Z", "2024-01-01T10:20:30.456Z"])
_ITEMS = st.none() | st.lists(st.sampled_from(["a", "b", "ab"]), max_size=2)
_VECTORS = st.none() | st.tuples(st.sampled_from([0.0, 1.0, 3.0]), st.sampled_from([0.0, 4.0])).map(list)

_PROPERTIES: dict[str, dict[str, Any]] = {
    "Ant": {
        "n": _NUMBERS, "m": _LARGE, "f": _FLOATS, "s": _TEXTS, "b": st.none() | st.booleans(), "d": _DATES,
        "at": _INSTANTS, "tags": _ITEMS, "v": _VECTORS, "x": _WORDS,
    },
    "Bee": {"n": _NUMBERS, "s": _TEXTS, "g": _FLOATS},
    "Walks": {"w": _NUMBERS, "s": _TEXTS},
    "Meets": {"w": _FLOATS},
    "Feeds": {"s": _TEXTS},
}  # fmt: skip


@st.composite
def graphs(draw: DrawFn) -> list[Record]:
    """Up to five ants, three bees and a few edges between them, parallel ones and loops included."""
    ants = [f"a{number}" for number in range(draw(st.integers(1, 5)))]
    bees = [f"b{number}" for number in range(draw(st.integers(0, 3)))]
    names = [("Ant", ant) for ant in ants] + [("Bee", bee) for bee in bees]
    records = [Record(kind, {"k": name, **_values(draw, kind)}) for kind, name in names]
    pairs = draw(st.lists(st.tuples(st.sampled_from(ants), st.sampled_from(ants)), max_size=7))
    records += [
        Record("Walks", _values(draw, "Walks"), f"w{number}", source, target)
        for number, (source, target) in enumerate(pairs)
    ]
    if bees:
        meetings = draw(st.lists(st.tuples(st.sampled_from(ants), st.sampled_from(bees)), max_size=4))
        records += [
            Record("Meets", _values(draw, "Meets"), f"m{number}", source, target)
            for number, (source, target) in enumerate(meetings)
        ]
        feedings = draw(st.lists(st.tuples(st.sampled_from(bees), st.sampled_from(ants)), max_size=4))
        records += [
            Record("Feeds", _values(draw, "Feeds"), f"f{number}", source, target)
            for number, (source, target) in enumerate(feedings)
        ]
    return records


def image_of(catalog: Catalog, records: list[Record]) -> Image:
    """The records as the evaluator reads them."""
    image = empty_image(catalog)
    for record in records:
        if record.source is None:
            name = record.values["k"]
            image[f"node:{record.type_name}"][name] = {"id": name, **record.values}
        else:
            ends = {"id": record.id, "src": record.source, "dst": record.target}
            image[f"edge:{record.type_name}"][str(record.id)] = {**ends, **record.values}
    return image


def _values(draw: DrawFn, kind: str) -> dict[str, Any]:
    return {name: draw(strategy) for name, strategy in _PROPERTIES[kind].items()}


# --- queries ---------------------------------------------------------------------------------


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
        return _traversal(draw, scope, anchored=True)
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
        return _traversal(draw, scope, anchored=False)
    return _binding(draw, scope)


def _clause(draw: DrawFn, scope: Scope, depth: int) -> str:
    kinds = ["traversal", "traversal", "mixed", "filter", "filter", "rebind", "text"]
    kinds += ["not", "not", "optional", "optional", "exists", "either", "unwind"] if depth > 0 else []
    kinds += ["binding", "edges"] if scope.cost < 2 else []
    match draw(st.sampled_from(kinds)):
        case "mixed" if scope.cost < 3:
            return _mixed_traversal(draw, scope)
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
            return _traversal(draw, scope, anchored=True)
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


def _traversal(draw: DrawFn, scope: Scope, *, anchored: bool) -> str:
    edge = draw(st.sampled_from(["walks", "walks", "meets"]))
    ends = {"walks": ("Ant", "Ant"), "meets": ("Ant", "Bee")}[edge]
    if anchored and not any(kind in ends for kind in scope.nodes.values()):
        edge, ends = ("meets", ("Ant", "Bee"))
    names: list[str] = []
    before = set(scope.nodes)
    flip = draw(st.booleans())
    kinds = ends[::-1] if flip else ends
    for place, kind in enumerate(kinds):
        known = sorted(var for var, other in scope.nodes.items() if other == kind)
        last_chance = place == 1 or kinds[1] not in scope.nodes.values()
        must = anchored and last_chance and before.isdisjoint(names)
        if known and (must or draw(st.booleans())):
            names.append(draw(st.sampled_from(known)))
            continue
        hidden = bool(scope.nodes or names) and "_" not in names and draw(st.integers(0, 4)) == 0
        name = "_" if hidden else fresh(scope)
        names.append(name)
        scope.cost += 1
    for name, kind in zip(names, kinds, strict=True):
        if name != "_":
            scope.nodes.setdefault(name, kind)
    if flip and ends[0] != ends[1] and before.isdisjoint(names):
        names.reverse()  # without a bound end the left one is the source
    undirected = draw(st.integers(0, 3)) == 0
    bound, hops = "", ""
    if draw(st.integers(0, 3)) == 0 and scope.cost < 4:
        var = fresh(scope, "e")
        scope.edges[var] = {"walks": "Walks", "meets": "Meets"}[edge]
        scope.cost += 1
        bound = f"${var}:"
    elif draw(st.integers(0, 2)) == 0:
        hops = _hops(draw)
    word = f"<{edge}>" if undirected else edge
    path = _path(draw, scope) if not bound and "_" not in names else ""
    return f"{path}${names[0]} {bound}{word}{hops} ${names[1]}{_along(draw, edge, path)}"


def _mixed_traversal(draw: DrawFn, scope: Scope) -> str:
    """Several edge types in one step, or one edge type at a variable over several node types."""
    start = draw(st.sampled_from(sorted(scope.nodes)))
    united = scope.nodes[start] in ("Named", "Ant|Bee")
    word = draw(st.sampled_from(["walks|meets", "meets|walks|feeds", "feeds|meets", *(["walks", "meets"] * united)]))
    if scope.nodes[start] == "Bee" and "walks" in word:
        word = "feeds|meets"
    others = sorted(var for var, kind in scope.nodes.items() if kind in ("Named", "Ant|Bee"))
    if bool(others) and draw(st.booleans()):
        end = draw(st.sampled_from(others))
    else:
        end = fresh(scope)
        scope.cost += 1
        scope.nodes[end] = _reached(word, scope.nodes[start])
    if word == "walks|meets" and draw(st.integers(0, 3)) == 0 and scope.cost < 4:
        var = fresh(scope, "e")
        scope.edges[var] = "Mixed"
        scope.cost += 1
        return f"${start} ${var}:{word} ${end}"
    hops = _hops(draw) if draw(st.booleans()) else ""
    along, path = word, _path(draw, scope)
    word = f"<{word}>" if draw(st.integers(0, 3)) == 0 else word
    return f"{path}${start} {word}{hops} ${end}{_along(draw, along, path)}"


def _reached(word: str, start: str) -> str:
    """What a new variable at the other end ranges over, if the step is possible at all."""
    if word == "walks":
        return "Ant"
    if word == "meets":
        return "Bee"
    if word == "feeds|meets":
        return {"Ant": "Bee", "Bee": "Ant"}.get(start, "Ant|Bee")
    return "Ant|Bee"


def _hops(draw: DrawFn) -> str:
    low = draw(st.integers(0, 3))
    high = "" if draw(st.integers(0, 3)) == 0 else low + draw(st.integers(0, 2))
    return f"{{{low}}}" if low == high else f"{{{low},{high}}}"


def _path(draw: DrawFn, scope: Scope) -> str:
    if draw(st.integers(0, 3)):
        return ""
    kinds = ["shortest", "shortest", "all shortest", "simple", "cheapest", "shortest 2", "cheapest 3"]
    kind = draw(st.sampled_from(kinds))
    var = fresh(scope, "l")
    scope.edges[var] = "cheapest" if kind.startswith("cheapest") else "path"
    return f"{kind} ${var}: "


_ALONG = {
    "walks": ["$e.w > 0", "$e.w is not null", '$n.s != "b"', "$m.n <= $n.n", "$e.w >= $m.n or $n.b"],
    "meets": ["$e.w > 0.0", '$n.s != "b"', "$m.k != $n.k"],
}
_COSTS = {"walks": ["abs($e.w)", "1", "abs($e.w) + abs($n.n)", "greatest($e.w, 0)"], "meets": ["abs($e.w)", "2"]}


def _along(draw: DrawFn, edge: str, path: str) -> str:
    """Conditions on the steps of a traversal, and costs where they are needed."""
    needs = path.startswith("cheapest")
    if not needs and draw(st.integers(0, 3)):
        return ""
    name = edge if edge in _ALONG else "meets"
    by = f" by {draw(st.sampled_from(_COSTS[name]))}" if needs else ""
    tests = draw(st.lists(st.sampled_from(_ALONG[name]), min_size=0 if needs else 1, max_size=2))
    return f" along $e from $m to $n{by} {{ {' '.join(tests)} }}"


def _optional(draw: DrawFn, scope: Scope, depth: int) -> str:
    """A block that binds something; what it binds is in scope afterwards, except as an end of further steps."""
    inner = scope.block()
    step = _mixed_traversal if draw(st.integers(0, 2)) == 0 else _traversal
    clauses = [step(draw, inner) if step is _mixed_traversal else _traversal(draw, inner, anchored=True)]
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
    clauses = [_traversal(draw, inner, anchored=True) if step else _condition(draw, inner, depth=1)]
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
            clauses.append(_traversal(draw, inner, anchored=True))
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
