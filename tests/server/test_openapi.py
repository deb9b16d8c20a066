"""The OpenAPI document: what is committed is what the tables say, what is served, and what is routed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from omnigraph.server.openapi.build import committed, document, text
from omnigraph.server.routes.table import ROUTES
from server_process import ServerProcess


def operations(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["operationId"]: each for path in found["paths"].values() for each in path.values()}


def test_the_committed_document_is_the_one_that_the_tables_make() -> None:
    assert committed().read_text(encoding="utf-8") == text(), "run: python -m omnigraph.server.openapi.build"


def test_every_route_is_documented_and_nothing_else() -> None:
    documented = {
        (method.upper(), path, each["operationId"])
        for path, methods in document()["paths"].items()
        for method, each in methods.items()
    }
    routed = {(route.method, route.path, route.name) for route in ROUTES}
    assert documented == routed
    assert len({name for _, _, name in documented}) == len(documented)


def test_routes_that_ask_for_no_token_are_documented_so() -> None:
    """Routes compared with the document, so that neither can change alone (issue 13, 13)."""
    free = {route.name for route in ROUTES if not route.authenticated}
    documented = operations(document())
    assert {name for name, each in documented.items() if each.get("security") != [{"bearer_token": []}]} == free


def test_every_integer_has_a_format() -> None:
    def integers(shape: Any) -> list[Any]:
        if isinstance(shape, list):
            return [found for each in shape for found in integers(each)]
        if not isinstance(shape, dict):
            return []
        kind = shape.get("type")
        own = [shape] if kind == "integer" or (isinstance(kind, list) and "integer" in kind) else []
        return own + [found for each in shape.values() for found in integers(each)]

    found = integers(document())
    assert len(found) > 20
    assert [each for each in found if each.get("format") not in ("int32", "int64")] == []


def test_liveness_sends_what_the_document_declares(open_server: ServerProcess) -> None:
    declared = document()["components"]["schemas"]["HealthOutput"]
    with open_server.client() as client:
        sent = client.get("/healthz").json()
    assert sent.keys() == declared["properties"].keys() == set(declared["required"])
    kinds = {"string": str, "integer": int}
    assert all(type(sent[name]) is kinds[shape["type"]] for name, shape in declared["properties"].items())


def test_every_reference_leads_somewhere() -> None:
    found = document()
    names = set(found["components"]["schemas"])
    used = {part.split('"')[0] for part in json.dumps(found).split("#/components/schemas/")[1:]}
    assert used <= names
    assert names - used == {"ChangeBaselineRecord"}  # it describes a line of a stream


@pytest.mark.parametrize("case", [pytest.param(71, id="http-71")])
def test_the_document_asks_for_tokens_exactly_where_the_server_does(
    open_server: ServerProcess, guarded_server: ServerProcess, case: int
) -> None:
    with open_server.client() as client:
        free = client.get("/openapi.json").json()
    assert "securitySchemes" not in free["components"]
    assert not any("security" in each for each in operations(free).values())
    guarded = guarded_server.get("/openapi.json").json()
    assert guarded["components"]["securitySchemes"] == {"bearer_token": {"type": "http", "scheme": "bearer"}}
    asking = {name for name, each in operations(guarded).items() if each.get("security") == [{"bearer_token": []}]}
    assert asking == operations(guarded).keys() - {"health", "ready", "openapi"}
    assert operations(guarded)["ready"]["security"] == [{"bearer_token": []}, {}]
    assert guarded["openapi"] == "3.1.0"
    assert guarded == document()
