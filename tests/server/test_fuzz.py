"""Requests made up from the OpenAPI document: no failure of the server, no answer that the document does not know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance
from served_people import STORED, copies

from omnigraph.server.openapi.build import document
from omnigraph.server.openapi.serve import without_security
from server_process import ServerProcess, serving

# A stream has no end to wait for, and messages of agents are a protocol of their own.
SCHEMA = schemathesis.openapi.from_dict(without_security(document())).exclude(
    operation_id=["cluster_streamChanges", "cluster_agent"]
)
CHECKS = (not_a_server_error, status_code_conformance, response_schema_conformance)


@schemathesis.serializer("application/x-ndjson")
def lines(_: Any, value: Any) -> bytes:
    """A batch as it is."""
    return value if isinstance(value, bytes) else str(value).encode()


@pytest.fixture(scope="module")
def server(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    places = copies(template, tmp_path_factory.mktemp("fuzz"), ["default"])
    with serving({"graphs": {"default": {"uri": places["default"], "queries": STORED}}}) as found:
        yield found


@SCHEMA.parametrize()
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_made_up_requests_get_documented_answers(server: ServerProcess, case: schemathesis.Case) -> None:
    if "graph_id" in (case.path_parameters or {}) and len(repr(case.body)) % 4:
        case.path_parameters["graph_id"] = "default"
    case.call_and_validate(base_url=server.url, checks=CHECKS)
