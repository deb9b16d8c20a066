"""One request on its way through the server: who sent it, what it names, and the gates it passes in order."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel
from starlette.requests import Request

from omnigraph.engine.views.targets import branch_named
from omnigraph.errors import BadRequest, OmnigraphError
from omnigraph.memory.working import Reservation, reserving
from omnigraph.policy.actions import Action, kind_of
from omnigraph.policy.authorize import authorize
from omnigraph.policy.engine import PolicyDecision, PolicyRequest
from omnigraph.policy.tokens import ResolvedActor
from omnigraph.policy.visibility import NOTHING, Visibility
from omnigraph.server.http import bodies
from omnigraph.server.http.preferences import preferences
from omnigraph.server.http.refusal import alone, bad_request, refuse, withheld
from omnigraph.server.process.deployment import Deployment, ServedGraph, claimed

if TYPE_CHECKING:
    from omnigraph.server.app import Server

MAIN = "main"
PRECONDITION = "Omnigraph-If-Graph-Commit"
RESERVATION = "omnigraph.reservation"
_TAG = re.compile(r'"[0-9A-Za-z]+"')

_T = TypeVar("_T")
_Model = TypeVar("_Model", bound=BaseModel)


class Exchange:
    """The request, the deployment it is answered from, and what has been found out about it so far."""

    def __init__(self, server: Server, request: Request, params: Mapping[str, str], request_id: str) -> None:
        self.server = server
        self.deployment: Deployment = server.deployment  # one request sees one deployment, whatever is reloaded
        self.request = request
        self.params = params
        self.request_id = request_id
        self.sender: ResolvedActor | None = None
        self._graph: ServedGraph | None = None
        self._body_pending = request.method in ("POST", "PUT")

    @property
    def actor(self) -> str | None:
        """Whose token came with the request; None on a server that asks for none."""
        return None if self.sender is None else self.sender.actor_id

    @property
    def reader(self) -> str:
        """Whose turn its reads take: the actor's, or that of the address on a server without actors."""
        client = self.request.client
        return self.actor if self.actor is not None else "" if client is None else client.host

    @cached_property
    def reservation(self) -> Reservation:
        """The memory that this request holds until it is answered."""
        found = self.request.scope[RESERVATION] = Reservation(self.server.memory.of(self.reader))
        return found

    # --- what it names -----------------------------------------------------------------------

    @property
    def graph(self) -> ServedGraph:
        """The graph of the path."""
        assert self._graph is not None, "this route has no graph"
        return self._graph

    @graph.setter
    def graph(self, graph: ServedGraph) -> None:
        self._graph = graph

    @property
    def writable(self) -> ServedGraph:
        """The graph of the path for a write that is tried for as long and as often as the sender prefers, at most."""
        preferred = preferences(self.request)
        return self.graph.with_patience(preferred.seconds, preferred.attempts)

    @cached_property
    def query(self) -> tuple[tuple[str, str], ...]:
        """The query string, decoded strictly."""
        text = self.request.scope["query_string"].decode("latin-1")
        try:
            return tuple(parse_qsl(text, keep_blank_values=True, encoding="utf-8", errors="strict", max_num_fields=256))
        except (UnicodeDecodeError, ValueError):
            raise bad_request("the query string is not valid UTF-8, or has too many fields") from None

    def value(self, name: str) -> str | None:
        """A query parameter that may be given once."""
        found = [value for key, value in self.query if key == name]
        if len(found) > 1:
            raise bad_request(f"'{name}' is given more than once")
        return found[0] if found else None

    def flag(self, name: str) -> bool:
        """A query parameter that is true or false."""
        text = self.value(name)
        if text in (None, "true", "false"):
            return text == "true"
        raise bad_request(f"{name} must be true or false, not '{text}'")

    def values(self, name: str) -> list[str]:
        """A query parameter that may be given several times."""
        return [value for key, value in self.query if key == name]

    def only(self, known: Collection[str]) -> None:
        """400 when the query string has any other key."""
        for key, _ in self.query:
            if key not in known:
                raise bad_request(bodies.unknown("query parameter", key, known))

    # --- bodies ------------------------------------------------------------------------------

    async def json(self, model: type[_Model], *, limit: int = bodies.SMALL) -> _Model:
        """The body, decoded and checked."""
        found = await bodies.json_body(self.request, model, limit=limit, seconds=self.server.settings.body_seconds)
        self._body_pending = False
        return found

    async def optional_json(self, model: type[_Model]) -> _Model:
        """A body that may be missing."""
        found = await bodies.optional_json_body(self.request, model, seconds=self.server.settings.body_seconds)
        self._body_pending = False
        return found

    # --- gates -------------------------------------------------------------------------------

    def decide(self, action: Action, *, branch: str | None = None, target: str | None = None) -> PolicyDecision:
        """What the policy of the scope says about the sender doing this."""
        server_action = kind_of(action) == "server"
        engine = claimed(self.deployment.server_policy, self.sender) if server_action else self.graph.policy
        request = PolicyRequest(action, branch, target)
        return authorize(self.deployment.state, self.actor, engine, request)

    async def permits(self, action: Action, branch: str | None) -> PolicyDecision:
        """What the policy says about the sender reading or exporting.

        Once it is allowed, this request has no way to a view that shows more than the rules that let it in.
        """
        decision, engine = self.decide(action, branch=branch), self.graph.policy
        if decision.allowed and engine is not None and self.actor is not None and engine.restricts:
            about_none = engine.visibility(self.actor, PolicyRequest(action)) if branch is None else None
            shown = about_none if branch is None else await self._visible(action, branch)
            self.graph = self.graph.with_visibility(shown)
        return decision

    async def visibility(self, branch: str) -> Visibility | None:
        """What the sender sees of a branch; None is everything."""
        policy = self.graph.policy
        if policy is None or self.actor is None:
            return None
        if not policy.restricts:  # all or nothing, whatever the branch was forked from
            return None if policy.decide(self.actor, PolicyRequest(Action.READ, branch)).allowed else NOTHING
        try:
            return await self._visible(Action.READ, branch)
        except BadRequest:  # not the name of a branch, which is for the request that uses it to say
            return policy.visibility_along(self.actor, Action.READ, (branch, MAIN))

    async def _visible(self, action: Action, branch: str) -> Visibility | None:
        acting = self.graph.acting(self.actor)
        return await self.read(lambda _: acting.visibility_of(branch, action))

    async def allow(self, action: Action, *, branch: str | None = None, target: str | None = None) -> None:
        """403 unless the policy allows it."""
        if action in (Action.READ, Action.EXPORT):
            decision = await self.permits(action, branch)
        else:
            decision = self.decide(action, branch=branch, target=target)
        if not decision.allowed:
            raise refuse(403, decision.message)

    async def allow_whole(self, *branches: str) -> None:
        """403 unless the sender may read everything of these branches: what follows shows values of any type."""
        for branch in branches:
            await self.allow(Action.READ, branch=branch)
            if self.graph.handle.visibility is not None:
                raise refuse(403, f"this needs the right to read every type and property of branch '{branch}'")

    def require_writes(self) -> None:
        """403 on a server that only reads."""
        if self.graph.handle.read_only:
            raise refuse(403, "this server only reads; send writes to one that was started without --read-only")

    def admit(self, estimate: int) -> AbstractContextManager[None]:
        """A place among the sender's writes for the block, or 429."""
        return self.server.admission.admit(self.actor, estimate)

    def listen(self) -> AbstractContextManager[None]:
        """A place among the sender's endless streams for the block, or 429."""
        return self.server.admission.listen(self.actor)

    # --- engine calls ------------------------------------------------------------------------

    async def read(self, call: Callable[[threading.Event], _T], seconds: float | None = None) -> _T:
        """Run a read in a thread; it waits for a turn for so long at most, and stops when the client disconnects."""
        receive = None if self._body_pending else self.request.receive
        with reserving(self.reservation):
            return await self.server.pools.read(call, receive, self.reader, seconds)

    async def write(self, call: Callable[[], _T], *branches: str) -> _T:
        """Run a write in a thread, to its end.

        A sender who may not read one of the branches does not learn which of their rows it contradicts.
        """
        self.require_writes()
        try:
            return await self.server.pools.write(call)
        except OmnigraphError as error:
            if not any([await self.visibility(branch) == NOTHING for branch in branches]):
                raise
            raise withheld(error) or alone(error) from None


