"""Conditions mean the same three ways: row by row in plain Python, vectorised, and pushed down to a real table."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.temporal import Date, DateTime
from omnigraph.compiler.types import PropType
from omnigraph.engine.values.arithmetic import compute
from omnigraph.engine.values.arrow import arrow_type
from omnigraph.engine.values.compare import typed_array
from omnigraph.engine.values.predicate import Bindings, Evaluator
from omnigraph.engine.values.pushdown import push
from omnigraph.errors import BadRequest

NOW = DateTime(1_700_000_000_123)
BINDINGS = Bindings.of({"text": "it's", "none": None, "many": ["a", "é"]}, NOW)
TYPES = {
    "s": PropType("String"), "order": PropType("String"), "i": PropType("I32"), "l": PropType("I64"), "u": PropType("U64"),
    "f": PropType("F32"), "g": PropType("F64"), "b": PropType("Bool"), "d": PropType("Date"), "t": PropType("DateTime"),
    "tags": PropType("String", list=True), "nums": PropType("I64", list=True),
}  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "s": ["a", "b", "it's", "é", "100%", "a_b", None, ""],
    "order": ["a", "a", "%", "b", "é", None, "A", "ab"],
    "i": [1, 2, -3, None, 2**31 - 1, -(2**31), 0, 5],
    "l": [1, -(2**63), 2**63 - 1, None, 2**53 + 1, 2**53, 0, 5],
    "u": [1, 2**64 - 1, 0, None, 2**63, 2**53 + 1, 7, 5],
    "f": [0.1, -0.0, 0.0, None, 3.5, 1e30, -2.5, 5.0],
    "g": [0.1, -0.0, 0.0, None, 3.5, 1e300, -2.5, 2.0**53],
    "b": [True, False, None, True, False, True, None, False],
    "d": [0, 1, -5, None, 20_000, 2_932_896, -719_162, 365],
    "t": [0, 1, -5, None, NOW.ms, 253_402_300_799_999, -62_135_596_800_000, 365],
    "tags": [["a"], ["a", "é"], [], None, ["it's"], ["b", "a"], [""], ["é"]],
    "nums": [[1], [2**53 + 1], [], None, [-3, 5], [0], [7], [5, 5]],
}
ROWS = pa.table({name: typed_array(VALUES[name], arrow_type(kind)) for name, kind in TYPES.items()})


def prop(name: str) -> ir.Property:
    return ir.Property(ir.TARGET, name, TYPES[name].with_nullable(True))


def const(value: Any, scalar: str) -> ir.Const:
    return ir.Const(value, PropType(scalar))


def kept(condition: ir.Condition) -> list[int]:
    flags = Evaluator.over(ROWS, BINDINGS).keep(condition).to_pylist()
    return [at for at, flag in enumerate(flags) if flag]


def truth(condition: ir.Condition) -> list[bool | None]:
    return list(Evaluator.over(ROWS, BINDINGS).truth(condition).to_pylist())


# --- a naive reading of the same condition, row by row --------------------------------------------


def naive(condition: ir.Condition, row: dict[str, Any]) -> bool | None:
    match condition:
        case ir.Compare(op, left, right):
            return _naive_compare(op, left, right, row)
        case ir.TextTest(op, left, right):
            a, b = _naive_value(left, row), _naive_value(right, row)
            return None if a is None or b is None else (b in a if op == "contains" else a.startswith(b))
        case ir.In(value, options, negated):
            a, b = _naive_value(value, row), _naive_value(options, row)
            return None if a is None or b is None else (a in b) != negated
        case ir.IsNull(operand, negated):
            return (_naive_value(operand, row) is None) != negated
        case ir.And(parts):
            answers = [naive(part, row) for part in parts]
            return False if False in answers else (None if None in answers else True)
        case ir.Or(parts):
            answers = [naive(part, row) for part in parts]
            return True if True in answers else (None if None in answers else False)
        case ir.NotTrue(part):
            return naive(part, row) is not True
    raise AssertionError(condition)


def _naive_compare(op: str, left: ir.Expr, right: ir.Expr, row: dict[str, Any]) -> bool | None:
    a, b = _naive_value(left, row), _naive_value(right, row)
    if a is None or b is None:
        return None
    tests: dict[str, Callable[[], bool]] = {
        "=": lambda: a == b, "!=": lambda: a != b, "<": lambda: a < b,
        "<=": lambda: a <= b, ">": lambda: a > b, ">=": lambda: a >= b,
    }  # fmt: skip
    return tests[op]()


def _naive_value(expr: ir.Expr, row: dict[str, Any]) -> Any:
    match expr:
        case ir.Const(Date(days)):
            return days
        case ir.Const(DateTime(ms)):
            return ms
        case ir.Const(tuple() as items):
            return [_naive_value(ir.Const(item, PropType("String")), row) for item in items]
        case ir.Const(value):
            return value
        case ir.Param(name):
            return BINDINGS.params[name]
        case ir.Now():
            return NOW.ms
        case ir.Property(_, name):
            return row[name]
    raise AssertionError(expr)


NAIVE_ROWS = [
    {name: pa.scalar(VALUES[name][at], pa.float32()).as_py() if name == "f" else VALUES[name][at] for name in TYPES}
    for at in range(ROWS.num_rows)
]

# F32 against a constant rounds the constant; that rule has its own test, so `f` meets representable constants here.
_CONSTANTS: dict[str, st.SearchStrategy[ir.Expr]] = {
    "s": st.sampled_from([const(v, "String") for v in ["a", "it's", "%", "_", "zz", "é"]] + [ir.Param("text", PropType("String"))]),
    "i": st.sampled_from([const(v, "I64") for v in [1, -3, 2**40, -(2**63), 0]] + [const(v, "F64") for v in [2.0, 2.7, 1e300]]),
    "f": st.sampled_from([const(v, "F64") for v in [0.0, 3.5, -2.5, 5.0]] + [const(v, "I64") for v in [5, 0]]),
    "g": st.sampled_from([const(v, "F64") for v in [0.1, 0.0, 1e300]] + [const(v, "I64") for v in [2**53 + 1, 2**53, 0]]),
    "b": st.sampled_from([const(v, "Bool") for v in [True, False]]),
    "d": st.sampled_from([const(Date(v), "Date") for v in [0, 365, 20_000, 2**31 - 1, -(2**31)]]),
    "t": st.sampled_from([const(DateTime(v), "DateTime") for v in [0, -5, 253_402_300_799_999, -(2**63)]] + [ir.Now()]),
}  # fmt: skip
_LIKE = {"order": "s", "l": "i", "u": "i"}
_SCALARS = sorted({*_CONSTANTS, *_LIKE})
_OPS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])


@st.composite
def leaves(draw: st.DrawFn) -> ir.Condition:
    name = draw(st.sampled_from(_SCALARS))
    others = _CONSTANTS[_LIKE.get(name, name)]
    match draw(st.sampled_from(["compare", "flip", "columns", "text", "in", "has", "null"])):
        case "compare":
            return ir.Compare(draw(_OPS), prop(name), draw(others))
        case "flip":
            return ir.Compare(draw(_OPS), draw(others), prop(name))
        case "columns":
            peers = (
                ["i", "l", "u", "f", "g"] if name in "ilufg" else ["s", "order"] if name in ("s", "order") else [name]
            )
            return ir.Compare(draw(_OPS), prop(name), prop(draw(st.sampled_from(peers))))
        case "text":
            sides = st.sampled_from([prop("s"), prop("order"), const("an a_b here", "String"), const("a", "String")])
            return ir.TextTest(draw(st.sampled_from(["contains", "starts_with"])), draw(sides), draw(sides))
        case "in":
            options = draw(st.lists(others.filter(lambda c: isinstance(c, ir.Const)), max_size=3))
            values = tuple(option.value for option in options if isinstance(option, ir.Const))
            return ir.In(prop(name), ir.Const(values, PropType("String", list=True)), draw(st.booleans()))
        case "has":
            if draw(st.booleans()):
                return ir.In(
                    draw(st.sampled_from([prop("s"), const("a", "String"), const("zz", "String")])), prop("tags")
                )
            return ir.In(draw(st.sampled_from([prop("l"), prop("i"), const(5, "I64")])), prop("nums"))
        case _:
            return ir.IsNull(prop(name), draw(st.booleans()))


def conditions() -> st.SearchStrategy[ir.Condition]:
    return st.recursive(
        leaves(),
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: ir.And(tuple(parts))),
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: ir.Or(tuple(parts))),
            inner.map(ir.NotTrue),
        ),
        max_leaves=4,
    )


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The same rows in a table without and with ordered indexes."""
    place: Path = tmp_path_factory.mktemp("pushdown")
    rows = ROWS.append_column("at", pa.array(range(ROWS.num_rows), pa.int64()))
    plain = lance.write_dataset(rows, str(place / "plain"))
    indexed = lance.write_dataset(rows, str(place / "indexed"))
    for column in _SCALARS:
        indexed.create_scalar_index(column, "BTREE")
    indexed.create_scalar_index("tags", "LABEL_LIST")
    return [plain, lance.dataset(str(place / "indexed"))]


