"""The front end as a whole: picking a query, kinds, the cache, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from omnigraph.compiler import compile as front_end
from omnigraph.compiler.catalog import compile_schema
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.errors import BadRequest, QueryNotFound
from omnigraph.memory.budget import open_budget
from omnigraph.testing.graphs.huts import SCHEMA

CATALOG = compile_schema(SCHEMA)
READ = "query one() { match { $h: Hut } return { $h.code } }"
WRITE = "query two($k: String) { delete Hut where code = $k }"


def test_the_only_query_needs_no_name() -> None:
    assert compile_query(READ, CATALOG).name == "one"


def test_a_query_is_picked_by_name() -> None:
    assert compile_query(READ + WRITE, CATALOG, "two").is_mutation


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        pytest.param(READ, "three", "query 'three' not found (available: one)", id="absent"),
        pytest.param(READ + WRITE, None, "does not hold exactly one", id="ambiguous"),
        pytest.param("", None, "(available: none)", id="empty"),
    ],
)
def test_R001_a_query_that_is_not_there(text: str, name: str | None, message: str) -> None:
    with pytest.raises(QueryNotFound) as caught:
        compile_query(text, CATALOG, name)

    assert caught.value.code == "R001"
    assert message in str(caught.value)


def test_R002_a_query_of_the_wrong_kind() -> None:
    memory = open_budget("1MiB")
    for text, mutation in ((READ, False), (WRITE, True)):
        for _ in range(2):  # compiled, then remembered
            with pytest.raises(BadRequest) as caught:
                compile_query(text, CATALOG, mutation=not mutation, memory=memory)
            assert caught.value.code == "R002"
            assert compile_query(text, CATALOG, mutation=mutation, memory=memory).is_mutation is mutation


def test_R002_the_kind_is_refused_before_the_body_is_checked() -> None:
    with pytest.raises(BadRequest, match="is a mutation, not a read"):
        compile_query('query w() { insert Lake { name: "x" } }', CATALOG, mutation=False)


def test_other_queries_of_the_file_need_not_fit_the_schema() -> None:
    broken = "query broken() { match { $x: Lake } return { $x } }"
    assert compile_query(broken + READ, CATALOG, "one").name == "one"
    with pytest.raises(CompileError, match="T1"):
        compile_query(broken + READ, CATALOG, "broken")


def test_the_same_text_is_compiled_once_per_schema() -> None:
    other, memory = compile_schema("node Hut { code: String? }"), open_budget("1MiB")
    first = compile_query(READ, CATALOG, memory=memory)

    assert compile_query(READ, CATALOG, memory=memory) is first
    assert compile_query(READ.encode(), CATALOG, memory=memory) is first
    assert compile_query(READ, other, memory=memory) is not first
    assert compile_query(READ, other, memory=memory).plan != first.plan
    assert compile_query(READ, CATALOG) is not first


def test_the_cache_is_bounded_and_keeps_what_was_used_last() -> None:
    memory = open_budget(16 * 3 * front_end._LEAST_BYTES)  # a sixteenth of it has room for three short texts
    first, *others = (READ.replace("one", f"q{number}") for number in range(4))
    kept = compile_query(first, CATALOG, memory=memory)
    for text in others:
        compile_query(text, CATALOG, memory=memory)
        assert compile_query(first, CATALOG, memory=memory) is kept

    assert 0 < memory.used <= memory.limit // 16
    assert len(memory.cache(front_end._COMPILED)) < 4


def test_a_long_text_is_not_kept() -> None:
    text, memory = READ + " " * 70_000, open_budget()
    assert compile_query(text, CATALOG, memory=memory) is not compile_query(text, CATALOG, memory=memory)


def test_threads_share_the_cache() -> None:
    texts, memory = [READ.replace("one", f"q{number}") for number in range(20)], open_budget()
    with ThreadPoolExecutor(8) as pool:
        names = list(pool.map(lambda text: compile_query(text, CATALOG, memory=memory).name, texts * 20))

    assert names == [f"q{number}" for number in range(20)] * 20


@pytest.mark.parametrize(
    "module", ["omnigraph.compiler", "omnigraph.compiler.compile", "omnigraph.compiler.query.lint"]
)
def test_importing_the_compiler_pulls_in_nothing_heavy(module: str) -> None:
    heavy = {"pyarrow", "lance", "numpy", "pyspark", "obstore", "re2"}
    program = f"import sys, {module}; print(sorted({heavy!r} & set(sys.modules)))"

    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)

    assert found.stdout.strip() == "[]"
