"""Random programs leave the engine and the naive model in agreement: writes, branches, merges, time travel, schema
changes, maintenance, and processes that are killed in the middle of any of these.

The default profile is small and does not shrink; `OMNIGRAPH_STATEFUL=large` runs many and longer programs and does.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import omnigraph as og
from omnigraph.errors import HistoricalVersionReclaimed, MergeConflicts, OmnigraphError
from omnigraph.settings import Settings
from omnigraph.storage.protocol.recovery import RECOVERY_ACTOR
from omnigraph.testing.crash.graph_child import GraphChild
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.naive import image as images
from omnigraph.testing.naive.constraints import Image
from omnigraph.testing.naive.graph import ModelCommit, ModelGraph, adopt_ids, project
from omnigraph.testing.naive.image import Outcome, Placeholders, Record, Refused, Statement, Update
from omnigraph.testing.naive.observe import image_of
from omnigraph.testing.strategies import programs
from tests.thoroughness import examples

# A killed process is known by its pid, so nobody waits for its lease; a child that lives must not outlast its own.
_DYING = Settings(lease_ttl_ms=600_000)
_POINTS = {
    "load": (
        "recovery.sidecar_write=kill",
        "table_commit.pre=kill@1",
        "table_commit.ack_lost=kill@1",
        "mutation.post_table_commit=kill@2",
        "publish.pre_commit=kill",
        "publish.ack_lost=kill",
        "recovery.sidecar_delete=kill",
    ),
    "optimize": ("table_commit.ack_lost=kill@1", "publish.pre_commit=kill", "publish.ack_lost=kill"),
    "cleanup": ("cleanup.table_gc=kill@1", "cleanup.table_gc=kill@3"),
    "apply": (
        "schema_apply.post_lock=kill",
        "schema_apply.post_table_commit=kill@1",
        "schema_apply.after_staging_write=kill",
        "publish.ack_lost=kill",
        "schema_apply.mid_promotion=kill@2",
    ),
}
_LARGE = os.environ.get("OMNIGRAPH_STATEFUL") == "large"
_NAMES = st.sampled_from(["dev", "fix", "team/a", "team", "x.y"])


class GraphMachine(RuleBasedStateMachine):
    """Every rule does the same thing to a real graph on disk and to the model."""

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.mkdtemp(prefix="omnigraph-machine-")
        self.graph = og.init(f"{self.place}/g.omni", programs.SCHEMA)
        self.model = ModelGraph.born(self.graph.schema.catalog, self.graph.commits.list()[0].graph_commit_id)
        self.touched = "main"
        self.named = 0
        self.tagged: list[str] = []
        self.gone: set[str] = set()
        self._load("main", "append", list(programs.SEED))

    # --- writes ----------------------------------------------------------------------------------

    @rule(data=st.data(), bound=st.booleans())
    def insert_and_update(self, data: st.DataObject, bound: bool) -> None:
        branch = self._some_branch(data)
        self._mutate(branch, data.draw(programs.constructive(self._known(branch))), bound)

    @rule(data=st.data(), bound=st.booleans())
    def update_again(self, data: st.DataObject, bound: bool) -> None:
        branch = self._some_branch(data)
        changes = st.lists(programs.updates(self._known(branch)), min_size=1, max_size=3)
        self._mutate(branch, data.draw(changes), bound)

    @rule(data=st.data(), bound=st.booleans())
    def delete(self, data: st.DataObject, bound: bool) -> None:
        branch = self._some_branch(data)
        self._mutate(branch, data.draw(programs.destructive(self._known(branch))), bound)

    @rule(data=st.data())
    def mix(self, data: st.DataObject) -> None:
        branch = self._some_branch(data)
        self._mutate(branch, data.draw(programs.mixtures(self._known(branch))), bound=False)

    def _mutate(self, branch: str, statements: list[Statement], bound: bool) -> None:
        text, params = programs.Writer(self.model.catalog_of(branch), bound).query(statements)
        expected = _attempt(lambda: self.model.mutate(branch, statements))
        found = _attempt(lambda: self.graph.mutate(text, params=params, branch=branch))
        if not self._agree(expected, found, text):
            return
        assert isinstance(expected, Outcome)
        assert (found.affected_nodes, found.affected_edges) == (expected.nodes, expected.edges), text
        assert (found.commit is not None) == expected.has_effect, text
        if found.commit is not None:
            self._record(branch, found.commit, expected.image)

    @rule(data=st.data(), mode=st.sampled_from(["append", "merge", "merge", "overwrite"]))
    def load(self, data: st.DataObject, mode: str) -> None:
        branch = self._some_branch(data)
        self._load(branch, mode, data.draw(programs.loads(self._known(branch))))

    def _load(self, branch: str, mode: str, records: list[Record]) -> None:
        lines = [record.line() for record in records]
        expected = _attempt(lambda: self.model.load(branch, mode, records))
        found = _attempt(lambda: self.graph.load(lines, mode, branch=branch))
        if not self._agree(expected, found, "\n".join(lines)):
            return
        assert isinstance(expected, Outcome)
        assert found.total_entities == expected.written
        self._record(branch, found.commit, expected.image)

    # --- branches, time, processes ---------------------------------------------------------------

    @precondition(lambda self: len(self.model.branches) < 4)
    @rule(data=st.data(), name=_NAMES)
    def create_branch(self, data: st.DataObject, name: str) -> None:
        source = self._some_branch(data)
        expected = _attempt(lambda: self.model.create_branch(name, source))
        self._agree(expected, _attempt(lambda: self.graph.branches.create(name, from_=source)), name)
        self.touched = name if name in self.model.branches else self.touched

    @precondition(lambda self: len(self.model.branches) > 2)
    @rule(name=_NAMES)
    def delete_branch(self, name: str) -> None:
        expected = _attempt(lambda: self.model.delete_branch(name))
        self._agree(expected, _attempt(lambda: self.graph.branches.delete(name)), name)
        self.touched = "main"

    @precondition(lambda self: len(self.model.branches) > 1)
    @rule(data=st.data())
    def merge(self, data: st.DataObject) -> None:
        source, target = data.draw(st.permutations(sorted(self.model.branches)))[:2]
        self.touched = target
        bases = self.model.bases(source, target)
        seen = self.graph.branches.merge(source, into=target, preview=True)
        assert seen.base_commit_id in bases
        # Names of properties are never used twice, and none goes while there are branches: both have what either has.
        both = sorted({*self._extras(source), *self._extras(target)})
        combined = self.graph.branch(target).schema.plan(programs.schema_with(both)).target.catalog
        expected = self.model.merge(source, target, bases[seen.base_commit_id], combined)
        head = self.model.chain(source)[0]
        found = _attempt(lambda: self.graph.branches.merge(source, into=target))
        if isinstance(found, MergeConflicts):
            assert found.conflicts == seen.conflicts
            rows = {(item.table_key, item.entity_id, item.kind) for item in found.conflicts}
            assert rows == expected.rows or expected.constraints <= {item.kind for item in found.conflicts}
            assert expected.conflicts
            return
        assert not expected.conflicts
        assert (found.commit is None) == (seen.base_commit_id == head)
        if found.commit is not None:
            assert found.commit.merged_parent_commit_id == head
            self.model.record(target, found.commit.graph_commit_id, expected.image, merged=head)
            self._adopt_schema(target)
            assert self._extras(target) == both
        again = self.graph.branches.merge(source, into=target)
        assert again.outcome == "already_up_to_date"

    @rule(position=st.integers(0, 1 << 16))
    def look_back(self, position: int) -> None:
        # How many commits a recovery or a compaction adds depends on what ran first; what is drawn must not.
        commits = sorted(self.model.commits(), key=_commit_order)
        branch, commit = commits[position % len(commits)]
        try:
            past = self.graph.branch(branch).at(commit.id)
            assert past.commit_id == commit.id
            # The past has the schema of its time (decision 14 of the contract).
            assert image_of(past.view()) == project(commit.image, past.view().catalog)
        except HistoricalVersionReclaimed:
            assert commit.id in self.gone

    @rule(data=st.data(), type_name=st.sampled_from(["Person", "Note", "Knows"]))
    def get_one(self, data: st.DataObject, type_name: str) -> None:
        branch = self._some_branch(data)
        known = sorted(self.model.image(branch)[f"{'edge' if type_name == 'Knows' else 'node'}:{type_name}"])
        entity_id = data.draw(st.sampled_from([*known, "nobody"]))
        assert self.graph.get(type_name, entity_id, branch=branch) == self.model.get(branch, type_name, entity_id)

    @rule(read_only=st.booleans())
    def reopen(self, read_only: bool) -> None:
        if read_only:
            with og.open(self.graph.uri, read_only=True) as reader:
                assert image_of(reader.view()) == self.model.image("main")
            return
        self._reopen()

    # --- schema ----------------------------------------------------------------------------------

    @rule(data=st.data())
    def change_schema(self, data: st.DataObject) -> None:
        branch = self._some_branch(data)
        done = self.graph.branch(branch).schema.apply(programs.schema_with(self._other_schema(data, branch)))
        assert done.commit is not None
        self._adopt_schema(branch)
        self.model.record(branch, done.commit.graph_commit_id, self._projected(branch))

    @rule(data=st.data(), value=st.integers(-3, 3))
    def set_extra(self, data: st.DataObject, value: int) -> None:
        branch = self._some_branch(data)
        extras = self._extras(branch)
        if not extras:
            return
        who = data.draw(st.sampled_from(programs.NAMES))
        name = data.draw(st.sampled_from(extras))
        self._mutate(branch, [Update("Person", {name: value}, images.Test("name", "=", who))], bound=False)

    def _extras(self, branch: str) -> list[str]:
        """The properties that schema changes have given a branch."""
        known = self.model.catalog_of(branch).nodes["Person"].properties
        return sorted(name for name in known if name.startswith("extra"))

    def _other_schema(self, data: st.DataObject, branch: str) -> list[str]:
        """One more property, or (with no other branch to merge with) one less; names are never used twice, so a value
        can only be its own."""
        extras = self._extras(branch)
        if extras and len(self.model.branches) == 1 and data.draw(st.booleans()):
            gone = data.draw(st.sampled_from(extras))
            return [name for name in extras if name != gone]
        self.named += 1
        return [*extras, f"extra{self.named:03d}"]

    def _adopt_schema(self, branch: str) -> None:
        self.model.accept(branch, self.graph.branch(branch).schema.catalog)

    def _projected(self, branch: str) -> Image:
        return project(self.model.image(branch), self.model.catalog_of(branch))

    # --- maintenance -----------------------------------------------------------------------------

    @rule()
    def optimize(self) -> None:
        self.touched = "main"
        self.graph.optimize()
        self._record_upkeep()

    @rule(keep=st.integers(1, 3))
    def cleanup(self, keep: int) -> None:
        self._may_be_gone()
        report = self.graph.cleanup(keep=keep, confirm=True)
        assert not [each.error for each in report.datasets if each.error]

    @precondition(lambda self: len(self.tagged) < 3)
    @rule(data=st.data())
    def tag(self, data: st.DataObject) -> None:
        branch = self._some_branch(data)
        head = self.model.chain(branch)[0]
        self.graph.tags.create(f"t{len(self.tagged)}", head)
        self.tagged.append(head)

    def _may_be_gone(self) -> None:
        """What a cleanup started now may remove: everything but the heads and what tags name."""
        heads = {self.model.chain(branch)[0] for branch in self.model.branches}
        self.gone |= {commit.id for _, commit in self.model.commits()} - heads - set(self.tagged)

    def _record_upkeep(self) -> None:
        """Commits of main that nobody here asked for hold what the one before held."""
        known = set(self.model.chain("main"))
        for commit in reversed(self.graph.commits.list("main", maintenance=True)):
            if commit.graph_commit_id not in known:
                self.model.record("main", commit.graph_commit_id, self.model.image("main"), commit.actor_id)

    # --- crashes ---------------------------------------------------------------------------------

    @rule(data=st.data(), verb=st.sampled_from(sorted(_POINTS)))
    def crash(self, data: st.DataObject, verb: str) -> None:
        """Another process dies in the middle of what it does; its place is one of those the crash matrix goes through."""
        self.touched = "main"
        point = data.draw(st.sampled_from(_POINTS[verb]))
        match verb:
            case "load":
                self._crash_while_loading(data.draw(programs.loads(self._known("main"))), point)
            case "optimize":
                self._crash_while_optimizing(point)
            case "cleanup":
                self._may_be_gone()
                self._crash(verb, point)
                self._settle(None)
            case "apply" if len(self.model.branches) == 1:
                self._crash_while_changing_the_schema(self._other_schema(data, "main"), point)

    def _crash_while_loading(self, records: list[Record], point: str) -> None:
        expected = _attempt(lambda: self.model.load("main", "merge", records))
        killed = self._crash("load", point, "\n".join(record.line() for record in records))
        published = self._settle(expected.image if isinstance(expected, Outcome) else None)
        assert killed or published == isinstance(expected, Outcome)

    def _crash_while_optimizing(self, point: str) -> None:
        self._crash("optimize", point)
        self._settle(None)
        # What lance compacted just before the end carries no mark of ours, so it takes somebody to vouch for it.
        self.graph.repair(confirm=True)
        self._record_upkeep()

    def _crash_while_changing_the_schema(self, wanted: list[str], point: str) -> None:
        self._crash("apply", point, programs.schema_with(wanted))
        self._reopen()
        if self._has_accepted(wanted):
            self._adopt_schema("main")
        self._settle(self._projected("main"), reopen=False)

    def _has_accepted(self, extras: list[str]) -> bool:
        found = self.graph.schema.catalog.nodes["Person"].properties
        return {name for name in found if name.startswith("extra")} == set(extras)

    def _crash(self, verb: str, point: str, argument: str = "") -> bool:
        """Whether another process, which was to do this, was killed on the way."""
        child = GraphChild(Path(self.graph.uri), _DYING, point, verb, argument)
        return child.finish().exit_code == -signal.SIGKILL

    def _settle(self, image: Image | None, *, reopen: bool = True) -> bool:
        """Reopen, and see what the dead process was at finished (with this image) or undone; whether it is finished."""
        if reopen:
            self._reopen()
        known, published = set(self.model.chain("main")), False
        for commit in reversed(self.graph.commits.list("main", maintenance=True)):
            if commit.graph_commit_id in known:
                continue
            if image is not None and commit.actor_id != RECOVERY_ACTOR:
                self._record("main", commit, image)
                published = True
            else:
                self.model.record("main", commit.graph_commit_id, self.model.image("main"), commit.actor_id)
        assert violations(self.graph._core.store) == []
        return published

    def _reopen(self) -> None:
        self.graph.close()
        self.graph = og.open(self.graph.uri)

    # --- what always holds -----------------------------------------------------------------------

    @invariant()
    def the_branch_last_touched_has_the_same_rows_and_history(self) -> None:
        assert image_of(self.graph.view(self.touched)) == self.model.image(self.touched)
        listed = self.graph.commits.list(self.touched, maintenance=True)
        assert [commit.graph_commit_id for commit in listed] == self.model.chain(self.touched)
        parents = [commit.parent_commit_id for commit in listed]
        assert parents == [*self.model.chain(self.touched)[1:], None]

    @invariant()
    def the_same_branches_exist(self) -> None:
        assert self.graph.branches.list() == ["main", *sorted(set(self.model.branches) - {"main"})]

    @rule()
    def compare_every_branch(self) -> None:
        for branch in self.model.branches:
            assert image_of(self.graph.view(branch)) == self.model.image(branch)

    def teardown(self) -> None:
        self.graph.close()
        shutil.rmtree(self.place)

    # --- inside ----------------------------------------------------------------------------------

    def _some_branch(self, data: st.DataObject) -> str:
        self.touched = data.draw(st.sampled_from(sorted(self.model.branches)))
        return self.touched

    def _known(self, branch: str) -> programs.Known:
        image = self.model.image(branch)
        return programs.Known(tuple(sorted(image["node:Person"])), tuple(sorted(image["node:Note"])))

    def _record(self, branch: str, commit: og.GraphCommit, image: Image) -> None:
        known = adopt_ids(image, image_of(self.graph.view(branch)))
        assert not [name for rows in known.values() for name in rows if Placeholders.is_one(name)]
        self.model.record(branch, commit.graph_commit_id, known)

    def _agree(self, expected: Any, found: Any, what: str) -> bool:
        """Whether both went well; when the model refuses, the engine must refuse with one of its codes."""
        if isinstance(expected, Refused):
            assert isinstance(found, OmnigraphError), f"the model says {expected}, the engine accepted:\n{what}"
            assert found.code in expected.codes, f"the model says {expected}, the engine says {found}:\n{what}"
            return False
        assert not isinstance(found, OmnigraphError), f"the engine refused:\n{what}\n{found}"
        return True


def _attempt(action: Any) -> Any:
    try:
        return action()
    except (Refused, OmnigraphError) as refusal:
        return refusal


def _commit_order(pair: tuple[str, ModelCommit]) -> tuple[str, str]:
    return pair[0], pair[1].id


TestGraphMachine = GraphMachine.TestCase
TestGraphMachine.settings = settings(
    max_examples=200 if _LARGE else examples(25),
    stateful_step_count=60 if _LARGE else 25,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, *([Phase.shrink] if _LARGE else [])],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
