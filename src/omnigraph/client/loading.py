"""Loads of a served graph: records in one body, or files that a mapping names, which are uploaded first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from omnigraph.client import answers, calls
from omnigraph.client.request import Answer, Request, members, no_answer, pairs, segment
from omnigraph.errors import BadRequest, OmnigraphError
from omnigraph.ids import new_ulid

if TYPE_CHECKING:
    from omnigraph.client.transport import AsyncTransport, Transport
    from omnigraph.engine.values.result import LoadMode, LoadResult, OnError

Given: TypeAlias = "Mapping[str, Any] | str | PathLike[str]"
_INDEX = re.compile(r"__index_level_\d+__")
_ELSEWHERE = "load it where the storage is, with og.open or --store"


class Loads:
    """The verb `load` of a served graph."""

    _transport: Transport
    _branch: str

    def load(
        self,
        data: Any = None,
        mode: LoadMode = "append",
        *,
        type: str | None = None,
        edge: str | None = None,
        columns: Mapping[str, str] | None = None,
        mapping: Given | None = None,
        branch: str | None = None,
        from_: str | None = None,
        on_error: OnError = "stop",
        dry_run: bool = False,
        attempts: int | None = None,
        message: str | None = None,
    ) -> LoadResult:
        """Load records, a frame, or the files of a mapping, as one commit, or not at all.

        Records are a path, text, bytes or a list of dicts, at most 32 MiB. A frame has rows of one `type` or `edge`;
        `columns` names its columns where fields are called differently. A `mapping` (a table, or the path of one) names
        files of this machine, or frames, which are uploaded, one for each source. `dry_run` checks everything and
        writes nothing, and `on_error="skip"` loads the good rows. `mode` is append, merge, patch or overwrite. With
        `from_`, a missing branch is created first. `attempts` is that of `mutate`; `message` is kept with the commit.
        """
        named = branch or self._branch
        if type is not None or edge is not None or columns is not None:
            data, mapping = None, _of_frame(_given(data), type, edge, columns, mapping)
        if mapping is None:
            records = calls.records_of(_given(data))
            asked = calls.load(records, mode, named, from_, message, dry_run=dry_run, on_error=on_error)
            return self._transport.send(asked.with_attempts(attempts))
        prepared = _prepared(data, mapping)
        try:
            for request in prepared.uploads(named):
                self._transport.send(request)
            loading = prepared.load(mode, named, from_, on_error, dry_run=dry_run, message=message)
            with prepared.own_names():
                return self._transport.send(loading.with_attempts(attempts))
        finally:
            for removal in prepared.removals(named):
                with suppress(OmnigraphError):  # it is removed by itself after a while
                    self._transport.send(removal)


class AsyncLoads:
    """The verb `load` of a served graph, awaited."""

    _transport: AsyncTransport
    _branch: str

    async def load(
        self,
        data: Any = None,
        mode: LoadMode = "append",
        *,
        type: str | None = None,
        edge: str | None = None,
        columns: Mapping[str, str] | None = None,
        mapping: Given | None = None,
        branch: str | None = None,
        from_: str | None = None,
        on_error: OnError = "stop",
        dry_run: bool = False,
        attempts: int | None = None,
        message: str | None = None,
    ) -> LoadResult:
        """Load records, a frame, or the files of a mapping, as one commit, or not at all.

        Records are a path, text, bytes or a list of dicts, at most 32 MiB. A frame has rows of one `type` or `edge`;
        `columns` names its columns where fields are called differently. A `mapping` (a table, or the path of one) names
        files of this machine, or frames, which are uploaded, one for each source. `dry_run` checks everything and
        writes nothing, and `on_error="skip"` loads the good rows. `mode` is append, merge, patch or overwrite. With
        `from_`, a missing branch is created first. `attempts` is that of `mutate`; `message` is kept with the commit.
        """
        named = branch or self._branch
        if type is not None or edge is not None or columns is not None:
            data, mapping = None, _of_frame(_given(data), type, edge, columns, mapping)
        if mapping is None:
            records = calls.records_of(_given(data))
            asked = calls.load(records, mode, named, from_, message, dry_run=dry_run, on_error=on_error)
            return await self._transport.send(asked.with_attempts(attempts))
        prepared = _prepared(data, mapping)
        try:
            for request in prepared.uploads(named):
                await self._transport.send(request)
            loading = prepared.load(mode, named, from_, on_error, dry_run=dry_run, message=message)
            with prepared.own_names():
                return await self._transport.send(loading.with_attempts(attempts))
        finally:
            for removal in prepared.removals(named):
                with suppress(OmnigraphError):
                    await self._transport.send(removal)


@dataclass(frozen=True, slots=True)
class _Frame:
    """A frame under the name of its source; it travels as Parquet."""

    name: str
    rows: Any

    def read_bytes(self) -> bytes:
        from io import BytesIO

        import pyarrow.parquet as pq

        from omnigraph.engine.intake.frames import arrow_table

        made = BytesIO()
        pq.write_table(arrow_table(self.rows), made)
        return made.getvalue()


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A mapping of uploaded files, and what it needs, by the names it is uploaded under: a file, or a named frame."""

    mapping: Mapping[str, Any]
    files: Mapping[str, Path | _Frame]

    def uploads(self, branch: str) -> Iterator[Request[None]]:
        for name, path in self.files.items():
            try:
                content = path.read_bytes()
            except OSError as error:
                raise BadRequest(f"cannot read '{path}': {error.strerror}") from error
            headers = {"Content-Type": "application/octet-stream"}
            place = f"/uploads/{segment(name)}"
            yield Request("PUT", place, no_answer, query=pairs(branch=branch), content=content, headers=headers)

    def load(
        self, mode: str, branch: str, base: str | None, on_error: str, *, dry_run: bool, message: str | None
    ) -> Request[LoadResult]:
        body = members(
            mapping=dict(self.mapping),
            mode=mode,
            branch=branch,
            from_=base,
            on_error=on_error,
            dry_run=dry_run,
            message=message,
        )
        return Request("POST", "/load/files", self._loaded, json=body)

    def _loaded(self, answer: Answer) -> LoadResult:
        return answers.load(answer, {name: path.name for name, path in self.files.items()})

    @contextmanager
    def own_names(self) -> Iterator[None]:
        """Let errors name files as their owner does, and not as they were uploaded."""
        try:
            yield
        except OmnigraphError as error:
            error.reword(self._in_own_names)
            raise

    def _in_own_names(self, text: str) -> str:
        for name, path in self.files.items():
            text = text.replace(name, path.name)
        return text

    def removals(self, branch: str) -> Iterator[Request[None]]:
        for name in self.files:
            yield Request("DELETE", f"/uploads/{segment(name)}", no_answer, query=pairs(branch=branch))


