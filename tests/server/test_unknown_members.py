"""A member, a parameter or a condition that a route does not know is refused: ignoring it would change the meaning."""

from __future__ import annotations

from typing import Any

import pytest
from graph_api import Api
from served_people import ADD

READ = "query q() { match { $p: Person } return { $p.name as name } }"
LINE = '{"type":"Person","data":{"name":"x"}}'

MISSPELT = [
    ("/query", {"query": READ, "brnch": "draft"}, "brnch", "branch"),
    ("/mutate", {"query": ADD, "params": {"name": "x"}, "brnch": "draft"}, "brnch", "branch"),
    ("/queries/add", {"parms": {"name": "x"}}, "parms", "params"),
    ("/load", {"data": LINE, "form": "main"}, "form", "from"),
    ("/export", {"type_name": ["Person"]}, "type_name", "type_names"),
    ("/branches", {"name": "draft", "frm": "main"}, "frm", "from"),
    ("/branches/merge", {"source": "draft", "previw": True}, "previw", "preview"),
    ("/schema/apply", {"schema_source": "", "allow_dataloss": True}, "allow_dataloss", "allow_data_loss"),
    ("/changes/baseline", {"types": ["Person"]}, "types", "type"),
]


@pytest.mark.parametrize(("path", "body", "wrong", "meant"), MISSPELT, ids=[row[0] for row in MISSPELT])
def test_a_misspelt_member_is_refused_and_nothing_is_written(
    api: Api, path: str, body: dict[str, Any], wrong: str, meant: str | None
) -> None:
    head = api.head()
    answer = api.post(path, body)
    assert answer.status_code == 400
    assert f"unknown field '{wrong}'" in answer.json()["error"]
    assert (f"did you mean '{meant}'?" if meant else "known: ") in answer.json()["error"]
    assert api.head() == head


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ("/commits?brnch=x", "brnch"),
        ("/branches?all=1", "all"),
        ("/snapshot?version=1", "version"),
        ("/queries?q=1", "q"),
    ],
)
def test_an_unknown_parameter_of_a_read_is_refused(api: Api, path: str, wrong: str) -> None:
    answer = api.get(path)
    assert answer.status_code == 400
    assert f"unknown query parameter '{wrong}'" in answer.json()["error"]


def test_an_unknown_parameter_of_a_batch_is_refused_and_nothing_is_written(api: Api) -> None:
    head = api.head()
    answer = api.client.post(
        api.path("/load/ndjson?brnch=draft"), content=LINE, headers={"Content-Type": "application/x-ndjson"}
    )
    assert answer.status_code == 400
    assert "did you mean 'branch'?" in answer.json()["error"]
    assert api.head() == head


def test_a_condition_may_stand_in_the_body(api: Api) -> None:
    head = api.head()
    assert api.mutate(ADD, params={"name": "one"}, if_commit=head).status_code == 200
    assert api.mutate(ADD, params={"name": "two"}, if_commit=head).status_code == 412
    assert api.post("/load", {"data": LINE, "if_commit": head}).status_code == 412
    assert api.post("/queries/add", {"params": {"name": "three"}, "if_commit": head}).status_code == 412
    batch = {"content": LINE, "headers": {"Content-Type": "application/x-ndjson"}}
    assert api.client.post(api.path(f"/load/ndjson?if_commit={head}"), **batch).status_code == 412
    assert api.client.post(api.path(f"/load/ndjson?if_commit={api.head()}"), **batch).status_code == 200


def test_conditions_that_contradict_each_other_are_refused(api: Api) -> None:
    head = api.head()
    body = {"query": ADD, "params": {"name": "one"}, "if_commit": "01J00000000000000000000000"}
    answer = api.post("/mutate", body, headers={"If-Match": f'"{head}"'})
    assert answer.status_code == 400
    assert "different commits" in answer.json()["error"]
    assert api.head() == head


@pytest.mark.parametrize("header", ["If-Match", "Omnigraph-If-Graph-Commit"])
def test_a_condition_that_would_be_ignored_is_refused(api: Api, header: str) -> None:
    answer = api.post("/branches", {"name": "draft"}, headers={header: '"01J00000000000000000000000"'})
    assert answer.status_code == 400
    assert f"{header} is not honoured here" in answer.json()["error"]
    assert api.get("/branches").json()["branches"] == ["main"]
