"""A graph with everything that refers to files, what every place of it shows, and work that touches all of it.

The trials of moved, copied and synchronized graphs share it: `build` makes the graph, `observed` reads it everywhere,
`work` writes, merges, indexes and compacts on every branch.
"""

from __future__ import annotations

import io
from base64 import b64encode
from itertools import pairwise
from typing import Any

import obstore
from obstore.store import LocalStore, ObjectStore

import omnigraph as og
from omnigraph.storage.base.layout import Root
from omnigraph.storage.base.objects_remote import open_store
from omnigraph.storage.lance import tables
from omnigraph.storage.manifest.branch_refs import address_of
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.naive.observe import image_of

SETTINGS = og.Settings(lease_ttl_ms=600, lease_skew_ms=0, retire_grace_ms=0, mark_wait_ms=0)
# The name of a former table is given to another one, whose first version is made from that table.
_BEFORE = ["node Note { text: String @key }", 'node Memo @rename_from("Note") { text: String @key }']
SCHEMA = """
node Memo { text: String @key }
node Note { text: String @key }
node Doc {
  name: String @key
  age: I32? @index
  body: String? @index
  spot: Vector(2)? @index
  file: Blob?
}
edge Cites: Doc -> Doc { weight: F64? }
"""
_EARLIER = 4  # commits under a former schema
NAMES = ("review", "team/deep", "idle")
_ADD = """
query add($name: String, $age: I32?, $body: String?, $spot: Vector(2)?, $file: Blob?) {
  insert Doc { name: $name, age: $age, body: $body, spot: $spot, file: $file }
}
"""
_CITE = "query cite($a: String, $b: String) { insert Cites { from: $a, to: $b, weight: 1.0 } }"
_AGE = "query age($name: String, $age: I32) { update Doc set { age: $age } where name = $name }"
_DROP = "query drop($name: String) { delete Doc where name = $name }"
_READS = {
    "two hops": 'query q() { match { $a: Doc { name: "d00" } $a cites{1,2} $b } return { $b.name as name } }',
    "text": 'query q() { match { $d: Doc search($d.body, "lantern") } return { $d.name as name } }',
    "point": "query q() { match { $d: Doc { age: 3 } } return { $d.name as name } }",
    "near": "query q() { match { $d: Doc } return { $d.name as name } order { nearest($d.spot, [3.0, 0.0]) } limit 2 }",
}


def build(place: str) -> og.Graph:
    """Main, a branch, a branch of that branch and one that never wrote; rows replaced and removed on each."""
    graph = og.init(place, _BEFORE[0], settings=SETTINGS)
    graph.mutate('query q() { insert Note { text: "old" } }')
    for text in (_BEFORE[1], SCHEMA):
        graph.schema.apply(text)
    graph.mutate('query q() { insert Note { text: "new" } }')
    # Several data files of both tables, by few commits: each commit is read again at every place.
    docs = [_doc(f"d{number:02}", number) for number in range(5)]
    graph.load([{"type": "Doc", "data": {**each, "file": _encoded(each["file"])}} for each in docs])
    for number in range(5, 8):
        add(graph, f"d{number:02}", number)
    names = [f"d{number:02}" for number in range(8)]
    cites = [{"edge": "Cites", "from": a, "to": b, "data": {"weight": 1.0}} for a, b in pairwise(names)]
    graph.load(cites[:5])
    for cite in cites[5:]:
        graph.mutate(_CITE, params={"a": cite["from"], "b": cite["to"]})
    graph.optimize()  # indexes that branches inherit
    graph.mutate(_DROP, params={"name": "d07"})  # a deletion file that branches inherit
    graph.tags.create("start")
    graph.branches.create("review")
    graph.branches.create("idle")
    review = graph.branch("review")
    add(review, "r00", 20)
    review.mutate(_AGE, params={"name": "d01", "age": 101})
    review.mutate(_DROP, params={"name": "d06"})
    review.branches.create("team/deep")
    deep = graph.branch("team/deep")
    add(deep, "t00", 30)
    deep.mutate(_DROP, params={"name": "d05"})
    graph.mutate(_AGE, params={"name": "d02", "age": 202})
    graph.branches.merge("team/deep", into="review")
    return graph


