"""Loads whose outcome must not depend on the runner: good ones in every mode, and one for every way to be wrong."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

SCHEMA = """
node Person {
  name: String @key
  email: String? @unique
  age: I32?
  role: enum(admin, user)?
  code: String?
  score: F64?
  @range(age, 0..150)
  @check(code, "^[a-z]+$")
}
node Company { name: String @key }
node Note { text: String  tag: String? }
node Mark { code: String? @unique }
node Slot { tenant: String  number: I32  kind: String?  @key(tenant, number)  @unique(tenant, kind) }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Company @card(0..1)
edge Owns: Person -> Note @card(1..2)
"""
TYPES = """
node T {
  k: U64 @key
  b: Bool?  i: I32?  l: I64?  u: U32?  f: F32?  d: F64?
  day: Date?  at: DateTime?  list: [I32]?  tags: [String]?  v: Vector(2)?  blob: Blob?
}
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A graph with some rows in it, and a load."""

    name: str
    data: bytes
    mode: str = "append"
    before: bytes = b""
    schema: str = SCHEMA


def lines(*records: Any) -> bytes:
    """Records as lines; bytes are taken as they are."""
    return b"".join(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in records)


def person(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **data}}


def node(type_name: str, **data: Any) -> dict[str, Any]:
    return {"type": type_name, "data": data}


def edge(name: str, source: str, target: str, **data: Any) -> dict[str, Any]:
    return {"edge": name, "from": source, "to": target, "data": data}


PEOPLE = lines(
    *(person(f"p{at}", email=f"p{at}@x", age=at) for at in range(12)),
    node("Company", name="acme"),
    node("Company", name="globex"),
    node("Note", id="n1", text="one"),
    edge("Knows", "p0", "p1", id="k1"),
    edge("Knows", "p1", "p2", id="k2", since="2024-01-01"),
    edge("WorksAt", "p0", "acme", id="w1"),
    edge("Owns", "p0", "n1", id="o1"),
)
MANY = lines(
    *(person(f"m{at:03d}", email=f"m{at}@x", score=at / 7) for at in range(60)),
    *(edge("Knows", f"m{at:03d}", f"m{(at * 7) % 60:03d}") for at in range(60)),
    *(node("Note", text=f"note {at}") for at in range(30)),
)
LIMITS = lines(
    *(
        node("T", k=number, **values)
        for number, values in enumerate(
            [
                {"b": True, "i": 2**31 - 1, "l": 2**63 - 1, "u": 2**32 - 1, "f": 3.4e38, "d": 1.7e308},
                {"b": False, "i": -(2**31), "l": -(2**63), "u": 0, "f": -3.4e38, "d": 5e-324},
                {"day": "0001-01-01", "at": "1970-01-01T00:00:00Z", "list": [], "tags": [""], "v": [0, -1.5]},
                {"day": "9999-12-31", "at": "2024-02-29T23:59:59.999Z", "list": [1, -1], "tags": ["a", "ü"]},
                {"blob": "base64:", "tags": None},
                {"blob": "base64:SGVsbG8="},
            ]
        )
    ),
    node("T", k=2**64 - 1),
)


def good() -> Iterable[Case]:
    yield Case("everything", PEOPLE)
    yield Case("everything-twice-merged", PEOPLE, "merge", PEOPLE)
    yield Case("everything-overwritten", PEOPLE, "overwrite", MANY)
    yield Case("many", MANY)
    yield Case("many-onto-others", MANY, "append", PEOPLE)
    yield Case("many-merged-into-others", MANY, "merge", PEOPLE)
    yield Case("some-types-overwritten", lines(node("Note", text="new")), "overwrite", MANY)
    yield Case("limits", LIMITS, schema=TYPES)
    yield Case("limits-merged", LIMITS, "merge", LIMITS, schema=TYPES)
    yield Case("limits-overwritten", LIMITS, "overwrite", LIMITS, schema=TYPES)
    yield Case("empty", b"")
    yield Case("blank-lines", b"\n  \n\r\n")
    yield Case("blank-lines-between", lines(b"\n\n", person("a"), b" \r\n", edge("Knows", "a", "a"), b"\n"))
    yield Case("windows-line-ends", lines(person("a"), person("b")).replace(b"\n", b"\r\n"))
    yield Case("no-final-line-break", lines(person("a"), person("b")).rstrip(b"\n"))
    yield Case("huge-line", lines(person("a"), node("Note", text="x" * 300_000), person("b")))
    yield Case("edge-names-in-any-case", lines(person("a"), {"edge": "knows", "from": "a", "to": "a"}))
    yield Case(
        "edges-of-committed-nodes", lines(edge("Knows", "p3", "p4"), edge("WorksAt", "p5", "globex")), "append", PEOPLE
    )
    yield Case("merge-replaces-whole-rows", lines(person("p1"), person("new", age=1)), "merge", PEOPLE)
    yield Case(
        "merge-keeps-the-last-of-an-id",
        lines(
            *(node("Note", id="same", text=str(at)) for at in range(5)),
            node("Note", text="fresh"),
            person("a"),
            edge("Knows", "a", "nobody", id="e"),
            edge("Knows", "a", "a", id="e"),
        ),
        "merge",
        PEOPLE,
    )
    yield Case(
        "merge-moves-an-edge",
        lines(edge("WorksAt", "p1", "acme", id="w1"), edge("WorksAt", "p0", "globex")),
        "merge",
        PEOPLE,
    )
    yield Case(
        "merge-passes-a-unique-value-on",
        lines(person("p1", email="other@x"), person("new", email="p1@x")),
        "merge",
        PEOPLE,
    )
    yield Case(
        "merge-judges-the-last-row-of-an-id",
        lines(
            node("Mark", id="s", code="x"),
            *(node("Mark", id=f"f{at}", code=f"c{at}") for at in range(20)),
            node("Mark", id="s", code="y"),
        ),
        "merge",
        lines(node("Mark", id="h", code="x")),
    )
    yield Case(
        "merge-takes-a-value-from-a-row-it-rewrites",
        lines(
            node("Mark", id="s", code="x"),
            *(node("Mark", id=f"f{at}", code=f"c{at}") for at in range(20)),
            node("Mark", id="h", code="z"),
        ),
        "merge",
        lines(node("Mark", id="h", code="x")),
    )
    yield Case(
        "unique-nulls-are-free",
        lines(person("a"), person("b"), node("Slot", tenant="t", number=1), node("Slot", tenant="t", number=2)),
    )
    yield Case(
        "composite-keys", lines(*(node("Slot", tenant=t, number=n, kind=f"{n}") for t in "ab" for n in range(4)))
    )
    yield Case(
        "overwrite-nodes-and-their-edges",
        lines(person("z"), edge("Knows", "z", "z")),
        "overwrite",
        lines(person("a"), edge("Knows", "a", "a")),
    )


BAD_LINES: dict[str, bytes] = {
    "not-json": b"{not json}\n",
    "comment": b"// note\n",
    "not-utf8": b'{"type":"Person","data":{"name":"\xff"}}\n',
    "byte-order-mark": '\ufeff{"type":"Company","data":{"name":"A"}}\n'.encode(),
    "two-objects": b'{"type":"Company","data":{"name":"A"}} {"type":"Company","data":{"name":"B"}}\n',
    "array": b'[{"type":"Person"}]\n',
    "nan": b'{"type":"Person","data":{"name":"A","age":NaN}}\n',
    "duplicate-member": b'{"type":"Person","data":{"name":"A","name":"B"}}\n',
    "both-kinds": b'{"type":"Person","edge":"Knows","from":"a","to":"b"}\n',
    "neither-kind": b'{"data":{}}\n',
    "unknown-member": b'{"type":"Person","branch":"main"}\n',
    "reserved-member": b'{"type":"Person","_rowid":7}\n',
    "reserved-endpoint": b'{"edge":"Knows","from":"p0","to":"p1","data":{"src":"p0"}}\n',
    "endpoint-missing": b'{"edge":"Knows","from":"p0"}\n',
    "type-not-text": b'{"type":7}\n',
    "data-null": b'{"type":"Person","data":null}\n',
    "unknown-type": b'{"type":"Nobody"}\n',
    "unknown-edge": b'{"edge":"Likes","from":"a","to":"b"}\n',
    "unknown-field": b'{"type":"Person","data":{"name":"A","nick":"x"}}\n',
    "id-not-text": b'{"type":"Person","data":{"name":"A","id":7}}\n',
    "id-not-its-key": b'{"type":"Person","data":{"name":"A","id":"B"}}\n',
    "wrong-type": b'{"type":"Person","data":{"name":"A","age":"old"}}\n',
    "missing-value": b'{"type":"Person","data":{}}\n',
    "too-big": b'{"type":"Person","data":{"name":"A","age":2147483648}}\n',
    "enum": b'{"type":"Person","data":{"name":"A","role":"king"}}\n',
    "range": b'{"type":"Person","data":{"name":"A","age":151}}\n',
    "check": b'{"type":"Person","data":{"name":"A","code":"9"}}\n',
}


def bad() -> Iterable[Case]:
    for name, line in BAD_LINES.items():
        yield Case(name, lines(MANY, b"\n", line, person("after")))
    yield Case("first-of-several", lines(MANY, BAD_LINES["enum"], BAD_LINES["wrong-type"], BAD_LINES["not-json"]))
    yield Case("values-by-id", lines(person("z", age=-1), person("b", role="x"), person("a", age=999), MANY))
    yield Case("repeated-key", lines(MANY, person("m007")))
    yield Case("repeated-key-merged", lines(MANY, person("m007")), "merge")
    yield Case("repeated-key-thrice", lines(person("a"), MANY, person("a"), person("a")), "overwrite")
    yield Case("repeated-composite-key", lines(node("Slot", tenant="t", number=1), node("Slot", tenant="t", number=1)))
    yield Case("repeated-id", lines(MANY, node("Note", id="n", text="a"), node("Note", id="n", text="b")))
    yield Case(
        "repeated-edge-id",
        lines(MANY, edge("Knows", "m000", "m001", id="e"), edge("Knows", "m002", "m001", id="e")),
        "overwrite",
    )
    yield Case("existing-id", lines(MANY, person("p3"), person("p1")), "append", PEOPLE)
    yield Case(
        "existing-edge-id",
        lines(edge("Knows", "p3", "p1", id="k2"), edge("Knows", "p3", "p1", id="k1")),
        "append",
        PEOPLE,
    )
    yield Case("unique-in-input", lines(person("a", email="e@x"), MANY, person("b", email="e@x")))
    yield Case("unique-in-input-merged", lines(person("a", email="e@x"), MANY, person("b", email="e@x")), "merge")
    yield Case("unique-against-committed", lines(MANY, person("a", email="p2@x")), "append", PEOPLE)
    yield Case("unique-against-committed-merged", lines(person("p5", email="p2@x"), MANY), "merge", PEOPLE)
    yield Case("unique-tuple", lines(*(node("Slot", tenant="t", number=n, kind="k") for n in range(3))))
    yield Case("missing-source", lines(MANY, edge("Knows", "nobody", "m001", id="x")))
    yield Case(
        "missing-target", lines(MANY, edge("Knows", "m001", "nobody", id="x"), edge("Knows", "no", "no", id="b"))
    )
    yield Case("missing-target-of-generated-edges", lines(MANY, edge("Knows", "m001", "x"), edge("Knows", "m002", "y")))
    yield Case("missing-target-merged", lines(edge("Knows", "p1", "m001", id="k1")), "merge", PEOPLE)
    yield Case("target-gone-by-overwrite", lines(person("p0"), edge("Knows", "p0", "p1")), "overwrite", PEOPLE)
    yield Case("edges-left-dangling", lines(person("p0"), person("p2")), "overwrite", PEOPLE)
    yield Case(
        "too-many-edges", lines(MANY, node("Company", name="c"), *(edge("WorksAt", "m003", "c") for _ in range(3)))
    )
    yield Case("too-many-with-committed", lines(edge("WorksAt", "p0", "globex")), "append", PEOPLE)
    yield Case("too-many-merged", lines(edge("WorksAt", "p0", "globex", id="w2")), "merge", PEOPLE)
    yield Case("too-few-edges-left", lines(edge("Owns", "p1", "n1", id="o1")), "merge", PEOPLE)
    yield Case("too-few-by-overwrite", lines(edge("Owns", "p2", "n1")), "overwrite", PEOPLE)
    yield Case("structure-limit", lines(MANY, b'{"type":"Note","data":{"text":[' + b"1," * 140_000 + b"1]}}\n"))
