"""Committing: who is computed again, and who is not."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from omnigraph.ids import new_ulid
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import WriteSet
from omnigraph.storage.protocol.attempt import Hooks
from omnigraph.storage.protocol.commit import commit
from omnigraph.testing.crash.processes import Outcome, WritingChild
from omnigraph.testing.graphs.tiny import A, contents, upserting


def test_a_control_operation_is_computed_again_behind_the_writer_it_waited_for(store: Store) -> None:
    parked = WritingChild(Path(store.root.uri), store.settings, "mutation.post_table_commit=stop@1", ("late",), (A,))
    parked.wait_stopped()
    heads, resumed = list[str | None](), list[Future[Outcome]]()
    with ThreadPoolExecutor() as pool:

        def prepare(txn: Txn) -> WriteSet | None:
            heads.append(txn.effective_head)
            if not resumed:
                resumed.append(pool.submit(parked.resume))
            return upserting(["late"], A)(txn)

        operation = new_ulid()
        done = commit(store, None, prepare, hooks=Hooks(operation_id=operation))
    assert done.commit is not None
    assert done.commit.graph_commit_id == operation
    assert heads[1:] == [resumed[0].result().commit]
    assert set(contents(store, A)) == {"seed", "late"}
