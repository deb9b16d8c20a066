"""Commits of branches that a reader may not read: no answer has their actors or messages, or says that they exist."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from server_process import WORK, ServerProcess, serving

SCHEMA = "node Person { name: String @key  age: I32?  city: String? }\nnode Note { text: String @key }"
POLICY = """
version: 1
groups: {all: [root], open: [ora], part: [pat], out: [eve]}
protected_branches: [main, shown]
rules:
  - {id: all, allow: {actors: {group: all}, actions: [read]}}
  - {id: open, allow: {actors: {group: open}, actions: [read, export], branch_scope: protected}}
  - {id: part-main, allow: {actors: {group: part}, actions: [read], branch_scope: protected}}
  - {id: part-rest, allow: {actors: {group: part}, actions: [read], branch_scope: unprotected, types: [Person]}}
"""
TOKENS = {name: f"token-of-{name}-0123456789abcdef" for name in ("root", "ora", "pat", "eve")}
AGE = "query age($a: I32) { update Person set { age: $a } where name = 'Ada' }".replace("'", '"')
CITY = "query city($c: String) { update Person set { city: $c } where name = 'Ada' }".replace("'", '"')


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ada's age comes from `secret` by a merge into main, her city from `shown`."""
    place = tmp_path_factory.mktemp("hidden") / "g.omni"
    with og.init(place, SCHEMA) as graph:
        graph.load([{"type": "Person", "data": {"name": "Ada", "age": 1, "city": "Ulm"}}], message="people")
        for name, text, values, who in (
            ("secret", AGE, {"a": 2}, "spy"),
            ("shown", CITY, {"c": "Bonn"}, "cyn"),
        ):
            graph.branches.create(name)
            graph.branch(name).with_actor(who).mutate(text, params=values, message=f"overheard by {who}")
            graph.with_actor("maria").branches.merge(name, message="brought in")
        graph.branch("secret").with_actor("spy").mutate(AGE, params={"a": 3}, message="overheard later")
        graph.branch("secret").tags.create("quiet")
        graph.branches.create("covert")
        graph.branch("covert").mutate('insert Note { text: "x" }')
        graph.branches.merge("covert")  # its message is the one that merges get
    return place


@pytest.fixture(scope="module")
def ids(store: Path) -> dict[str, str]:
    with og.open(store, read_only=True) as graph:
        heads = {name: str(graph.commits.head(name)) for name in ("main", "secret", "shown")}
        return {**heads, "merged": str(graph.commits.blame("Person", "Ada")["age"].commit.graph_commit_id)}


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[ServerProcess]:
    with serving({"graphs": {"g": {"uri": str(store), "policy": POLICY}}, "tokens": TOKENS}, {WORK: "1"}) as found:
        yield found


def blamed(server: ServerProcess, actor: str) -> dict[str, tuple[Any, ...]]:
    with server.client(TOKENS[actor]) as client:
        found = client.get("/graphs/g/entities/Person/Ada/blame").raise_for_status().json()
    commits = {each["name"]: each["commit"] for each in found["properties"]}
    return {name: (each["graph_branch"], each["actor_id"], each["message"]) for name, each in commits.items()}


def test_blame_names_the_merge_where_the_merged_branch_may_not_be_read_in_full(server: ServerProcess) -> None:
    shown, merge = ("shown", "cyn", "overheard by cyn"), (None, "maria", "brought in")
    assert blamed(server, "root") == {
        "name": (None, None, "people"), "age": ("secret", "spy", "overheard by spy"), "city": shown
    }  # fmt: skip
    for actor in ("ora", "pat"):  # one may not read that branch, the other reads a part of it
        assert blamed(server, actor) == {"name": (None, None, "people"), "age": merge, "city": shown}


def test_a_history_has_the_merge_where_the_merged_branch_may_not_be_read_in_full(server: ServerProcess) -> None:
    def happened(actor: str) -> list[tuple[str, list[str]]]:
        with server.client(TOKENS[actor]) as client:
            found = client.get("/graphs/g/entities/Person/Ada/history").raise_for_status().json()["events"]
        return [(each["commit"]["message"], [one["name"] for one in each["changed"]]) for each in found]

    whole = happened("root")
    assert ("overheard by spy", ["age"]) in whole
    assert "brought in" not in [message for message, _ in whole]
    for actor in ("ora", "pat"):
        seen = happened(actor)
        assert ("brought in", ["age"]) in seen
        assert ("overheard by cyn", ["city"]) in seen
        assert "overheard by spy" not in [message for message, _ in seen]


