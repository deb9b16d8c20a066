"""Where the graph stands on a command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.cli.table.complete import candidates
from omnigraph.cli.table.help import help_text
from omnigraph.cli.table.parse import Parsed, UsageError, parse


@pytest.fixture(autouse=True)
def graph_in_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`air` contains a graph, as far as the command line can see."""
    (tmp_path / "air" / "__manifest").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)


def arguments(*argv: str) -> dict[str, str]:
    found = parse(argv)
    assert isinstance(found, Parsed)
    return {name: " ".join(values) for name, values in found.arguments.items()}


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("branch", "list", "air"), {"URI": "air"}),
        (("branch", "create", "air", "air"), {"NAME": "air", "URI": "air"}),
        (("commit", "show", "HEAD~1", "air"), {"COMMIT_ID": "HEAD~1", "URI": "air"}),
        (("get", "Airport", "JFK", "s3://b/air"), {"TYPE": "Airport", "ID": "JFK", "URI": "s3://b/air"}),
        (("query", "air"), {"URI": "air"}),
        (("query", "routes"), {"NAME": "routes"}),
        (("query", "./typo"), {"URI": "./typo"}),
        (("query", "routes", "air"), {"NAME": "routes", "URI": "air"}),
        (("query", "routes", "typo"), {"NAME": "routes", "URI": "typo"}),
        (("query", "air", "--store", "x"), {"NAME": "air"}),
        (("query", "air", "--server", "x"), {"NAME": "air"}),
        (("mutate", "air", "--profile", "x"), {"NAME": "air"}),
        (("diff", "main"), {"FROM": "main"}),
        (("diff", "main", "feature/x"), {"FROM": "main", "TO": "feature/x"}),
        (("diff", "main", "air"), {"FROM": "main", "URI": "air"}),
        (("diff", "main", "review", "air"), {"FROM": "main", "TO": "review", "URI": "air"}),
        (("blame", "Airport", "JFK", "air"), {"TYPE": "Airport", "ID": "JFK", "URI": "air"}),
        (("tag", "create", "v1", "HEAD~1"), {"NAME": "v1", "COMMIT": "HEAD~1"}),
        (("tag", "create", "v1", "air"), {"NAME": "v1", "URI": "air"}),
        (("clone", "air", "copy"), {"GRAPH": "air", "TARGET": "copy"}),
        (("clone", "copy", "--store", "air"), {"GRAPH": "air", "TARGET": "copy"}),
        (("restore", "backups", "--store", "new"), {"BACKUPS": "backups", "TARGET": "new"}),
        (("init", "--schema", "s.pg", "--store", "new"), {"URI": "new"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_graph_is_the_last_argument_or_store(argv: tuple[str, ...], expected: dict[str, str]) -> None:
    assert arguments(*argv) == expected


@pytest.mark.parametrize(
    ("argv", "told", "hint"),
    [
        (("get", "air", "Airport", "JFK"), "'JFK' is not a graph", "last argument: omnigraph get Airport JFK air"),
        (("query", "air", "routes"), "'routes' is not a graph", "last argument: omnigraph query routes air"),
        (("clone", "--store", "a"), "required arguments were not provided: <TARGET>", ""),
        (("import", "x", "--from", "kuzu"), "--into <URI> or --store <URI> or --schema-only", ""),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_to_write(argv: tuple[str, ...], told: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(argv)
    assert told in refused.value.message
    assert hint in (refused.value.hint or "")


def test_the_older_option_is_taken_and_not_shown() -> None:
    found = parse(["branch", "list", "--uri", "air"])
    assert isinstance(found, Parsed)
    assert found.options == {"--uri": ["air"]}
    assert "--uri" not in help_text(("branch", "list"))
    assert "omnigraph branch list [OPTIONS] [URI]" in help_text(("branch", "list"))
    assert "--uri" not in candidates(["branch", "list", "--"])
