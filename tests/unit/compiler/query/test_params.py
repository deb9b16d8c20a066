"""Parameters: what each declared type accepts, what it refuses and under which code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from omnigraph.compiler.query import ast
from omnigraph.compiler.query.params import bind_params
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.compiler.temporal import Date, DateTime
from omnigraph.errors import ParameterError


def query(params: str) -> ast.Query:
    return parse_queries(f"query q({params}) {{ match {{ $h: Hut }} return {{ $h.code }} }}").queries[0]


def bind(declared: str, value: Any) -> Any:
    """Bind `$x: declared` to a value that went through JSON, as every caller's does."""
    return bind_params(query(f"$x: {declared}"), {"x": json.loads(json.dumps(value))})["x"]


def code_of(declared: str, value: Any) -> str:
    with pytest.raises(ParameterError) as caught:
        bind_params(query(f"$x: {declared}"), {"x": value})
    assert caught.value.parameter == "x"
    assert caught.value.details() == {"parameter": "x"}
    return caught.value.code


def test_a_missing_parameter_names_the_undeclared_one_it_may_be() -> None:
    with pytest.raises(ParameterError, match=r"^P006: parameter 'limit' \(I64\) is missing; 'limt' was given$"):
        bind_params(query("$limit: I64, $limits: I64"), {"limt": 1, "limits": 2})
    with pytest.raises(ParameterError, match=r"^P006: parameter 'limit' \(I64\) is missing$"):
        bind_params(query("$limit: I64, $limits: I64"), {"other": 1, "limits": 2})


U64_MAX = 2**64 - 1

ACCEPTED = [
    ("String", "", ""),
    ("String", "é\n", "é\n"),
    ("I32", 5, 5),
    ("I32", -(2**31), -(2**31)),
    ("I32", "2147483647", 2**31 - 1),
    ("I64", "9007199254740993", 9007199254740993),
    ("I64", "-9223372036854775808", -(2**63)),
    ("I64", "000000000000000000000000000007", 7),
    ("I64", "-0", 0),
    ("U32", 2**32 - 1, 2**32 - 1),
    ("U64", U64_MAX, U64_MAX),
    ("U64", str(U64_MAX), U64_MAX),
    ("F64", 1, 1.0),
    ("F64", 1e308, 1e308),
    ("F64", 2**53 + 1, float(2**53 + 1)),
    ("F32", 0.1, 0.1),
    ("F32", 3.4028235e38, 3.4028235e38),
    ("Bool", True, True),
    ("Bool", False, False),
    ("Date", "2024-01-02", Date(19724)),
    ("Date", "20240102", Date(19724)),
    ("DateTime", "2024-01-02 03:04:05+02:00", DateTime(1704157445000)),
    ("DateTime", "1970-01-01", DateTime(0)),
    ("Blob", "base64:", "base64:"),
    ("Blob", "s3://bucket/key", "s3://bucket/key"),
    ("[String]", [], []),
    ("[String]", ["a", "b"], ["a", "b"]),
    ("[I64]", [1, "2"], [1, 2]),
    ("[Date]", ["1970-01-01"], [Date(0)]),
    ("Vector(2)", [1, 0.5], [1.0, 0.5]),
    ("enum(b, a)", "a", "a"),
    ("String?", None, None),
    ("I64?", None, None),
    ("[I64]?", None, None),
    ("Vector(3)?", None, None),
    ("enum(a)?", None, None),
]

REFUSED = [
    *[("String", value, "P003") for value in (1, 1.5, True, [], {})],
    ("String", "\ud800", "P003"),
    *[
        ("I32", value, "P003")
        for value in (1.5, 3.0, True, [], {}, "", "1.0", "1e3", "0x1", "+1", " 1", "1 ", "١", "--1")
    ],
    *[("I32", value, "P004") for value in (2**31, -(2**31) - 1, "2147483648", "9" * 10_000, "-" + "9" * 10_000)],
    *[("I64", value, "P004") for value in (2**63, "9223372036854775808", -(2**63) - 1)],
    *[("U32", value, "P004") for value in (-1, "-1", 2**32)],
    *[("U64", value, "P004") for value in (-1, 2**64, "18446744073709551616")],
    *[("F64", value, "P003") for value in ("1.5", True, [], {})],
    *[("F64", value, "P004") for value in (float("nan"), float("inf"), 10**400)],
    ("F32", 3.5e38, "P004"),
    *[("Bool", value, "P003") for value in (0, 1, "true", [])],
    *[("Date", value, "P003") for value in (19724, 1.5, True, [])],
    *[("Date", value, "P007") for value in ("", "2024", "2024-02-30", "soon")],
    ("DateTime", 0, "P003"),
    *[("DateTime", value, "P007") for value in ("", "2024-01-02T03:04", "2024-01-02T25:00:00Z")],
    *[("Blob", value, "P003") for value in (1, [1], {"uri": "x"})],
    *[("[String]", value, "P003") for value in ("a", {}, [1], [None], [["a"]])],
    ("[I32]", [2**31], "P004"),
    ("[Date]", ["soon"], "P007"),
    *[("Vector(2)", value, "P005") for value in ([], [1], [1, 2, 3], "a", 1, {}, [1, None], [1, "2"], [1, True])],
    *[("Vector(2)", value, "P005") for value in ([1, float("nan")], [1, 1e39], [1, 10**400])],
    *[("enum(b, a)", value, "P003") for value in ("c", "A", 1, "")],
    *[(declared, None, "P002") for declared in ("String", "I64", "[I64]", "Vector(2)", "enum(a)", "I32 = 5")],
]