@pytest.mark.parametrize("actor", ["ora", "eve"])
def test_a_commit_that_may_not_be_read_is_answered_as_one_that_does_not_exist(
    server: ServerProcess, ids: dict[str, str], actor: str
) -> None:
    unknown = "0" * 26
    routes = [
        "/commits/{}",
        "/commits/{}/changes",
        "/moment?commit={}",
        "/entities/Person/Ada?at={}",
        "/entities/Person/Ada?snapshot={}",
        "/entities/Person/Ada/blame?at={}",
        "/entities/Person/Ada/history?at={}",
        "/entities/Person/Ada/history?after={}",
        "/snapshot?snapshot={}",
        "/describe?at={}",
        "/diff?from={}",
        "/diff?from=main&to={}",
    ]
    names = [(ids["secret"], unknown), (ids["merged"], unknown), ("secret", "absent"), ("quiet", "silent"),
             ("secret~1", "absent~1")]  # fmt: skip
    if actor == "eve":  # who reads nothing: an id that several commits begin with is no different either
        names.append((ids["main"][:6], unknown[:6]))
    with server.client(TOKENS[actor]) as client:
        for route in routes:
            for hidden, absent in names:
                found, other = (client.get(f"/graphs/g{route.format(each)}") for each in (hidden, absent))
                told = found.text.replace(hidden, absent)
                assert (found.status_code, told) == (other.status_code, other.text), (route, hidden)
                again = [client.get(f"/graphs/g{route.format(each)}").headers["x-work"] for each in (hidden, absent)]
                assert again[0] == again[1], (route, hidden, "more work than for what does not exist")
        for route in ("/query", "/export"):
            body: dict[str, Any] = (
                {} if route == "/export" else {"query": "query q() { match { $p: Person } return { $p } }"}
            )
            for hidden, absent in names:
                asked = [{**body, key: hidden} for key in ("snapshot", "at")]
                asked_other = [{**body, key: absent} for key in ("snapshot", "at")]
                for one, two in zip(asked, asked_other, strict=True):
                    found, other = (client.post(f"/graphs/g{route}", json=each) for each in (one, two))
                    assert (found.status_code, found.text.replace(hidden, absent)) == (other.status_code, other.text)


def test_no_list_of_commits_has_those_of_a_hidden_branch(server: ServerProcess) -> None:
    with server.client(TOKENS["ora"]) as client:
        for path in ("/log", "/log?every_branch=true", "/commits", "/commits?branch=shown", "/describe"):
            text = client.get(f"/graphs/g{path}").raise_for_status().text
            assert not any(f'"{word}' in text for word in ("spy", "overheard by spy", "overheard later", "secret")), (
                path
            )


def test_a_merge_does_not_name_the_commit_that_it_brought_from_a_hidden_branch(
    server: ServerProcess, store: Path, ids: dict[str, str]
) -> None:
    with og.open(store, read_only=True) as graph:
        merges = {each.merged_parent_commit_id: each for each in graph.commits.list() if each.merged_parent_commit_id}
    hidden = next(merged for merged, each in merges.items() if merged != ids["shown"] and each.message == "brought in")
    routes = [
        "/commits",
        "/log",
        "/log?every_branch=true",
        f"/commits/{merges[hidden].graph_commit_id}/changes",
        f"/moment?commit={merges[hidden].graph_commit_id}",
        "/changes?start=beginning",
        "/entities/Person/Ada/blame",
        "/entities/Person/Ada/history",
    ]
    with server.client(TOKENS["ora"]) as ora, server.client(TOKENS["root"]) as root:
        for route in routes:
            told, all_of_it = (each.get(f"/graphs/g{route}").raise_for_status().text for each in (ora, root))
            assert hidden not in told, route
            assert hidden in all_of_it, route
        assert ids["shown"] in ora.get("/graphs/g/commits").text
        assert "merge covert into main" in root.get("/graphs/g/commits").text
        for route in ("/commits", "/log", "/moment?commit=HEAD", "/changes?start=beginning", "/describe"):
            found = ora.get(f"/graphs/g{route}").raise_for_status().text
            assert "covert" not in found, route
        assert "merge into main" in ora.get("/graphs/g/commits").text
