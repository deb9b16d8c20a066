"""Two graphs that differ only in what the rules hide from an actor: no request of theirs may tell the two apart.

Rules and requests are drawn at random. Every graph of a pair has the same commits, branches and visible values, so the
answers must be equal to the letter but for ids, times and versions, which are replaced before they are compared.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.policy.actions import Action
from omnigraph.policy.bundle import parse_bundle
from omnigraph.policy.engine import PolicyEngine, PolicyRequest
from omnigraph.policy.visibility import Visibility
from server_process import WORK, ServerProcess, serving
from tests.thoroughness import examples

SCHEMA = """
node Person { name: String @key  salary: I32? @index  bio: String? @index  email: String? @unique }
node Secret { code: String @key  about: String? @index }
node Place { name: String @key  size: I32? }
edge Knows: Person -> Person { since: I32? }
edge Holds: Person -> Secret { note: String? }
edge LivesIn: Person -> Place @card(0..1)
"""
TYPES = {
    "Person": ("salary", "bio", "email"),
    "Secret": ("about",),
    "Place": ("size",),
    "Knows": ("since",),
    "Holds": ("note",),
}
ENDS = {"Knows": ("Person", "Person"), "Holds": ("Person", "Secret"), "LivesIn": ("Person", "Place")}
KEYS = {"Person": "name", "Secret": "code", "Place": "name"}
NODES = [
    ("Person", "ada", {"salary": 10, "bio": "likes foxes", "email": "ada@x"}),
    ("Person", "bob", {"salary": 20, "bio": "likes bears", "email": "bob@x"}),
    ("Person", "cyn", {"salary": None, "bio": None, "email": None}),
    ("Secret", "zebra", {"about": "foxes"}),
    ("Secret", "yak", {"about": None}),
    ("Place", "Ulm", {"size": 5}),
]
EDGES = [
    ("Knows", "ada", "bob", {"since": 1}),
    ("Knows", "bob", "cyn", {"since": None}),
    ("Holds", "ada", "zebra", {"note": "mine"}),
    ("Holds", "bob", "yak", {"note": None}),
    ("LivesIn", "ada", "Ulm", {}),
]
ACTOR, TOKEN = "ana", "token-of-ana-0123456789abcdef"
PAIRS = 6
STORED = {
    "people": "query people() { match { $p: Person } return { $p.name, $p.salary } order { $p.name asc } }",
    "secrets": "query secrets() { match { $s: Secret } return { count($s) as n } }",
    "raise_all": "query raise_all() { update Person set { salary: 1 } where salary > 15 }",
}


@dataclass(frozen=True)
class Pair:
    """The numbers of two graphs and the rules they share."""

    number: int
    rules: str
    hidden: Visibility


def policy(draw: random.Random) -> str:
    """A bundle for one actor: what is read on main and on other branches, and what else it may do."""
    lines = []
    for scope in ("protected", "unprotected"):
        if draw.random() < 0.25:
            continue
        allow = f"actors: {{group: g}}, actions: [read, export], branch_scope: {scope}"
        types = [name for name in (*TYPES, "LivesIn") if draw.random() < 0.6]
        if draw.random() < 0.6 and types:
            allow += f", types: [{', '.join(types)}]"
        masks = {name: [each for each in properties if draw.random() < 0.5] for name, properties in TYPES.items()}
        masks = {name: some for name, some in masks.items() if some and (name in types or "types" not in allow)}
        if masks:
            allow += ", mask: {" + ", ".join(f"{name}: [{', '.join(some)}]" for name, some in masks.items()) + "}"
        lines.append(f"  - {{id: read-{scope}, allow: {{{allow}}}}}")
    others = [
        each
        for each in ("change", "branch_create", "branch_merge", "branch_delete", "schema_apply", "invoke_query")
        if draw.random() < 0.7
    ]
    if others:
        lines.append(f"  - {{id: others, allow: {{actors: {{group: g}}, actions: [{', '.join(others)}]}}}}")
    return "\n".join([f"version: 1\ngroups: {{g: [{ACTOR}], r: [root]}}\nprotected_branches: [main]\nrules:",
                      *lines, "  - {id: all, allow: {actors: {group: r}, actions: [read]}}\n"])  # fmt: skip


def varied(seen: Visibility, second: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The records of one graph of a pair: in the second one everything that is hidden is different."""

    def name(kind: str, key: str) -> str:
        return f"{key}x" if second and not seen.shows(kind) else key

    def values(kind: str, data: dict[str, Any]) -> dict[str, Any]:
        masked = seen.masks().get(kind, frozenset()) if seen.shows(kind) else frozenset(data)
        return {each: (_other(each, value) if second and each in masked else value) for each, value in data.items()}

    nodes = [{"type": kind, "data": {KEYS[kind]: name(kind, key), **values(kind, data)}} for kind, key, data in NODES]
    edges = []
    for kind, tail, head, data in EDGES:
        shown = all(seen.shows(each) for each in (kind, *ENDS[kind]))
        if second and not shown and kind == "Holds":
            continue
        record = {"edge": kind, "from": name(ENDS[kind][0], tail), "to": name(ENDS[kind][1], head)}
        edges.append({**record, "data": values(kind, data)})
    if second and not seen.shows("Secret"):
        nodes += [{"type": "Secret", "data": {"code": f"more{number}", "about": "foxes"}} for number in range(3)]
    return nodes, edges


