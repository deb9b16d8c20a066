"""Quality gates of a pipeline: numbers about a loaded branch that must be within bounds before it is merged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.values.arrow import TableType, property_names, row_schema, shown
from omnigraph.engine.values.durations import parse_duration
from omnigraph.engine.views.entity import type_named
from omnigraph.engine.views.view import View
from omnigraph.errors import BadRequest, NotFound

Kind = Literal["rows", "nulls", "rejected", "freshness"]

_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60))
_MEMBERS = ("freshness", "nulls", "rejected", "rows")


@dataclass(frozen=True, slots=True)
class Gate:
    """One number and its bounds; `subject` is a type, or a property as Type.name. Shares are between 0 and 1."""

    kind: Kind
    subject: str
    low: float | None = None
    high: float | None = None

    @property
    def name(self) -> str:
        return f"{self.kind} {self.subject}".strip()

    def passes(self, value: float) -> bool:
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def told(self, value: float) -> str:
        """What is wrong with a value that does not pass."""
        low = self.low is not None and value < self.low
        bound = f"at least {self._shown(self.low)}" if low else f"at most {self._shown(self.high)}"
        return f"{self.name} is {self._shown(value)}, {bound} is wanted"

    def _shown(self, value: float | None) -> str:
        """A number as it is declared: shares in per cent, ages with their unit."""
        if value is None:
            return "nothing"
        if self.kind == "freshness":
            return "unknown (no row has a value)" if value == float("inf") else _duration(value)
        return f"{value:.6g}" if self.kind == "rows" else f"{100 * value:.3g}%"


def parse_gates(section: Any) -> tuple[Gate, ...]:
    """The gates of a declaration, by kind and subject.

    >>> [gate.name for gate in parse_gates({"rows": {"Person": {"min": 10}}, "rejected": "1%"})]
    ['rejected', 'rows Person']
    """
    if section is None:
        return ()
    if not isinstance(section, Mapping):
        raise BadRequest("a table of gates is expected")
    unknown = sorted(set(map(str, section)) - set(_MEMBERS))
    if unknown:
        raise BadRequest(f"unknown gate '{unknown[0]}' (known: {', '.join(_MEMBERS)})")
    found: list[Gate] = []
    if "freshness" in section:
        found += [
            Gate("freshness", name, high=parse_seconds(most)) for name, most in _table("freshness", section).items()
        ]
    if "nulls" in section:
        found += [Gate("nulls", name, high=parse_share(most)) for name, most in _table("nulls", section).items()]
    if "rejected" in section:
        found.append(Gate("rejected", "", high=parse_share(section["rejected"])))
    for name, bounds in _table("rows", section).items() if "rows" in section else ():
        known = isinstance(bounds, Mapping) and set(bounds) <= {"min", "max"}
        if not known or not all(map(_is_count, bounds.values())):
            raise BadRequest(f"rows.{name}: min and max, whole numbers, are expected")
        if {"min", "max"} <= set(bounds) and bounds["min"] > bounds["max"]:
            raise BadRequest(f"rows.{name}: min {bounds['min']} is greater than max {bounds['max']}: no load can pass")
        found.append(Gate("rows", name, bounds.get("min"), bounds.get("max")))
    for gate in found:
        if gate.kind in ("nulls", "freshness") and gate.subject.count(".") != 1:
            raise BadRequest(f"{gate.kind}.{gate.subject}: a property is written Type.name")
    return tuple(found)


def parse_seconds(value: Any) -> float:
    """A duration: seconds as a number, or a text such as 90s, 15m, 48h or 7d."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
        return float(value)
    return parse_duration(value if isinstance(value, str) else repr(value)).total_seconds()


def parse_share(value: Any) -> float:
    """A share: a text such as 5%, or a number between 0 and 1."""
    found = _SHARE.fullmatch(value.strip()) if isinstance(value, str) else None
    share = float(found.group(1)) / 100 if found is not None else value
    if not isinstance(share, (int, float)) or isinstance(share, bool) or not 0 <= share <= 1:
        raise BadRequest(f"'{value}' is not a share: write 5%, or a number between 0 and 1")
    return float(share)


def measured(gate: Gate, view: View, loaded: int, refused: int, now: datetime) -> float:
    """The number that a gate looks at, on the branch as it is after the load."""
    require_gate(gate, view)
    if gate.kind == "rejected":
        return refused / (loaded + refused) if loaded + refused else 0.0
    if gate.kind == "rows":
        entry = view.find(type_named(view, gate.subject))
        return float(entry.row_count if entry is not None else 0)
    info, name = _property(gate, view)
    return _nulls(view, info, name) if gate.kind == "nulls" else _age(view, info, name, now)


def require_gate(gate: Gate, view: View) -> None:
    """Refuse a gate that looks at what the schema does not have, before there is anything to measure."""
    try:
        if gate.kind == "rows":
            type_named(view, gate.subject)
        elif gate.kind != "rejected":
            _property(gate, view)
    except NotFound as error:
        raise BadRequest(f"gates.{gate.name}: {error.message}") from error


def _property(gate: Gate, view: View) -> tuple[TableType, str]:
    type_name, _, name = gate.subject.partition(".")
    info = type_named(view, type_name)
    if name not in property_names(info):
        known = ", ".join(property_names(info)) or "none"
        raise BadRequest(f"gates.{gate.name}: '{type_name}' has no property '{name}' (it has {known})")
    kind = row_schema(info).field(name).type
    if gate.kind == "freshness" and not pa.types.is_timestamp(kind) and not pa.types.is_date(kind):
        raise BadRequest(f"gates.{gate.name}: '{gate.subject}' is neither a Date nor a DateTime")
    return info, name


def _nulls(view: View, info: TableType, name: str) -> float:
    rows = nulls = 0
    for values in _columns(view, info, name):
        rows, nulls = rows + len(values), nulls + values.null_count
    return nulls / rows if rows else 0.0


def _age(view: View, info: TableType, name: str, now: datetime) -> float:
    """Seconds since the newest value; a type without one is older than anything."""
    newest: datetime | None = None
    for values in _columns(view, info, name):
        kind = values.type
        found = pc.max(values.cast(pa.timestamp("ms", "UTC")) if pa.types.is_timestamp(kind) else values).as_py()
        if found is not None:
            moment = found if isinstance(found, datetime) else datetime.combine(found, time(), UTC)
            newest = moment if newest is None else max(newest, moment)
    return float("inf") if newest is None else max(0.0, (now - newest).total_seconds())


def _columns(view: View, info: TableType, name: str) -> Iterator[pa.Array]:
    entry, stored = view.find(info), view.columns(info)[name]
    if entry is None or not entry.row_count or stored is None:
        return
    for batch in view.table(info).batches([stored]):
        yield shown(batch.column(0))


def _table(name: str, section: Mapping[str, Any]) -> Mapping[str, Any]:
    value = section[name]
    if not isinstance(value, Mapping):
        raise BadRequest(f"{name}: a table by type or property is expected")
    return value


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _duration(seconds: float) -> str:
    """A time in the largest unit of which it is at least two.

    >>> _duration(172_800), _duration(728_927), _duration(90)
    ('2d', '8.4d', '90s')
    """
    unit, size = next(((unit, size) for unit, size in _UNITS if seconds >= 2 * size), ("s", 1))
    return f"{round(seconds / size, 1):g}{unit}"
