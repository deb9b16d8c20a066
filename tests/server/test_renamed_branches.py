"""Renaming a branch over HTTP, through a remote handle and on the command line, and who may."""

from __future__ import annotations

import httpx
from graph_api import Api
from served_people import ADD, COUNT, TOKENS

import omnigraph as og
from cli_runner import Desk
from server_process import ServerProcess


def test_a_branch_is_renamed_over_http(api: Api, open_server: ServerProcess) -> None:
    assert api.post("/branches", {"name": "draft"}).status_code == 200
    made = api.mutate(ADD, params={"name": "Erin", "age": 3}, branch="draft").json()["commit"]["graph_commit_id"]
    answer = api.post("/branches/draft/rename", {"name": "review/draft"})
    assert (answer.status_code, answer.json()["from"], answer.json()["name"]) == (200, "draft", "review/draft")
    assert api.get("/branches").json()["branches"] == ["main", "review/draft"]
    assert api.query(COUNT, branch="draft").status_code == 404
    assert api.rows(COUNT, branch="review/draft") == [{"n": 5}]
    assert api.rows(COUNT, snapshot=made) == [{"n": 5}]
    assert api.get(f"/commits/{made}").json()["graph_branch"] == "draft"
    assert api.post("/branches/draft/rename", {"name": "x"}).status_code == 404
    assert api.post("/branches/main/rename", {"name": "x"}).status_code == 400
    assert api.post("/branches", {"name": "draft"}).status_code == 409
    with og.connect(open_server.url, api.graph) as graph:
        graph.branches.rename("review/draft", "done")
        assert graph.branches.list() == ["main", "done"]


def test_a_rename_needs_the_rights_to_create_and_to_delete(guarded_server: ServerProcess) -> None:
    for actor, missing in (("ada", "branch_create"), ("root", "branch_delete")):
        with guarded_server.client(TOKENS[actor]) as client:
            answer = Api(client, "default").post("/branches/draft/rename", {"name": "mine"})
            assert answer.status_code == 403
            assert missing in answer.json()["error"]
    with httpx.Client(base_url=guarded_server.url) as stranger:
        assert stranger.post("/graphs/default/branches/draft/rename", json={"name": "x"}).status_code == 401


def test_the_command_line_renames(desk: Desk) -> None:
    desk.graph()
    assert desk.run("branch", "create", "draft", "g").code == 0
    assert desk.run("branch", "rename", "draft", "final", "g").stdout == "renamed branch draft to final\n"
    assert desk.run("branch", "list", "g").stdout == "final\nmain\n"
    assert desk.run("branch", "rename", "main", "x", "g").code != 0
