"""Expressions, three-valued conditions, aggregates and rankings of the naive evaluator, one value at a time."""

from __future__ import annotations

import math
import statistics
import struct
from collections.abc import Callable, Mapping
from functools import cmp_to_key
from typing import Any, TypeAlias

from omnigraph.compiler.functions import FUNCTIONS, Failure
from omnigraph.compiler.functions.text import compiled
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.query.params import ParamValue
from omnigraph.compiler.temporal import DateTime
from omnigraph.engine.read.search.analyzer import analyze
from omnigraph.engine.read.search.confirmed import begins_like
from omnigraph.engine.read.search.snippets import snippet
from omnigraph.testing.naive.evaluator_search import bm25, distance, edits, words_of
from omnigraph.testing.naive.evaluator_truth import all_true, any_true

Entity: TypeAlias = dict[str, Any]
Assignment: TypeAlias = dict[str, Entity | None]


class Overflow(Failure):
    """An integer beyond 64 bits; it fails the query only if the row it belongs to is in the answer."""


def compare_total(left: Any, right: Any) -> int:
    """-1, 0 or 1; null is smallest, text goes by bytes, a node by its id and then by the name of its type."""
    if left is None or right is None:
        return (left is not None) - (right is not None)
    if isinstance(left, dict):
        left, right = ((node["id"].encode(), node.get("@type") or node.get("_table", "")) for node in (left, right))
    if isinstance(left, str):
        left, right = left.encode(), right.encode()
    return int(left > right) - int(left < right)


def close(found: Any, expected: Any) -> bool:
    """Whether two answers are equal, up to the last bits of a floating-point sum or score."""
    if isinstance(found, float) and isinstance(expected, float):
        return abs(found - expected) <= 1e-12 * max(1.0, abs(found), abs(expected))
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(close, found, expected))
    if isinstance(found, dict) and isinstance(expected, dict):
        return list(found) == list(expected) and all(close(found[name], expected[name]) for name in found)
    return type(found) is type(expected) and bool(found == expected)


