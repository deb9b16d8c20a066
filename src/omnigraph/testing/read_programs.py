"""Hypothesis strategies for reads that mean something: small random graphs of one schema, well-typed queries on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.compile import compile_query, compile_schema
from omnigraph.compiler.diagnostics import TypeCheckError
from omnigraph.testing.constraints import Image
from omnigraph.testing.image import Record, empty_image

SCHEMA = """
interface Named { s: String? }
node Ant implements Named {
  k: String @key  n: I32?  f: F64?  s: String?  b: Bool?  d: Date?  at: DateTime?  tags: [String]?  v: Vector(2)?
  x: String?
}
node Bee implements Named { k: String @key  n: I64?  s: String?  g: F32? }
edge Walks: Ant -> Ant { w: I32?  s: String? }
edge Meets: Ant -> Bee { w: F64? }
edge Feeds: Bee -> Ant { s: String? }
"""

_NUMBERS = st.none() | st.integers(-2, 3)
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
        "n": _NUMBERS, "f": _FLOATS, "s": _TEXTS, "b": st.none() | st.booleans(), "d": _DATES, "at": _INSTANTS,
        "tags": _ITEMS, "v": _VECTORS, "x": _WORDS,
    },
    "Bee": {"n": _NUMBERS, "s": _TEXTS, "g": _FLOATS},
    "Walks": {"w": _NUMBERS, "s": _TEXTS},
    "Meets": {"w": _FLOATS},
    "Feeds": {"s": _TEXTS},
}  # fmt: skip
# Scalar properties by type of owner and kind of value; numbers of every width compare with each other.
_SCALARS = {
    "Ant": {"number": ["n", "f"], "text": ["s", "k", "id", "x"], "bool": ["b"], "date": ["d"], "instant": ["at"]},
    "Bee": {"number": ["n", "g"], "text": ["s", "k", "id"]},
    "Walks": {"number": ["w"], "text": ["s"]},
    "Meets": {"number": ["w"]},
    "Feeds": {"text": ["s"]},
    "Named": {"text": ["s", "id"]},
    "Ant|Bee": {"text": ["k", "s", "id"]},
    "Mixed": {"text": ["id"]},
    "path": {"number": ["length"]},
}
_LITERALS = {
    "number": ["-1", "0", "1", "2", "2.0", "0.5", "1.5", "99999999999"],
    "text": ['""', '"a"', '"ab"', '"a1"', '"ä"', '"zz"'],
    "bool": ["true", "false"],
    "date": ['date("2020-02-29")', 'date("2021-01-01")'],
    "instant": ['datetime("2020-02-29T00:00:00Z")', "now()"],
}
_QUERIES = ["stone", "huts", "old rest", "the", "", "ston"]


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


@dataclass
class _Scope:
    """Variables bound so far, by name; `cost` counts what the naive evaluator must multiply.

    `names` is shared with `not` blocks: a name bound later in the outer list would mean that variable there.
    """

    nodes: dict[str, str] = field(default_factory=dict)
    edges: dict[str, str] = field(default_factory=dict)  # and paths: what has properties but no identity
    cost: int = 0
    names: Iterator[int] = field(default_factory=count)
    maybe: dict[str, str] = field(default_factory=dict)  # bound in optional blocks

    def all(self) -> dict[str, str]:
        return {**self.nodes, **self.edges, **self.maybe}

    def whole(self) -> dict[str, str]:
        """What can stand for a node as a whole."""
        return {var: kind for var, kind in {**self.nodes, **self.maybe}.items() if var.startswith("p")}

    def block(self) -> _Scope:
        """Inside a block everything bound so far, be it null, is as good as anything else."""
        nodes = {**self.nodes, **self.whole()}
        edges = {var: kind for var, kind in self.all().items() if var not in nodes}
        return _Scope(nodes, edges, max(self.cost, 2), self.names)


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
    scope = _Scope()
    clauses = [_first(draw, scope)]
    clauses += [_clause(draw, scope, depth=1) for _ in range(draw(st.integers(0, 3)))]
    order, tail = "", ""
    returned, keys = draw(st.sampled_from([_plain_return, _grouped_return]))(draw, scope)
    rank = _rank(draw, scope) if "count(" not in returned and (searching or draw(st.integers(0, 4)) == 0) else None
    if rank is not None:
        more = [] if rank.startswith("nearest") else keys[:1]
        order = f"order {{ {', '.join([rank, *more])} }}"
        tail = f"limit {draw(st.integers(0, 6))}"
    elif bool(keys) and draw(st.booleans()):
        order = f"order {{ {', '.join(keys)} }}"
    if not tail and draw(st.integers(0, 2)) == 0:
        tail = f"limit {draw(st.integers(0, 6))}"
        tail += f" offset {draw(st.integers(0, 3))}" if draw(st.booleans()) else ""
    return f"query q() {{ match {{ {' '.join(clauses)} }} return {returned} {order} {tail} }}"


def _first(draw: DrawFn, scope: _Scope) -> str:
    if draw(st.integers(0, 4)) == 0:
        return _traversal(draw, scope, anchored=False)
    return _binding(draw, scope)


def _clause(draw: DrawFn, scope: _Scope, depth: int) -> str:
    kinds = ["traversal", "traversal", "mixed", "filter", "filter", "rebind", "text"]
    kinds += ["not", "not", "optional", "optional"] if depth else []
    kinds += ["binding"] if scope.cost < 2 else []
    match draw(st.sampled_from(kinds)):
        case "mixed" if scope.cost < 3:
            return _mixed_traversal(draw, scope)
        case "optional":
            return _optional(draw, scope, depth)
        case "traversal" if scope.cost < 4:
            return _traversal(draw, scope, anchored=True)
        case "binding":
            return _binding(draw, scope)
        case "rebind":
            var = draw(st.sampled_from(sorted(scope.nodes)))
            return f"${var}: {scope.nodes[var]} {_inline(draw, scope.nodes[var])}"
        case "not":
            return _negation(draw, scope, depth)
        case "text" if scope.whole():
            return _text_test(draw, scope)
        case _:
            return _condition(draw, scope, depth=1)


def _binding(draw: DrawFn, scope: _Scope) -> str:
    kind = draw(st.sampled_from(["Ant", "Ant", "Ant", "Bee", "Named", "Ant|Bee"]))
    var = _fresh(scope)
    scope.nodes[var] = kind
    scope.cost += 1
    return f"${var}: {kind} {_inline(draw, kind)}"


def _inline(draw: DrawFn, kind: str) -> str:
    if draw(st.integers(0, 2)):
        return ""
    options = {"s": _LITERALS["text"][:3]}
    if kind in ("Ant", "Bee"):
        options |= {"n": _LITERALS["number"][:5]}
    if kind == "Ant":
        options |= {"b": _LITERALS["bool"], "tags": ['"a"', '"ab"'], "d": _LITERALS["date"]}
    name = draw(st.sampled_from(sorted(options)))
    return f"{{ {name}: {draw(st.sampled_from(options[name]))} }}"


def _traversal(draw: DrawFn, scope: _Scope, *, anchored: bool) -> str:
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
        name = "_" if hidden else _fresh(scope)
        names.append(name)
        scope.cost += 1
    for name, kind in zip(names, kinds, strict=True):
        if name != "_":
            scope.nodes.setdefault(name, kind)
    if flip and ends[0] != ends[1] and before.isdisjoint(names):
        names.reverse()  # without a bound end the left one is the source
    undirected = edge == "walks" and draw(st.integers(0, 3)) == 0
    bound, hops = "", ""
    if draw(st.integers(0, 3)) == 0 and scope.cost < 4:
        var = _fresh(scope, "e")
        scope.edges[var] = {"walks": "Walks", "meets": "Meets"}[edge]
        scope.cost += 1
        bound = f"${var}:"
    elif draw(st.integers(0, 2)) == 0:
        hops = _hops(draw)
    word = f"<{edge}>" if undirected else edge
    path = _path(draw, scope) if not bound and "_" not in names else ""
    return f"{path}${names[0]} {bound}{word}{hops} ${names[1]}"


def _mixed_traversal(draw: DrawFn, scope: _Scope) -> str:
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
        end = _fresh(scope)
        scope.cost += 1
        scope.nodes[end] = _reached(word, scope.nodes[start])
    if word == "walks|meets" and draw(st.integers(0, 3)) == 0 and scope.cost < 4:
        var = _fresh(scope, "e")
        scope.edges[var] = "Mixed"
        scope.cost += 1
        return f"${start} ${var}:{word} ${end}"
    hops = _hops(draw) if draw(st.booleans()) else ""
    return f"{_path(draw, scope)}${start} {word}{hops} ${end}"


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
    low = draw(st.integers(1, 3))
    high = "" if draw(st.integers(0, 3)) == 0 else low + draw(st.integers(0, 2))
    return f"{{{low},{high}}}"


def _path(draw: DrawFn, scope: _Scope) -> str:
    if draw(st.integers(0, 3)):
        return ""
    var = _fresh(scope, "l")
    scope.edges[var] = "path"
    return f"shortest ${var}: "


def _optional(draw: DrawFn, scope: _Scope, depth: int) -> str:
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


def _negation(draw: DrawFn, scope: _Scope, depth: int) -> str:
    inner = scope.block()
    clauses = [_traversal(draw, inner, anchored=True) if draw(st.booleans()) else _condition(draw, scope, depth=1)]
    clauses += [_clause(draw, inner, depth - 1) for _ in range(draw(st.integers(0, 2)))]
    return f"not {{ {' '.join(clauses)} }}"


def _condition(draw: DrawFn, scope: _Scope, depth: int) -> str:
    if depth and draw(st.integers(0, 4)) == 0:
        word = draw(st.sampled_from([" or ", " and "]))
        return word.join(_condition(draw, scope, depth - 1) for _ in range(2))
    nodes = scope.whole().items()
    pairs = [f"${a} {{op}} ${b}" for a, kind in nodes for b, other in nodes if {kind, other} != {"Ant", "Bee"}]
    if len(pairs) > 1 and draw(st.integers(0, 6)) == 0:
        return draw(st.sampled_from(pairs)).format(op=draw(st.sampled_from(["=", "!="])))
    maybe = sorted(var for var in scope.maybe if var in scope.whole())
    if maybe and draw(st.integers(0, 3)) == 0:
        return f"${draw(st.sampled_from(maybe))} is {draw(st.sampled_from(['null', 'not null']))}"
    left, family = _operand(draw, scope)
    match draw(st.sampled_from(["compare", "compare", "compare", "null", "in", "text", "list"])):
        case "null":
            return f"{left} is {draw(st.sampled_from(['null', 'not null']))}"
        case "in" if family in ("number", "text"):
            items = draw(st.lists(st.sampled_from(_LITERALS[family]), min_size=1, max_size=3))
            return f"{left} {draw(st.sampled_from(['in', 'not in']))} [{', '.join(items)}]"
        case "text" if family == "text":
            return f"{left} {draw(st.sampled_from(['contains', 'starts_with']))} {_other(draw, scope, family)}"
        case "list" if ants := _ants(scope):
            return f"${draw(st.sampled_from(ants))}.tags contains {_other(draw, scope, 'text')}"
        case _:
            op = draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">="]))
            return f"{left} {op} {_other(draw, scope, family)}"


def _text_test(draw: DrawFn, scope: _Scope) -> str:
    name = draw(st.sampled_from(["search", "match_text", "fuzzy"]))
    var, kind = draw(st.sampled_from(sorted(scope.whole().items())))
    query = draw(st.sampled_from([*_QUERIES, "ab"]))
    return f'{name}(${var}.{"x" if kind == "Ant" else "s"}, "{query}")'


def _ants(scope: _Scope) -> list[str]:
    return sorted(var for var, kind in scope.whole().items() if kind == "Ant")


def _operand(draw: DrawFn, scope: _Scope) -> tuple[str, str]:
    var, kind = draw(st.sampled_from(sorted(scope.all().items())))
    family = draw(st.sampled_from(sorted(_SCALARS[kind])))
    operand = f"${var}.{draw(st.sampled_from(_SCALARS[kind][family]))}"
    if family == "number" and draw(st.integers(0, 4)) == 0:
        operand = f"{operand} {draw(st.sampled_from('+-*/%'))} {draw(st.sampled_from(['1', '2', '0.5', '0']))}"
    return operand, family


def _other(draw: DrawFn, scope: _Scope, family: str) -> str:
    columns = [f"${var}.{name}" for var, kind in sorted(scope.all().items()) for name in _SCALARS[kind].get(family, ())]
    if columns and draw(st.integers(0, 2)) == 0:
        return draw(st.sampled_from(columns))
    return draw(st.sampled_from(_LITERALS[family]))


def _plain_return(draw: DrawFn, scope: _Scope) -> tuple[str, list[str]]:
    items = []
    for place in range(draw(st.integers(1, 3))):
        if draw(st.integers(0, 3)) == 0:
            expr = f"${draw(st.sampled_from(sorted(scope.whole())))}"
        elif draw(st.integers(0, 8)) == 0:
            expr = _text_test(draw, scope)
        elif bool(paths := [var for var, kind in scope.all().items() if kind == "path"]) and draw(st.booleans()):
            expr = f"${draw(st.sampled_from(sorted(paths)))}.nodes"
        else:
            expr = _operand(draw, scope)[0]
        items.append(f"{expr} as c{place}")
    word = "distinct " if draw(st.integers(0, 3)) == 0 else ""
    keys = [_key(draw, scope) for _ in range(draw(st.integers(0, 2)))] if not word else []
    having = f" having {{ {_null_test(draw, 'c0')} }}" if draw(st.integers(0, 5)) == 0 else ""
    return f"{word}{{ {', '.join(items)} }}{having}", keys


def _null_test(draw: DrawFn, column: str) -> str:
    return f"{column} is {draw(st.sampled_from(['null', 'not null', 'not null']))}"


def _key(draw: DrawFn, scope: _Scope) -> str:
    var, kind = draw(st.sampled_from(sorted(scope.all().items())))
    family = draw(st.sampled_from(sorted(_SCALARS[kind])))
    return f"${var}.{draw(st.sampled_from(_SCALARS[kind][family]))} {draw(st.sampled_from(['', 'asc', 'desc']))}"


def _grouped_return(draw: DrawFn, scope: _Scope) -> tuple[str, list[str]]:
    items, keys = [], []
    for place in range(draw(st.integers(0, 2))):
        var, kind = draw(st.sampled_from(sorted(scope.whole().items())))
        family = draw(st.sampled_from(sorted(_SCALARS[kind])))
        whole = draw(st.integers(0, 3)) == 0
        items.append(f"${var} as g{place}" if whole else f"${var}.{_SCALARS[kind][family][0]} as g{place}")
    items.append("count(*) as n")
    items += [f"{_aggregate(draw, scope)} as x{place}" for place in range(draw(st.integers(0, 2)))]
    keys = [f"{name} {draw(st.sampled_from(['', 'desc']))}" for name in ("n",) if draw(st.booleans())]
    having = ""
    if draw(st.integers(0, 3)) == 0:
        number = draw(st.sampled_from(["n > 1", "n <= 2", "n % 2 = 1", "n > 1 or n = 0"]))
        having = f" having {{ {number} {_null_test(draw, 'x0') if ' as x0' in items[-1] else ''} }}"
    return f"{{ {', '.join(items)} }}{having}", keys


def _aggregate(draw: DrawFn, scope: _Scope) -> str:
    var, kind = draw(st.sampled_from(sorted(scope.all().items())))
    families = _SCALARS[kind]
    family = draw(st.sampled_from(sorted(families)))
    match draw(st.sampled_from(["count", "distinct", "sum", "avg", "min", "max", "collect"])):
        case "distinct":
            whole = var in scope.whole() and draw(st.booleans())
            return f"count(distinct ${var})" if whole else f"count(distinct ${var}.{families[family][0]})"
        case ("sum" | "avg") as name if "number" in families:
            return f"{name}(${var}.{draw(st.sampled_from(families['number']))})"
        case ("min" | "max") as name if family != "bool":
            return f"{name}(${var}.{draw(st.sampled_from(families[family]))})"
        case "collect":
            word = draw(st.sampled_from(["", "distinct "]))
            return f"collect({word}${var}.{draw(st.sampled_from(families[family]))})"
        case _:
            return f"count(${var}{'' if var in scope.whole() else '.' + families[family][0]})"


def _rank(draw: DrawFn, scope: _Scope) -> str | None:
    ants = _ants(scope)
    if not ants:
        return None
    var = draw(st.sampled_from(ants))
    nearest = f"nearest(${var}.v, [{draw(st.sampled_from(['0.0', '1.0']))}, 0.0])"
    bm25 = f'bm25(${var}.x, "{draw(st.sampled_from(_QUERIES))}")'
    return draw(st.sampled_from([nearest, bm25, f"rrf({nearest}, {bm25})", f"rrf({bm25}, {nearest}, 7)"]))


def _fresh(scope: _Scope, prefix: str = "p") -> str:
    # Names whose order differs from the order of binding.
    return f"{prefix}{(next(scope.names) * 7) % 10}_{next(scope.names)}"
