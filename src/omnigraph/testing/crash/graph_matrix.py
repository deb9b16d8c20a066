"""The crash matrix of schema changes and maintenance: kill a process at every hook of theirs, then look.

`python -m omnigraph.testing.crash.graph_matrix` prints one line per hook.
"""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from omnigraph.assembly import init, open
from omnigraph.engine.api.access import access
from omnigraph.engine.api.graph import Graph
from omnigraph.settings import Settings
from omnigraph.storage.base.layout import SCHEMA_LOCK_REF
from omnigraph.storage.manifest.branch_refs import live_refs
from omnigraph.storage.manifest.schema_files import FILES, STAGING
from omnigraph.testing.crash.graph_child import GraphChild
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.naive.observe import image_of

SETTINGS = Settings(lease_ttl_ms=600_000, lease_skew_ms=0, writer_wait_ms=60_000, retire_grace_ms=0)
SCHEMA = """
node Person { name: String @key  age: I32? @index  nick: String? }
node Pet { name: String @key }
edge Knows: Person -> Person
"""
# Every kind of step in one plan: a rename with other columns, a new type, a dropped one.
NEXT = """
node Human @rename_from("Person") { name: String @key  age: I32? @index  city: String?  rank: I32 @default(1) }
node Town { name: String @key }
edge Knows: Human -> Human
"""
RECORDS = [
    *(f'{{"type":"Person","data":{{"name":"p{n}","age":{n},"nick":"n{n}"}}}}' for n in range(6)),
    '{"type":"Pet","data":{"name":"Rex"}}',
    '{"edge":"Knows","from":"p1","to":"p2","data":{"id":"k1"}}',
]


@dataclass(frozen=True, slots=True)
class Child:
    """One process: its verb and where it dies."""

    verb: str
    failpoints: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """Children that die one after the other; `changed` says whether the new schema must be accepted afterwards."""

    children: tuple[Child, ...]
    changed: bool = False

    @property
    def name(self) -> str:
        return " then ".join(f"{child.verb}[{child.failpoints}]" for child in self.children)


_BEFORE = (
    "schema_apply.post_lock",
    "recovery.sidecar_write",
    "schema_apply.post_sidecar_pre_effect",
    "table_commit.pre=kill@1",
    "table_commit.ack_lost=kill@1",
    "schema_apply.post_table_commit=kill@1",
    "schema_apply.post_table_commit=kill@2",
    "schema_apply.before_staging_write",
    "schema_apply.post_keep",
)
_AFTER = (
    "schema_apply.after_staging_write",
    "publish.pre_commit",
    "publish.ack_lost",
    "publish.after_commit",
    "schema_apply.after_publish",
    "schema_apply.mid_promotion=kill@1",
    "schema_apply.mid_promotion=kill@2",
    "schema_apply.mid_promotion=kill@3",
    "recovery.sidecar_delete",
)
_UNDOING = (
    "recovery.post_marker",
    "recovery.post_table_restore",
    "publish.ack_lost",
    "recovery.post_rollback_publish",
    "recovery.record_audit",
    "recovery.sidecar_delete",
)
_FINISHING = (
    "recovery.before_roll_forward_publish",
    "publish.ack_lost",
    "schema_apply.mid_promotion=kill@1",
    "schema_apply.mid_promotion=kill@3",
    "recovery.record_audit",
    "recovery.sidecar_delete",
)
_OPTIMIZING = (
    "table_commit.pre=kill@1",
    "table_commit.ack_lost=kill@1",
    "table_commit.ack_lost=kill@2",
    "publish.pre_commit",
    "publish.ack_lost",
    "publish.after_commit",
)
_CLEANING = ("cleanup.table_gc=kill@1", "cleanup.table_gc=kill@2", "cleanup.table_gc=kill@4")


def scenarios() -> Iterator[Scenario]:
    """The whole matrix."""
    for point in _BEFORE:
        yield Scenario((Child("apply", _kill(point)),))
    for point in _AFTER:
        yield Scenario((Child("apply", _kill(point)),), changed=True)
    for point in _UNDOING:
        yield Scenario((Child("apply", "schema_apply.post_table_commit=kill@1"), Child("open", _kill(point))))
    for point in _FINISHING:
        first = Child("apply", "schema_apply.after_staging_write=kill")
        yield Scenario((first, Child("open", _kill(point))), changed=True)
    for point in _OPTIMIZING:
        yield Scenario((Child("optimize", _kill(point)),))
    for point in _CLEANING:
        yield Scenario((Child("cleanup", _kill(point)),))


