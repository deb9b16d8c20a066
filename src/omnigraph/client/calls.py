"""Every verb of a served graph as a request; the synchronous and the asynchronous handle send the same ones.

Those about its history are in `history_calls`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.client import answers
from omnigraph.client.request import ARROW, IF_COMMIT, NDJSON, Request, members, no_answer, pairs, segment
from omnigraph.compiler.query.host_values import json_params
from omnigraph.compiler.source import Source
from omnigraph.display import ShownList
from omnigraph.engine.views.lifecycle import is_text
from omnigraph.errors import BadRequest
from omnigraph.ids import is_ulid

if TYPE_CHECKING:
    from omnigraph.engine.read.shape.result import Result
    from omnigraph.engine.values.result import BatchResult, LoadResult, MutationResult
    from omnigraph.storage.manifest.commits import GraphCommit

Params = Mapping[str, Any] | None
_ROWS = {"Accept": f"{ARROW}, application/json;q=0.5"}  # Arrow keeps the types of columns
Place = tuple[tuple[str, str], ...]
# What a server takes in one body; larger input is loaded where the storage is.
BODY_LIMIT = 32 * 1024 * 1024


def commit_id(commit: str | GraphCommit) -> str:
    """A commit by what the server can look up."""
    return commit if isinstance(commit, str) else commit.graph_commit_id


def moment(at: str | GraphCommit | None) -> str | None:
    """Where to read, if not at the head of a branch."""
    return None if at is None else commit_id(at)


def place_of(branch: str, at: str | None) -> Place:
    """Where to read: a branch, a commit by its id, or what a name means from the point of view of the branch."""
    if at is None:
        return (("branch", branch),)
    return (("snapshot", at),) if is_ulid(at) else (("branch", branch), ("at", at))


def query(source: str, name: str | None, params: Params, branch: str, at: str | None) -> Request[Result]:
    """A read whose text is sent along."""
    body = members(query=source, name=name, params=json_params(params), **dict(place_of(branch, at)))
    return Request(
        "POST",
        "/query",
        lambda answer: answers.result(answer, name, branch),
        json=body,
        headers=_ROWS,
    )


def stored_query(name: str, params: Params, branch: str, at: str | None) -> Request[Result]:
    """A read that the server has under a name."""
    body = members(params=json_params(params), expect_mutation=False, **dict(place_of(branch, at)))
    return Request(
        "POST",
        f"/queries/{segment(name)}",
        lambda answer: answers.result(answer, name, branch),
        json=body,
        headers=_ROWS,
    )


def mutate(
    source: str,
    name: str | None,
    params: Params,
    branch: str | None,
    if_commit: str | None,
    *,
    message: str | None = None,
) -> Request[MutationResult]:
    """A mutation whose text is sent along."""
    body = members(query=source, name=name, params=json_params(params), branch=branch, message=message)
    return _conditional("/mutate", body, if_commit)


def stored_mutation(
    name: str, params: Params, branch: str | None, if_commit: str | None, message: str | None = None
) -> Request[MutationResult]:
    """A mutation that the server has under a name."""
    body = members(params=json_params(params), branch=branch, expect_mutation=True, message=message)
    return _conditional(f"/queries/{segment(name)}", body, if_commit)


def _conditional(path: str, body: Mapping[str, Any], if_commit: str | None) -> Request[MutationResult]:
    """A condition has a path of its own, so that a server that does not know it refuses instead of ignoring it."""
    if if_commit is None:
        return Request("POST", path, answers.mutation, json=body)
    headers = {IF_COMMIT: if_commit}
    return Request("POST", f"{path}/if-graph-commit", answers.mutation, json=body, headers=headers)


def mutate_many(
    mutations: Iterable[Any],
    source: str | None,
    branch: str | None,
    if_commit: str | None,
    *,
    message: str | None = None,
) -> Request[BatchResult]:
    """A batch of mutations as lines, in one body and one commit; one without a text is a stored query."""
    import json

    lines = [json.dumps(_batch_line(each, source), ensure_ascii=False) for each in mutations]
    content = "".join(f"{line}\n" for line in lines).encode()
    if len(content) > BODY_LIMIT:
        raise BadRequest(f"{len(content):,} bytes are more than a server takes at once ({BODY_LIMIT:,}); send parts")
    headers = {"Content-Type": NDJSON, **({} if if_commit is None else {"If-Match": f'"{if_commit}"'})}
    asked = pairs(branch=branch, message=message)
    return Request("POST", "/mutate/ndjson", answers.batch, query=asked, content=content, headers=headers)


def _batch_line(given: Any, source: str | None) -> dict[str, Any]:
    entry = {"query": given[0], "params": given[1]} if isinstance(given, tuple) and len(given) == 2 else given
    if not isinstance(entry, Mapping):
        raise BadRequest("a mutation is a mapping with query, name and params, or a pair of query and params")
    query = entry.get("query")
    found = {**entry, "query": source if query is None else text_of(query), "params": json_params(entry.get("params"))}
    return {name: value for name, value in found.items() if value is not None and name != "line"}


def load(
    records: bytes,
    mode: str,
    branch: str | None,
    base: str | None,
    message: str | None = None,
    *,
    dry_run: bool = False,
    on_error: str = "stop",
) -> Request[LoadResult]:
    """Records as lines, in one body and one commit."""
    if len(records) > BODY_LIMIT:
        raise BadRequest(
            f"{len(records):,} bytes are more than a server takes at once ({BODY_LIMIT:,});"
            " load them in parts, or with `omnigraph load --store` where the storage is"
        )
    return Request(
        "POST",
        "/load/ndjson",
        answers.load,
        query=pairs(
            mode=mode,
            branch=branch,
            message=message,
            dry_run="true" if dry_run else None,
            on_error=None if on_error == "stop" else on_error,
            **{"from": base},
        ),
        content=records,
        headers={"Content-Type": NDJSON},
    )


def export(branch: str, types: Sequence[str], at: str | None = None) -> Request[None]:
    """A whole branch, or one commit, as records that can be loaded again."""
    body = members(type_names=list(types) or None, **dict(place_of(branch, at)))
    return Request("POST", "/export", no_answer, json=body)


def schema(branch: str, at: str | None = None) -> Request[str]:
    """The schema that a branch accepts, or that of a commit, as it was written."""
    return Request("GET", "/schema", lambda answer: str(answer.json()["schema_source"]), query=place_of(branch, at))


def apply_schema(text: str, branch: str, allow_data_loss: bool, message: str | None = None) -> Request[dict[str, Any]]:
    """A new schema for a branch; the receipt is passed on as it is."""
    body = members(schema_source=text, allow_data_loss=allow_data_loss, branch=branch, message=message)
    return Request("POST", "/schema/apply", lambda answer: dict(answer.json()), json=body)


def catalog(branch: str) -> Request[ShownList[dict[str, Any]]]:
    """The stored queries with their parameters, for those who may read a branch."""
    return Request("GET", "/queries", lambda answer: ShownList(answer.json()["queries"]), query=pairs(branch=branch))


def permissions(branch: str) -> Request[dict[str, Any]]:
    """What the sender may do on a branch."""
    return Request("GET", "/permissions", lambda answer: dict(answer.json()), query=pairs(branch=branch))


def snapshot(place: Place) -> Request[dict[str, Any]]:
    """Which dataset versions a branch or a commit publishes."""
    return Request("GET", "/snapshot", lambda answer: dict(answer.json()), query=place)


def graphs() -> Request[ShownList[dict[str, str]]]:
    """The graphs of a server; the base is the server's own."""
    return Request("GET", "/graphs", lambda answer: ShownList(answer.json()["graphs"]))


def text_of(source: str | PathLike[str] | Source) -> str:
    """Query text, or the text of a file: a path has no braces, and is not a deletion."""
    if isinstance(source, Source):
        return source.text
    if not isinstance(source, str) or not is_text(source):
        try:
            return Path(source).read_text(encoding="utf-8")
        except OSError as error:
            raise BadRequest(f"cannot read the query file '{source}': {error.strerror}") from error
    return source


def records_of(data: Any) -> bytes:
    """Records from a path or several, text, bytes or a list of dicts, as lines."""
    import json

    if isinstance(data, bytes):
        return data
    if isinstance(data, str) and data.lstrip().startswith("{"):
        return data.encode()
    if isinstance(data, (str, PathLike)):
        try:
            return Path(data).read_bytes()
        except OSError as error:
            raise BadRequest(f"cannot read '{data}': {error.strerror}") from error
    if isinstance(data, Sequence) and data and all(isinstance(item, (str, PathLike)) for item in data):
        return b"\n".join(records_of(item) for item in data)
    if isinstance(data, Sequence):
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in data).encode()
    raise BadRequest(
        f"a server loads a file, text, bytes or a list of records, not {type(data).__name__}; for a frame also pass"
        " type= or edge=, or a mapping"
    )
