"""A directory that declares a cluster, and shortcuts for what tests do to it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.cluster.apply import apply
from omnigraph.cluster.approve import approve
from omnigraph.cluster.plan import plan
from omnigraph.cluster.refresh import import_state, refresh
from omnigraph.cluster.status import force_unlock, status, validate

SCHEMA = "node Person {\n  name: String @key\n  age: I32?\n}\n"
WIDER = "node Person {\n  name: String @key\n  age: I32?\n  city: String?\n}\n"
FIND = "query find_person($name: String) { match { $p: Person { name: $name } } return { $p.name, $p.age } }\n"
CONFIG = """\
version: 1
graphs:
  knowledge:
    schema: people.pg
    queries: {find_person: {file: find.gq}}
policies:
  base: {file: base.yaml, applies_to: [knowledge]}
"""
TWO_GRAPHS = """\
version: 1
graphs:
  knowledge:
    schema: people.pg
    queries: {find_person: {file: find.gq}}
  old:
    schema: people.pg
    queries: {find_person: {file: find.gq}}
policies:
  base: {file: base.yaml, applies_to: [knowledge]}
"""

Report = dict[str, Any]


def case(*numbers: int) -> pytest.MarkDecorator:
    """Puts the number of a specification case into the id of its test."""
    return pytest.mark.parametrize("case", [pytest.param(f"cluster-{n}", id=f"cluster-{n}") for n in numbers])


def codes(report: Report, severity: str | None = None) -> list[str]:
    """The codes of a report's diagnostics."""
    found = report["diagnostics"]
    return [item["code"] for item in found if severity in (None, item["severity"])]


def paths(report: Report, code: str) -> list[str]:
    """Where a code was found."""
    return [item["path"] for item in report["diagnostics"] if item["code"] == code]


def dispositions(report: Report) -> dict[str, str]:
    """What becomes of every change: `blocked: approval_required`."""
    changes = report["changes"]
    return {c["resource"]: ": ".join(filter(None, (c["disposition"], c.get("reason")))) for c in changes}


class Desk:
    """A config directory."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def declare(self, config: str = CONFIG) -> Desk:
        """The fixture of the cases: one graph, one query, one policy."""
        self.write("cluster.yaml", config)
        self.write("people.pg", SCHEMA)
        self.write("find.gq", FIND)
        self.write("base.yaml", "version: 1\n")
        return self

    def write(self, name: str, text: str) -> Path:
        path = self.place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def copy(self, place: Path) -> Desk:
        shutil.copytree(self.place, place, dirs_exist_ok=True)
        return Desk(place)

    # --- commands --------------------------------------------------------------------------------

    def validate(self) -> Report:
        return validate(self.place)

    def plan(self) -> Report:
        return plan(self.place)

    def apply(self, actor: str | None = "act-ops") -> Report:
        return apply(self.place, actor)

    def approve(self, resource: str, actor: str = "act-boss") -> Report:
        return approve(self.place, resource, actor)

    def status(self) -> Report:
        return status(self.place)

    def refresh(self) -> Report:
        return refresh(self.place)

    def import_state(self) -> Report:
        return import_state(self.place)

    def force_unlock(self, lock_id: str) -> Report:
        return force_unlock(self.place, lock_id)

    def applied(self) -> Desk:
        """Import and apply, which must leave nothing to do."""
        assert self.import_state()["ok"]
        report = self.apply()
        assert report["converged"], report
        return self

    # --- what is stored --------------------------------------------------------------------------

    @property
    def state_file(self) -> Path:
        return self.place / "__cluster" / "state.json"

    @property
    def lock_file(self) -> Path:
        return self.place / "__cluster" / "lock.json"

    @property
    def state(self) -> Any:
        return json.loads(self.state_file.read_text())

    @property
    def resources(self) -> Any:
        return self.state["applied_revision"]["resources"]

    def edit_state(self, change: Any) -> None:
        document = self.state
        change(document)
        self.state_file.write_text(json.dumps(document, indent=2) + "\n")

    def sidecars(self) -> list[Path]:
        return sorted((self.place / "__cluster" / "recoveries").glob("*.json"))

    def approvals(self) -> list[Any]:
        return [json.loads(path.read_text()) for path in sorted((self.place / "__cluster/approvals").glob("*.json"))]

    def blob(self, kind: str) -> Path:
        (found,) = (self.place / "__cluster" / "resources" / kind).rglob("*.*")
        return found

    def root(self, graph: str = "knowledge") -> Path:
        return self.place / "graphs" / f"{graph}.omni"

    def graph(self, graph: str = "knowledge") -> og.Graph:
        return og.open(self.root(graph))
