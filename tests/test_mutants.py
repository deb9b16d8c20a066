"""The mutation run: its list fits the tree, and its verdicts are right on a tree of three lines."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutants.mutations import MUTATIONS
from tests.mutants.run import REPOSITORY, Mutation, Outcome, inapplicable, run, table

SOURCE = "def least(a, b):\n    return a if a < b else b\n"
TEST = "import small\n\ndef test_least():\n    assert small.least(1, 2) == 1\n"


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_changes_one_place_and_names_tests_that_exist(mutation: Mutation) -> None:
    assert inapplicable(mutation) is None
    assert mutation.original != mutation.replacement
    changed = (REPOSITORY / mutation.file).read_text().replace(mutation.original, mutation.replacement)
    ast.parse(changed)
    for test in mutation.tests:
        file, _, name = test.partition("::")
        text = (REPOSITORY / file).read_text()
        assert f"def {name}(" in text if name else "def test_" in text, test


def test_names_are_unique() -> None:
    names = [mutation.name for mutation in MUTATIONS]
    assert len(set(names)) == len(names)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in (("src/small.py", SOURCE), ("tests/test_small.py", TEST), ("pyproject.toml", "")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def mutation(original: str, replacement: str, test: str = "tests/test_small.py") -> Mutation:
    return Mutation(replacement, "src/small.py", original, replacement, (test,))


@pytest.mark.slow
def test_every_outcome_is_told_apart_and_the_tree_stays_as_it_is(tree: Path) -> None:
    mutations = [
        mutation("a < b", "a > b"),
        mutation("a < b", "a <= b"),
        mutation("a != b", "a == b"),
        mutation("def least", "def most) "),
    ]
    verdicts = list(run(mutations, root=tree))
    assert [verdict.outcome for verdict in verdicts] == [
        Outcome.KILLED,
        Outcome.SURVIVED,
        Outcome.INAPPLICABLE,
        Outcome.BROKEN,
    ]
    assert verdicts[0].detail == "tests/test_small.py::test_least"
    assert (tree / "src/small.py").read_text() == SOURCE
    lines = table(verdicts).splitlines()
    assert [line.split("  ")[0] for line in lines] == ["killed", "SURVIVED", "does not apply", "tests did not run"]


@pytest.mark.slow
def test_tests_that_fail_by_themselves_prove_nothing(tree: Path) -> None:
    (tree / "tests/test_small.py").write_text(TEST.replace("== 1", "== 2"))
    with pytest.raises(ValueError, match="do not pass without a mutation"):
        list(run([mutation("a < b", "a > b")], root=tree))


@pytest.mark.slow
def test_a_mutation_that_never_ends_is_not_a_success(tree: Path) -> None:
    endless = mutation("return a if a < b else b", "import time; time.sleep(3600)")
    (verdict,) = run([endless], root=tree, timeout=5)
    assert verdict.outcome is Outcome.TIMED_OUT
