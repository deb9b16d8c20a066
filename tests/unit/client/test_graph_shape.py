"""A graph in storage, a served one and an awaited one have the same nouns and verbs, or a reason why not."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph import aio
from omnigraph.client import aio_history_nouns, aio_nouns, history_nouns, nouns
from omnigraph.client.unserved import UNSERVED
from omnigraph.engine.api.schema import Schema
from omnigraph.errors import BadRequest

REPOSITORY = Path(__file__).resolve().parents[3]

EMBEDDED: dict[str, type] = {
    "": og.Graph,
    "branches": og.Branches,
    "commits": og.Commits,
    "changes": og.Changes,
    "schema": Schema,
    "tags": og.Tags,
}
SERVED: dict[str, type] = {
    "": og.RemoteGraph,
    "branches": nouns.RemoteBranches,
    "commits": history_nouns.RemoteCommits,
    "changes": history_nouns.RemoteChanges,
    "schema": nouns.RemoteSchema,
    "queries": nouns.RemoteQueries,
    "tags": history_nouns.RemoteTags,
}
AWAITED: dict[str, type] = {
    "": aio.AsyncGraph,
    "branches": aio_nouns.AsyncBranches,
    "commits": aio_history_nouns.AsyncCommits,
    "changes": aio_history_nouns.AsyncChanges,
    "schema": aio_nouns.AsyncSchema,
    "queries": aio_nouns.AsyncQueries,
    "tags": aio_history_nouns.AsyncTags,
}
OTHERS = {"": og.Transaction, "past": og.GraphAt, "spark": og.SparkView, "analytics": og.Analytics}

# What only a served graph has.
ONLY_SERVED = {
    "queries": "queries have names where there is a server to keep them",
    "queries.list": "as above",
    "queries.run": "as above",
    "queries.mutate": "as above",
    "server_graphs": "a store holds one graph",
    "permissions": "in storage the policy is there: `visibility_of`, `policy`",
    "profile": "in storage every result has its profile: `query(…).explanation`",
}

_HERE = "the server decides where it runs and what it may use"
_FILE = "the server keeps no files of its clients"
_YET = "not served yet"
_ANSWERED = "a request is answered at once"
# Parameters that a served verb does not have.
NOT_SERVED = {
    "query": {"runner": _HERE, "limits": _YET, "embedder": _HERE, "cancel": _YET, "node_ids": _YET},
    "prepare": {"limits": _YET, "embedder": _HERE, "node_ids": _YET},
    "mutate": {"embedder": _HERE, "no_embed": _YET},
    "mutate_many": {"embedder": _HERE, "no_embed": _YET},
    "load": {
        "if_commit": _YET,
        "rejects": _FILE,
        "max_errors": _YET,
        "runner": _HERE,
        "spark": _HERE,
        "resume": _HERE,
        "progress": "a request is answered at once",
        "embedder": _HERE,
        "no_embed": _YET,
        "no_build": _HERE,
    },
    "export": {"format": _YET},
    "check": {"progress": _ANSWERED},
    "cleanup": {"progress": _ANSWERED},
    "optimize": {"progress": _ANSWERED, "runner": _HERE},
    "ensure_indices": {"runner": _HERE},
    "get": {"blobs": "blobs have a route of their own"},
    "commits.log": {"among": "the server lists the branches that may be read"},
    "commits.changes": {"max_bytes": "the server bounds its own answers"},
    "changes.poll": {
        "max_bytes": "the server bounds its own answers",
        "max_commits": "the server bounds its own answers",
    },
    "changes.follow": {"interval": "a server pushes"},
}
# Defaults that differ, and results that are of another type.
OTHER_RESULTS = {
    "schema.at": "in storage what was accepted then cannot be changed, so it has no `apply`",
    "snapshot": "the server's answer as it came",
    **dict.fromkeys(("check", "cleanup", "ensure_indices", "optimize", "repair"), "the server's report as it came"),
    "schema.apply": "the server's receipt as it came",
}
# Where a branch may be given by its position: as the contract has it, or as the only thing that is named.
POSITIONAL_BRANCH = {"mutate", "sync", "view", "visibility_of", "commits.list", "commits.head", "commits.log"}
# What goes without saying inside a transaction: its own branch, all of it, to the end, and no other writer on it.
OUTSIDE_TRANSACTIONS = {"branch", "at", "from_", "if_commit", "dry_run", "resume", "no_build", "attempts"}


def members(owner: type) -> Iterator[tuple[str, Any]]:
    for name, member in inspect.getmembers_static(owner):
        if not name.startswith("_") and (isinstance(member, property) or inspect.isfunction(member)):
            yield name, member


def surface(parts: dict[str, type]) -> dict[str, Any]:
    """Every noun and verb by its path."""
    return {
        f"{part}.{name}" if part else name: member for part, owner in parts.items() for name, member in members(owner)
    }


def parameters(member: Any) -> dict[str, inspect.Parameter]:
    return {name: each for name, each in inspect.signature(member).parameters.items() if name != "self"}


def result(member: Any) -> str:
    """The type of a result, as far as it is the same thing under another name."""
    function = member.fget if isinstance(member, property) else member
    text = str(inspect.signature(function).return_annotation)
    text = re.sub(r"\b(Remote|Async)(?=[A-Z](?!terator|ny))", "", text).replace("AsyncIterator", "Iterator")
    text = text.replace("Coroutine[Any, Any, str]", "str")
    return {"Names": "ShownList[str]", "Self": "Graph"}.get(text, text)


GRAPH, REMOTE, ASYNC = surface(EMBEDDED), surface(SERVED), surface(AWAITED)
SHARED = sorted(GRAPH.keys() & REMOTE.keys())


def test_the_verbs_of_a_served_graph_are_those_of_an_embedded_one() -> None:
    assert {"query", "mutate", "load", "commits.list", "changes.follow", "schema.source"} <= set(SHARED)
    assert REMOTE.keys() - GRAPH.keys() == ONLY_SERVED.keys()
    missing = {verb for verb in GRAPH.keys() - REMOTE.keys() if "." not in verb or verb.split(".")[0] in SERVED}
    assert missing | {"actor"} == UNSERVED.keys(), "say in omnigraph/client/unserved.py why a server has no such verb"


@pytest.mark.parametrize("verb", SHARED)
def test_a_verb_has_one_signature(verb: str) -> None:
    mine, other = GRAPH[verb], REMOTE[verb]
    assert isinstance(mine, property) == isinstance(other, property)
    assert (result(mine) == result(other)) == (verb not in OTHER_RESULTS), (result(mine), result(other))
    if isinstance(mine, property):
        return
    left_out = NOT_SERVED.get(verb, {})
    expected = {name: each for name, each in parameters(mine).items() if name not in left_out}
    found = parameters(other)
    assert list(found) == list(expected)
    assert left_out.keys() <= parameters(mine).keys()
    for name, each in expected.items():
        assert found[name].kind == each.kind, name
        assert found[name].default == each.default, name


def test_a_verb_is_awaited_under_the_name_it_has() -> None:
    assert ASYNC.keys() == REMOTE.keys()
    for verb, member in REMOTE.items():
        other = ASYNC[verb]
        assert result(member) == result(other), verb
        if isinstance(member, property):
            continue
        served, awaited_ones = ([*map(str, parameters(each).values())] for each in (member, other))
        assert served == [each.replace("AsyncGraph", "RemoteGraph") for each in awaited_ones], verb
        awaited = inspect.unwrap(other)
        expected = verb not in ("branch", "prepare", "schema.at")  # nothing is sent for them
        assert (inspect.iscoroutinefunction(awaited) or inspect.isasyncgenfunction(awaited)) == expected, verb


@pytest.mark.parametrize("parts", [EMBEDDED, SERVED, AWAITED, OTHERS], ids=["graph", "remote", "async", "others"])
def test_no_verb_swallows_names_and_one_thing_has_one_name(parts: dict[str, type]) -> None:
    for verb, member in surface(parts).items():
        if isinstance(member, property):
            continue
        for name, each in parameters(member).items():
            assert each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL), verb
            assert name not in ("snapshot", "onto", "branch_name", "ref", "commit_or_branch"), verb
            if name in ("at", "branch") and verb not in POSITIONAL_BRANCH:
                assert (each.kind, each.default) == (each.KEYWORD_ONLY, None), verb


def test_a_transaction_holds_a_graph_and_is_none() -> None:
    assert not issubclass(og.Transaction, og.Graph)
    verbs = dict(members(og.Transaction))
    assert verbs.keys() == {"graph", "query", "get", "mutate", "mutate_many", "load"}
    for name in verbs.keys() - {"graph"}:
        expected = [each for each in parameters(GRAPH[name]).values() if each.name not in OUTSIDE_TRANSACTIONS]
        found = [*parameters(verbs[name]).values()]
        assert [(each.name, each.kind, each.default) for each in found] == [
            (each.name, each.kind, each.default) for each in expected
        ], name


def test_what_a_server_does_not_have_says_why() -> None:
    with og.connect("http://127.0.0.1:1") as graph:
        handle: Any = graph
        with pytest.raises(BadRequest, match="'analytics' needs the storage itself"):
            _ = handle.analytics
        with pytest.raises(BadRequest, match=r"'schema\.hash' is not served yet"):
            _ = handle.schema.hash
        assert not hasattr(handle, "transaction")
        with pytest.raises(AttributeError, match="'RemoteGraph' object has no attribute 'qurey'"):
            handle.qurey("x")


def test_the_former_name_of_a_moment_is_understood(tmp_path: Path) -> None:
    graph: Any = og.init(tmp_path / "g.omni", "node Person { name: String @key }")
    first = graph.commits.head()
    graph.mutate('query q() { insert Person { name: "a" } }')
    count = "query q() { match { $p: Person } return { count($p) as n } }"
    assert graph.query(count, snapshot=first).scalar() == graph.query(count, at=first).scalar() == 0
    with pytest.raises(BadRequest, match="at is given twice"):
        graph.query(count, snapshot=first, at=first)
    with pytest.raises(BadRequest, match="at must be text or a GraphCommit or None"):
        graph.query(count, snapshot=3)


@pytest.mark.slow
def test_type_checkers_see_the_classes_and_catch_typos(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import omnigraph as og

            graph = og.open("g.omni")
            reveal_type(graph.spark)
            reveal_type(graph.at("HEAD").analytics.pagerank("Knows"))
            graph.load("x", mode="apend")
            graph.load("x", on_eror="skip")
            graph.spark.reed("Person")
            graph.query("q", snapshot="x")
            served = og.connect("http://localhost")
            served.query("q", runner="spark")
            served.analytics
            reveal_type(served.branches.merge("a").outcome)
            """
        )
    )
    found = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--no-error-summary",
            "--cache-dir",
            REPOSITORY / ".mypy_cache",
            program,
        ],
        env={"MYPYPATH": str(REPOSITORY / "src"), "PATH": ""},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert not found.stderr, found.stderr
    # An unchanged program is told from the cache, under the path it had then.
    told = [line.split(":", 3)[1:] for line in found.stdout.splitlines() if "/program.py:" in line]
    revealed = {int(number): text for number, kind, text in told if kind == " note"}
    assert "engine.api.spark.SparkView" in revealed.get(5, ""), found.stdout
    assert "engine.api.analytics.NodeValues" in revealed[6]
    assert "MergeOutcome" in revealed[14]
    assert [int(number) for number, kind, _ in told if kind == " error"] == [7, 8, 9, 10, 12, 13], found.stdout