def _other(name: str, value: Any) -> Any:
    if name == "email":
        return None if value is not None else "new@y"
    if name in ("salary", "size", "since"):
        return 99 if value is None else None if value == 20 else value + 7
    return "likes bears and foxes" if value is None else None if value == "likes bears" else "wolves"


def anywhere(engine: PolicyEngine) -> Visibility | None:
    """What the actor sees on one branch or another."""
    lineages = [
        each
        for each in (["main"], ["draft", "main"])
        if engine.decide(ACTOR, PolicyRequest(Action.READ, each[0])).allowed
    ]
    shown = [engine.visibility_along(ACTOR, Action.READ, each) for each in lineages]
    types, masked = set(), {}
    for kind in (*TYPES, "LivesIn"):
        showing = [each for each in shown if each is None or each.shows(kind)]
        if showing:
            types.add(kind)
            masked[kind] = frozenset.intersection(
                *(frozenset() if each is None else each.masks().get(kind, frozenset()) for each in showing)
            )
    if len(types) == len(TYPES) + 1 and not any(masked.values()):
        return None
    return Visibility(frozenset(types), frozenset((kind, some) for kind, some in masked.items() if some))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[Pair]:
    draw, found = random.Random(20261116), []
    folder = tmp_path_factory.mktemp("pairs")
    while len(found) < PAIRS:
        rules = policy(draw)
        engine = PolicyEngine(parse_bundle(rules, "rules"), "g")
        seen = anywhere(engine)
        if seen is None:
            continue  # everything is visible, so nothing can differ
        number = len(found)
        for second in (False, True):
            nodes, edges = varied(seen, second)
            with og.init(folder / f"{'ab'[second]}{number}.omni", SCHEMA) as graph:
                graph.load(nodes)
                graph.load(edges)
                graph.branches.create("draft")
                graph.optimize()
        found.append(Pair(number, rules, seen))
    found_folder.append(folder)
    return found


found_folder: list[Path] = []


@pytest.fixture(scope="module")
def server(pairs: list[Pair]) -> Iterator[ServerProcess]:
    graphs = {
        f"{side}{pair.number}": {
            "uri": str(found_folder[-1] / f"{side}{pair.number}.omni"), "policy": pair.rules, "queries": STORED
        }
        for pair in pairs
        for side in "ab"
    }  # fmt: skip
    with serving(
        {"graphs": graphs, "tokens": {ACTOR: TOKEN, "root": "token-of-root-0123456789abcd"}}, {WORK: "1"}
    ) as found:
        yield found


# --- requests -----------------------------------------------------------------------------------

KIND = st.sampled_from(["Person", "Secret", "Place"])
BRANCH = st.sampled_from(["main", "main", "draft", "nowhere", "mine"])


@st.composite
def reads(draw: st.DrawFn) -> str:
    kind = draw(KIND)
    prop = draw(st.sampled_from([*TYPES[kind], KEYS[kind], "nothing"]))
    where = draw(st.sampled_from([
        "", f"$v.{prop} is null", f"$v.{prop} is not null", f"$v.{prop} > 9", f'$v.{prop} = "foxes"', f'search($v.{prop}, "foxes")',
        "$v holds $s", "not { $v holds $_ }", "$v knows $w", "$v livesIn $w", "exists { $v holds $_ }",
    ]))  # fmt: skip
    out = draw(st.sampled_from([
        f"$v.{prop} as x", "count(*) as n", f"max($v.{prop}) as x", f"count(distinct $v.{prop}) as n", "$v", f"coalesce($v.{prop}, null) as x",
    ]))  # fmt: skip
    order = draw(st.sampled_from(["", f"order {{ $v.{prop} asc }}", f"order {{ $v.{KEYS[kind]} desc }} limit 1"]))
    return f"query q() {{ match {{ $v: {kind}  {where} }} return {{ {out} }} {order} }}"


