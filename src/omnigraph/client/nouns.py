"""The parts of a served graph: its branches, its schema and its stored queries; its history is in `history_nouns`."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from omnigraph.client import calls, history_calls, inspection
from omnigraph.client.inspection import RemotePlan
from omnigraph.client.transport import Transport
from omnigraph.client.unserved import Served
from omnigraph.display import Displayed, ShownList

if TYPE_CHECKING:
    from omnigraph.compiler.source import Source
    from omnigraph.engine.merge.outcome import MergeResult, PropertyMode, Resolution, Strategy
    from omnigraph.engine.read.shape.result import Result
    from omnigraph.engine.values.result import MutationResult
    from omnigraph.storage.manifest.commits import GraphCommit


class RemotePart(Displayed, Served):
    """What every part has: the connection, and the branch that its graph is bound to."""

    def __init__(self, transport: Transport, branch: str) -> None:
        self._transport = transport
        self._branch = branch

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of branch '{self._branch}' of {self._transport.graph}>"


class RemoteSchema(RemotePart):
    """The schema that a branch of a served graph accepts right now."""

    _part = "schema"

    def __init__(self, transport: Transport, branch: str, moment: str | None = None) -> None:
        super().__init__(transport, branch)
        self._moment = moment

    @property
    def source(self) -> str:
        """The text, exactly as it was accepted."""
        return self._transport.send(calls.schema(self._branch, self._moment))

    def at(self, commit: str | GraphCommit) -> RemoteSchema:
        """The schema that a commit was written under."""
        return RemoteSchema(self._transport, self._branch, calls.moment(commit))

    def plan(self, desired: str | PathLike[str] | Source, *, allow_data_loss: bool = False) -> RemotePlan:
        """The steps from the accepted schema to a desired one (text, or the path of a `.pg` file); changes nothing.

        `print(plan)` is for people, `plan.to_json()` for programs.
        """
        text = calls.text_of(desired)
        return self._transport.send(inspection.plan_schema(text, self._branch, allow_data_loss))

    def apply(
        self, desired: str | PathLike[str] | Source, *, allow_data_loss: bool = False, message: str | None = None
    ) -> dict[str, Any]:
        """Change the schema of this branch; a server of a cluster refuses and says so. The receipt is the server's."""
        text = calls.text_of(desired)
        return self._transport.send(calls.apply_schema(text, self._branch, allow_data_loss, message))


class RemoteBranches(RemotePart):
    """The branches of a served graph; a new one starts at the bound branch unless told otherwise."""

    _part = "branches"

    def create(self, name: str, from_: str | None = None) -> None:
        """Create a branch; it shares every table with its source until it writes to it."""
        self._transport.send(history_calls.create_branch(name, from_ or self._branch))

    def list(self) -> ShownList[str]:
        """Names of all branches, `main` first."""
        return self._transport.send(history_calls.list_branches())

    def rename(self, name: str, to: str) -> None:
        """Give a branch another name; its commits, and the branches that were made from it, stay what they are."""
        self._transport.send(history_calls.rename_branch(name, to))

    def delete(self, name: str) -> None:
        """Delete a branch that nothing depends on; its commits become unreachable."""
        self._transport.send(history_calls.delete_branch(name))

    def merge(
        self,
        source: str,
        into: str = "main",
        delete: bool = False,
        *,
        preview: bool = False,
        resolve: Mapping[str, Resolution] | None = None,
        strategy: Strategy = "fail",
        properties: PropertyMode = "whole",
        attempts: int | None = None,
        message: str | None = None,
    ) -> MergeResult:
        """Merge a branch into another as one commit with two parents; contradictions raise MergeConflicts.

        `preview` writes nothing and lists conflicts in the result; `resolve`, `strategy` and `properties` settle them
        as on an embedded graph. `delete` removes the source afterwards; when something still depends on it, the result
        says so and the merge stands. Without a `message` the commit says what was merged into what.
        """
        how = history_calls.Settling(
            preview=preview, resolve=resolve, strategy=strategy, properties=properties, message=message
        )
        asked = history_calls.merge_branches(source, into, delete, how)
        return self._transport.send(asked.with_attempts(attempts))


class RemoteQueries(RemotePart):
    """Queries that the server has under names."""

    _part = "queries"

    def list(self) -> ShownList[dict[str, Any]]:
        """The catalog: name, description, parameters, and whether it writes."""
        return self._transport.send(calls.catalog(self._branch))

    def run(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        branch: str | None = None,
        at: str | GraphCommit | None = None,
    ) -> Result:
        """Run a stored read."""
        return self._transport.send(calls.stored_query(name, params, branch or self._branch, calls.moment(at)))

    def mutate(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        branch: str | None = None,
        if_commit: str | None = None,
        message: str | None = None,
    ) -> MutationResult:
        """Run a stored mutation; with `if_commit`, only while the branch is at that commit."""
        asked = calls.stored_mutation(name, params, branch or self._branch, if_commit, message)
        return self._transport.send(asked)