class Values:
    """Looks values up in assignments; a ranking also needs every row that satisfies the match."""

    def __init__(self, tables: Mapping[str, list[Entity]], params: Mapping[str, ParamValue], now: DateTime) -> None:
        self.tables = tables
        self.params = params
        self.now = now
        self.answer: Callable[[str, Assignment], Any] = _unknown
        self.window: Callable[[ir.WindowCall, Assignment], Any] = _unknown

    def value(self, expr: ir.Expr, row: Assignment, rows: list[Assignment]) -> Any:
        match expr:
            case ir.Const(value):
                return value
            case ir.Param(name):
                return self.params[name]
            case ir.Now():
                return self.now
            case ir.Property(var, name) if var.startswith(("exists#", "fold#")):
                return self.answer(var, row)
            case ir.Property(var, name):
                entity = row[var]
                if name == "@type" and entity is not None:
                    return entity["_table"].partition(":")[2]
                return None if entity is None else entity[name]
            case ir.Node(var):
                return row[var]
            case ir.WindowCall():
                return self.window(expr, row)
            case ir.Column(name):
                found = (row[""] or {})[name]
                if isinstance(found, Failure):
                    raise found
                return found
            case ir.Arithmetic(op, left, right):
                return _arithmetic(op, *self._both(left, right, row, rows), expr.type.scalar)
            case ir.Function():
                return self._function(expr, row, rows)
            case ir.Record(members, _, node):
                if node is not None and row[node.var] is None:
                    return None
                return {member.name: self.value(member.value, row, rows) for member in members}
            case ir.Choice(conditions, values, otherwise):
                chosen = next(
                    (value for test, value in zip(conditions, values, strict=True) if self.truth(test, row) is True),
                    otherwise,
                )
                found = self.value(chosen, row, rows)
                found = _signed(found) if expr.type.scalar == "I64" else found
                return float(found) if found is not None and expr.type.scalar == "F64" else found
            case ir.TextMatch():
                return self.text_match(expr, row)
            case ir.Bm25():
                # A relevance is a matter of the text and its column, whatever other rows there are.
                return self.ranking(expr, [row], None).get(0, 0.0)
            case ir.Nearest() | ir.Rrf():
                score = self.ranking(expr, rows, None).get(_place(rows, row))
                return score if isinstance(expr, ir.Nearest) else score or 0.0
            case _ if isinstance(expr, ir.CONDITIONS):
                return self.truth(expr, row)
            case _:
                raise AssertionError(f"{type(expr).__name__} has no value of its own")

    def _function(self, call: ir.Function, row: Assignment, rows: list[Assignment]) -> Any:
        function = FUNCTIONS[call.name]
        if call.name == "coalesce":
            found = (self.value(arg, row, rows) for arg in call.args)
            known = next((value for value in found if value is not None), None)
            known = _signed(known) if call.type.scalar == "I64" else known
            return float(known) if known is not None and call.type.scalar == "F64" else known
        values, failure = [], None
        for at, arg in enumerate(call.args):
            try:
                values.append(_as_argument(self.value(arg, row, rows), function.param(at).kind, call.type.scalar))
            except Failure as error:
                failure = error
        if None in values and (failure is not None or not function.own_nulls):
            return None  # beside a null it does not matter what became of the others
        if failure is not None:
            raise failure
        found = function.compute(*values)
        plain = isinstance(found, int) and not isinstance(found, bool)
        return float(found) if plain and call.type.scalar == "F64" and not call.type.list else found

    # --- conditions ------------------------------------------------------------------------------

    def truth(self, condition: ir.Condition, row: Assignment) -> bool | None:
        match condition:
            case ir.Compare(op, left, right):
                return _compare(op, *self._operands(left, right, row))
            case ir.TextTest(op, left, right):
                text, needle = self._operands(left, right, row)
                if text is None or needle is None:
                    return None
                match op:
                    case "contains":
                        return bool(needle in text)
                    case "starts_with":
                        return bool(text.startswith(needle))
                    case "ends_with":
                        return bool(text.endswith(needle))
                    case _:
                        return compiled(needle).search(text) is not None
            case ir.In(value, options, negated):
                found = self._member(value, options, row)
                return found if found is None else found != negated
            case ir.IsNull(operand, negated):
                return (self.value(operand, row, []) is None) != negated
            case ir.IsTrue(operand):
                answer: bool | None = self.value(operand, row, [])
                return answer
            case ir.SameNode(left, right, negated):
                one, other = row[left.var], row[right.var]
                if one is None or other is None:
                    return None
                return ((one["_table"], one["id"]) == (other["_table"], other["id"])) != negated
            case ir.And(parts):
                return all_true(lambda part=part: self.truth(part, row) for part in parts)  # type: ignore[misc]
            case ir.Or(parts):
                return any_true(lambda part=part: self.truth(part, row) for part in parts)  # type: ignore[misc]
            case ir.Not(part):
                inner = self.truth(part, row)
                return None if inner is None else not inner
            case ir.NotTrue(part):
                return self.truth(part, row) is not True
            case ir.Possibly():
                raise AssertionError("a checked query has no such condition; only plans do")

    def _both(self, left: ir.Expr, right: ir.Expr, row: Assignment, rows: list[Assignment]) -> tuple[Any, Any]:
        """Two operands; beside a null the other one does not matter."""
        found, overflow = [], None
        for side in (left, right):
            try:
                found.append(self.value(side, row, rows))
            except Failure as error:
                overflow = error
        if overflow is not None and None not in found:
            raise overflow
        return (None, None) if overflow is not None else (found[0], found[1])

    def _operands(self, left: ir.Expr, right: ir.Expr, row: Assignment) -> tuple[Any, Any]:
        first, second = self._both(left, right, row, [])
        # A constant beside a single-precision property is rounded as the property was.
        if _is_single(left) and not _is_single(right):
            second = _single(second)
        elif _is_single(right) and not _is_single(left):
            first = _single(first)
        return first, second

    def _member(self, value: ir.Expr, options: ir.Expr, row: Assignment) -> bool | None:
        item, items = self._both(value, options, row, [])
        if item is None or items is None:
            return None
        return any(_compare("=", item, other) is True for other in items)

    def text_match(self, call: ir.TextMatch, row: Assignment) -> bool | str | None:
        text, query = self.value(call.field, row, []), self.value(call.query, row, [])
        if call.function == ir.SNIPPET:
            words = 30 if call.distance is None else self.value(call.distance, row, [])
            if text is None or query is None or words is None:
                return None
            asked = frozenset(analyze(query, call.language))
            return snippet(text, asked, max(words, 1), lambda word: frozenset(analyze(word, call.language)))
        if text is None or query is None:
            return False
        tokens, wanted = analyze(text, call.language), analyze(query, call.language)
        match call.function:
            case "search" | "match_text":
                return any(token in wanted for token in tokens)
            case "search_all":
                return bool(wanted) and all(word in tokens for word in wanted)
            case "search_phrase":
                size = len(wanted)
                return bool(wanted) and any(tokens[at : at + size] == wanted for at in range(len(tokens)))
            case "search_prefix":
                typed = words_of(query)
                return any(begins_like(word, part, call.language) for word in words_of(text) for part in typed)
        most = 2 if call.distance is None else self.value(call.distance, row, [])
        return most is not None and any(edits(token, word) <= most for token in tokens for word in wanted)

    # --- aggregates ------------------------------------------------------------------------------

    def aggregate(self, call: ir.AggregateCall, members: list[Assignment], rows: list[Assignment]) -> Any:
        if call.where is not None:
            members = [member for member in members if self.truth(call.where, member) is True]
        if call.arg is None:
            return len(members)
        if call.key is not None:
            key = call.key

            def before(a: Assignment, b: Assignment) -> int:
                return compare_total(self.value(key, a, rows), self.value(key, b, rows))

            # Rows with equal keys keep their order.
            members = sorted(members, key=cmp_to_key(before), reverse=call.descending)
        found = [self.value(call.arg, member, rows) for member in members]
        present = [value for value in found if value is not None]
        if call.function == "count":
            if not call.distinct:
                return len(present)
            plain = [(value["_table"], value["id"]) if isinstance(value, dict) else value for value in present]
            return sum(value not in plain[:place] for place, value in enumerate(plain))
        if call.function == "collect":
            return [value for place, value in enumerate(present) if not (call.distinct and value in present[:place])]
        if call.distinct:
            present = [value for place, value in enumerate(present) if value not in present[:place]]
        if not present:
            return None
        match call.function:
            case "stddev" | "variance":
                if len(present) < 2:
                    return None
                found_variance = statistics.variance(map(float, present))
                return math.sqrt(found_variance) if call.function == "stddev" else found_variance
            case "sum":
                return float(sum(present))
            case "avg":
                return float(sum(present)) / len(present)
            case "min":
                return min(present, key=_sortable)
            case _:
                return max(present, key=_sortable)

    # --- ranking ---------------------------------------------------------------------------------

    def ranking(self, call: ir.RankCall, rows: list[Assignment], arm: int | None) -> dict[int, float]:
        """The score of each row (by place) whose entity is ranked; only entities that occur in the rows count."""
        found = {place: entity for place, row in enumerate(rows) if (entity := row[call.var]) is not None}
        entities = {entity["id"]: entity for entity in found.values()}
        scores = self._fused(call, entities, arm) if isinstance(call, ir.Rrf) else self._scores(call, entities)
        return {place: scores[entity["id"]] for place, entity in found.items() if entity["id"] in scores}

    def _scores(self, call: ir.Nearest | ir.Bm25, entities: Mapping[str, Entity]) -> dict[str, float]:
        query = self.value(call.query, {}, [])
        if query is None or not entities:
            return {}
        if isinstance(call, ir.Nearest):
            vectors = {name: entity[call.name] for name, entity in entities.items() if entity[call.name] is not None}
            return {name: distance(vector, query, call.metric) for name, vector in vectors.items()}
        table = next(iter(entities.values()))["_table"]
        texts = {entity["id"]: entity[call.name] for entity in self.tables[table] if entity[call.name] is not None}
        return {name: score for name, score in bm25(texts, query, call.language).items() if name in entities}

    def _fused(self, call: ir.Rrf, entities: Mapping[str, Entity], arm: int | None) -> dict[str, float]:
        k = self.value(call.k, {}, [])
        total: dict[str, float] = {}
        for part in (call.first, call.second):
            scores = self._scores(part, entities)
            sign = 1 if isinstance(part, ir.Nearest) else -1
            ranked = sorted(scores, key=lambda name, scores=scores, sign=sign: (sign * scores[name], name.encode()))  # type: ignore[misc]
            if isinstance(part, ir.Nearest) and arm is not None:
                ranked = ranked[:arm]
            for place, name in enumerate(ranked, start=1):
                total[name] = total.get(name, 0.0) + 1.0 / (k + place)
        return total