@given(condition=conditions())
def test_the_vectorised_answer_is_the_naive_one(condition: ir.Condition) -> None:
    # A null list and a list without the item are both "not a member"; only the kept rows are a contract there.
    assert kept(condition) == [at for at, row in enumerate(NAIVE_ROWS) if naive(condition, row) is True]


@given(condition=conditions())
def test_what_is_pushed_down_keeps_exactly_the_same_rows(stored: list[Any], condition: ir.Condition) -> None:
    pushed = push(condition, BINDINGS)
    for dataset in stored:
        rows = dataset.to_table(filter=pushed.filter)
        if pushed.rest is not None:
            rows = rows.filter(Evaluator.over(rows, BINDINGS).keep(pushed.rest))
        assert sorted(rows["at"].to_pylist()) == kept(condition)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (ir.Compare("=", prop("s"), ir.Param("text", PropType("String"))), "`s` = 'it''s'"),
        (ir.Compare("<", prop("i"), const(2.7, "F64")), "`i` <= 2"),
        (ir.Compare("<", prop("i"), const(2**40, "I64")), "`i` IS NOT NULL"),
        (ir.Compare("=", prop("i"), const(2.5, "F64")), "false"),
        (ir.Compare(">", prop("d"), const(Date(18_266), "Date")), "`d` > date '2020-01-05'"),
        (ir.Compare("<=", ir.Now(), prop("t")), "`t` >= arrow_cast(1700000000123, 'Date64')"),
        (ir.Compare("!=", prop("s"), ir.Param("none", PropType("String", nullable=True))), "false"),
        (ir.In(prop("s"), ir.Param("many", PropType("String", list=True))), "`s` IN ('a', 'é')"),
        (ir.TextTest("starts_with", prop("s"), const("a%", "String")), "starts_with(`s`, 'a%')"),
    ],
)  # fmt: skip
def test_a_filter_reads_like_this(condition: ir.Condition, text: str) -> None:
    pushed = push(condition, BINDINGS)
    assert (pushed.filter, pushed.rest) == (text, None)


