"""Steps of random reads: hops along edges, named edges, and paths with costs."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from omnigraph.testing.strategies.read_scope import Scope, fresh


def traversal(draw: DrawFn, scope: Scope, *, anchored: bool) -> str:
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


def mixed_traversal(draw: DrawFn, scope: Scope) -> str:
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
