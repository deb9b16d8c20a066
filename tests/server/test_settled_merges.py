"""Merges with a preview and decisions, replays of commits, and tags: over HTTP as on an embedded graph."""

from __future__ import annotations

import asyncio
import json

import pytest
from graph_api import Api
from served_people import ADD, AGE

import omnigraph as og
from omnigraph import aio
from omnigraph.errors import Conflict, MergeConflicts, NotFound
from server_process import ServerProcess


@pytest.fixture
def diverged(api: Api) -> Api:
    """Alice has another age on either branch, and the draft has one person more."""
    assert api.post("/branches", {"name": "draft"}).status_code == 200
    assert api.mutate(AGE, params={"name": "Alice", "age": 41}, branch="draft").status_code == 200
    assert api.mutate(ADD, params={"name": "Dora", "age": 9}, branch="draft").status_code == 200
    assert api.mutate(AGE, params={"name": "Alice", "age": 50}).status_code == 200
    return api


def ages(api: Api, branch: str = "main") -> dict[str, int]:
    rows = api.rows("query q() { match { $p: Person } return { $p.name as name, $p.age as age } }", branch=branch)
    return {row["name"]: row["age"] for row in rows}


def test_a_preview_shows_both_sides_and_writes_nothing(diverged: Api) -> None:
    head = diverged.head()
    answer = diverged.post("/branches/merge", {"source": "draft", "preview": True})
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["preview"], body["commit"]) == (True, None)
    assert body["changes"]["Person"]["inserted"] == 1
    (conflict,) = body["conflicts"]
    assert (conflict["type_name"], conflict["entity_id"], conflict["properties"]) == ("Person", "Alice", ["age"])
    assert (conflict["ours"], conflict["theirs"]) == ({"age": 50}, {"age": 41})
    assert conflict["base"]["age"] not in (50, 41)
    assert diverged.head() == head


def test_a_refused_merge_tells_the_same_and_a_decision_settles_it(diverged: Api) -> None:
    refused = diverged.post("/branches/merge", {"source": "draft"})
    assert refused.status_code == 409
    assert refused.json()["merge_conflicts"][0]["theirs"] == {"age": 41}
    merged = diverged.post("/branches/merge", {"source": "draft", "resolve": {"Person/Alice": {"age": 45}}})
    assert merged.status_code == 200, merged.text
    assert (ages(diverged)["Alice"], ages(diverged)["Dora"]) == (45, 9)


@pytest.mark.parametrize(("strategy", "expected"), [("ours", 50), ("theirs", 41)])
def test_a_strategy_settles_everything(diverged: Api, strategy: str, expected: int) -> None:
    assert diverged.post("/branches/merge", {"source": "draft", "strategy": strategy}).status_code == 200
    assert ages(diverged)["Alice"] == expected


def test_decisions_that_make_no_sense_are_refused(diverged: Api) -> None:
    head = diverged.head()
    for member, value in (("strategy", "both"), ("properties", "some"), ("resolve", {"Person/Alice": "mine"})):
        answer = diverged.post("/branches/merge", {"source": "draft", member: value})
        assert answer.status_code == 400
        assert member in answer.json()["error"]
    assert (
        diverged.post("/branches/merge", {"source": "draft", "preview": True, "delete_branch": True}).status_code == 400
    )
    assert diverged.head() == head


def test_a_commit_is_undone_and_repeated(diverged: Api) -> None:
    undone = diverged.post(f"/commits/{diverged.head()}/revert", {"message": "no birthday"})
    assert undone.status_code == 200, undone.text
    assert undone.json()["commit"]["kind"] == "revert"
    before = ages(diverged)["Alice"]
    picked = diverged.get("/commits", params={"branch": "draft"}).json()["commits"][1]["graph_commit_id"]
    look = diverged.post(f"/commits/{picked}/cherry-pick", {"preview": True})
    assert look.json()["changes"]["Person"]["updated"] == 1
    assert ages(diverged)["Alice"] == before
    done = diverged.post(f"/commits/{picked}/cherry-pick")
    assert done.json()["commit"]["kind"] == "cherry-pick"
    assert ages(diverged)["Alice"] == 41
    assert diverged.post("/commits/01J00000000000000000000000/revert").status_code == 404


def test_tags_name_commits(api: Api) -> None:
    made = api.post("/tags", {"name": "v1", "message": "first"})
    assert made.status_code == 200, made.text
    assert made.json()["graph_commit_id"] == api.head()
    assert api.mutate(ADD, params={"name": "Later"}).status_code == 200
    assert [each["name"] for each in api.get("/tags").json()["tags"]] == ["v1"]
    assert api.get("/tags/v1").json() == made.json()
    text = "query q() { match { $p: Person } return { count($p) as n } }"
    assert api.rows(text, snapshot="v1")[0]["n"] + 1 == api.rows(text)[0]["n"]
    assert api.post("/tags", {"name": "v1"}).status_code == 409
    assert api.delete("/tags/v1").status_code == 200
    assert api.get("/tags/v1").status_code == 404


def test_clients_have_all_of_it(open_server: ServerProcess, diverged: Api) -> None:
    with og.connect(open_server.url, graph=diverged.graph) as graph:
        preview = graph.branches.merge("draft", preview=True)
        assert (preview.preview, preview.commit, preview.changes["Person"].inserted) == (True, None, 1)
        assert preview.conflicts[0].entity == "Person/Alice"
        with pytest.raises(MergeConflicts) as raised:
            graph.branches.merge("draft")
        assert raised.value.conflicts[0].ours == {"age": 50}
        merged = graph.branches.merge("draft", resolve={"Person/Alice": "theirs"})
        assert merged.commit is not None
        named = graph.tags.create("merged", message="done")
        assert (named.graph_commit_id, named.manifest_version) == (merged.commit_id, merged.commit.manifest_version)
        assert graph.commits.revert(str(merged.commit_id), strategy="ours").kind == "revert"
        with pytest.raises(Conflict):
            graph.tags.create("merged")

    async def awaited() -> None:
        async with aio.connect(open_server.url, graph=diverged.graph) as served:
            assert [each.name for each in await served.tags.list()] == ["merged"]
            assert (await served.tags.show("merged")).message == "done"
            await served.tags.delete("merged")
            with pytest.raises(NotFound):
                await served.tags.show("merged")
            again = await served.commits.cherry_pick(str(merged.commit_id), preview=True)
            assert json.dumps(sorted(again.changes)) == '["Person"]'

    asyncio.run(awaited())