def new_key(draw: st.DrawFn) -> str:
    """A key that neither graph has: that a write is refused because of a taken one cannot be hidden."""
    return f"new{draw(st.integers(0, 10**9))}"


@st.composite
def writes(draw: st.DrawFn) -> tuple[str, str, Any]:
    kind, branch = draw(KIND), draw(BRANCH)
    key, prop = KEYS[kind], draw(st.sampled_from(TYPES[kind]))
    text = draw(st.sampled_from([
        f'insert {kind} {{ {key}: "{new_key(draw)}" }}',
        f"update {kind} set {{ {prop}: null }} where {prop} is not null",
        f"delete {kind} where {prop} is null",
        f'match {{ $v: {kind} }} insert Place {{ name: $v.{prop} }}',
        f'insert Person {{ name: "{new_key(draw)}", nothing: 1 }}',
    ]))  # fmt: skip
    record = json.dumps({"type": kind, "data": {key: new_key(draw)}})
    return draw(st.sampled_from([
        ("POST", "/mutate", {"query": f"query q() {{ {text} }}", "branch": branch}),
        ("POST", "/load", {"data": record, "branch": branch, "mode": draw(st.sampled_from(["append", "merge"]))}),
        ("POST", "/branches", {"name": "mine", "from": branch}),
        ("DELETE", "/branches/mine", None),
        ("POST", "/branches/merge", {"source": "draft", "target": branch}),
        ("POST", "/branches/merge", {"source": branch, "target": "draft"}),
        ("POST", "/schema/apply", {"schema_source": SCHEMA.replace("size: I32?", "size: I32")}),
        ("POST", "/queries/raise_all", {"branch": branch}),
    ]))  # fmt: skip


MOMENT = st.sampled_from(["HEAD", "HEAD~1", "HEAD~9", "main", "draft", "mine", "2000-01-01", "nothing"])


@st.composite
def inspections(draw: st.DrawFn) -> tuple[str, str, Any]:
    """Requests of the routes that look at a graph rather than query it."""
    kind, branch, at = draw(st.sampled_from([*TYPES, "Nothing"])), draw(BRANCH), draw(MOMENT)
    entity = f"{kind}/{draw(st.sampled_from(['ada', 'cyn', 'zebra', 'zebrax', 'Ulm', 'nobody']))}"
    edge = draw(st.sampled_from(["", "&edge=Holds", "&edge=Knows&direction=in", "&edge=Nothing", "&limit=0"]))
    text = draw(st.sampled_from([draw(reads()), f"query q() {{ match {{ $v: {kind} }} return {{ $v.", "match { $v: "]))
    return draw(st.sampled_from([
        ("GET", f"/describe?branch={branch}", None),
        ("GET", f"/describe?branch={branch}&at={at}", None),
        ("GET", f"/snapshot?branch={branch}&at={at}", None),
        ("GET", f"/schema?branch={branch}&at={at}", None),
        ("GET", f"/indexes?branch={branch}", None),
        ("GET", f"/moment?branch={branch}&commit={at}", None),
        ("GET", f"/moment?branch={branch}&version={draw(st.integers(0, 5))}", None),
        ("GET", f"/entities/{entity}?branch={branch}", None),
        ("GET", f"/entities/{entity}?branch={branch}&at={at}", None),
        ("GET", f"/entities/{entity}/neighbours?branch={branch}{edge}", None),
        ("GET", f"/entities/{entity}/blame?branch={branch}", None),
        ("GET", f"/entities/{entity}/history?branch={branch}", None),
        ("POST", "/explain", {"query": draw(reads()), "branch": branch, "analyze": draw(st.booleans())}),
        ("POST", "/assist", {"text": text, "branch": branch, "want": ["diagnose", "complete", "explain", "format"]}),
        ("POST", "/schema/plan", {"schema_source": SCHEMA.replace("size: I32?", "size: I64?"), "branch": branch}),
        ("GET", f"/diff?from={at}&to={branch}&branch={branch}&type={kind}", None),
        ("GET", f"/log?branch={branch}&every_branch={draw(st.sampled_from(['true', 'false']))}", None),
        ("GET", f"/log?branch={branch}&type={kind}", None),
    ]))  # fmt: skip


