"""Every function of the registry: its kernel over columns gives what the registry says it means for one value."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.compiler.functions import FUNCTIONS, Failure, Function
from omnigraph.compiler.functions.moments import parse_expression, parse_moment
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.temporal import Date, DateTime
from omnigraph.compiler.types import PropType
from omnigraph.engine.values.arrow import arrow_type
from omnigraph.engine.values.compare import typed_array
from omnigraph.engine.values.fixed import Fixed, broadcast
from omnigraph.engine.values.functions import KERNELS
from omnigraph.engine.values.functions.moments import parsed
from omnigraph.engine.values.predicate import Bindings, Evaluator

OF_THE_CHECKER = {"if", "coalesce", "nullif", "id", "type"}
BINDINGS = Bindings({}, DateTime(0))
TEXTS = [
    "",
    "a",
    "Alm",
    "  pad ",
    "ätna ÄTNA ß İ",
    "a,b,,c",
    "日本語",
    "x" * 50,
    "12",
    "-7",
    "+3.5e2",
    "true",
    "2026-08-15",
    "2026-02-30",
    "2026-08-15T14:30:05.250Z",
    "20260815",
    "15.08.2026",
    "99999999999999999999",
    "a1b22",
    "ﬁn",
    "aa\nbb",
]
INTEGERS = [0, 1, -1, 2, 3, 7, -12, 45, 1000, 2**62, -(2**63), 2**63 - 1]
SMALL = [0, 1, 2, 3, 5, -1, -2, -4]
FLOATS = [0.0, -0.0, 0.5, -0.5, 1.0, 1.5, 2.5, -2.675, 1e300, -1e-300, 123.456, 0.49999999999999994, 3.0]
DATES = [Date(0), Date(-1), Date(19_000), Date(20_680), Date(-719_163), Date(11_016), Date(2_932_896), Date(-3_000_000)]
INSTANTS = [
    DateTime(0),
    DateTime(-1),
    DateTime(1_786_804_205_250),
    DateTime(951_782_399_999),
    DateTime(-62_135_596_800_001),
]
LISTS: dict[str, list[Any]] = {
    "I64": [(), (1,), (3, 1, 2), (2, 2, 5, 1), (7, 7), (2**62, 2**62)],
    "F64": [(), (0.5,), (3.5, -1.0, 2.0), (1.0, 2.0), (0.0, 0.0)],
    "String": [(), ("a",), ("b", "a", "b"), ("ä", "z", "")],
}
WORDS = {"form": "NFC", "unit": "month"}


def pool(function: Function, name: str, kind: str, scalar: str) -> list[Any]:
    match kind:
        case "String":
            return [",", "-", "a", "", "b", *TEXTS] if name != "text" else TEXTS
        case "Bool":
            return [True, False]
        case "Integer":
            return SMALL if name != "x" else INTEGERS
        case "Number":
            return INTEGERS if scalar == "I64" else FLOATS
        case "Float":
            return [*FLOATS, *SMALL]
        case "Moment":
            return DATES if scalar == "Date" else INSTANTS
        case "List" | "Numbers" | "Texts" | "Vector":
            return LISTS[scalar]
        case "T" | "Scalar" | "NumberOrText" | "MomentOrText":
            return {
                "I64": INTEGERS,
                "F64": FLOATS,
                "String": TEXTS,
                "Date": DATES,
                "DateTime": INSTANTS,
                "Bool": [True, False],
            }[scalar]
        case "Group":
            return [0]
        case "Pattern":
            return ["[0-9]+"]
        case "Replacement":
            return ["#"]
        case "Format":
            return ["%d.%m.%Y"]
        case "Word":
            return [*function.words]
    raise AssertionError(kind)


VARIANTS = {
    "Number": ["I64", "F64"],
    "Moment": ["Date", "DateTime"],
    "List": ["I64", "F64", "String"],
    "Numbers": ["I64", "F64"],
    "Vector": ["F64"],
    "Texts": ["String"],
    "T": ["I64", "F64", "String", "Date", "DateTime"],
    "Scalar": ["I64", "F64", "String", "Date", "DateTime", "Bool"],
    "NumberOrText": ["I64", "F64", "String"],
    "MomentOrText": ["Date", "DateTime", "String"],
}
FIXED = ("Group", "Pattern", "Replacement", "Format", "Word")
PLAIN = {"Integer": "I64", "Float": "F64", "Group": "I64"}


def cases() -> list[Any]:
    found = []
    for function in FUNCTIONS.values():
        if function.name in OF_THE_CHECKER:
            continue
        kinds = [param.kind for param in function.params if param.kind in VARIANTS]
        found += [
            pytest.param(function, scalar, id=f"{function.name}-{scalar}")
            for scalar in (VARIANTS[kinds[0]] if kinds else ["String"])
        ]
    return found


def result_type(function: Function, scalar: str) -> PropType:
    name = function.result.removesuffix("?")
    match name:
        case "Numeric" | "ItemNumeric" | "T" | "Item" | "Moment":
            return PropType(scalar, nullable=True)
        case "List" | "[T]":
            return PropType(scalar, list=True, nullable=True)
        case _ if name.startswith("["):
            return PropType(name[1:-1], list=True, nullable=True)
        case _:
            return PropType(name, nullable=True)


def param_type(kind: str, scalar: str) -> PropType:
    if kind in ("List", "Numbers", "Texts", "Vector"):
        return PropType(scalar, list=True, nullable=True)
    if kind in VARIANTS:
        return PropType(scalar, nullable=True)
    return PropType(PLAIN.get(kind, "Bool" if kind == "Bool" else "String"), nullable=True)


def stored(value: Any) -> Any:
    return value.days if isinstance(value, Date) else value.ms if isinstance(value, DateTime) else value


def column(values: list[Any], kind: PropType) -> pa.Array:
    if kind.list:
        return pa.array([None if value is None else list(value) for value in values], arrow_type(kind))
    return typed_array([stored(value) for value in values], arrow_type(kind))


def meant(function: Function, values: tuple[Any, ...], *, floating: bool) -> Any:
    if None in values:
        return None
    try:
        found = function.compute(*values)
    except Failure:
        return Failure
    return float(found) if floating and isinstance(found, int) else found


def shown(values: pa.Array) -> list[Any]:
    if pa.types.is_date32(values.type):
        return [None if each is None else Date(each) for each in values.cast(pa.int32()).to_pylist()]
    if pa.types.is_date64(values.type):
        return [None if each is None else DateTime(each) for each in values.view(pa.int64()).to_pylist()]
    if pa.types.is_list(values.type) and pa.types.is_date(values.type.value_type):
        return [None if each is None else tuple(shown(each)) for each in (row.values for row in values)]
    return [tuple(each) if isinstance(each, list) else each for each in values.to_pylist()]


def alike(found: Any, expected: Any) -> bool:
    if isinstance(expected, float) and isinstance(found, float):
        return math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-300)
    return type(found) is type(expected) and bool(found == expected)


@pytest.mark.parametrize(("function", "scalar"), cases())
def test_a_kernel_computes_what_the_registry_says(function: Function, scalar: str) -> None:
    random = Random(f"{function.name} {scalar}")
    for optional in (False, True):
        params = [param for param in function.params if optional or not param.optional]
        params += function.params[-1:] * (2 if function.variadic else 0)
        drawn = [
            [random.choice([*pool(function, param.name, param.kind, scalar), None]) for _ in range(120)]
            if param.kind not in FIXED
            else [random.choice(pool(function, param.name, param.kind, scalar))] * 120
            for param in params
        ]
        if function.name in ("date_add", "date_trunc") and scalar == "Date":
            drawn[-1] = [random.choice(["year", "quarter", "month", "week", "day"])] * 120
        check(function, scalar, params, drawn)


def check(function: Function, scalar: str, params: list[Any], drawn: list[list[Any]]) -> None:
    kinds = [param_type(param.kind, scalar) for param in params]
    args: list[ir.Expr] = [
        ir.Const(values[0], kind) if param.kind in FIXED else ir.Property("", f"c{at}", kind)
        for at, (param, values, kind) in enumerate(zip(params, drawn, kinds, strict=True))
    ]
    rows = pa.table(
        {f"c{at}": column(values, kind) for at, (values, kind) in enumerate(zip(drawn, kinds, strict=True))}
    )
    rows = rows if rows.num_columns else pa.table({"x": pa.nulls(120)})
    expr = ir.Function(function.name, tuple(args), result_type(function, scalar))
    found, failed = Evaluator.over(rows, BINDINGS).attempt(expr)
    values = shown(found if not isinstance(found, Fixed) else broadcast(found.value, arrow_type(expr.type), 120))
    spoilt = [False] * 120 if failed is None else failed.rows.to_pylist()
    given = list(
        zip(*([wide(v, p.kind, scalar) for v in vs] for vs, p in zip(drawn, params, strict=True)), strict=True)
    )
    for at, arguments in enumerate(given or [()] * 120):
        expected = meant(function, arguments, floating=expr.type.scalar == "F64" and not expr.type.list)
        if expected is Failure:
            assert spoilt[at], (arguments, values[at])
        else:
            assert not spoilt[at], (arguments, expected)
            assert alike(values[at], expected), (arguments, values[at], expected)


def wide(value: Any, kind: str, scalar: str) -> Any:
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and (kind == "Float" or (kind == "T" and scalar == "F64"))
    ):
        return float(value)
    return value


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("%j of %Y", {"365 of 2023": "2023-12-31", "366 of 2024": "2024-12-31", "060 of 2024": "2024-02-29"}),
        ("%j of %Y", {"366 of 2023": None, "000 of 2024": None, "999 of 2024": None}),
        ("%Y-%m-%d %j", {"2024-03-01 061": "2024-03-01", "2024-03-01 060": None}),
        ("%m, %j", {"02, 032": "1970-02-01", "01, 032": None}),
    ],
)
def test_a_day_of_the_year_names_a_date(pattern: str, texts: dict[str, str | None]) -> None:
    wanted = [None if each is None else f"{each}T00:00:00.000Z" for each in texts.values()]
    assert [None if (found := parse_moment(text, pattern)) is None else str(found) for text in texts] == wanted
    ms, real = parsed(pa.array(list(texts)), parse_expression(pattern))
    assert [str(DateTime(int(each))) if there else None for each, there in zip(ms, real, strict=True)] == wanted


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in OF_THE_CHECKER])
def test_a_function_has_a_kernel(name: str) -> None:
    assert name in KERNELS


def test_every_kernel_is_a_function_of_the_registry() -> None:
    assert set(KERNELS) == set(FUNCTIONS) - OF_THE_CHECKER