def _given(data: Any) -> Any:
    if data is None:
        raise BadRequest("load takes either data or a mapping")
    return data


def _of_frame(
    frame: Any, type: str | None, edge: str | None, columns: Mapping[str, str] | None, mapping: Given | None
) -> Mapping[str, Any]:
    """The mapping of one frame; without `columns` it names every column, so one that is not a field is refused."""
    from omnigraph.engine.intake.frames import arrow_table

    if (type is None) == (edge is None):
        raise BadRequest("a frame has rows of one type: pass type= or edge=, and columns= only with one of them")
    if mapping is not None:
        raise BadRequest("a mapping says itself which type its rows have; leave out type=, edge= and columns=")
    if isinstance(frame, str | PathLike):
        example = f"mapping={{'sources': {{'rows': {{'path': '{frame}'}}}}, …}}"
        raise BadRequest(f"a server takes a file of one type in a mapping: {example}")
    rows = arrow_table(frame)
    # pandas keeps an index without a name as a column, which is not meant to be loaded.
    names = [name for name in rows.column_names if not _INDEX.fullmatch(name)]
    entry = {"from": "frame", "columns": {name: name for name in names} if columns is None else dict(columns)}
    kind = {"nodes": {type: entry}} if type is not None else {"edges": {edge: entry}}
    return {"sources": {"frame": {"frame": rows.select(names)}}, **kind}


def _prepared(data: Any, given: Given) -> _Prepared:
    from omnigraph.engine.intake.mapping import read_mapping

    if data is not None:
        raise BadRequest("load takes either data or a mapping")
    mapping, home = (given, "") if isinstance(given, Mapping) else read_mapping(fspath(given))
    sources = mapping.get("sources") if isinstance(mapping, Mapping) else None
    if not isinstance(sources, Mapping):
        raise BadRequest("a mapping has sources: a table of names, as in sources: {people: {path: people.csv}}")
    files: dict[str, Path | _Frame] = {}
    moved: dict[str, Any] = {}
    for name, source in sources.items():
        if isinstance(source, Mapping) and "frame" in source:
            uploaded = f"{new_ulid()[-8:].lower()}-frame.parquet"
            files[uploaded] = _Frame(str(name), source["frame"])
            rules = {member: value for member, value in source.items() if member != "frame"}
            moved[str(name)] = {**rules, "path": uploaded}
            continue
        if not isinstance(source, Mapping) or not isinstance(source.get("path"), str):
            raise BadRequest(f"source '{name}' is not a file or a frame, and a server takes nothing else; {_ELSEWHERE}")
        path = Path(home) / source["path"]
        if not path.is_file():
            raise BadRequest(f"source '{name}': '{path}' is not one file of this machine; {_ELSEWHERE}")
        known = next((each for each, other in files.items() if other == path), None)
        uploaded = known or f"{new_ulid()[-8:].lower()}-{path.name}"
        files[uploaded] = path
        moved[str(name)] = {**source, "path": uploaded}
    return _Prepared({**mapping, "sources": moved}, files)
