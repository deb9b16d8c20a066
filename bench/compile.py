"""Compiling a typical query: parse, check, lower and optimise, against json.loads of the same text."""

from __future__ import annotations

import json
from collections.abc import Iterator

from bench.measure import Measurement, median_ms
from omnigraph.compiler.catalog import compile_schema
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.ir.lower import lower
from omnigraph.compiler.ir.optimize import optimize
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.compiler.query.typecheck import check_query
from omnigraph.compiler.source import Source
from omnigraph.memory.budget import open_budget

SCHEMA = """
node Person { handle: String @key  name: String @index  age: I32?  city: String? }
node Company { code: String @key  name: String  founded: Date? }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Company { title: String? }
"""
# Three bindings, two hops, five projections.
QUERY = """
query colleagues($who: String, $min: I32) {
  match {
    $me: Person { handle: $who }
    $friend: Person
    $firm: Company
    $me knows $friend
    $friend worksAt $firm
    $friend.age > $min
    $firm.founded < date("2010-01-01")
  }
  return { $me.name, $friend.name, $friend.age as age, $firm.name as firm, $firm.founded }
  order { age desc, firm }
  limit 20
}
"""


def run() -> Iterator[Measurement]:
    """Each stage, the whole, the whole from the cache, and the peer."""
    catalog = compile_schema(SCHEMA)
    source, memory = Source(QUERY), open_budget()
    file = parse_queries(source)
    checked = check_query(file.queries[0], catalog, source)
    document = json.dumps(QUERY)
    peer = median_ms(lambda: json.loads(document))
    stages = {
        "parse": lambda: parse_queries(Source(QUERY)),
        "typecheck": lambda: check_query(file.queries[0], catalog, source),
        "lower and optimise": lambda: optimize(lower(checked)),
        "all, without the cache": lambda: compile_query(Source(QUERY), catalog),
        "all, from the cache": lambda: compile_query(QUERY, catalog, memory=memory),
    }
    for case, stage in stages.items():
        taken = median_ms(stage)
        yield Measurement("compile", case, taken, "json.loads", taken / peer)
    yield Measurement("compile", "json.loads of the text", peer)