@st.composite
def others(draw: st.DrawFn) -> tuple[str, str, Any]:
    kind, branch = draw(st.sampled_from([*TYPES, "Nothing"])), draw(BRANCH)
    return draw(st.sampled_from([
        ("POST", "/query", {"query": draw(reads()), "branch": branch}),
        ("POST", "/query", {"query": draw(reads()), "branch": branch}),
        ("POST", "/query", {"query": draw(reads()), "branch": branch}),
        ("GET", f"/snapshot?branch={branch}", None),
        ("GET", f"/schema?branch={branch}", None),
        ("GET", "/branches", None),
        ("GET", "/queries", None),
        ("GET", f"/commits?branch={branch}", None),
        ("GET", f"/commits?branch={branch}&type={kind}", None),
        ("GET", f"/changes?branch={branch}&start=now&type={kind}", None),
        ("POST", "/export", {"branch": branch, "type_names": draw(st.sampled_from([[], [kind]]))}),
        ("POST", "/changes/baseline", {"branch": branch, "type": [kind]}),
        ("GET", f"/blob?entity=node&type={kind}&id=ada&property=salary&branch={branch}", None),
        ("POST", f"/queries/{draw(st.sampled_from([*STORED, 'unknown']))}", {"branch": branch}),
        ("POST", "/query", {"query": draw(reads()), "branch": branch, "at": draw(MOMENT)}),
        draw(inspections()),
        draw(inspections()),
        draw(inspections()),
    ]))  # fmt: skip


WRITES = ("/mutate", "/load", "/branches/", "/schema/apply", "/queries/raise_all")
_VARIES = re.compile(
    r"\b[0-9A-HJKMNP-TV-Z]{26}\b|\d{4}-\d\d-\d\dT[\d:.]+Z?|\b[0-9a-f]{8,}\b|\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b\d{13,16}\b"
)


def told(client: httpx.Client, graph: str, request: tuple[str, str, Any]) -> tuple[int, str, str]:
    """Status and body, without what differs between any two graphs, and how much work the answer was.

    The work stands for the time that the answer takes: how often it waited for a thread, and how often tables were read.
    A write that was done is left out: a merge takes as long as what it brings, whether or not its sender may read that.
    """
    method, path, body = request
    answer = client.request(method, f"/graphs/{graph}{path}", json=body)
    text = re.sub(rf"\b{graph}(\.omni)?\b", "GRAPH", answer.text)
    text = re.sub(
        r'"(cursor|version|ms|graph_manifest_version|published_dataset_version|created_at|row_version)":\s*("[^"]*"|[\d.]+)',
        r'"\1":X',
        text,
    )
    text = re.sub(r"\d+\.\d+ ms", "MS", text)
    wrote = answer.is_success and any(path.startswith(each) for each in WRITES)
    return answer.status_code, _VARIES.sub("ID", text), "" if wrote else answer.headers["x-work"]


@settings(max_examples=examples(240), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_request_tells_two_graphs_apart_that_differ_in_what_is_hidden(
    data: st.DataObject, server: ServerProcess, pairs: list[Pair]
) -> None:
    pair = data.draw(st.sampled_from(pairs))
    with server.client(TOKEN) as client:
        for _ in range(3):
            request = data.draw(st.one_of(others(), others(), writes()))
            first, second = (told(client, f"{side}{pair.number}", request) for side in "ab")
            note(f"{pair.rules}\n{request}\n{first}\n{second}")
            assert first == second


def test_the_graphs_do_differ_for_one_who_sees_everything(server: ServerProcess, pairs: list[Pair]) -> None:
    text = "query q() { match { $s: Secret } return { $s.code, $s.about } }"
    everything = [
        ("POST", "/query", {"query": text}),
        (
            "POST",
            "/query",
            {"query": "query q() { match { $p: Person } return { $p.name, $p.salary, $p.bio, $p.email } }"},
        ),
        (
            "POST",
            "/query",
            {"query": "query q() { match { $p: Person $p knows { since: $_ } $q } return { $q.name } }"},
        ),
        ("POST", "/query", {"query": "query q() { match { $p: Place } return { $p.name, $p.size } }"}),
        ("POST", "/query", {"query": "query q() { match { $e: Knows } return { $e.since } }"}),
        ("POST", "/query", {"query": "query q() { match { $e: Holds } return { $e.note } }"}),
    ]
    with server.client("token-of-root-0123456789abcd") as client:
        for pair in pairs:
            answers = [[told(client, f"{side}{pair.number}", each) for each in everything] for side in "ab"]
            assert answers[0] != answers[1], pair.rules
