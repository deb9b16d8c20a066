"""The fixture graph of the HTTP cases: four persons, two companies, three friendships, and a few documents."""

from __future__ import annotations

import shutil
from pathlib import Path

import omnigraph as og

SCHEMA = """
node Person { name: String @key  age: I32? }
node Company { name: String @key }
node Document { name: String @key  content: Blob? }
edge Knows: Person -> Person
edge WorksAt: Person -> Company
"""

RECORDS = [
    {"type": "Person", "data": {"name": "Alice", "age": 30}},
    {"type": "Person", "data": {"name": "Bob", "age": 25}},
    {"type": "Person", "data": {"name": "Carol", "age": 41}},
    {"type": "Person", "data": {"name": "Dan"}},
    {"type": "Company", "data": {"name": "Acme"}},
    {"type": "Company", "data": {"name": "Globex"}},
    {"type": "Document", "data": {"name": "hello", "content": "base64:SGVsbG8gV29ybGQ="}},
    {"type": "Document", "data": {"name": "empty", "content": "base64:"}},
    {"type": "Document", "data": {"name": "none"}},
    {"edge": "Knows", "from": "Alice", "to": "Bob"},
    {"edge": "Knows", "from": "Bob", "to": "Carol"},
    {"edge": "Knows", "from": "Alice", "to": "Carol"},
]

FIND = "query find($name: String) { match { $p: Person { name: $name } } return { $p.name } }"
ADD = "query add($name: String, $age: I32?) { insert Person { name: $name, age: $age } }"
AGE = "query set_age($name: String, $age: I32) { update Person set { age: $age } where name = $name }"
COUNT = "query total() { match { $p: Person } return { count($p) as n } }"

STORED = {
    "everybody": 'query everybody() @description("all of them") { match { $p: Person } return { $p.name } order { $p.name asc } }',
    "add": ADD,
}

POLICY = """
version: 1
groups: { team: [ada, bob, root], admins: [root], senders: [wes] }
protected_branches: [main]
rules:
  - { id: team-read, allow: { actors: { group: team }, actions: [read], branch_scope: any } }
  - { id: admins-export, allow: { actors: { group: admins }, actions: [export], branch_scope: any } }
  - { id: team-write, allow: { actors: { group: team }, actions: [change], branch_scope: unprotected } }
  - { id: senders-write, allow: { actors: { group: senders }, actions: [change], branch_scope: unprotected } }
  - { id: admins-write, allow: { actors: { group: admins }, actions: [change], branch_scope: protected } }
  - { id: team-invoke, allow: { actors: { group: admins }, actions: [invoke_query, schema_apply, branch_create] } }
"""
SERVER_POLICY = """
version: 1
groups: { admins: [root] }
rules: [ { id: list, allow: { actors: { group: admins }, actions: [graph_list] } } ]
"""
TOKENS = {name: f"token-of-{name}" for name in ("ada", "bob", "root", "eve", "wes")}


def create_people(path: Path) -> Path:
    """A new graph."""
    with og.init(path, SCHEMA) as graph:
        graph.load(RECORDS, mode="append")
    return path


def copies(template: Path, folder: Path, names: list[str]) -> dict[str, str]:
    """Independent copies of a graph, by name."""
    found = {}
    for name in names:
        shutil.copytree(template, folder / f"{name}.omni")
        found[name] = str(folder / f"{name}.omni")
    return found


def combinations(people: int) -> str:
    """A query that looks at every combination of so many people: its condition is about all of them, so none is only counted."""
    steps = " ".join(f"$p{number}: Person" for number in range(people))
    condition = " + ".join(f"length($p{number}.name)" for number in range(people))
    return f"query big() {{ match {{ {steps} {condition} > 0 }} return {{ count($p0) as n }} }}"
