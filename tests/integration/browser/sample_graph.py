"""The graph that the browser tests and the screenshots show: a research company with a history of a few weeks."""

from __future__ import annotations

import base64
import itertools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import omnigraph as og

SCHEMA = """
// Who works where, who knows whom, and who wrote what.
interface Named {
  name: String @index
}

node Person @description("Somebody who works with us") implements Named {
  handle: String @key
  role: enum(engineer, researcher, designer, manager)
  born: I32
  email: String?
}

node Team implements Named {
  slug: String @key
  budget: F64
}

node Paper {
  slug: String @key
  title: String @index
  abstract: String? @index
  published: Date
  citations: I32
}

node Topic {
  label: String @key
}

edge MemberOf: Person -> Team {
  since: Date
}
edge Knows: Person -> Person {
  weight: F64
}
edge Wrote: Person -> Paper
edge About: Paper -> Topic
edge Cites: Paper -> Paper
"""

TEAMS = ("Storage", "Query", "Graphics", "Field work", "Operations")
TOPICS = ("graphs", "columns", "versioning", "search", "clustering", "compression", "rendering", "consensus")
FIRST = ("Ada", "Bo", "Cleo", "Dara", "Emil", "Fadia", "Gus", "Hana", "Ivo", "June", "Kofi", "Lena", "Milo", "Nora")
LAST = ("Abel", "Brandt", "Castro", "Dahl", "Eklund", "Faro", "Gray", "Holm", "Ito", "Jansen", "Klein", "Lund")
ROLES = ("engineer", "researcher", "designer", "manager")
SEED = 20


def create(where: Path, people: int = 120, papers: int = 90, *, reviewed: bool = True) -> og.Graph:
    """A graph with branches, tags, a conflict that waits to be decided, and commits of several actors."""
    chance = random.Random(SEED)
    graph = og.init(str(where), schema=SCHEMA)
    ada, bo = graph.with_actor("ada"), graph.with_actor("bo")
    ada.load(_teams_and_topics(), mode="append", message="Teams and topics")
    handles = [f"p{number:03d}" for number in range(people)]
    ada.load(_people(chance, handles), mode="append", message="People of the first year")
    bo.load(_acquaintances(chance, handles), mode="append", message="Who knows whom")
    graph.tags.create("first-year")
    slugs = [f"paper-{number:03d}" for number in range(papers)]
    bo.load(_papers(chance, handles, slugs), mode="append", message="Papers, their authors and topics")
    _say(ada, 'query q() { update Person set { role: "manager" } where handle = "p003" }', "Dara leads the team")
    if not reviewed:
        return graph
    graph.branches.create("review/roles")
    graph.branches.create("import-2026")
    review, imported = ada.branch("review/roles"), bo.branch("import-2026")
    _say(
        review,
        'query q() { update Person set { role: "researcher", born: 1985 } where handle = "p001" }',
        "Bo moves to research",
    )
    _say(review, 'query q() { update Team set { budget: 410000.0 } where slug = "storage" }', "More for storage")
    _say(review, 'query q() { insert Topic { label: "provenance" } }', "A topic that was missing")
    _say(
        bo,
        'query q() { update Person set { role: "designer", born: 1986 } where handle = "p001" }',
        "Bo moves to design",
    )
    _say(bo, 'query q() { update Team set { budget: 385000.0 } where slug = "storage" }', "Budget of the new year")
    imported.load(
        [
            {"type": "Person", "data": {"handle": f"n{n}", "name": f"New {n}", "role": "engineer", "born": 1990 + n}}
            for n in range(5)
        ],
        mode="append",
        message="Five people who start in spring",
    )
    return graph


def _say(graph: Any, query: str, message: str) -> None:
    graph.mutate(query, message=message)


def _teams_and_topics() -> Sequence[dict[str, Any]]:
    teams = [
        {"type": "Team", "data": {"slug": name.lower().replace(" ", "-"), "name": name, "budget": 120_000.0 * (at + 1)}}
        for at, name in enumerate(TEAMS)
    ]
    return [*teams, *({"type": "Topic", "data": {"label": label}} for label in TOPICS)]


