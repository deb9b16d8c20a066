"""Hypothesis strategies for small random graphs of one schema, which random reads are about."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.testing.naive.constraints import Image
from omnigraph.testing.naive.image import Record, empty_image

SCHEMA = """
interface Named { s: String? }
node Ant implements Named {
  k: String @key  n: I32?  m: I64?  f: F64?  s: String?  b: Bool?  d: Date?  at: DateTime?  tags: [String]?
  v: Vector(2)?  x: String?
}
node Bee implements Named { k: String @key  n: I64?  s: String?  g: F32? }
edge Walks: Ant -> Ant { w: I32?  s: String? }
edge Meets: Ant -> Bee { w: F64? }
edge Feeds: Bee -> Ant { s: String? }
"""

_NUMBERS = st.none() | st.integers(-2, 3)
_LARGE = st.none() | st.sampled_from([0, 1, -7, 2**53 + 1, 2**62, 2**63 - 1, -(2**63)])
_FLOATS = st.none() | st.sampled_from([-1.5, 0.0, 0.5, 2.0, 3.0])
_TEXTS = st.none() | st.sampled_from(["", "a", "b", "ab", "ä", "B"])
_WORDS = st.none() | st.sampled_from(
    ["", "the", "stone hut", "stones", "old huts, old stone", "Hütte am Stein", "rest"]
)
_DATES = st.none() | st.sampled_from(["1969-12-31", "2020-02-29", "2024-01-01"])
_INSTANTS = st.none() | st.sampled_from(["2020-02-29T00:00:00.000Z", "2024-01-01T10:20:30.456Z"])
_ITEMS = st.none() | st.lists(st.sampled_from(["a", "b", "ab"]), max_size=2)
_VECTORS = st.none() | st.tuples(st.sampled_from([0.0, 1.0, 3.0]), st.sampled_from([0.0, 4.0])).map(list)

_PROPERTIES: dict[str, dict[str, Any]] = {
    "Ant": {
        "n": _NUMBERS, "m": _LARGE, "f": _FLOATS, "s": _TEXTS, "b": st.none() | st.booleans(), "d": _DATES,
        "at": _INSTANTS, "tags": _ITEMS, "v": _VECTORS, "x": _WORDS,
    },
    "Bee": {"n": _NUMBERS, "s": _TEXTS, "g": _FLOATS},
    "Walks": {"w": _NUMBERS, "s": _TEXTS},
    "Meets": {"w": _FLOATS},
    "Feeds": {"s": _TEXTS},
}  # fmt: skip


@st.composite
def graphs(draw: DrawFn) -> list[Record]:
    """Up to five ants, three bees and a few edges between them, parallel ones and loops included."""
    ants = [f"a{number}" for number in range(draw(st.integers(1, 5)))]
    bees = [f"b{number}" for number in range(draw(st.integers(0, 3)))]
    names = [("Ant", ant) for ant in ants] + [("Bee", bee) for bee in bees]
    records = [Record(kind, {"k": name, **_values(draw, kind)}) for kind, name in names]
    pairs = draw(st.lists(st.tuples(st.sampled_from(ants), st.sampled_from(ants)), max_size=7))
    records += [
        Record("Walks", _values(draw, "Walks"), f"w{number}", source, target)
        for number, (source, target) in enumerate(pairs)
    ]
    if bees:
        meetings = draw(st.lists(st.tuples(st.sampled_from(ants), st.sampled_from(bees)), max_size=4))
        records += [
            Record("Meets", _values(draw, "Meets"), f"m{number}", source, target)
            for number, (source, target) in enumerate(meetings)
        ]
        feedings = draw(st.lists(st.tuples(st.sampled_from(bees), st.sampled_from(ants)), max_size=4))
        records += [
            Record("Feeds", _values(draw, "Feeds"), f"f{number}", source, target)
            for number, (source, target) in enumerate(feedings)
        ]
    return records


def image_of(catalog: Catalog, records: list[Record]) -> Image:
    """The records as the evaluator reads them."""
    image = empty_image(catalog)
    for record in records:
        if record.source is None:
            name = record.values["k"]
            image[f"node:{record.type_name}"][name] = {"id": name, **record.values}
        else:
            ends = {"id": record.id, "src": record.source, "dst": record.target}
            image[f"edge:{record.type_name}"][str(record.id)] = {**ends, **record.values}
    return image


def _values(draw: DrawFn, kind: str) -> dict[str, Any]:
    return {name: draw(strategy) for name, strategy in _PROPERTIES[kind].items()}
