"""Looking at a served graph: requests for descriptions, entities, plans and history, and what answers mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from omnigraph.client import answers
from omnigraph.client.calls import Params, Place, commit_id
from omnigraph.client.failures import failure
from omnigraph.client.history_calls import CommitQuery
from omnigraph.client.request import Answer, Request, members, pairs, segment
from omnigraph.compiler.query.host_values import json_params
from omnigraph.display import DisplayedText, ShownList
from omnigraph.errors import BadRequest, NotFound

if TYPE_CHECKING:
    from omnigraph.engine.api.description import Description
    from omnigraph.engine.changes.blame import Blame
    from omnigraph.engine.changes.entity_history import EntityHistory
    from omnigraph.engine.changes.log import LogEntry
    from omnigraph.engine.maintenance.indexes import IndexReport
    from omnigraph.engine.views.neighbours import Neighbourhood
    from omnigraph.storage.manifest.commits import GraphCommit


# --- descriptions -------------------------------------------------------------------------------------------


def describe(place: Place) -> Request[Description]:
    """A graph at a glance."""
    return Request("GET", "/describe", _description, query=place)


def _description(answer: Answer) -> Description:
    from omnigraph.engine.api.description import DescribedProperty, DescribedType, Description
    from omnigraph.engine.changes.divergence import Divergence

    body = answer.json()
    types = tuple(
        DescribedType(
            kind=each["kind"],
            name=each["type"],
            entities=each["entities"],
            properties=each["properties"],
            key=each["key"],
            indexes=each["indexes"],
            bytes=each["bytes"],
            from_type=each["from"],
            to_type=each["to"],
            declared=tuple(DescribedProperty(**one) for one in each["declared"]),
        )
        for each in body["types"]
    )
    apart = tuple(Divergence(**each) for each in body["divergence"])
    return Description(body["uri"], body["branch"], body["commit"], types, tuple(body["branches"]), apart)


def indexes(branch: str) -> Request[ShownList[IndexReport]]:
    """The indexes of a branch."""
    return Request("GET", "/indexes", _indexes, query=pairs(branch=branch))


def _indexes(answer: Answer) -> ShownList[IndexReport]:
    from omnigraph.engine.maintenance.indexes import IndexReport

    found = answer.json()["indexes"]
    return ShownList(
        IndexReport(**{name: value for name, value in each.items() if name != "coverage"}) for each in found
    )


def moment(
    branch: str, commit: str | GraphCommit | None, version: int | None, time: str | datetime | None
) -> Request[GraphCommit]:
    """The commit that a moment of a branch means."""
    if sum(given is not None for given in (commit, version, time)) != 1:
        raise BadRequest("name one moment: a commit, version=… or time=…")
    wanted = pairs(
        branch=branch,
        commit=None if commit is None else commit_id(commit),
        version=version,
        time=time.isoformat() if isinstance(time, datetime) else time,
    )
    return Request("GET", "/moment", lambda answer: answers.commit(answer.json()), query=wanted)


# --- entities -----------------------------------------------------------------------------------------------


def _entity_path(type_name: str, entity_id: str, *rest: str) -> str:
    if not type_name or not entity_id:
        raise BadRequest("an entity is named by its type and its id; one of them is empty")
    return "/".join(["/entities", segment(type_name), segment(entity_id), *rest])


def entity(type_name: str, entity_id: str, place: Place) -> Request[dict[str, Any] | None]:
    """One entity; None when it is not there."""

    def decode(answer: Answer) -> dict[str, Any] | None:
        if answer.status != 404:
            return dict(answer.json()["entity"])
        error = failure(404, answer.content)
        if type(error) is NotFound and error.message == f"{type_name} '{entity_id}' not found":
            return None
        raise error

    return Request("GET", _entity_path(type_name, entity_id), decode, query=place, answers=(404,))


def neighbours(
    type_name: str,
    entity_id: str,
    place: Place,
    *,
    edge: str | None,
    direction: str | None,
    limit: int,
    after: str | None,
) -> Request[Neighbourhood]:
    """What is next to a node."""
    wanted = (*place, *pairs(edge=edge, direction=direction, limit=limit, after=after))
    return Request("GET", _entity_path(type_name, entity_id, "neighbours"), _neighbourhood, query=wanted)


def _neighbourhood(answer: Answer) -> Neighbourhood:
    from omnigraph.engine.views.neighbours import EdgeGroup, Neighbour, Neighbourhood

    body = answer.json()
    groups = tuple(
        EdgeGroup(
            each["edge"],
            each["direction"],
            each["type"],
            each["count"],
            tuple(Neighbour(one["edge"], one["node"]) for one in each["neighbours"]),
            each["after"],
        )
        for each in body["groups"]
    )
    return Neighbourhood(body["type"], body["id"], body["node"], groups)


def blame(type_name: str, entity_id: str, place: Place) -> Request[Blame]:
    """The commit behind each value of an entity."""
    return Request("GET", _entity_path(type_name, entity_id, "blame"), _blame, query=place)


def _blame(answer: Answer) -> Blame:
    from omnigraph.engine.changes.blame import Blame, BlamedProperty

    body = answer.json()
    values = (BlamedProperty(one["name"], one["value"], answers.commit(one["commit"])) for one in body["properties"])
    return Blame(body["type"], body["id"], answers.commit(body["created"]), tuple(values))


def history(type_name: str, entity_id: str, place: Place, limit: int, after: str | None) -> Request[EntityHistory]:
    """What happened to an entity."""
    wanted = (*place, *pairs(limit=limit, after=after))
    return Request("GET", _entity_path(type_name, entity_id, "history"), _history, query=wanted)


def _history(answer: Answer) -> EntityHistory:
    from omnigraph.engine.changes.diff import PropertyChange
    from omnigraph.engine.changes.entity_history import EntityEvent, EntityHistory

    body = answer.json()
    events = (
        EntityEvent(answers.commit(one["commit"]), one["op"], tuple(PropertyChange(**each) for each in one["changed"]))
        for one in body["events"]
    )
    return EntityHistory(body["type"], body["id"], tuple(events), body["after"], body["complete"])


# --- plans --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class RemoteExplanation(DisplayedText):
    """The plan of a read as a server returns it."""

    text: str
    document: Mapping[str, Any]

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """The same as data."""
        return dict(self.document)


def explain(
    source: str, name: str | None, params: Params, place: Place, *, analyze: bool
) -> Request[RemoteExplanation]:
    """The plan of a read; with `analyze`, of one that was run."""
    body = members(query=source, name=name, params=json_params(params), analyze=analyze or None, **dict(place))
    return Request("POST", "/explain", _explanation, json=body)


def _explanation(answer: Answer) -> RemoteExplanation:
    body = answer.json()
    return RemoteExplanation(
        body["text"], {name: body[name] for name in ("operators", "reads", "search") if name in body}
    )


@dataclass(frozen=True, slots=True, repr=False)
class RemotePlan(DisplayedText):
    """The steps of a schema change as a server returns them; each is a JSON object with its `kind`."""

    supported: bool
    steps: tuple[Mapping[str, Any], ...]
    text: str

    def to_json(self) -> dict[str, Any]:
        """`{supported, steps}`."""
        return {"supported": self.supported, "steps": [dict(step) for step in self.steps]}

    def __str__(self) -> str:
        return self.text


def plan_schema(text: str, branch: str, allow_data_loss: bool) -> Request[RemotePlan]:
    """What a schema change would do."""
    body = members(schema_source=text, allow_data_loss=allow_data_loss or None, branch=branch)
    return Request("POST", "/schema/plan", _plan, json=body)


def _plan(answer: Answer) -> RemotePlan:
    body = answer.json()
    return RemotePlan(body["supported"], tuple(body["steps"]), body["text"])


# --- history -----------------------------------------------------------------------------------------------


def log(wanted: CommitQuery, branch: str | None, *, every_branch: bool) -> Request[ShownList[LogEntry]]:
    """The history as a graph."""
    asked = {**wanted.members(), "branch": branch, "every_branch": "true" if every_branch else None}
    return Request("GET", "/log", _log, query=pairs(**asked))


def _log(answer: Answer) -> ShownList[LogEntry]:
    from omnigraph.engine.changes.log import LogEntry

    return ShownList(
        LogEntry(
            answers.commit(each),
            tuple(each["parents"]),
            tuple(each["branches"]),
            tuple(each["tags"]),
            each["unknown_parent"],
        )
        for each in answer.json()["commits"]
    )