@pytest.mark.parametrize(("declared", "value", "expected"), ACCEPTED)
def test_a_value_that_fits_is_bound(declared: str, value: Any, expected: Any) -> None:
    bound = bind(declared, value)
    assert bound == expected
    assert type(bound) is type(expected)


@pytest.mark.parametrize(("declared", "value", "code"), REFUSED)
def test_a_value_that_does_not_fit_is_refused(declared: str, value: Any, code: str) -> None:
    assert code_of(declared, value) == code


@pytest.mark.parametrize("given", [[], "x", 1, 1.5, True])
def test_anything_but_an_object_is_P001(given: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        bind_params(query(""), given)
    assert caught.value.code == "P001"


@pytest.mark.parametrize("given", [None, {}])
def test_no_object_means_no_parameters(given: Any) -> None:
    assert bind_params(query(""), given) == {}


@pytest.mark.parametrize("declared", ["String", "I64", "[I64]", "Vector(2)", "Blob", "enum(a)"])
def test_an_omitted_parameter_is_P006(declared: str) -> None:
    with pytest.raises(ParameterError) as caught:
        bind_params(query(f"$x: {declared}"), {"y": 1})
    assert (caught.value.code, caught.value.parameter) == ("P006", "x")


def test_an_omitted_optional_parameter_is_null_and_undeclared_keys_are_ignored() -> None:
    assert bind_params(query("$x: I64?, $y: String"), {"y": "a", "z": object()}) == {"x": None, "y": "a"}


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("I32 = 10", 10),
        ("I64 = -9223372036854775808", -(2**63)),
        ("F64 = 1", 1.0),
        ('String = "a"', "a"),
        ("Bool = false", False),
        ('Date = date("2024-01-02")', Date(19724)),
        ('DateTime = datetime("1970-01-01")', DateTime(0)),
        ("[I32] = [1, 2]", [1, 2]),
        ("Vector(2) = [1, -0.5]", [1.0, -0.5]),
        ('enum(a, b) = "b"', "b"),
        ("I32? = 10", 10),
        ("I32? = null", None),
    ],
)
def test_an_omitted_parameter_takes_its_default(declared: str, expected: Any) -> None:
    assert bind_params(query(f"$x: {declared}"), {})["x"] == expected


def test_a_given_value_wins_over_the_default_even_when_it_is_null() -> None:
    assert bind("I32 = 10", 3) == 3
    assert bind("I32? = 10", None) is None


@pytest.mark.parametrize(
    ("declared", "code"),
    [("I32 = 2147483648", "P004"), ('I32 = "x"', "P003"), ("I32 = null", "P002"), ('Date = date("x")', "P007")],
)
def test_a_default_obeys_the_rules_for_values(declared: str, code: str) -> None:
    with pytest.raises(ParameterError) as caught:
        bind_params(query(f"$x: {declared}"), {})
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("given", "code"),
    [
        pytest.param({"n": "9007199254740993"}, None, id="66a"),
        pytest.param({"n": 1.5}, "P003", id="66b"),
        pytest.param({}, "P006", id="66c"),
        pytest.param({"n": None}, "P002", id="66d"),
    ],
)
def test_case_66(given: Any, code: str | None) -> None:
    if code is None:
        assert bind_params(query("$n: I64"), given) == {"n": 9007199254740993}
    else:
        with pytest.raises(ParameterError) as caught:
            bind_params(query("$n: I64"), given)
        assert caught.value.code == code


@pytest.mark.parametrize("given", [pytest.param({}, id="67")])
def test_case_67_an_omitted_optional_parameter_binds_to_null(given: Any) -> None:
    assert bind_params(query("$n: String?"), given) == {"n": None}


@pytest.mark.parametrize(
    ("declared", "value", "message"),
    [
        ("I64", 1.5, "P003: parameter 'x' must be an integer or a decimal string for I64, not a fractional number"),
        ("[I64]", 5, "P003: parameter 'x' must be an array for [I64], not an integer"),
        ("[I64]", [1, "a"], "P003: parameter 'x[1]' must be an integer or a decimal string for I64, not a string"),
        ("I32", 2**31, "P004: parameter 'x' exceeds I32 (-2147483648 to 2147483647)"),
        ("Vector(3)", [1], "P005: parameter 'x' has 1 element, Vector(3) needs 3"),
        ("Date", "2023-02-29", "P007: parameter 'x': '2023-02-29' names a day that is not in the calendar"),
        ("enum(b, a)", "c", "P003: parameter 'x' must be one of a, b"),
        ("String", None, "P002: parameter 'x' cannot be null"),
    ],
)
def test_the_message_says_what_was_expected_and_what_came(declared: str, value: Any, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        bind_params(query(f"$x: {declared}"), {"x": value})
    assert str(caught.value) == message
