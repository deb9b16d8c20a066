"""`diff`, `blame` and `history`: what differs between two states, who set what, and what happened to an entity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from omnigraph.cli.address.target import read_target
from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.commits import moment
from omnigraph.cli.terminal.rows import cell_text
from omnigraph.errors import NotFound

if TYPE_CHECKING:
    from omnigraph.engine.changes.diff import Difference, ValueChange
    from omnigraph.engine.changes.entity_history import EntityEvent

_LONGEST_VALUE = 48
_LONGEST_LINE = 120
_SIGNS = {"insert": "+", "update": "~", "delete": "-"}


def diff(call: Call) -> None:
    """What one state has and the other has not, or has otherwise."""
    with read_target(call).reader() as graph:
        found = graph.diff(
            call.required("FROM"),
            call.argument("TO") or "main",
            kinds=call.many("--kind") or None,
            types=call.many("--type") or None,
            ops=call.many("--op") or None,
        )
        steps = found.schema_facts
        if not call.json:
            output.write("".join(f"schema: {text}\n" for _, text in steps))
        if not call.json and not call.given("--stat"):
            for each in found.with_values():
                output.write("".join(f"{text}\n" for text in _change_lines(each)))
    stats = {
        "inserts": found.stats.inserts,
        "updates": found.stats.updates,
        "deletes": found.stats.deletes,
        "types_affected": found.stats.types_affected,
    }
    if call.json:
        output.document(
            {
                "from_graph_manifest_version": found.from_graph_manifest_version,
                "to_graph_manifest_version": found.to_graph_manifest_version,
                "graph_branch": found.graph_branch,
                **({"schema_changes": [step for step, _ in steps]} if steps else {}),
                **({} if call.given("--stat") else {"changes": [change.document() for change in found]}),
                "stats": stats,
            }
        )
        return
    lines = _stat_lines(found) if call.given("--stat") else []
    counts = f"{stats['inserts']} inserted, {stats['updates']} updated, {stats['deletes']} deleted"
    output.write("".join(f"{text}\n" for text in [*lines, counts]))


def blame(call: Call) -> None:
    """The commit and actor behind every property of an entity."""
    name = call.argument("PROPERTY")
    with read_target(call).reader() as graph:
        found = graph.commits.blame(
            call.required("TYPE"), call.required("ID"), branch=call.value("--branch"), at=call.text("--at")
        )
    items = [item for item in found.properties if name in (None, item.name)]
    if not items:
        raise NotFound(f"{found.type_name} has no property '{name}'")
    if call.json:
        output.document(replace(found, properties=tuple(items)).document())
        return
    width = max(len(item.name) for item in items)
    actors = [item.commit.actor_id or "-" for item in items]
    widest = max(map(len, actors))
    for item, who in zip(items, actors, strict=True):
        begin = f"{item.commit.graph_commit_id}  {moment(item.commit)}  {who:<{widest}}"
        output.line(f"{begin}  {item.name:<{width}}  {_cell(item.value)}")


def history(call: Call) -> None:
    """The commits that changed an entity, and below each the values it changed."""
    with read_target(call).reader() as graph:
        found = graph.commits.history(
            call.required("TYPE"),
            call.required("ID"),
            branch=call.value("--branch"),
            at=call.text("--at"),
            limit=int(call.value("--limit")),
            after=call.text("--after"),
        )
    if call.json:
        output.document(found.document())
        return
    for event in found.events:
        output.write("".join(f"{text}\n" for text in _event_lines(event)))
    if found.after is not None:
        output.note(f"there are older changes: --after {found.after}")
    elif not found.complete:
        output.note("older changes were removed by cleanup")


def _event_lines(event: EntityEvent) -> Iterator[str]:
    from omnigraph.engine.values.message import one_line, shown

    commit = event.commit
    message = f"  {one_line(commit.message)}" if commit.message is not None else ""
    sign, who = _SIGNS.get(event.op or "", "?"), shown(commit.actor_id or "-")
    yield f"{sign} {commit.graph_commit_id}  {moment(commit)}  {who}  {commit.kind or '-'}{message}"
    for name, old, new in event.changed:
        value = {"insert": _shown(new), "delete": _shown(old)}.get(event.op or "", f"{_shown(old)} -> {_shown(new)}")
        yield f"    {name}: {value}"


def _change_lines(found: ValueChange) -> Iterator[str]:
    """What happened to an entity; what an update changed goes below, what an entity has or had beside its name."""
    change = found.change
    ends = "" if change.endpoints is None else f"  {change.endpoints['src']} -> {change.endpoints['dst']}"
    head = f"{_SIGNS[change.op]} {change.kind} {change.type_name} {change.id}{ends}"
    if found.before is not None and found.after is not None:
        yield head
        for name, old, new in found.pairs():
            if old != new:
                yield f"    {name}: {_shown(old)} -> {_shown(new)}"
        return
    known = {change.id, *(change.endpoints or {}).values()}
    values = (found.after if found.before is None else found.before) or {}
    telling = {name: value for name, value in values.items() if value is not None and str(value) not in known}
    rest = ", ".join(f"{name}: {_shown(value)}" for name, value in telling.items())
    yield f"{head}  {_shortened(rest, _LONGEST_LINE)}" if rest else head


def _stat_lines(found: Difference) -> list[str]:
    table = found.to_arrow()
    counts = Counter(zip(table["type_name"].to_pylist(), table["op"].to_pylist(), strict=True))
    return [
        f"{name}: " + ", ".join(f"{_SIGNS[op]}{counts[name, op]}" for op in _SIGNS if counts[name, op])
        for name in found.stats.types_affected
    ]


def _shown(value: Any) -> str:
    return _shortened("<null>" if value is None else cell_text(value), _LONGEST_VALUE)


def _cell(value: Any) -> str:
    return _shortened(cell_text(value), 80)


def _shortened(text: str, longest: int) -> str:
    line = text.replace("\n", "\\n")
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
