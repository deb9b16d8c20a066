"""Input of any size with a known share of bad records: every kind of mistake, each with the code of its refusal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, cycle
from typing import Any

SCHEMA = """
node Person {
  name: String @key
  email: String? @unique
  age: I32?
  role: enum(admin, user)?
  code: String?
  score: F32?
  place: Vector(2)?
  @range(age, 0..150)
  @check(code, "^[a-z]+$")
}
edge Knows: Person -> Person { since: Date? }
edge Reports: Person -> Person @card(0..1)
"""
_GARBLED = b'{"type":"Person","data":{"name":"\xff\xfe"}}'
# Records that are wrong by themselves. `@` stands for a number of their own, so that no two of them clash.
_ALONE: tuple[tuple[str, bytes], ...] = (
    ("W001", b'{"type":"Person","data":{"age":1}}'),
    ("W002", b'{"type":"Person","data":{"name":"x@","age":"old"}}'),
    ("W002", b'{"edge":"Knows","from":"p0","to":"p0","data":{"since":"yesterday"}}'),
    ("W003", b'{"type":"Person","data":{"name":"x@","age":2147483648}}'),
    ("W004", b'{"type":"Person","data":{"name":"x@","score":1e39}}'),
    ("W005", b'{"type":"Person","data":{"name":"x@","place":[1,2,3]}}'),
    ("W006", b'{"type":"Person","data":{"name":"x@","role":"king"}}'),
    ("W010", b'{"type":"Person","data":{"name":"x@","age":151}}'),
    ("W011", b'{"type":"Person","data":{"name":"x@","code":"9"}}'),
    ("W016", b'{"type":"Person","data":{"name":"x@","id":"other"}}'),
    ("W017", b'{"type":"Person","data":{"name":"x@","nick":"x"}}'),
    ("W018", b'{"edge":"Knows","from":"p0","to":"p0","data":{"src":"p0"}}'),
    ("W019", b"{not json}"),
    ("W019", b'{"type":"Nobody","data":{}}'),
    ("W019", b'{"type":"Person","data":{"name":"x@","name":"y@"}}'),
    ("W019", _GARBLED),
    ("W019", b'{"edge":"Knows","from":"p0"}'),
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of input and the code it is refused with; None for a good one.

    `alone` says that the line is wrong whatever else the input holds.
    """

    text: bytes
    code: str | None = None
    alone: bool = True


def corrupt_lines(total: int, *, every: int = 100) -> Iterator[Line]:
    """About `total` lines, one in `every` of them bad, all kinds in turn; the good ones make a consistent graph."""
    mistakes = _mistakes()
    people = 0
    made = 0
    while made < total:
        if made % every == every - 1 and people > every:
            found = next(mistakes)
            yield from found
            made += len(found)
            continue
        if made % 5 < 3:
            yield Line(_person(people))
            people += 1
        else:
            yield Line(_json({"edge": "Knows", "from": f"p{made % people}", "to": f"p{made * 7 % people}"}))
        made += 1


def _mistakes() -> Iterator[tuple[Line, ...]]:
    """Every kind of mistake, round and round; one that concerns several lines comes with all of them."""
    numbers = count()
    for kind in cycle([*range(len(_ALONE)), "key", "unique", "endpoint", "cardinality"]):
        number = next(numbers)
        match kind:
            case "key":
                again = {"type": "Person", "data": {"name": f"p{number % 50}"}}
                yield (Line(_json(again), "W012", alone=False),)
            case "unique":
                record = {"type": "Person", "data": {"name": f"x{number}", "email": "p7@x"}}
                yield (Line(_json(record), "W012", alone=False),)
            case "endpoint":
                yield (Line(_json({"edge": "Knows", "from": "p1", "to": f"nobody{number}"}), "W013", alone=False),)
            case "cardinality":
                # The first edge of the person is in time, the second is one too many.
                boss = f"boss{number}"
                person = Line(_json({"type": "Person", "data": {"name": boss}}))
                edge = _json({"edge": "Reports", "from": boss, "to": "p2"})
                yield (person, Line(edge), Line(edge, "W014", alone=False))
            case int():
                code, text = _ALONE[kind]
                yield (Line(text.replace(b"@", str(number).encode()), code),)


def _person(number: int) -> bytes:
    return _json({"type": "Person", "data": {"name": f"p{number}", "email": f"p{number}@x", "age": number % 100}})


def _json(record: Any) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()