def _compare(op: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    order = compare_total(left, right)
    return {
        "=": order == 0,
        "!=": order != 0,
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
    }[op]


def _arithmetic(op: str, left: Any, right: Any, scalar: str) -> Any:
    if left is None or right is None or (op in "/%" and right == 0):
        return None
    if scalar == "F64":
        left, right = float(left), float(right)
    if scalar != "F64" and not (_fits(left) and _fits(right)):
        raise Overflow
    match op:
        case "+":
            found = left + right
        case "-":
            found = left - right
        case "*":
            found = left * right
        case "/":
            found = left / right
        case _:
            found = math.fmod(left, right) if scalar == "F64" else (abs(left) % abs(right)) * (-1 if left < 0 else 1)
    if scalar != "F64" and not _fits(found):
        raise Overflow
    return found


def _fits(value: int) -> bool:
    return -(2**63) <= value < 2**63


def _as_argument(value: Any, kind: str, result: str) -> Any:
    if isinstance(value, list):
        value = tuple(value)
    wide = kind == "Float" or (kind == "T" and result in ("F32", "F64"))
    if kind in ("Integer", "Number") or (kind == "T" and result == "I64"):
        value = _signed(value)
    return float(value) if wide and isinstance(value, int) and not isinstance(value, bool) else value


def _signed(value: Any) -> Any:
    """What computes with whole numbers takes those of 64 bits and a sign."""
    if isinstance(value, int) and value >= 1 << 63:
        raise Overflow("integer overflow: arithmetic on integers is 64 bits wide and signed")
    return value


def _is_single(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Property) and expr.type.scalar == "F32"


def _single(value: Any) -> Any:
    return value if value is None else struct.unpack("<f", struct.pack("<f", value))[0]


def _sortable(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _unknown(what: object, row: Assignment) -> bool:
    raise AssertionError(f"there is nothing to ask about {what}")


def _place(rows: list[Assignment], row: Assignment) -> int:
    return next(place for place, other in enumerate(rows) if other is row)