def _kill(point: str) -> str:
    return point if "=" in point else f"{point}=kill"


def prepare_template(directory: Path) -> None:
    """A graph with rows in several fragments and a tagged commit, copied for every scenario."""
    graph = init(directory, SCHEMA, settings=SETTINGS)
    graph.load(RECORDS)
    graph.tags.create("loaded")
    for number in range(3):
        graph.load([f'{{"type":"Person","data":{{"name":"x{number}","age":{number}}}}}'])


def run_scenario(scenario: Scenario, template: Path, directory: Path) -> list[str]:
    """Play one scenario on a copy of the template, recover, and return every broken promise."""
    shutil.copytree(template, directory)
    before = image_of(open(directory, read_only=True).view())
    problems = []
    for child in scenario.children:
        code = GraphChild(directory, SETTINGS, child.failpoints, child.verb, NEXT).finish().exit_code
        if code != -signal.SIGKILL:
            problems.append(f"{child.verb} ended with {code} instead of being killed at {child.failpoints}")
    graph = open(directory, settings=SETTINGS)
    problems += at_rest(graph)
    if (graph.schema.source == NEXT) != scenario.changed:
        problems.append(f"the schema should be {'the new' if scenario.changed else 'the old'} one")
    problems += _rows(graph, before)
    return problems + _goes_on(graph)


def at_rest(graph: Graph) -> list[str]:
    """What a schema change has left, whatever became of it."""
    store = access(graph).store
    found = violations(store)
    found += [f"{name + STAGING} is still there" for name in FILES if store.objects.exists(name + STAGING)]
    if SCHEMA_LOCK_REF in live_refs(store.root):
        found.append("the schema lock is still there")
    return found


def _rows(graph: Graph, before: dict[str, dict[str, dict[str, object]]]) -> list[str]:
    image = image_of(graph.view())
    changed = "node:Human" in image
    people = image["node:Human" if changed else "node:Person"]
    found = [] if people.keys() == before["node:Person"].keys() else ["people came or went"]
    for name, row in people.items():
        wanted = before["node:Person"].get(name, {})
        kept = {"name": wanted.get("name"), "age": wanted.get("age")}
        filled = {"city": None, "rank": 1} if changed else {"nick": wanted.get("nick")}
        if row != {"id": name, **kept, **filled}:
            found.append(f"person '{name}' became {row}")
    if image["edge:Knows"] != before["edge:Knows"]:
        found.append("edges changed")
    # The past has the schema of its time (decision 14 of the contract).
    tagged = graph.at("loaded").query("query q() { match { $p: Person } return { count(*) as n } }").rows()
    return found if tagged == [{"n": 6}] else [*found, "the tagged commit lost rows"]


def _goes_on(graph: Graph) -> list[str]:
    """Afterwards everything works as if nothing had happened."""
    if graph.repair(confirm=True).refused:
        return ["repair refused something"]
    graph.schema.apply(NEXT)
    graph.load(['{"type":"Human","data":{"name":"after"}}', '{"type":"Town","data":{"name":"Ulm"}}'])
    graph.optimize()
    graph.cleanup(keep=1, confirm=True)
    found = [f"index {each} is incomplete" for each in graph.indexes() if each.rows and each.coverage < 1]
    if graph.get("Human", "after") is None or graph.get("Human", "p1") is None:
        found.append("rows are missing after maintenance")
    return found + at_rest(graph)


def _beside_branches(place: Path) -> int:
    from omnigraph.testing.crash.schema_matrix import prepare_schema_template, run_schema_scenario, schema_scenarios

    failed = 0
    prepare_schema_template(place / "template")
    for number, scenario in enumerate(schema_scenarios()):
        problems = run_schema_scenario(scenario, place / "template", place / str(number))
        failed += bool(problems)
        print(f"{scenario.name:100} {'; '.join(problems) or 'ok'}", flush=True)
    return failed


def main() -> int:
    """Run the matrix and print it; the exit code says whether every promise held."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="omnigraph-crash-graph-") as place:
        template = Path(place) / "template"
        prepare_template(template)
        for number, scenario in enumerate(scenarios()):
            problems = run_scenario(scenario, template, Path(place) / str(number))
            failed += bool(problems)
            print(f"{scenario.name:100} {'; '.join(problems) or 'ok'}", flush=True)
        failed += _beside_branches(Path(place) / "branches")
    print(f"{failed} scenarios broke a promise" if failed else "every promise held")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