def named_branch(given: str | None, what: str = "branch") -> str:
    """The branch a request names, trimmed before any decision about it; `main` when it names none."""
    if given is None:
        return MAIN
    name = given.strip()
    if not name:
        raise bad_request(f"'{what}' is empty")
    return branch_named(name, None) or MAIN


def precondition(exchange: Exchange) -> str:
    """The commit a conditional write expects; the header is a raw id, not an entity tag."""
    given = exchange.request.headers.getlist(PRECONDITION)
    if len(given) != 1:
        raise bad_request(f"{PRECONDITION} must be sent exactly once")
    value = given[0].strip()
    if not value.isascii() or not value or value == "*" or "," in value:
        raise bad_request(f"{PRECONDITION} must be one graph commit id")
    if value.startswith(("W/", '"')) or value.endswith('"'):
        raise bad_request(f"{PRECONDITION} is a graph commit id, not an entity tag")
    return value


def matching(exchange: Exchange, if_commit: str | None = None) -> str | None:
    """The commit that must be the head of the branch: `if_commit` of the request, or If-Match, or both if they agree.

    If-Match is one strong entity tag, the id in quotes.
    """
    given = exchange.request.headers.getlist("if-match")
    if not given:
        return if_commit
    value = given[0].strip()
    if len(given) > 1 or not _TAG.fullmatch(value):
        raise bad_request('If-Match must be one graph commit id in quotes, as in If-Match: "01J…"')
    return agreed(value.strip('"'), if_commit, "If-Match")


def agreed(header: str, if_commit: str | None, name: str) -> str:
    """The condition of a header and of the request itself; two different ones are refused."""
    if if_commit is not None and if_commit != header:
        raise bad_request(f"{name} and 'if_commit' name different commits; send one of them")
    return header