def add(graph: og.Graph, name: str, age: int) -> None:
    """One more document, with a value in every kind of column."""
    graph.mutate(_ADD, params=_doc(name, age))


def _doc(name: str, age: int) -> dict[str, Any]:
    values = {"body": f"a lantern for {name}", "spot": [float(age), 0.0], "file": f"bytes of {name}".encode()}
    return {"name": name, "age": age, **values}


def _encoded(content: bytes) -> str:
    return f"base64:{b64encode(content).decode()}"


def opened(place: str, *, read_only: bool = False) -> og.Graph:
    """The graph as another process would find it: each opened graph remembers for itself."""
    return og.open(place, read_only=read_only, settings=SETTINGS)


def observed(graph: og.Graph) -> dict[str, Any]:
    """Every branch with every row, blob and answer, and every commit of each as its time saw it."""
    found: dict[str, Any] = {}
    past: dict[str, Any] = {}  # a commit is the same on every branch that has it
    for name in graph.branches.list():
        branch = graph.branch(name)
        own = [each.graph_commit_id for each in branch.commits.list()[:-_EARLIER]]
        past |= {each: image_of(graph.at(each).view()) for each in own if each not in past}
        found[name] = {
            "rows": image_of(branch.view()),
            "answers": {title: sorted(row["name"] for row in branch.query(text)) for title, text in _READS.items()},
            "blobs": {key: _blob(branch, key) for key in image_of(branch.view())["node:Doc"]},
            "export": _export(branch),
            "past": {each: past[each] for each in own},
        }
    found["tags"] = {tag.name: image_of(graph.at(tag.graph_commit_id).view()) for tag in graph.tags.list()}
    found["diff"] = [str(each) for each in graph.diff("main", "review")]
    return found


def work(graph: og.Graph, word: str) -> None:
    """Write, branch, merge, index and compact on every lineage, so that each gets versions made at this place."""
    for number, name in enumerate(("main", *NAMES)):
        branch = graph.branch(name)
        add(branch, f"{word}-{number}", 300 + number)
        branch.mutate(_AGE, params={"name": "d03", "age": 400})
        branch.mutate(_DROP, params={"name": "d04"})
        branch.mutate("query q($t: String) { insert Note { text: $t } insert Memo { text: $t } }", params={"t": word})
    graph.branches.create(f"{word}-new", from_="team/deep")
    add(graph.branch(f"{word}-new"), f"{word}-newest", 500)
    graph.branches.merge("review", into="main")
    graph.branches.merge("main", into="idle")
    graph.optimize()
    assert violations(graph._core.store) == []


def compact_branches(graph: og.Graph) -> None:
    """Build the indexes of every branch on its own refs, then compact what the branch has, its manifest included."""
    root = graph._core.store.root
    for name in NAMES:
        if name in graph.branches.list():
            graph.branch(name).ensure_indices()
            compacted = tables.compact(tables.open_table(address_of(root, name), control=True))
            assert compacted.fragment_count() == 1


def copy_files(source: Root, target: Root, *, move: bool = False) -> None:
    """Every object under the same name below another root, as a tool does that knows nothing of graphs."""
    one, other = _files_of(source), _files_of(target)
    for batch in obstore.list(one):
        for found in batch:
            obstore.put(other, found["path"], bytes(obstore.get(one, found["path"]).bytes()))
            if move:
                obstore.delete(one, found["path"])


def thin_out(graph: og.Graph) -> None:
    """Delete a branch, then remove every version that nothing needs; no table may fail to be cleaned."""
    graph.branches.delete("idle")
    report = graph.cleanup(keep=1, confirm=True)
    assert [each.error for each in report.datasets if each.error] == []
    assert violations(graph._core.store) == []


def heads(graph: og.Graph) -> dict[str, Any]:
    """What every branch shows now; cleanup may remove the rest."""
    return {
        name: {"rows": image_of(graph.branch(name).view()), "export": _export(graph.branch(name))}
        for name in graph.branches.list()
    }


def _files_of(root: Root) -> ObjectStore:
    return LocalStore(root.uri, mkdir=True) if root.is_local else open_store(root)


def _blob(graph: og.Graph, key: str) -> bytes:
    return graph.blob("Doc", key, "file").read()


def _export(graph: og.Graph) -> bytes:
    target = io.BytesIO()
    graph.export(target)
    return target.getvalue()
