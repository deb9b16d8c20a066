"""The crash matrix of schemas beside branches: kill a schema change on a branch, and merges that bring a schema."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from omnigraph.assembly import init, open
from omnigraph.engine.api.graph import Graph
from omnigraph.storage.base import failpoints
from omnigraph.testing.crash.graph_matrix import NEXT, RECORDS, SCHEMA, SETTINGS, at_rest
from omnigraph.testing.crash.processes import children
from omnigraph.testing.naive.constraints import Image
from omnigraph.testing.naive.observe import image_of

# A schema that no branch has had yet.
_OTHER = NEXT.replace("node Town { name: String @key }", "node Town { name: String @key  size: I32? }")
# What is killed → the branch that gets the schema.
VERBS: dict[str, tuple[str, Callable[[Graph], object]]] = {
    "apply on dev": ("dev", lambda graph: graph.branch("dev").schema.apply(_OTHER)),
    "merge next into main": ("main", lambda graph: graph.branches.merge("next")),
    "merge next into dev": ("dev", lambda graph: graph.branches.merge("next", into="dev")),
}
_BEFORE = (
    "schema_apply.post_lock=kill",
    "recovery.sidecar_write=kill",
    "schema_apply.post_sidecar_pre_effect=kill",
    "mutation.post_fork_pre_commit=kill",
    "table_commit.pre=kill@2",
    "schema_apply.post_table_commit=kill@1",
)
_AFTER = (
    "schema_apply.after_staging_write=kill",
    "publish.pre_commit=kill",
    "publish.ack_lost=kill",
    "publish.after_commit=kill",
    "schema_apply.after_publish=kill",
    "recovery.sidecar_delete=kill",
)


@dataclass(frozen=True, slots=True)
class SchemaScenario:
    """What is done, where it dies, and whether it counts as done afterwards."""

    verb: str
    failpoints: str
    published: bool

    @property
    def name(self) -> str:
        return f"{self.verb}[{self.failpoints}]"


def schema_scenarios() -> Iterator[SchemaScenario]:
    """Every point of every verb; a schema that is kept is all that a branch needs, main needs its staged files."""
    for verb, (branch, _) in VERBS.items():
        kept = verb == "merge next into dev"  # its schema is that of another branch
        yield from (SchemaScenario(verb, point, published=False) for point in _BEFORE)
        yield SchemaScenario(verb, "schema_apply.before_staging_write=kill", published=kept)
        yield SchemaScenario(verb, "schema_apply.post_keep=kill", published=branch != "main")
        yield from (SchemaScenario(verb, point, published=True) for point in _AFTER)


def prepare_schema_template(directory: Path) -> None:
    """Rows on main and on two branches, one of which has the next schema already."""
    graph = init(directory, SCHEMA, settings=SETTINGS)
    graph.load(RECORDS)
    for name in ("dev", "next"):
        graph.branches.create(name)
    graph.branch("next").schema.apply(NEXT)
    graph.branch("next").load(
        ['{"type":"Human","data":{"name":"p1","city":"Ulm"}}', '{"type":"Town","data":{"name":"Ulm"}}'], mode="merge"
    )
    for name in ("dev", "main"):
        graph.branch(name).load([f'{{"type":"Person","data":{{"name":"{name}"}}}}'])


def run_schema_scenario(scenario: SchemaScenario, template: Path, directory: Path) -> list[str]:
    """Play one scenario on a copy of the template, recover, and return every broken promise."""
    branch, perform = VERBS[scenario.verb]
    shutil.copytree(template, directory)
    before = _images(open(directory, read_only=True))
    process = children().Process(target=_perform_and_die, args=(scenario, str(directory)))
    process.start()
    process.join(60)
    if process.exitcode != -signal.SIGKILL:
        return [f"{scenario.verb} ended with {process.exitcode} instead of being killed"]
    graph = open(directory, settings=SETTINGS)
    problems = at_rest(graph)
    found = _images(graph)
    problems += [f"branch '{name}' changed" for name in before if name != branch and found[name] != before[name]]
    if ("node:Town" in found[branch]) != scenario.published:
        problems.append(f"the schema should be {'the new' if scenario.published else 'the old'} one")
    if not scenario.published and found[branch] != before[branch]:
        problems.append("rows changed without the schema")
    perform(graph)
    people = set(_images(graph)[branch].get("node:Human", ()))
    wanted = set(before[branch]["node:Person"])
    if people != wanted:
        problems.append(f"after doing it again there are {sorted(people)} instead of {sorted(wanted)}")
    graph.branches.delete("next")
    graph.cleanup(keep=1, confirm=True)
    return problems + at_rest(graph) + [str(each) for each in graph.check().findings]


def _images(graph: Graph) -> dict[str, Image]:
    return {name: image_of(graph.branch(name).view()) for name in graph.branches.list()}


def _perform_and_die(scenario: SchemaScenario, directory: str) -> None:
    graph = open(directory, settings=SETTINGS)
    with failpoints.armed(scenario.failpoints), suppress(Exception):
        VERBS[scenario.verb][1](graph)
