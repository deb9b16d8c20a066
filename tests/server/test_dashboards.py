"""The dashboard and the alerts in `deploy/` ask for metrics that a server has, and every metric is explained."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from graph_api import Api
from served_people import COUNT

from omnigraph.policy.actions import Action
from omnigraph.policy.bundle import parse_bundle
from omnigraph.policy.engine import PolicyEngine, PolicyRequest

DEPLOY = Path(__file__).parents[2] / "deploy"
DOCS = Path(__file__).parents[2] / "docs"
_NAME = re.compile(r"\b((?:omnigraph|process)_[a-z_]+)\b")
_LABELS = re.compile(r'(\w+)(?:=~|=|!=|!~)"')


@pytest.fixture(scope="module")
def exposed(open_server: Any) -> str:
    with open_server.client() as client:
        assert Api(client, "default").query(COUNT).status_code == 200
        return str(client.get("/metrics").text)


def names(text: str) -> set[str]:
    """Every name of a sample, and of the families without samples yet."""
    samples = set(re.findall(r"^([a-z_]+)(?:\{| )", text, re.MULTILINE))
    families = set(re.findall(r"^# TYPE ([a-z_]+) ", text, re.MULTILINE))
    return samples | families | {f"{family}_total" for family in families if not family.endswith("_total")}


def dashboard_expressions() -> list[str]:
    found = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    assert [panel["gridPos"]["w"] for panel in found["panels"]]
    assert len({panel["id"] for panel in found["panels"]}) == len(found["panels"])
    return [target["expr"] for panel in found["panels"] for target in panel["targets"]]


def alerts() -> list[dict[str, Any]]:
    found = yaml.safe_load((DEPLOY / "prometheus-rules.yaml").read_text())
    return [rule for group in found["groups"] for rule in group["rules"]]


def test_everything_the_dashboard_shows_is_exposed(exposed: str) -> None:
    asked = {name for expression in dashboard_expressions() for name in _NAME.findall(expression)}
    assert len(asked) > 12
    assert asked - names(exposed) == set()


def test_everything_that_raises_an_alert_is_exposed(exposed: str) -> None:
    for rule in alerts():
        assert rule.keys() == {"alert", "expr", "for", "labels", "annotations"}, rule
        assert rule["annotations"].keys() == {"summary", "do"}
        assert set(_NAME.findall(rule["expr"])) - names(exposed) == set(), rule["alert"]
    assert len({rule["alert"] for rule in alerts()}) == len(alerts())


def test_labels_that_are_asked_for_exist(exposed: str) -> None:
    known = set(_LABELS.findall(exposed)) | {"job", "instance", "reason", "graph", "cache"}
    for expression in [*dashboard_expressions(), *(rule["expr"] for rule in alerts())]:
        grouped = [each.strip() for group in re.findall(r"by \(([^)]*)\)", expression) for each in group.split(",")]
        assert set(grouped) | set(_LABELS.findall(expression)) <= known, expression


def test_the_state_of_the_server_is_exposed(exposed: str) -> None:
    assert re.search(r'^omnigraph_pool_threads\{pool="read"\} [1-9]', exposed, re.MULTILINE)
    assert re.search(r"^omnigraph_connections [1-9]", exposed, re.MULTILINE)
    assert re.search(r'^omnigraph_memory_capacity_bytes\{use="work"\} [1-9]', exposed, re.MULTILINE)
    assert 'omnigraph_refusals_total{reason="memory"}' in exposed
    assert re.search(r'^omnigraph_graph_requests_total\{graph="default",kind="post"\} [1-9]', exposed, re.MULTILINE)


def test_every_metric_is_explained_in_the_page(exposed: str) -> None:
    page = (DOCS / "operating.md").read_text()
    families = {
        name for name in re.findall(r"^# TYPE ([a-z_]+) ", exposed, re.MULTILINE) if name.startswith("omnigraph_")
    }
    assert {name for name in families if not name.endswith("_created") and f"`{name}`" not in page} == set()


def test_the_roles_of_the_page_may_do_what_it_says() -> None:
    graph, server = (
        block
        for block in re.findall(r"^```yaml\n(.*?)^```", (DOCS / "operating.md").read_text(), re.M | re.S)
        if "rules:" in block
    )
    engine = PolicyEngine(parse_bundle(graph, "graph"), "people")

    def may(actor: str, action: Action, branch: str | None = None, target: str | None = None) -> bool:
        return engine.decide(actor, PolicyRequest(action, branch, target)).allowed

    assert may("rosa", Action.READ, "main")
    assert not may("rosa", Action.CHANGE, "draft")
    assert not may("rosa", Action.EXPORT, "main")
    shown = engine.visibility("rosa", PolicyRequest(Action.READ, "main"))
    assert shown is not None, "a reader does not see everything"
    assert may("wim", Action.CHANGE, "draft")
    assert not may("wim", Action.CHANGE, "main")
    assert may("wim", Action.BRANCH_CREATE, "main", "draft")
    assert not may("wim", Action.BRANCH_MERGE, "draft", "main")
    assert may("ada", Action.BRANCH_MERGE, "draft", "main")
    assert may("ada", Action.ADMIN)
    whole = PolicyEngine(parse_bundle(server, "server"), None)
    assert whole.decide("ada", PolicyRequest(Action.RELOAD)).allowed
    assert whole.decide("prometheus", PolicyRequest(Action.METRICS)).allowed
    assert not whole.decide("prometheus", PolicyRequest(Action.RELOAD)).allowed
