"""Committing: who is computed again, and who is not."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from omnigraph.ids import new_ulid
from omnigraph.storage.base.layout import RECOVERY_DIR
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


def test_what_lost_to_another_process_is_computed_once_the_next_time(store: Store) -> None:
    parked = WritingChild(Path(store.root.uri), store.settings, "mutation.post_table_commit=stop@1", ("hot",), (A,))
    parked.wait_stopped()
    store.gates.note_loss(None)
    heads = list[str | None]()

    def resume_once_waited_for() -> Outcome:
        while not any(name.endswith(".ticket") for name in store.objects.list_dir(RECOVERY_DIR)):
            time.sleep(0.01)
        return parked.resume()

    def prepare(txn: Txn) -> WriteSet | None:
        heads.append(txn.effective_head)
        return upserting(["hot"], A)(txn)

    with ThreadPoolExecutor() as pool:
        resumed = pool.submit(resume_once_waited_for)
        done = commit(store, None, prepare)
    assert done.commit is not None
    assert heads == [resumed.result().commit]


def test_a_few_writes_after_a_loss_one_is_computed_ahead_again(store: Store) -> None:
    gates = store.gates
    gates.note_loss("b")
    answers = [gates.expects_loss("b") for _ in range(6)]
    assert answers == [True, True, True, True, False, False]
    assert not gates.expects_loss(None)
