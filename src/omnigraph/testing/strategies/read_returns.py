"""What a random query returns: columns, groups, aggregates, conditions on them, and the keys to order by."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from omnigraph.testing.strategies.read_scope import QUERIES, SCALARS, Scope, ants_in, operand, text_test


def plain_return(draw: DrawFn, scope: Scope) -> tuple[str, list[str]]:
    """Columns without groups, and keys to order them by."""
    items = []
    paths = [var for var, kind in scope.all().items() if kind in ("path", "cheapest")]
    for place in range(draw(st.integers(1, 3))):
        if draw(st.integers(0, 3)) == 0:
            expr = f"${draw(st.sampled_from(sorted(scope.things())))}"
        elif draw(st.integers(0, 8)) == 0 and scope.whole():
            expr = text_test(draw, scope)
        elif draw(st.integers(0, 4)) == 0:
            expr = window(draw, scope)
        elif bool(paths) and draw(st.booleans()):
            name = draw(st.sampled_from(["nodes", "edges", "nodes.s", "nodes.k", "edges.w"]))
            expr = f"${draw(st.sampled_from(sorted(paths)))}.{name}"
        else:
            expr = operand(draw, scope)[0]
        items.append(f"{expr} as c{place}")
    word = "distinct " if draw(st.integers(0, 3)) == 0 else ""
    keys = [_key(draw, scope) for _ in range(draw(st.integers(0, 2)))] if not word else []
    having = f" having {{ {_null_test(draw, 'c0')} }}" if draw(st.integers(0, 5)) == 0 else ""
    return f"{word}{{ {', '.join(items)} }}{having}", keys


def window(draw: DrawFn, scope: Scope) -> str:
    """A value of a row among those of its group."""
    value, family = _steady(draw, scope)
    keys = [f"{_steady(draw, scope)[0]} {draw(st.sampled_from(['', 'desc']))}" for _ in range(draw(st.integers(1, 2)))]
    groups = [_steady(draw, scope)[0], *(f"${var}" for var in sorted(scope.whole()))]
    per = f"per {draw(st.sampled_from(groups))}" if draw(st.booleans()) else ""
    order = f"order {', '.join(keys)}"
    forms = [
        f"row_number({per} {order})",
        f"rank({per} {order})",
        f"dense_rank({per} {order})",
        f"lag({value} {per} {order})",
        f"lead({value}, {draw(st.integers(0, 2))} {per} {order})",
        f"count({value} {per or 'per *'} {order})",
        f"count(* where {value} is not null {per or 'per *'})",
    ]
    if family != "bool":
        forms += [f"{name}({value} {per or 'per *'} {draw(st.sampled_from(['', order]))})" for name in ("min", "max")]
    if family == "number":
        forms += [f"round({name}({value} {per or 'per *'} {order}), 6)" for name in ("sum", "avg")]
        forms.append(f"({value} - lag({value} {per} {order})) * 2")
    return draw(st.sampled_from(forms))


def _steady(draw: DrawFn, scope: Scope) -> tuple[str, str]:
    """An operand that cannot overflow: a window looks at every row."""
    for _ in range(6):
        value, family = operand(draw, scope)
        if family != "large" and "to_int" not in value and "$" in value and "m " not in value:
            return value, family
    return f"${sorted(scope.all())[0]}.{'length' if scope.all()[sorted(scope.all())[0]] == 'path' else 'id'}", "text"


def _null_test(draw: DrawFn, column: str) -> str:
    return f"{column} is {draw(st.sampled_from(['null', 'not null', 'not null']))}"


def _key(draw: DrawFn, scope: Scope) -> str:
    var, kind = draw(st.sampled_from(sorted(scope.all().items())))
    family = draw(st.sampled_from(sorted(SCALARS[kind])))
    return f"${var}.{draw(st.sampled_from(SCALARS[kind][family]))} {draw(st.sampled_from(['', 'asc', 'desc']))}"


def grouped_return(draw: DrawFn, scope: Scope) -> tuple[str, list[str]]:
    """Group keys and aggregates, and keys to order the groups by."""
    items, keys = [], []
    for place in range(draw(st.integers(0, 2))):
        var, kind = draw(st.sampled_from(sorted(scope.things().items())))
        family = draw(st.sampled_from(sorted(SCALARS[kind])))
        whole = draw(st.integers(0, 3)) == 0
        items.append(f"${var} as g{place}" if whole else f"${var}.{SCALARS[kind][family][0]} as g{place}")
    items.append("count(*) as n")
    items += [f"{_aggregate(draw, scope)} as x{place}" for place in range(draw(st.integers(0, 2)))]
    keys = [f"{name} {draw(st.sampled_from(['', 'desc']))}" for name in ("n",) if draw(st.booleans())]
    having = ""
    if draw(st.integers(0, 3)) == 0:
        number = draw(st.sampled_from(["n > 1", "n <= 2", "n % 2 = 1", "n > 1 or n = 0"]))
        having = f" having {{ {number} {_null_test(draw, 'x0') if ' as x0' in items[-1] else ''} }}"
    return f"{{ {', '.join(items)} }}{having}", keys


def _aggregate(draw: DrawFn, scope: Scope) -> str:
    var, kind = draw(st.sampled_from(sorted(scope.all().items())))
    families = SCALARS[kind]
    family = draw(st.sampled_from(sorted(families)))
    if draw(st.integers(0, 2)) == 0:
        return _newer_aggregate(draw, scope)
    match draw(st.sampled_from(["count", "distinct", "sum", "avg", "min", "max", "collect"])):
        case "distinct":
            whole = var in scope.things() and draw(st.booleans())
            return f"count(distinct ${var})" if whole else f"count(distinct ${var}.{families[family][0]})"
        case ("sum" | "avg") as name if "number" in families:
            return f"{name}(${var}.{draw(st.sampled_from(families['number']))})"
        case ("min" | "max") as name if family != "bool":
            return f"{name}(${var}.{draw(st.sampled_from(families[family]))})"
        case "collect":
            word = draw(st.sampled_from(["", "distinct "]))
            return f"collect({word}${var}.{draw(st.sampled_from(families[family]))})"
        case _:
            return f"count(${var}{'' if var in scope.things() else '.' + families[family][0]})"


def _newer_aggregate(draw: DrawFn, scope: Scope) -> str:
    """Aggregates with conditions, keys and different values, and computations with them."""
    value, family = operand(draw, scope)
    other, kind = operand(draw, scope)
    where = f" where {other} is not null" if draw(st.booleans()) else ""
    word = draw(st.sampled_from(["", "distinct "]))
    forms = [f"count({word}{value}{where})", f"count(*{where}) * 2 + 1", f'concat("n", to_string(count(*{where})))']
    if kind != "large":  # a key that overflows fails for every row of the match
        forms += [f"first({value}{where} order {other})", f"last({value}{where} order {other} desc)", f"mode({value})"]
    if family == "number":
        forms += [
            f"sum({word}{value}{where}) / count(*)",
            f"round(avg({word}{value}{where}), 3)",
            f"median({value}{where})",
            f"percentile({value}, 0.3)",
            f"round(stddev({word}{value}{where}), 6)",
            f"variance({value}) > 1",
        ]
    if family == "bool":
        forms += [f"any({value}{where})", f"all({value}{where})"]
    return draw(st.sampled_from(forms))


def rank_key(draw: DrawFn, scope: Scope) -> str | None:
    """A rank of some ant; None when there is none."""
    ants = ants_in(scope)
    if not ants:
        return None
    var = draw(st.sampled_from(ants))
    more = draw(st.sampled_from(["", ", 1", ", 100"]))  # partitions, of which a small index has one
    nearest = f"nearest(${var}.v, [{draw(st.sampled_from(['0.0', '1.0']))}, 0.0]{more})"
    bm25 = f'bm25(${var}.x, "{draw(st.sampled_from(QUERIES))}")'
    return draw(st.sampled_from([nearest, bm25, f"rrf({nearest}, {bm25})", f"rrf({bm25}, {nearest}, 7)"]))