@pytest.mark.parametrize(
    "condition",
    [
        ir.Compare("=", prop("g"), const(0.0, "F64")),
        ir.Compare("=", prop("l"), const(-(2**63), "I64")),
        ir.Compare("=", prop("s"), prop("order")),
        ir.Or((ir.Compare("=", prop("s"), const("a", "String")), ir.Compare("=", prop("s"), prop("order")))),
    ],
)
def test_what_storage_could_read_differently_stays_behind(condition: ir.Condition) -> None:
    pushed = push(condition, BINDINGS)
    assert (pushed.filter, pushed.rest) == (None, condition)


def test_a_conjunction_is_pushed_part_by_part() -> None:
    easy, hard = ir.Compare("=", prop("s"), const("a", "String")), ir.Compare("=", prop("s"), prop("order"))
    assert push(ir.And((easy, hard)), BINDINGS) == push(ir.And((hard, easy)), BINDINGS)
    assert push(ir.And((easy, hard)), BINDINGS).filter == "`s` = 'a'"
    assert push(ir.And((easy, hard)), BINDINGS).rest == hard


# --- arithmetic -----------------------------------------------------------------------------------


def total(op: str, left: ir.Expr, right: ir.Expr, scalar: str = "I64") -> list[Any]:
    found = Evaluator.over(ROWS, BINDINGS).column(
        ir.Arithmetic(op, left, right, PropType(scalar)), arrow_type(PropType(scalar))
    )
    return list(found.to_pylist())


def test_arithmetic_passes_nulls_through_and_a_zero_divisor_is_null() -> None:
    assert total("+", prop("i"), const(1, "I64")) == [2, 3, -2, None, 2**31, -(2**31) + 1, 1, 6]
    assert total("/", const(10, "I64"), prop("i"))[:3] == [10, 5, -3]
    assert total("/", const(10, "I64"), prop("i"))[6] is None
    assert total("%", prop("i"), const(2, "I64"))[:4] == [1, 0, -1, None]
    assert total("%", prop("i"), const(0, "I64")) == [None] * 8
    assert total("*", prop("g"), const(0.5, "F64"), "F64")[0] == 0.05


def test_an_integer_overflow_is_an_error_and_not_a_wrong_number() -> None:
    with pytest.raises(BadRequest, match="overflow"):
        total("+", prop("l"), const(1, "I64"))
    with pytest.raises(BadRequest, match="overflow"):
        total("+", prop("u"), const(0, "I64"))


def test_unknown_is_neither_true_nor_false_until_not_true_closes_it() -> None:
    unknown = ir.Compare("=", prop("s"), ir.Param("none", PropType("String", nullable=True)))
    assert truth(unknown) == [None] * 8
    assert truth(ir.NotTrue(unknown)) == [True] * 8
    assert truth(ir.And((unknown, ir.NEVER))) == [False] * 8
    assert truth(ir.Or((unknown, ir.NotTrue(unknown)))) == [True] * 8


INT64S = st.one_of(st.integers(-(2**63), 2**63 - 1), st.sampled_from([-(2**63), -1, 0, 1, 2**31, -(2**31), 2**63 - 1]))


@given(
    rows=st.lists(st.tuples(st.none() | INT64S, st.none() | INT64S), min_size=1, max_size=20), op=st.sampled_from("+-*")
)
def test_exactly_the_rows_that_overflow_are_told(rows: list[tuple[int | None, int | None]], op: str) -> None:
    left, right = (pa.array(side, pa.int64()) for side in zip(*rows, strict=True))
    values, failed = compute(op, left, right)
    exact = {"+": operator.add, "-": operator.sub, "*": operator.mul}[op]
    expected = [None if None in row else exact(*row) for row in rows]
    beyond = [value is not None and not -(2**63) <= value < 2**63 for value in expected]
    assert (failed is None and not any(beyond)) or (failed is not None and failed.rows.to_pylist() == beyond)
    fits = [None if over else value for value, over in zip(expected, beyond, strict=True)]
    assert values.to_pylist() == fits
