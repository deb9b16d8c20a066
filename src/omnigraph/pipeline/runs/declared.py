"""Pipelines as code: the `pipelines:` section of a cluster declaration, read strictly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from string import Formatter
from typing import Any, Literal, cast

from omnigraph.compiler.query.parse import parse_queries
from omnigraph.compiler.source import Source
from omnigraph.engine.intake.mapping import described
from omnigraph.engine.values.result import LoadMode, parse_mode
from omnigraph.engine.views.table_tasks import Runner, parse_runner
from omnigraph.errors import BadRequest, OmnigraphError
from omnigraph.pipeline.runs.cron import require_cron
from omnigraph.pipeline.runs.gates import Gate, parse_gates, parse_seconds

_MEMBERS = {
    "graph", "mapping", "branch", "checks", "merge_into", "mode", "schedule", "runner", "on_error", "max_errors",
    "description", "retries", "retry_after", "timeout", "after", "gates",
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PLACEHOLDERS = ("date", "time", "run")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One declared pipeline; paths are absolute, and exist. `retry_after` and `timeout` are seconds."""

    name: str
    graph: str
    mapping: Path
    branch: str | None = None
    checks: tuple[Path, ...] = ()
    merge_into: str | None = None
    mode: LoadMode = "append"
    schedule: str | None = None
    runner: Runner = "auto"
    on_error: Literal["stop", "skip"] = "stop"
    max_errors: int | None = None
    description: str | None = None
    retries: int = 0
    retry_after: float = 10.0
    timeout: float | None = None
    after: tuple[str, ...] = ()
    gates: tuple[Gate, ...] = ()

    def branch_at(self, now: datetime, run: str) -> str | None:
        """The branch of one run, its template filled in."""
        if self.branch is None:
            return None
        moment = now.astimezone(UTC)
        return self.branch.format(date=moment.strftime("%Y-%m-%d"), time=moment.strftime("%H%M%S"), run=run)


def is_name(text: str) -> bool:
    """Whether a pipeline can be called so."""
    return _NAME.fullmatch(text) is not None


def parse_pipelines(section: Any, base_dir: str | Path) -> dict[str, Pipeline]:
    """The pipelines of a declaration by name; BadRequest says which member of which ones is wrong.

    Paths are relative to `base_dir`. Mappings and checks are read, so that what comes back can run.
    """
    found, wrong = read_pipelines(section, base_dir)
    if wrong:
        raise BadRequest("\n".join(wrong))
    return found


def read_pipelines(section: Any, base_dir: str | Path) -> tuple[dict[str, Pipeline], list[str]]:
    """The pipelines that are declared well, by name, and what is wrong with the others."""
    if section is None:
        return {}, []
    if not isinstance(section, Mapping):
        raise BadRequest("pipelines: a table of pipelines by name is expected")
    found: dict[str, Pipeline] = {}
    wrong: list[str] = []
    for name, value in section.items():
        try:
            found[str(name)] = _Reading(str(name), value, Path(base_dir)).pipeline()
        except BadRequest as error:
            wrong.append(error.message)
    # One that is wrong is there nevertheless: those that come after it need not be told that it is missing.
    every = {str(name): Pipeline(str(name), "", Path()) for name in section} | found
    for name in found:
        try:
            in_order(every, name)
        except BadRequest as error:
            wrong.append(error.message)
    return found, list(dict.fromkeys(wrong))


def in_order(found: Mapping[str, Pipeline], name: str, above: tuple[str, ...] = ()) -> list[Pipeline]:
    """What a pipeline comes after, each before whatever needs it, and the pipeline itself at the end."""
    if name in above:
        raise BadRequest(f"pipelines.{name}.after: {' → '.join((*above, name))} goes round in a circle")
    pipeline = found[name]
    order: dict[str, Pipeline] = {}
    for other in pipeline.after:
        if other not in found:
            raise BadRequest(f"pipelines.{name}.after: there is no pipeline '{other}'")
        order |= {each.name: each for each in in_order(found, other, (*above, name))}
    return [*order.values(), pipeline]


