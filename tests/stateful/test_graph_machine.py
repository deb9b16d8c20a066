"""Random programs of writes, branches, time travel and reopening leave the engine and the naive model in agreement.

The default profile is small and does not shrink; `OMNIGRAPH_STATEFUL=large` runs many and longer programs and does.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import omnigraph as og
from omnigraph.errors import MergeConflicts, OmnigraphError
from omnigraph.testing import programs
from omnigraph.testing.constraints import Image
from omnigraph.testing.image import Outcome, Placeholders, Record, Refused, Statement
from omnigraph.testing.model import ModelCommit, ModelGraph, adopt_ids
from omnigraph.testing.observe import image_of

_LARGE = os.environ.get("OMNIGRAPH_STATEFUL") == "large"
_NAMES = st.sampled_from(["dev", "fix", "team/a", "team", "x.y"])


class GraphMachine(RuleBasedStateMachine):
    """Every rule does the same thing to a real graph on disk and to the model."""

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.mkdtemp(prefix="omnigraph-machine-")
        self.graph = og.init(f"{self.place}/g.omni", programs.SCHEMA)
        self.catalog = self.graph.schema.catalog
        self.model = ModelGraph.born(self.catalog, self.graph.commits.list()[0].graph_commit_id)
        self.touched = "main"
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
        text, params = programs.Writer(self.catalog, bound).query(statements)
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
        expected = self.model.merge(source, target, bases[seen.base_commit_id])
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
        again = self.graph.branches.merge(source, into=target)
        assert again.outcome == "already_up_to_date"

    @rule(data=st.data())
    def look_back(self, data: st.DataObject) -> None:
        branch, commit = data.draw(st.sampled_from(sorted(self.model.commits(), key=_commit_order)))
        past = self.graph.branch(branch).at(commit.id)
        assert past.commit_id == commit.id
        assert image_of(past.view()) == commit.image

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
        self.graph.close()
        self.graph = og.open(self.graph.uri)

    # --- what always holds -----------------------------------------------------------------------

    @invariant()
    def the_branch_last_touched_has_the_same_rows_and_history(self) -> None:
        assert image_of(self.graph.view(self.touched)) == self.model.image(self.touched)
        listed = self.graph.commits.list(self.touched)
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
    max_examples=200 if _LARGE else 30,
    stateful_step_count=60 if _LARGE else 25,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, *([Phase.shrink] if _LARGE else [])],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
