"""Query trees as text: one canonical layout that parses back to the same tree (comments are not in the tree)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from omnigraph.compiler.lexer import quote
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.format_expression import format_clause_condition, format_column_conditions, format_expr
from omnigraph.compiler.query.format_wide import STEP as _STEP
from omnigraph.compiler.query.format_wide import WIDTH as _WIDTH
from omnigraph.compiler.query.format_wide import laid_out

_Entry = TypeVar("_Entry")


def format_queries(file: ast.QueryFile) -> str:
    """The whole file, queries separated by an empty line."""
    return "\n".join(_query(query) for query in file.queries)


def format_pattern(clauses: Sequence[ast.Clause]) -> str:
    """Clauses on one line, as they stand inside an expression."""
    return " ".join(line.strip() for clause in clauses for line in format_clause(clause, "").split("\n"))


def _query(query: ast.Query) -> str:
    lines = [_header(query)]
    for name, text in (("description", query.description), ("instruction", query.instruction)):
        if text is not None:
            lines.append(f"{_STEP}@{name}({quote(text)})")
    if len(lines) == 1:
        lines[0] += " {"
    else:
        lines.append("{")
    if isinstance(query.body, ast.Read):
        lines.extend(_read(query.body))
    else:
        lines.extend(_statement(statement) for statement in query.body)
    return "\n".join([*lines, "}", ""])


def _header(query: ast.Query) -> str:
    params = [_param(param) for param in query.params]
    line = f"query {query.name}({', '.join(params)})"
    if len(line) <= _WIDTH:
        return line
    return f"query {query.name}(\n{_STEP}" + f",\n{_STEP}".join(params) + "\n)"


def _param(param: ast.Param) -> str:
    default = "" if param.default is None else f" = {format_expr(param.default)}"
    return f"${param.name}: {param.type}{default}"


# --- reads -----------------------------------------------------------------------------------


def _read(read: ast.Read) -> list[str]:
    lines = _part(read)
    for part in read.more:
        lines += [_STEP + ("union all" if read.union_all else "union"), *_part(part)]
    return lines + _paging(read)


def _part(read: ast.Read) -> list[str]:
    lines: list[str] = []
    for stage in read.stages:
        lines += _shaped("with", stage) + _paging(stage)
    return lines + _shaped("return", read)


def _shaped(word: str, read: ast.Read | ast.Stage) -> list[str]:
    lines = [_block("match", read.clauses, _STEP)] if read.clauses else []
    head = f"{word} distinct" if read.distinct else word
    lines.append(_braced(_STEP, head, read.items, _item, last_comma=True))
    if read.having:
        lines.append(_conditions("having", read.having))
    return lines


def _paging(read: ast.Read | ast.Stage) -> list[str]:
    lines = []
    if read.order:
        lines.append(_braced(_STEP, "order", read.order, _sort, last_comma=False))
    counts = (("limit", read.limit), ("offset", read.offset))
    paging = [f"{word} {format_expr(count)}" for word, count in counts if count is not None]
    if read.per:
        paging.insert(1, "per " + ", ".join(_per_key(key) for key in read.per))
    return [*lines, _STEP + " ".join(paging)] if paging else lines


def _per_key(key: ast.Expr) -> str:
    # A name before `offset` or a brace could go on; in parentheses it cannot.
    text = format_expr(key)
    return text if isinstance(key, ast.Var | ast.Prop) else f"({text})"


def _conditions(word: str, conditions: Sequence[ast.Expr]) -> str:
    return _stacked(word, _tested(conditions, _STEP + _STEP), _STEP)


def _tested(conditions: Sequence[ast.Expr], indent: str) -> list[str]:
    return format_column_conditions([laid_out(condition, indent, len(indent)) for condition in conditions])


def _block(word: str, clauses: Sequence[ast.Clause], indent: str) -> str:
    return _stacked(word, [format_clause(clause, indent + _STEP) for clause in clauses], indent)


def _stacked(word: str, inner: list[str], indent: str) -> str:
    """`word { … }`: one clause a line, a single short one on the line of its block."""
    line = f"{indent}{word} {{ {inner[0]} }}"
    if len(inner) == 1 and len(line) <= _WIDTH and "\n" not in line:
        return line
    return "\n".join([f"{indent}{word} {{", *(f"{indent}{_STEP}{text}" for text in inner), indent + "}"])


def format_clause(clause: ast.Clause, indent: str) -> str:
    """A clause; further lines of it begin with `indent`."""
    match clause:
        case ast.NotBlock(clauses):
            return _block("not", clauses, indent)[len(indent) :]
        case ast.OptionalBlock(clauses):
            return _block("optional", clauses, indent)[len(indent) :]
        case ast.Unwind(expr, name):
            text = laid_out(expr, indent, len(indent) + len(name) + 11)
            plain = isinstance(expr, ast.Var | ast.Prop | ast.ListLiteral | ast.Call)
            return f"unwind {text if plain else f'({text})'} as {name}"
        case ast.EitherBlock(alternatives):
            blocks = [_block("", each.clauses, indent)[len(indent) + 1 :] for each in alternatives]
            return "either " + " or ".join(blocks)
        case ast.Filter(condition):
            return format_clause_condition(condition, laid_out(condition, indent, len(indent)))
        case ast.Traversal():
            return _traversal(clause, indent)
        case ast.Binding(name, type_name, matches):
            head = f"${name}: {type_name}"
            return _braced(indent, head, matches, _entry, last_comma=True)[len(indent) :] if matches else head


def _traversal(clause: ast.Traversal, indent: str) -> str:
    edge = f"<{clause.edge}>" if clause.undirected else clause.edge
    if clause.edge_var is not None:
        edge = f"${clause.edge_var}:{edge}"
    if clause.hops is not None:
        low, high = clause.hops
        edge += f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
    many = "" if clause.path_count is None else f" {format_expr(clause.path_count)}"
    path = f"{clause.path_kind}{many} ${clause.path_var}: " if clause.path_var is not None else ""
    step = f"{path}${clause.left} {edge} ${clause.right}"
    return step if clause.along is None else _along(step, clause.along, indent)


def _along(step: str, along: ast.Along, indent: str) -> str:
    words = [("", along.edge), ("from ", along.source), ("to ", along.target)]
    head = " ".join([step, "along", *(f"{word}${name}" for word, name in words if name is not None)])
    braces = bool(along.conditions) or along.cost is None
    inner = "  ".join(_tested(along.conditions, indent + _STEP))
    cost = "" if along.cost is None else f" by {format_expr(along.cost)}"
    block = f" {{ {inner} }}" if inner else " { }" if braces else ""
    if len(indent + head + cost + block) <= _WIDTH and "\n" not in inner:
        return head + cost + block
    if along.cost is not None and len(indent + head + cost) + 2 > _WIDTH:
        deeper = indent + _STEP
        cost = f"\n{deeper}by {laid_out(along.cost, deeper, len(deeper) + 5)}"
    if not along.conditions:
        return head + cost + block
    lines = [f"{indent}{_STEP}{text}" for text in _tested(along.conditions, indent + _STEP)]
    return "\n".join([f"{head}{cost} {{", *lines, indent + "}"])


def _item(item: ast.Item, indent: str) -> str:
    tail = "" if item.alias is None else f" as {item.alias}"
    return laid_out(item.expr, indent, len(indent) + len(tail) + 1) + tail


def _sort(key: ast.Sort, indent: str) -> str:
    tail = "" if key.direction is None else f" {key.direction}"
    return laid_out(key.expr, indent, len(indent) + len(tail) + 1) + tail


# --- mutations -------------------------------------------------------------------------------


def _statement(statement: ast.Statement) -> str:
    match statement:
        case ast.Insert(type_name, assigns):
            return _braced(_STEP, f"insert {type_name}", assigns, _entry, last_comma=True)
        case ast.Update(type_name, assigns, where):
            sets = _braced(_STEP, f"update {type_name} set", assigns, _entry, last_comma=True)
            return f"{sets} where {laid_out(where, _STEP, len(sets.splitlines()[-1]) + 7)}"
        case ast.Delete(type_name, where):
            return f"{_STEP}delete {type_name} where {laid_out(where, _STEP, len(type_name) + 16)}"
        case ast.ForEach(clauses, driven):
            return f"{_block('match', clauses, _STEP)}\n{_driven(driven)}"


def _driven(statement: ast.Insert | ast.UpdateVar | ast.DeleteVar) -> str:
    match statement:
        case ast.Insert():
            return _statement(statement)
        case ast.UpdateVar(var, assigns):
            return _braced(_STEP, f"update ${var} set", assigns, _entry, last_comma=True)
        case ast.DeleteVar(var):
            return f"{_STEP}delete ${var}"


def _entry(entry: ast.Assign | ast.PropMatch, indent: str) -> str:
    return f"{entry.name}: {laid_out(entry.value, indent, len(indent) + len(entry.name) + 3)}"


def _braced(
    indent: str, head: str, entries: Sequence[_Entry], text: Callable[[_Entry, str], str], *, last_comma: bool
) -> str:
    """`head { a, b }` on one line when it fits, else one entry a line."""
    texts = [text(entry, indent + _STEP) for entry in entries]
    line = f"{indent}{head} {{ {', '.join(texts)} }}"
    if len(line) <= _WIDTH and "\n" not in line:
        return line
    inner = f",\n{indent}{_STEP}".join(texts)
    return f"{indent}{head} {{\n{indent}{_STEP}{inner}{',' if last_comma else ''}\n{indent}}}"
