"""Random histories on two branches merge exactly as three dictionaries would, and merging twice changes nothing."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.engine.merge import by_files
from omnigraph.engine.views import delta
from omnigraph.errors import MergeConflicts, OmnigraphError
from omnigraph.storage.lance import version_tree
from omnigraph.testing.naive.merge import merge_images
from omnigraph.testing.naive.observe import image_of
from omnigraph.testing.strategies import programs
from tests.thoroughness import examples

KNOWN = programs.Known()
WRITES = st.lists(
    st.one_of(programs.constructive(KNOWN), programs.destructive(KNOWN), programs.loads(KNOWN)), min_size=1, max_size=3
)
SETTINGS = settings(
    max_examples=examples(12),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("agreement") / "template.omni"
    with og.init(place, programs.SCHEMA) as graph:
        graph.load([record.line() for record in programs.SEED])
    return place


@contextmanager
def copied(template: Path) -> Iterator[og.Graph]:
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(template, f"{place}/g.omni")
        with og.open(f"{place}/g.omni") as graph:
            yield graph


def play(graph: og.Graph, writes: list[list[object]], *, in_tasks: bool = False) -> None:
    writer = programs.Writer(graph.schema.catalog, False)
    for write in writes:
        with suppress(OmnigraphError):  # refused writes are part of life; what counts is what was accepted
            if write and isinstance(write[0], programs.Record):
                # Tasks write rows that replace others apart from new ones, so that they can be merged by their files.
                graph.load([record.line() for record in write], "merge", on_error="skip" if in_tasks else "stop")
            else:
                text, params = writer.query(write)
                graph.mutate(text, params=params)


@SETTINGS
@given(before=programs.loads(KNOWN), left=WRITES, right=WRITES, swapped=st.booleans(), files=st.booleans())
def test_a_merge_agrees_with_three_dictionaries(  # type: ignore[no-untyped-def]
    template: Path, before, left, right, swapped, files
) -> None:
    with copied(template) as graph, pytest.MonkeyPatch.context() as patched:
        patched.setattr(by_files, "LARGE_CHANGE", 1 if files else by_files.LARGE_CHANGE)
        play(graph, [before])
        base = image_of(graph.view())
        graph.branches.create("feature")
        feature = graph.branch("feature")
        play(feature, left, in_tasks=files)
        play(graph, right, in_tasks=files)
        source, target = (graph, feature) if swapped else (feature, graph)
        expected = merge_images(graph.schema.catalog, base, image_of(target.view()), image_of(source.view()))
        try:
            graph.branches.merge(source.branch_name, into=target.branch_name)
        except MergeConflicts as refusal:
            found = refusal.conflicts
            if expected.rows:
                assert {(item.table_key, item.entity_id, item.kind) for item in found} == expected.rows
            else:
                assert expected.constraints <= {item.kind for item in found}
        else:
            assert not expected.conflicts
        assert image_of(target.view()) == expected.image
        if not expected.conflicts:
            again = graph.branches.merge(source.branch_name, into=target.branch_name)
            assert again.outcome == "already_up_to_date"
            assert graph.check().findings == ()


@SETTINGS
@given(before=programs.loads(KNOWN), left=WRITES, right=WRITES, files=st.booleans())
def test_a_delta_along_versions_equals_the_comparison_from_end_to_end(  # type: ignore[no-untyped-def]
    template: Path, before, left, right, files
) -> None:
    # On an object store deletions are found by a scan instead of from their files.
    with copied(template) as graph, pytest.MonkeyPatch.context() as patched:
        if not files:
            patched.setattr(version_tree, "deleted_offsets", lambda *_: None)
        play(graph, [before])
        graph.branches.create("feature")
        play(graph.branch("feature"), left)
        play(graph, right)
        ours, theirs = graph.view(), graph.view("feature")
        for key, entry in ours.snapshot.entries.items():
            other = theirs.snapshot.entry(key)
            found = delta.row_delta(ours.tables, entry, other)
            whole = delta.compared(ours.tables.get(entry), ours.tables.get(other))
            back = delta.row_delta(ours.tables, other, entry).reversed()
            for side in ("before", "after"):
                rows = getattr(found, side)
                assert rows.equals(getattr(whole, side))
                assert rows.equals(getattr(back, side))
