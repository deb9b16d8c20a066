"""What differs between two points of a served graph: the pages of the answer, and the value that they make together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.client.history_calls import Filter
from omnigraph.client.request import Answer, Request, pairs
from omnigraph.engine.changes.diff import CHANGES, Difference, EntityChange, PropertyChange, ValueChange

_PAGE = 8_192


@dataclass(frozen=True, slots=True, repr=False)
class _ServedChange(ValueChange):
    """A change whose differing values come from the server."""

    told: tuple[PropertyChange, ...] = ()

    def pairs(self) -> Iterator[tuple[str, Any, Any]]:
        yield from self.told


@dataclass(frozen=True, repr=False)
class RemoteDifference(Difference):
    """A difference as a server returns it; the steps between the schemas are JSON objects."""

    values: tuple[ValueChange, ...] = field(default=(), repr=False)
    facts: tuple[tuple[dict[str, Any], str], ...] = ()

    def with_values(self) -> Iterator[ValueChange]:
        return iter(self.values)

    def page(self, start: int, count: int) -> Iterator[ValueChange]:
        return iter(self.values[start : start + count])

    @property
    def schema_facts(self) -> list[tuple[dict[str, Any], str]]:
        return list(self.facts)


@dataclass
class DiffPages:
    """The pages of one comparison: ask for each until `next` is None, then take the whole."""

    before: str
    after: str | None
    branch: str
    wanted: Filter
    heads: list[Mapping[str, Any]] = field(default_factory=list)
    next: str | None = None
    begun: bool = False

    def request(self) -> Request[None]:
        """The next page."""
        asked = pairs(
            to=self.after,
            branch=self.branch,
            page_token=self.next,
            limit=_PAGE,
            **{"from": self.before},
            **self.wanted.members(),
        )
        return Request("GET", "/diff", self._take, query=asked)

    @property
    def complete(self) -> bool:
        return self.begun and self.next is None

    def _take(self, answer: Answer) -> None:
        body = answer.json()
        self.heads.append(body)
        self.begun, self.next = True, body.get("next_page_token")

    def whole(self) -> RemoteDifference:
        """All pages together."""
        first = self.heads[0]
        values = tuple(_value_change(each) for page in self.heads for each in page["changes"])
        rows = [_row(each.change) for each in values]
        return RemoteDifference(
            first["from_graph_manifest_version"],
            first["to_graph_manifest_version"],
            first["graph_branch"],
            pa.Table.from_pylist(rows, schema=CHANGES),
            (),
            lambda: iter(()),
            values,
            tuple((each["step"], each["text"]) for each in first["schema_changes"]),
        )


def _value_change(body: Mapping[str, Any]) -> ValueChange:
    names = ("kind", "type_name", "id", "op", "published_dataset_version")
    change = EntityChange(**{name: body[name] for name in names}, endpoints=body.get("endpoints"))
    told = tuple(PropertyChange(each["name"], each["before"], each["after"]) for each in body["changed"])
    return _ServedChange(change, body["before"], body["after"], None, told)


def _row(change: EntityChange) -> dict[str, Any]:
    ends = change.endpoints or {}
    plain = {name: value for name, value in change.document().items() if name != "endpoints"}
    return {**plain, "src": ends.get("src"), "dst": ends.get("dst")}
