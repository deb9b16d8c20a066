"""The merge part of the crash matrix: kill a merge at every step, reopen, and see it finished or undone."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from omnigraph.assembly import open
from omnigraph.engine.api.access import access
from omnigraph.engine.api.graph import Graph
from omnigraph.engine.merge import by_files
from omnigraph.engine.merge import steps as merged_steps
from omnigraph.storage.base import failpoints
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.crash.processes import children
from omnigraph.testing.graphs.people import SETTINGS, befriend, create_people, open_copy, put, remove
from omnigraph.testing.naive.observe import image_of

SOURCE = "feature"
ACTOR = "merger"

Ending = Literal["untouched", "rolled back", "published"]

# A merge that armed its intent leaves a recovery commit when it is undone; before that it leaves nothing at all.
_POINTS: tuple[tuple[str, Ending], ...] = (
    ("branch_merge.post_capture=kill", "untouched"),
    ("branch_merge.post_validation=kill", "untouched"),
    ("recovery.sidecar_write=kill", "untouched"),
    ("mutation.post_sidecar_pre_fork=kill", "rolled back"),
    ("mutation.post_fork_pre_commit=kill", "rolled back"),
    ("mutation.post_table_commit=kill@1", "rolled back"),
    ("branch_merge.between_chunks=kill@1", "rolled back"),
    ("branch_merge.between_chunks=kill@2", "rolled back"),
    ("branch_merge.post_effects_pre_publish=kill", "published"),
    ("publish.pre_commit=kill", "published"),
    ("publish.ack_lost=kill", "published"),
    ("recovery.sidecar_delete=kill", "published"),
)


@dataclass(frozen=True, slots=True)
class MergeScenario:
    """Where the merge is killed, into which branch it goes, what must be left, and whether edges go by their files."""

    failpoints: str
    target: str
    ending: Ending
    by_files: bool = False

    @property
    def name(self) -> str:
        return f"merge{' by files' if self.by_files else ''} into {self.target}[{self.failpoints}]"


def merge_scenarios() -> Iterator[MergeScenario]:
    """Every point, for a target that writes its own tables and for one that has to fork them, and with files."""
    for target in ("main", "sibling"):
        for point, ending in _POINTS:
            yield MergeScenario(point, target, ending)
    for point, ending in _POINTS:
        yield MergeScenario(point, "main", ending, by_files=True)


def prepare_merge_template(directory: Path) -> Path:
    """People on main, a branch with changes to both tables, and a sibling that has written nothing."""
    place = create_people(directory)
    graph = open(place, settings=SETTINGS)
    graph.branches.create("sibling")
    graph.branches.create(SOURCE)
    feature = graph.branch(SOURCE)
    remove(feature, "Dan")
    put(feature, "Eve", age=5)
    put(feature, "Fay", age=6)
    put(feature, "Gil", age=7)
    befriend(feature, "Eve", "Bob", "eve-bob")
    return place


def run_merge_scenario(scenario: MergeScenario, template: Path, directory: Path) -> list[str]:
    """Kill one merge on a copy of the template, reopen, and list every promise that does not hold."""
    graph = open_copy(template, directory)
    before, source = image_of(graph.view(scenario.target)), image_of(graph.view(SOURCE))
    process = children().Process(target=_merge_and_die, args=(scenario, graph.uri))
    process.start()
    process.join(60)
    if process.exitcode != -signal.SIGKILL:
        return [f"the merge ended with {process.exitcode} instead of being killed"]
    graph = open(graph.uri, scenario.target, settings=SETTINGS)
    problems = violations(access(graph).store)
    wanted = source if scenario.ending == "published" else before
    if image_of(graph.view()) != wanted:
        problems.append(f"the target should be {scenario.ending}")
    if scenario.ending == "published":
        problems += _lineage_problems(graph)
    return problems + _merging_again(graph, scenario)


def _merge_and_die(scenario: MergeScenario, uri: str) -> None:
    merged_steps.CHUNK_ROWS = 1
    if scenario.by_files:
        by_files.LARGE_CHANGE = 1
    graph = open(uri, actor=ACTOR, settings=SETTINGS)
    with failpoints.armed(scenario.failpoints), suppress(Exception):
        graph.branches.merge(SOURCE, into=scenario.target)


def _lineage_problems(graph: Graph) -> list[str]:
    newest = graph.commits.list(limit=1, maintenance=True)[0]
    expected = (graph.commits.head(SOURCE), ACTOR)
    found = (newest.merged_parent_commit_id, newest.actor_id)
    return [] if found == expected else [f"the merge commit has {found} instead of {expected}"]


def _merging_again(graph: Graph, scenario: MergeScenario) -> list[str]:
    expected = {"untouched": "fast_forward", "rolled back": "merged", "published": "already_up_to_date"}
    outcome = graph.branches.merge(SOURCE, into=scenario.target).outcome
    problems = violations(access(graph).store)
    if outcome != expected[scenario.ending]:
        problems.append(f"merging again gives {outcome} instead of {expected[scenario.ending]}")
    if image_of(graph.view()) != image_of(graph.view(SOURCE)):
        problems.append("merging again does not bring the source's content")
    return problems