def _people(chance: random.Random, handles: Sequence[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for at, handle in enumerate(handles):
        name = f"{FIRST[at % len(FIRST)]} {LAST[(at * 5 + at // len(FIRST)) % len(LAST)]}"
        role = ROLES[chance.choices(range(4), (5, 3, 2, 1))[0]]
        data = {"handle": handle, "name": name, "role": role, "born": chance.randint(1960, 2002)}
        found.append({"type": "Person", "data": {**data, "email": f"{handle}@example.org"}})
        team = TEAMS[chance.randrange(len(TEAMS))].lower().replace(" ", "-")
        since = f"{chance.randint(2015, 2025)}-{chance.randint(1, 12):02d}-01"
        found.append({"edge": "MemberOf", "from": handle, "to": team, "data": {"since": since}})
    return found


def _acquaintances(chance: random.Random, handles: Sequence[str]) -> list[dict[str, Any]]:
    pairs = set[tuple[str, str]]()
    for at, handle in enumerate(handles):
        for _ in range(chance.randint(1, 4)):
            near = handles[(at + chance.choice((1, 2, 3, 7, 20, 45))) % len(handles)]
            pairs.add((handle, near))
    return [
        {"edge": "Knows", "from": one, "to": other, "data": {"weight": round(chance.random(), 2)}}
        for one, other in sorted(pairs)
    ]


def _papers(chance: random.Random, handles: Sequence[str], slugs: Sequence[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for at, slug in enumerate(slugs):
        one, other = chance.sample(TOPICS, 2)
        data = {
            "slug": slug,
            "title": f"On {one} and {other}, part {at % 7 + 1}",
            "abstract": f"We look at {one} where {other} matters, and measure what it costs.",
            "published": f"{2012 + at % 14}-{chance.randint(1, 12):02d}-{chance.randint(1, 28):02d}",
            "citations": int(chance.expovariate(1 / 25)),
        }
        found.append({"type": "Paper", "data": data})
        found += [{"edge": "About", "from": slug, "to": topic} for topic in (one, other)]
        found += [
            {"edge": "Wrote", "from": handle, "to": slug} for handle in chance.sample(handles, chance.randint(1, 3))
        ]
        found += [{"edge": "Cites", "from": slug, "to": cited} for cited in chance.sample(slugs[:at], min(at, 2))]
    return found


COLLEAGUES = """query colleagues($handle: String) @description("Who works in the same team") {
  match { $p: Person { handle: $handle }  $p memberOf $t  $o memberOf $t  $o != $p }
  return { $o.name, $t.name as team }
  order { $o.name }
}"""

# What a page that trusted names would run. Names of types, properties, branches and tags have rules that refuse such.
SCRIPTS = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "\"><svg onload=document.title='owned'>",
    "javascript:document.title='owned'",
    "{{constructor.constructor('document.title=1')()}}",
    "</style><style>body{display:none}",
    "'; drop table x; --",
    "\u202egnp.exe",
)
HOSTILE_BRANCH = "<img-src=x-onerror=alert(1)>"
EXACT = 9_007_199_254_740_993  # the first whole number that JavaScript would round
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGM4EaABRAwQCgAljgUBqTNxyAAAAABJRU5ErkJggg=="
VECTOR = '<svg xmlns="http://www.w3.org/2000/svg" onload="document.title=1"><script>document.title=2</script></svg>'


def create_hostile(where: Path) -> og.Graph:
    """A graph whose keys, values, messages and actors are written to become markup."""
    schema = "node Note { key: String @key  text: String?  size: I64?  file: Blob? }\nedge Next: Note -> Note"
    graph = og.init(str(where), schema=schema)
    files = [base64.b64encode(VECTOR.encode()).decode(), PICTURE]
    records: list[dict[str, Any]] = [
        {
            "type": "Note",
            "data": {"key": script, "text": f"value {script}", "size": EXACT - at, "file": f"base64:{files[at % 2]}"},
        }
        for at, script in enumerate(SCRIPTS)
    ]
    records += [{"edge": "Next", "from": one, "to": other} for one, other in itertools.pairwise(SCRIPTS)]
    graph.with_actor(SCRIPTS[1]).load(records, mode="append", message=SCRIPTS[0])
    return graph


def create_large(where: Path, rows: int = 100_000, drawn: int = 5_000) -> og.Graph:
    """Many rows to scroll through, and a tree of some of them to draw."""
    import pyarrow as pa

    graph = og.init(str(where), schema="node Item { name: String @key  size: I64 }\nedge Near: Item -> Item")
    names = [f"item-{at:06d}" for at in range(rows)]
    sizes = [(at * 7919) % 1000 for at in range(rows)]
    graph.load(pa.table({"name": names, "size": sizes}), type="Item", no_build=True)
    ends = {"src": names[1:drawn], "dst": [names[at // 3] for at in range(1, drawn)]}
    graph.load(pa.table(ends), edge="Near", no_build=True)
    return graph
