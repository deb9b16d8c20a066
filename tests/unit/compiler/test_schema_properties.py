"""Laws of the schema language, over generated schemas and damaged texts."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from omnigraph.compiler.catalog import accept_schema, compile_schema, decode_accepted, plan_migration
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.schema.format import format_schema
from omnigraph.compiler.schema.lint import lint_schema
from omnigraph.compiler.schema.parse import parse_schema
from omnigraph.testing.strategies.schemas import reorderings, schemas
from tests.thoroughness import examples

DOMAIN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
quick = settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
_PIECES = (
    *("node", "edge", "interface", "implements", "enum", "Vector", "String", "I32", "Blob", "A", "B", "x", "y", "true"),
    *("{", "}", "(", ")", "[", "]", ":", "->", "..", "?", "@", ",", "=", "-", "/", ".", "*", "#", '"', "\\", "$", "\0"),
    *(
        "@key",
        "@key(",
        "@card(0..1)",
        "@range(x, 0..1)",
        '@check(x, "a")',
        "// c\n",
        "/* c */",
        "/*",
        '"s"',
        "1",
        "1.5",
    ),
)


@quick
@given(schemas())
def test_parsing_a_formatted_schema_gives_the_schema_back(schema):
    assert parse_schema(format_schema(schema)) == schema


@quick
@given(schemas())
def test_every_generated_schema_compiles_and_survives_its_files(schema):
    accepted = accept_schema(format_schema(schema), domain=DOMAIN)
    assert decode_accepted(accepted.ir_json, accepted.source).catalog == accepted.catalog


@quick
@given(st.data())
def test_migrating_a_schema_to_a_reordering_of_itself_is_an_empty_plan(data):
    schema = data.draw(schemas())
    accepted = accept_schema(format_schema(schema), domain=DOMAIN)
    plan = plan_migration(accepted, format_schema(data.draw(reorderings(schema))))
    assert plan.steps == ()
    assert plan.target.next_id == accepted.next_id
    assert _as_stored(plan.target.catalog.nodes) == _as_stored(accepted.catalog.nodes)


def _as_stored(nodes):
    """Types without the order in which the text lists the columns of a key, which only mappings follow (decision 0042)."""
    return {name: replace(node, declared_key=node.key) for name, node in nodes.items()}


@quick
@given(schemas(), schemas())
def test_migrating_between_any_two_schemas_gives_a_plan_whose_target_keeps_no_dropped_identity(before, after):
    accepted = accept_schema(format_schema(before), domain=DOMAIN)
    plan = plan_migration(accepted, format_schema(after))
    assert plan.target.next_id >= accepted.next_id
    assert (plan.steps == ()) == (plan_migration(plan.target, accepted.source).steps == ())
    assert decode_accepted(plan.target.ir_json, plan.target.source).ir_hash == plan.target.ir_hash


@quick
@given(st.text(max_size=80) | st.lists(st.sampled_from(_PIECES), max_size=30).map(" ".join) | st.binary(max_size=40))
@example("node A { x: enum(1.5) }")
@example("node A { x: enum(a->b) }")
@example('node A @d("\ud800") {}')
@example(b"node A {\xff}")
@example("\ufeffnode A {}")
def test_any_text_gives_a_catalog_or_a_compile_error(text):
    with contextlib.suppress(CompileError):
        compile_schema(text)


@quick
@given(st.data())
def test_a_damaged_schema_gives_a_catalog_or_a_compile_error(data):
    text = format_schema(data.draw(schemas()))
    at = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(at, min(len(text), at + 5)))
    damaged = text[:at] + data.draw(st.sampled_from(("", *_PIECES))) + text[end:]
    error = _rejection(damaged)
    if error is None:
        lint_schema(parse_schema(damaged))
    else:
        assert error.code.startswith("S")
        assert error.details()["line"] >= 1
        assert error.details()["span"][0] <= len(damaged.encode())


def _rejection(text):
    try:
        compile_schema(text)
    except CompileError as error:
        return error
    return None


_LARGE = 200_000


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("node A { x: " + "[" * _LARGE, id="brackets"),
        pytest.param("{" * _LARGE, id="braces"),
        pytest.param('node A @d("' + "a" * _LARGE, id="open-string"),
        pytest.param("/*" + "*" * _LARGE, id="open-comment"),
        pytest.param("node A { x: Vector(" + "9" * _LARGE + ") }", id="digits"),
        pytest.param("node A { x: I32 @range(x, 0.." + "9" * _LARGE + ") }", id="bound"),
        pytest.param("edge P: A -> A @card(0.." + "9" * _LARGE + ")", id="cardinality"),
        pytest.param('node A { x: String @check(x, "' + "(" * _LARGE + '") }', id="regex"),
        pytest.param("\0" * _LARGE, id="nul"),
        pytest.param("-" * _LARGE, id="minus"),
        pytest.param("@" * _LARGE, id="at"),
        pytest.param(b"\xff" * _LARGE, id="bytes"),
    ],
)
def test_a_large_malformed_text_is_one_clean_error(text):
    with pytest.raises(CompileError):
        compile_schema(text)


def test_interfaces_cannot_multiply_into_more_properties_than_memory_holds():
    interface = "interface I {" + "".join(f"p{at}: I32 " for at in range(2000)) + "}"
    nodes = "".join(f"node N{at} implements I {{}} " for at in range(501))
    with pytest.raises(CompileError) as caught:
        compile_schema(interface + nodes)
    assert caught.value.code == "S053"
