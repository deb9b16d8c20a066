"""`doctor`: read-only checks of the operator config and, when one is addressed, of a graph."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from omnigraph.cli.address.config import FILE_NAME, OperatorConfig, config_directory
from omnigraph.cli.address.credentials import credentials_path, token_source
from omnigraph.cli.address.scope import is_addressed
from omnigraph.cli.address.target import Target, read_target
from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.failure import message_of, subject
from omnigraph.display import counted
from omnigraph.errors import OmnigraphError

if TYPE_CHECKING:
    from omnigraph.engine.api.graph import Graph
    from omnigraph.storage.base.store import Store

_LABELS = {"ok": "OK   ", "warning": "WARN ", "error": "ERROR"}
# Beyond this share of rows outside an index, rebuilding it pays.
_STALE_SHARE = 0.2
# Below this a scan is as fast as a look-up in an index.
_FEW_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `fix` is a command that helps."""

    check: str
    severity: str
    message: str
    fix: str | None = None

    def to_json(self) -> dict[str, Any]:
        """What is known; a missing fix is left out."""
        fix = {} if self.fix is None else {"fix": self.fix}
        return {"check": self.check, "severity": self.severity, "message": self.message, **fix}


def doctor(call: Call) -> int:
    """Print what was found; an error decides the exit code."""
    findings = [*_config_findings(call), *_graph_findings(call)]
    failed = any(finding.severity == "error" for finding in findings)
    if call.json:
        output.document({"ok": not failed, "findings": [finding.to_json() for finding in findings]})
        return int(failed)
    for finding in findings:
        output.line(f"{_LABELS[finding.severity]} {finding.check}: {finding.message}")
        if finding.fix is not None and finding.severity != "ok":
            output.line(f"      fix: {finding.fix}")
    return int(failed)


# --- the operator config ---------------------------------------------------------------------------------


def _config_findings(call: Call) -> Iterator[Finding]:
    directory = config_directory(call.env)
    try:
        config = call.config
    except OmnigraphError as error:
        yield Finding("config", "error", error.message)
        return
    path = directory / FILE_NAME
    yield Finding("config", "ok", str(path) if path.exists() else f"no config at {path}; defaults apply")
    for name, profile in sorted(config.profiles.items()):
        problem = profile.problem()
        if problem is not None:
            yield Finding("profile", "error", f"profile '{name}' {problem}")
    yield from _credential_findings(call, config)


def _credential_findings(call: Call, config: OperatorConfig) -> Iterator[Finding]:
    path = credentials_path(config.directory)
    if path.exists() and (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
        yield Finding("credentials", "error", f"{path} can be read by others (mode {mode:04o})", f"chmod 600 {path}")
        return
    for name in sorted(config.servers):
        source = token_source(name, config.directory, call.env)
        if source is None:
            yield Finding("credentials", "warning", f"server '{name}' has no token", f"omnigraph login {name}")
        else:
            yield Finding("credentials", "ok", f"server '{name}' has a token from {source}")


# --- the graph -------------------------------------------------------------------------------------------


def _graph_findings(call: Call) -> Iterator[Finding]:
    try:
        if not is_addressed(call):
            return
        target = read_target(call)
        graph = target.storage_reader()
    except OmnigraphError as error:
        yield Finding("graph", "error", message_of(error))
        return
    with graph:
        names = graph.branches.list()
        branches = counted(len(names), "branch")
        yield Finding("graph", "ok", f"{target.uri} opens; {branches}, head {graph.commits.head()}")
        yield from _storage_findings(target, graph)
        yield from _index_findings(target, graph)


def _storage_findings(target: Target, graph: Graph) -> Iterator[Finding]:
    from omnigraph.storage.base.store import store_for
    from omnigraph.storage.intent import sidecar

    store = store_for(target.uri)
    unresolved = 0
    for operation_id in sidecar.pending(store.objects):
        intent = sidecar.load(store.objects, operation_id)
        if intent is not None and not sidecar.is_live(intent, skew_ms=store.settings.lease_skew_ms):
            unresolved += 1
            found = f"operation {operation_id} was interrupted; the next writer resolves it"
            yield Finding("recovery", "warning", found)
    if not unresolved:
        yield Finding("recovery", "ok", "no interrupted operation")
    yield from _drift_findings(target, graph, store)


def _drift_findings(target: Target, graph: Graph, store: Store) -> Iterator[Finding]:
    from omnigraph.storage.maintenance.drift import drift_of

    drifted = 0
    for entry in graph.snapshot():
        try:
            newest = drift_of(store, entry)
        except OmnigraphError as error:
            yield Finding("drift", "error", f"{subject(entry.table_key)}: {error.message}")
            continue
        if newest is not None:
            drifted += 1
            found = f"{subject(entry.table_key)} is at version {newest.version}, published is {entry.version}"
            yield Finding("drift", "error", found, f"omnigraph repair {target.uri}")
    if not drifted:
        yield Finding("drift", "ok", "every dataset is where the manifest says")


def _index_findings(target: Target, graph: Graph) -> Iterator[Finding]:
    """One finding for all indexes that are behind: they have one cause and one cure."""
    fix = f"omnigraph optimize {target.uri}"
    unbuilt, stale, rows = [], [], 0
    for each in graph.indexes():
        name = f"{each.index_type} index on {each.column} of {subject(each.type_key)}"
        if each.pending is not None:
            yield Finding("indexes", "ok", f"{name} waits: {each.pending}")
        elif each.name is None and each.rows:
            unbuilt.append(f"{each.type_key.partition(':')[2]}.{each.column}")
            rows = max(rows, each.rows)
        elif 1 - each.coverage > _STALE_SHARE:
            stale.append(f"{each.type_key.partition(':')[2]}.{each.column} ({each.coverage:.0%})")
    if unbuilt:
        names = ", ".join(dict.fromkeys(unbuilt))
        if rows < _FEW_ROWS:
            yield Finding("indexes", "ok", f"not built, and not needed yet for so few rows: {names}", fix)
        else:
            yield Finding("indexes", "warning", f"not built: {names}", fix)
    if stale:
        yield Finding("indexes", "warning", f"cover only a part of their table: {', '.join(stale)}", fix)
    if not unbuilt and not stale:
        yield Finding("indexes", "ok", "every index that can be built covers its table")