class _Reading:
    """One entry of the section on its way to a value."""

    def __init__(self, name: str, value: Any, base: Path) -> None:
        self.name = name
        self.base = base
        if not is_name(name):
            raise BadRequest(f"pipelines.{name}: a name is made of letters, digits, _ and -, and starts with a letter")
        if not isinstance(value, Mapping):
            raise BadRequest(f"pipelines.{name}: a table is expected")
        unknown = sorted(set(map(str, value)) - _MEMBERS)
        if unknown:
            raise self._wrong(unknown[0], f"unknown member (known: {', '.join(sorted(_MEMBERS))})")
        self.value = value

    def pipeline(self) -> Pipeline:
        branch, merge_into = self._branch(), self._text("merge_into")
        checks = self._checks()
        gates = self._gates()
        if branch is None and (checks or gates or merge_into):
            named = "checks" if checks else "gates" if gates else "merge_into"
            raise self._wrong(named, "needs a branch to load on first, such as branch: ingest/{date}")
        if branch is not None and branch == merge_into:
            raise self._wrong("merge_into", f"the branch '{branch}' cannot be merged into itself")
        return Pipeline(
            name=self.name,
            graph=self._required("graph"),
            mapping=self._mapping(),
            branch=branch,
            checks=checks,
            merge_into=merge_into,
            mode=self._mode(),
            schedule=self._schedule(),
            runner=parse_runner(self._choice("runner", ("auto", "inline", "spark"))),
            on_error=cast("Literal['stop', 'skip']", self._choice("on_error", ("stop", "skip"))),
            max_errors=self._count("max_errors"),
            description=self._text("description"),
            retries=self._count("retries") or 0,
            retry_after=self._seconds("retry_after", 10.0) or 0.0,
            timeout=self._seconds("timeout", None),
            after=self._names("after"),
            gates=gates,
        )

    def _gates(self) -> tuple[Gate, ...]:
        try:
            return parse_gates(self.value.get("gates"))
        except BadRequest as error:
            raise self._wrong("gates", error.message) from error

    def _names(self, member: str) -> tuple[str, ...]:
        given = self.value.get(member)
        names = [given] if isinstance(given, str) else given if given is not None else []
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self._wrong(member, "a name, or a list of names, is expected")
        return tuple(names)

    def _seconds(self, member: str, default: float | None) -> float | None:
        value = self.value.get(member)
        if value is None:
            return default
        try:
            return parse_seconds(value)
        except BadRequest as error:
            raise self._wrong(member, error.message) from error

    def _mapping(self) -> Path:
        path = self.base / self._required("mapping")
        self._read("mapping", lambda: described(path))
        return path

    def _checks(self) -> tuple[Path, ...]:
        given = self.value.get("checks")
        names = [given] if isinstance(given, str) else given if given is not None else []
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self._wrong("checks", "a path, or a list of paths, is expected")
        found = tuple(self.base / name for name in names)
        for name, path in zip(names, found, strict=True):
            self._read("checks", lambda name=name, path=path: _require_plain(name, path))
        return found

    def _read(self, member: str, action: Any) -> None:
        try:
            action()
        except OSError as error:
            raise self._wrong(member, f"'{error.filename}' cannot be read: {error.strerror}") from error
        except OmnigraphError as error:
            raise self._wrong(member, error.message) from error

    def _branch(self) -> str | None:
        template = self._text("branch")
        try:
            fields = [name for _, name, _, _ in Formatter().parse(template or "") if name is not None]
        except ValueError as error:
            raise self._wrong("branch", f"'{template}' is not a template: {error}") from error
        for field in fields:
            if field not in _PLACEHOLDERS:
                known = ", ".join(f"{{{name}}}" for name in _PLACEHOLDERS)
                raise self._wrong("branch", f"unknown placeholder '{{{field}}}' (known: {known})")
        return template

    def _mode(self) -> LoadMode:
        try:
            return parse_mode(self._text("mode") or "append")
        except BadRequest as error:
            raise self._wrong("mode", error.message) from error

    def _schedule(self) -> str | None:
        text = self._text("schedule")
        try:
            if text is not None:
                require_cron(text)
        except BadRequest as error:
            raise self._wrong("schedule", error.message) from error
        return text

    def _choice(self, member: str, known: tuple[str, ...]) -> str:
        value = self._text(member) or known[0]
        if value not in known:
            raise self._wrong(member, f"unknown value '{value}' (expected {', '.join(known)})")
        return value

    def _count(self, member: str) -> int | None:
        value = self.value.get(member)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise self._wrong(member, "a whole number is expected")
        return value

    def _required(self, member: str) -> str:
        value = self._text(member)
        if value is None:
            raise self._wrong(member, "is missing")
        return value

    def _text(self, member: str) -> str | None:
        value = self.value.get(member)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise self._wrong(member, "text is expected")
        return value

    def _wrong(self, member: str, message: str) -> BadRequest:
        return BadRequest(f"pipelines.{self.name}.{member}: {message}")


def _require_plain(name: str, path: Path) -> None:
    """Checks are reads without parameters: nothing else could be run unattended."""
    queries = parse_queries(Source(path.read_text(), name)).queries
    if not queries:
        raise BadRequest(f"'{path}' contains no query")
    for query in queries:
        if query.params:
            raise BadRequest(f"check '{query.name}' of '{path}' has parameters, which a check is not given")
