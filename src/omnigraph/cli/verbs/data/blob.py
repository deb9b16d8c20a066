"""`blob get` and `blob stat`: one Blob cell, its bytes or the facts about it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from omnigraph.cli.address.target import ServedTarget, Target, read_target
from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.progress import progress
from omnigraph.errors import (
    BadRequest,
    BranchNotFound,
    CommitNotFound,
    Conflict,
    InputError,
    NotFound,
    OmnigraphError,
    PermissionDenied,
    ServerFailed,
    StorageError,
    Unauthenticated,
)

if TYPE_CHECKING:
    from omnigraph.client.blobs import RemoteBlob
    from omnigraph.engine.views.blob import Blob

_CHUNK = 4 << 20
_U64 = 1 << 64


def get(call: Call) -> None:
    """The bytes of a cell, or a range of them, and nothing else."""
    offset, length = call.number("--offset") or 0, call.number("--length")
    _require_range(offset, length)
    with _found(call, read_target(call)) as (cell, _):
        if cell.uri is not None:
            raise InputError(f"the value is a reference to {cell.uri}; `blob stat` shows it, nothing follows it")
        if offset >= cell.size > 0:
            raise InputError(f"Blob range is not satisfiable: it starts at {offset} of {cell.size} bytes")
        end = cell.size if length is None else min(cell.size, offset + length)
        place = call.text("--out")
        if place is None:
            _copy(cell, offset, end, lambda: sys.stdout.buffer, lambda _: None)
            return
        with progress(call, "blob", end - offset, "bytes") as advance:
            _copy_to_file(cell, offset, end, Path(place), advance)


def stat(call: Call) -> None:
    """What a cell holds, without reading it."""
    with _found(call, read_target(call)) as (cell, resolved):
        found = _facts(call, cell, resolved)
    if call.json:
        output.document(found)
        return
    selector, target = found.pop("selector"), found.pop("target")
    shown = {**selector, **found, **target}
    output.write("".join(f"{name}: {value}\n" for name, value in shown.items()))


def _require_range(offset: int, length: int | None) -> None:
    """Checked before anything is resolved, so that it costs nothing and is the same everywhere."""
    if length == 0:
        raise BadRequest("--length 0 asks for no bytes; leave it out to read to the end")
    if offset + (length or 0) >= _U64:
        raise BadRequest("--offset and --length reach beyond 2^64 bytes")


@contextmanager
def _found(call: Call, target: Target) -> Iterator[tuple[Blob | RemoteBlob, str]]:
    """The cell and the state it was found in; failures are told in the words of blobs."""
    snapshot, branch = call.text("--snapshot"), call.value("--branch")
    entity, type_name = call.required("ENTITY"), call.required("TYPE")
    entity_id, property_name = call.required("ID"), call.required("PROPERTY")
    with _in_words_of_blobs():
        if isinstance(target, ServedTarget):
            with target.remote() as served:
                cell = served.blob(f"{entity}:{type_name}", entity_id, property_name, branch=branch, at=snapshot)
                yield cell, cell.snapshot_id
            return
        from omnigraph.engine.views.blob import find_blob

        with target.storage_reader() as graph:
            view = (graph.branch(branch) if snapshot is None else graph.at(snapshot)).view()
            if type_name not in (view.catalog.nodes if entity == "node" else view.catalog.edges):
                raise BadRequest(f"the schema has no {entity} type '{type_name}'")
            live = f"manifest:{branch}:v{view.version}:{view.head}"
            found = find_blob(view, f"{entity}:{type_name}", entity_id, property_name)
            yield found, live if snapshot is None else snapshot


@contextmanager
def _in_words_of_blobs() -> Iterator[None]:
    try:
        yield
    except (BranchNotFound, CommitNotFound):
        raise
    except OmnigraphError as error:
        heading = _heading(error)
        if heading is not None:
            error.message = f"{heading}: {error.message}"
        raise


def _heading(error: OmnigraphError) -> str | None:
    match error:
        case NotFound():
            return "Blob cell not found"
        case BadRequest():
            return "invalid Blob selector"
        case Unauthenticated():
            return "Blob read requires authentication"
        case PermissionDenied():
            return "Blob read is forbidden"
        case Conflict():
            return "Blob read target changed"
        case StorageError() | ServerFailed():
            return "Blob delivery failed"
        case _:
            return None


def _copy(
    cell: Blob | RemoteBlob, start: int, end: int, out: Callable[[], BinaryIO], advance: Callable[[int], None]
) -> None:
    for at in range(start, end, _CHUNK):
        part = cell.read(at, min(_CHUNK, end - at))
        out().write(part)
        advance(len(part))


def _copy_to_file(cell: Blob | RemoteBlob, start: int, end: int, place: Path, advance: Callable[[int], None]) -> None:
    """The file is opened when the first bytes are there: a failure before leaves what it held."""
    opened: list[BinaryIO] = []

    def out() -> BinaryIO:
        if not opened:
            opened.append(place.open("wb"))
        return opened[0]

    try:
        _copy(cell, start, end, out, advance)
        out()
    finally:
        for file in opened:
            file.close()


def _facts(call: Call, cell: Blob | RemoteBlob, resolved: str) -> dict[str, Any]:
    names = ("ENTITY", "TYPE", "ID", "PROPERTY")
    asked = {name.lower(): call.required(name) for name in names}
    kind: dict[str, Any] = {"kind": "managed", "size": cell.size, "etag": f'"{cell.etag}"'}
    if cell.uri is not None:
        kind = {"kind": "external", "uri": cell.uri}
    explicit = {name[2:]: call.value(name) for name in ("--branch", "--snapshot") if call.given(name)}
    return {"selector": asked, **kind, "target": {**explicit, "resolved_snapshot": resolved}}
